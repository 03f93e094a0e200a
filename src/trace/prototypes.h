/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What functions take and give back, where their arguments are recorded: as text in META (docs/format.md, key args.N).
 */
#ifndef UPTO_TRACE_PROTOTYPES_H
#define UPTO_TRACE_PROTOTYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* What a value is. What names something is read by the recorder at the function's entry. */
enum value_kind {
	VALUE_NONE = 'v',      /* void */
	VALUE_SIGNED = 'd',
	VALUE_UNSIGNED = 'u',
	VALUE_BOOL = 'b',
	VALUE_POINTER = 'p',
	VALUE_STRING = 's',    /* const char * */
	VALUE_FILE = 'f',      /* struct file *, const or not; so of those below */
	VALUE_PATH = 'a',      /* struct path * */
	VALUE_DENTRY = 'e',    /* struct dentry * */
	VALUE_TASK = 't',      /* struct task_struct * */
	VALUE_DEVICE = 'D',    /* struct device * */
	VALUE_FILENAME = 'n',  /* struct filename *, of which getname() makes paths */
	VALUE_STRUCT = 'o',    /* a structure itself, in up to two registers, or on the stack */
	VALUE_REGISTER = 'r',  /* what it is, is not known */
	/* of programs alone: */
	VALUE_FLOAT = 'F',     /* of 4 or 8 bytes, in a vector register; of 16: anywhere else */
	VALUE_ARGUMENT = 'A',  /* what an argument of a system call is: `type` is its kind (arch/syscall_args.h) */
};

enum {
	PROTOTYPE_PARAMETERS = 16,
	/* what is recorded: registers, vector registers, words of the stack, texts */
	PROTOTYPE_REGISTERS = 6,
	PROTOTYPE_VECTORS = 6,
	PROTOTYPE_STACK = 7,
	PROTOTYPE_TEXTS = 3,
};

struct parameter {
	enum value_kind kind;
	unsigned bytes;        /* its size: 1, 2, 4 or 8; of a floating number also 16; of a structure any */
	char *name;            /* "": it has none */
	char *type;            /* as in C: "const char *" */
};

struct prototype {
	uint64_t addr;         /* where the function begins, at run time; 0: it is a program's, and known by its name */
	char *function;        /* as it is shown; of a program's, all its names, with '|' between */
	struct parameter result; /* name "" */
	struct parameter parameters[PROTOTYPE_PARAMETERS];
	unsigned count;
};

void prototype_deinit(struct prototype *p);

/* It takes and gives back anything: the registers are told. It has no parameters and no result before. */
void prototype_of_registers(struct prototype *p);

/* Has a value of that kind a name, which is read at the function's entry? */
bool value_is_named(enum value_kind kind);

/*
 * In which of the six registers for arguments parameter `i` begins, by the System V ABI; negative: it is on the stack.
 */
int prototype_register(const struct prototype *p, unsigned i);

/* In which of the first vector registers it is; negative: in none of these. */
int prototype_vector(const struct prototype *p, unsigned i);

/* How many words of the stack it takes; 0: it is in registers. */
unsigned prototype_stack_words(const struct prototype *p, unsigned i);

/*
 * The first of them, counted from the one behind the return address. Negative: it is in registers, or where no type
 * tells, which is so behind a value of 16 bytes that may begin at a multiple of 16 only.
 */
int prototype_stack(const struct prototype *p, unsigned i);

/* Which of the entry's texts names parameter `i`: 0 to PROTOTYPE_TEXTS - 1; negative: none. */
int prototype_text(const struct prototype *p, unsigned i);

/* Append as one line without its end. */
void prototype_put(const struct prototype *p, struct buf *out);

/* Call prototype_deinit() if that is 0. */
int prototype_parse(const char *text, struct prototype *ret, struct error *err);

#endif
