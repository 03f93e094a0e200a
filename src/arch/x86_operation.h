/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An instruction of 64-bit code as what it does, and to what: for the interpreter (x86_interpreter.h). */
#ifndef UPTO_ARCH_X86_OPERATION_H
#define UPTO_ARCH_X86_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { X86_INSN_MAX = 15, X86_OPERANDS = 3 };

/* As assemblers call them, but for: */
enum x86_operation_kind {
	X86_OP_UNKNOWN, /* it is not understood */
	X86_OP_NOTHING, /* fences, hints: nobody but the CPU sees what it does */
	/* with a condition */
	X86_OP_JCC,
	X86_OP_SETCC,
	X86_OP_CMOVCC,
	/* of elements, one or many */
	X86_OP_MOVS,
	X86_OP_STOS,
	X86_OP_LODS,
	X86_OP_SCAS,
	X86_OP_CMPS,
	/* all others, each by its own name */
	X86_OP_ADC,
	X86_OP_ADD,
	X86_OP_AND,
	X86_OP_BSF,
	X86_OP_BSR,
	X86_OP_BSWAP,
	X86_OP_BT,
	X86_OP_BTC,
	X86_OP_BTR,
	X86_OP_BTS,
	X86_OP_CALL,
	X86_OP_CBW,
	X86_OP_CDQ,
	X86_OP_CDQE,
	X86_OP_CLD,
	X86_OP_CLI,
	X86_OP_CMP,
	X86_OP_CMPXCHG,
	X86_OP_CQO,
	X86_OP_CWDE,
	X86_OP_DEC,
	X86_OP_DIV,
	X86_OP_IDIV,
	X86_OP_IMUL,
	X86_OP_INC,
	X86_OP_JMP,
	X86_OP_LEA,
	X86_OP_LEAVE,
	X86_OP_LZCNT,
	X86_OP_MOV,
	X86_OP_MOVSX,
	X86_OP_MOVSXD,
	X86_OP_MOVZX,
	X86_OP_MUL,
	X86_OP_NEG,
	X86_OP_NOP,
	X86_OP_NOT,
	X86_OP_OR,
	X86_OP_POP,
	X86_OP_POPCNT,
	X86_OP_POPFQ,
	X86_OP_PUSH,
	X86_OP_PUSHFQ,
	X86_OP_RDTSC,
	X86_OP_RDTSCP,
	X86_OP_RET,
	X86_OP_ROL,
	X86_OP_ROR,
	X86_OP_SAR,
	X86_OP_SBB,
	X86_OP_SHL,
	X86_OP_SHLD,
	X86_OP_SHR,
	X86_OP_SHRD,
	X86_OP_STI,
	X86_OP_SUB,
	X86_OP_TEST,
	X86_OP_TZCNT,
	X86_OP_XADD,
	X86_OP_XCHG,
	X86_OP_XOR,
};

/* In place of a register's number; HIGH_BYTE is added to that of ah, ch, dh and bh. */
enum { X86_NO_REGISTER = 0xff, X86_RIP_RELATIVE = 0xfe, X86_HIGH_BYTE = 0x80 };

struct x86_operand {
	enum { X86_NONE, X86_REGISTER, X86_MEMORY, X86_IMMEDIATE } kind;
	uint8_t size; /* in bytes */
	uint8_t reg, base, index, scale;
	uint8_t segment; /* 0, 'f', 'g' */
	int64_t value;   /* displacement, or immediate: of a jump or call, where it leads to */
};

struct x86_operation {
	uint64_t addr; /* 0: none */
	uint8_t bytes[X86_INSN_MAX], length;
	uint8_t operation;    /* enum x86_operation_kind */
	uint8_t condition;    /* the low four bits of its code */
	uint8_t repeats;      /* 0; 1: rep, repe; 2: repne */
	uint8_t element;      /* bytes of one, where it is of elements */
	uint8_t address_size; /* in bytes */
	bool moved;           /* by a segment that is not 0 in 64-bit code */
	struct x86_operand operands[X86_OPERANDS];
};

/* Of `n` bytes at that address. False: they are no instruction, or not all of one. */
bool x86_operation_decode(uint64_t addr, const uint8_t *bytes, size_t n, struct x86_operation *ret);

/* What assemblers call it; "?": it is no instruction. */
const char *x86_mnemonic(const uint8_t *bytes, size_t n);

#endif
