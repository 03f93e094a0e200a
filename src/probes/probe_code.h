/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a value is made of the guest's registers and memory: a few steps on a stack of numbers, as DWARF's expressions
 * have them. As text in definitions: "{%di,72,+,@8,36,+,@4}".
 */
#ifndef UPTO_PROBES_PROBE_CODE_H
#define UPTO_PROBES_PROBE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum probe_op {
	PROBE_OP_REGISTER, /* push a register: as instructions number them; 16: rip */
	PROBE_OP_NUMBER,   /* push the operand */
	PROBE_OP_SYMBOL,   /* push an address; `symbol` names it, the operand is added */
	PROBE_OP_ENTRY,    /* what a register was at the entry of the function whose return address is at that place */
	PROBE_OP_READ,     /* what is at that address: so many bytes, 1, 2, 4 or 8, the rest are 0 */
	PROBE_OP_EXTEND,   /* the sign of so many bytes goes on */
	PROBE_OP_PICK,     /* push the value that is so deep, 0: the last one */
	PROBE_OP_CURRENT, /* push the address of the running thread's task_struct */
	PROBE_OP_DROP,
	PROBE_OP_KEEP,    /* keep the last value by the key before it, and push it alone */
	PROBE_OP_KEPT,    /* what was kept by that key */
	PROBE_OP_SWAP,
	PROBE_OP_ROTATE,
	PROBE_OP_ADD,
	PROBE_OP_SUBTRACT,
	PROBE_OP_MULTIPLY,
	PROBE_OP_DIVIDE,
	PROBE_OP_MODULO,
	PROBE_OP_AND,
	PROBE_OP_OR,
	PROBE_OP_XOR,
	PROBE_OP_LEFT,
	PROBE_OP_RIGHT,
	PROBE_OP_RIGHT_SIGNED,
	PROBE_OP_NEGATE,
	PROBE_OP_NOT,
	PROBE_OP_ABSOLUTE,
	PROBE_OP_EQUAL,
	PROBE_OP_UNEQUAL,
	PROBE_OP_LESS,
	PROBE_OP_LESS_EQUAL,
	PROBE_OP_MORE,
	PROBE_OP_MORE_EQUAL,
	PROBE_OP_MIX, /* one key of two */
	PROBE_OPS,
};

struct probe_step_code {
	enum probe_op op;
	int64_t operand;
	char *symbol; /* SYMBOL */
};

struct probe_code {
	struct probe_step_code *steps;
	size_t count, room;
};

void probe_code_add(struct probe_code *c, enum probe_op op, int64_t operand);
void probe_code_add_symbol(struct probe_code *c, const char *symbol, int64_t behind);
/* The address, or number, so many bytes behind. */
void probe_code_add_behind(struct probe_code *c, int64_t bytes);
void probe_code_add_all(struct probe_code *c, const struct probe_code *more);
void probe_code_deinit(struct probe_code *c);

/* `text` without the braces. Call probe_code_deinit() in either case. */
int probe_code_parse(const char *text, size_t len, struct probe_code *ret, struct error *err);
void probe_code_put(const struct probe_code *c, struct buf *out);

/* Does it ask for what registers were at a function's entry? */
bool probe_code_asks_entry(const struct probe_code *c);

/* "di", "rdi", "r8", "ip" → its number; -1: there is none of that name. */
int probe_register(const char *name, size_t len);
const char *probe_register_name(unsigned number);
/* Of DWARF's number (System V ABI, AMD64 supplement, figure 3.36); -1: none of these. */
int probe_register_of_dwarf(unsigned number);
/* In which register parameter `i`, from 0 on, is at a function's first instruction; -1: it is on the stack. */
int probe_register_of_parameter(unsigned i);

enum { PROBE_RSP = 4, PROBE_RIP = 16, PROBE_RAX = 0 };

struct probe_guest {
	uint64_t (*reg)(void *context, unsigned number);
	/* False: it is not there. */
	bool (*entry)(void *context, uint64_t slot, unsigned number, uint64_t *ret);
	bool (*read)(void *context, uint64_t addr, void *data, size_t n);
	/* Numbers by key, from one probe to another. False: none is there. */
	void (*keep)(void *context, uint64_t key, uint64_t value);
	bool (*kept)(void *context, uint64_t key, uint64_t *ret);
	uint64_t current; /* the running thread's task_struct; 0: none is known */
	void *context;
};

/* False: memory that is not there, or a symbol that was not found, a division by 0, too few values. */
bool probe_code_run(const struct probe_code *c, const struct probe_guest *guest, uint64_t *ret);

#endif
