/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file of code that is no Linux and no program of one: firmware, a boot loader, a kernel of one's own. Its
 * functions, at the addresses that it was linked for, and their bytes, by which its code is known again where it runs:
 * such code moves itself.
 */
#ifndef UPTO_SYMBOLS_OBJECT_CODE_H
#define UPTO_SYMBOLS_OBJECT_CODE_H

#include "symtab.h"

struct object_code {
	struct symtab tab;
	/* symbols without a type and a size: functions in assembler, or where the linker put data between them */
	struct symtab labels;
	struct code_part {
		uint64_t addr;
		size_t at, len;   /* in `bytes` */
	} *parts;                 /* its sections with code */
	size_t n_parts;
	struct buf bytes;
	uint64_t text;            /* where .text is linked; without one, the first section with code */
};

/*
 * Errors do not name a file. A file that was not linked is an error: it has no addresses. The caller calls
 * object_code_deinit() on *ret.
 */
int object_code_parse(const void *data, size_t len, struct object_code *ret, struct error *err);
void object_code_deinit(struct object_code *o);

/* The file's bytes from a link address on, and how many there are in a row; NULL: none. */
const uint8_t *object_code_bytes(const struct object_code *o, uint64_t addr, size_t *ret_len);

/*
 * Are these bytes in memory the file's, moved by `slide`? Addresses in them may have been moved, too: words of 32 or 64
 * bits may differ by the slide.
 */
bool code_is_moved(const uint8_t *file, const uint8_t *memory, size_t len, uint64_t slide);

#endif
