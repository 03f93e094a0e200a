/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file with debug information (DWARF): vmlinux, a module of the kernel, a program or library, or the debug file of
 * one of these, which is looked for by build-id where elfutils look. A program may go without.
 */
#ifndef UPTO_SYMBOLS_DWARF_FILE_H
#define UPTO_SYMBOLS_DWARF_FILE_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/build_id.h"

struct dwarf_file {
	char *path;
	enum dwarf_kind { DWARF_KERNEL, DWARF_MODULE, DWARF_PROGRAM } kind;
	char *module_name; /* MODULE: "ext4" */
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_Addr bias; /* an address of the file's less one in the debug information */
	struct dwarf_units *units;
};

/* The caller calls dwarf_file_close(). */
int dwarf_file_open(const char *path, struct dwarf_file **ret, struct error *err);
void dwarf_file_close(struct dwarf_file *f);
/* An error: it is a program without debug information. */
int dwarf_file_require(const struct dwarf_file *f, struct error *err);
/* Is it a file of 32 bits? What is in which register, and where arguments are, is something else there. */
bool dwarf_file_is_narrow(const struct dwarf_file *f);

/*
 * Of a program: where an address is in its file, and the code there, up to its section's end or `size` bytes. Returns
 * how many were copied; 0: the file does not have them.
 */
size_t dwarf_file_code(const struct dwarf_file *f, uint64_t addr, uint64_t *ret_offset, void *code, size_t size);
/* Code of a page around a place, by which it is known again wherever it is mapped. */
struct dwarf_code_window {
	uint8_t code[64];
	size_t n, before; /* before: of these bytes, how many are before the place */
};

/* Of a place in the file. n is 0: there is no code, or too little of it to be known by. */
void dwarf_file_window(const struct dwarf_file *f, uint64_t offset, struct dwarf_code_window *ret);
/* The address of what is at that place of the file. False: no code is. */
bool dwarf_file_loaded(const struct dwarf_file *f, uint64_t offset, uint64_t *ret_addr);

/* Has it that build-id? One without has none. */
bool dwarf_file_is_build(const struct dwarf_file *f, const struct build_id *id);

/* The begin of the file's first function with that name. False: it has none. */
bool dwarf_file_symbol(const struct dwarf_file *f, const char *name, uint64_t *ret_addr);
/* The same of any symbol. */
bool dwarf_file_address(const struct dwarf_file *f, const char *name, uint64_t *ret_addr);
/* How many functions have that name. */
unsigned dwarf_file_symbols(const struct dwarf_file *f, const char *name);
/* How many symbols of any kind. */
unsigned dwarf_file_names(const struct dwarf_file *f, const char *name);
/* The symbol that an address lies in, and how far; NULL: none. As long as the file. */
const char *dwarf_file_symbol_at(const struct dwarf_file *f, uint64_t addr, uint64_t *ret_offset);

/* Call `each` for functions in the order of the file's table, until it returns false. */
void dwarf_file_each_symbol(const struct dwarf_file *f, bool (*each)(void *context, const char *name, uint64_t addr),
			    void *context);

/*
 * The entries that hold an instruction of a unit, the innermost one first, inlined functions as they stand there.
 * Returns how many; the caller frees *ret, which is NULL before.
 */
int dwarf_scopes(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die **ret);

#endif
