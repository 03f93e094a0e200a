/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds the interpreter (arch/x86_interpreter.h) against the CPU: instructions of many forms, with chosen and random
 * values in registers, flags and memory, are executed by both. usage: interpreter_native [rounds [seed]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/x86_interpreter.h"
#include "base/map.h"

enum { CF = 1, PF = 4, ZF = 0x40, SF = 0x80, OF = 0x800, ALL = CF | PF | ZF | SF | OF, DATA = 256, DATA_REG = 14 };

/* What both begin with, and end with. r14 points into the data, r15 at this; the stack is the program's own. */
struct state {
	uint64_t registers[16], flags;
	_Alignas(64) uint8_t data[DATA]; /* read by pieces of 64 bytes */
};

struct form {
	const char *what;
	uint8_t bytes[8];
	unsigned length;
	int modrm;      /* where its byte is that chooses operands; -1: it has none */
	uint64_t flags; /* that it defines */
	enum { ANY, SHIFT_OF_1, DIVIDES, STRING, MEMORY_ONLY, REGISTERS_ONLY } kind;
	int extension; /* /digit in the modrm byte; -1: a register */
};

#define SIZES(name, op8, op, flags, kind, ext)                                    \
	{ name " 8", { 0x40, op8, 0xc0 }, 3, 2, flags, kind, ext },               \
		{ name " 16", { 0x66, 0x40, op, 0xc0 }, 4, 3, flags, kind, ext }, \
		{ name " 32", { 0x40, op, 0xc0 }, 3, 2, flags, kind, ext },       \
	{                                                                         \
		name " 64", { 0x48, op, 0xc0 }, 3, 2, flags, kind, ext            \
	}
#define TWO(name, op, flags, kind, ext)                                           \
	{ name " 16", { 0x66, 0x40, 0x0f, op, 0xc0 }, 5, 4, flags, kind, ext },   \
		{ name " 32", { 0x40, 0x0f, op, 0xc0 }, 4, 3, flags, kind, ext }, \
	{                                                                         \
		name " 64", { 0x48, 0x0f, op, 0xc0 }, 4, 3, flags, kind, ext      \
	}
#define IMM8(name, op, imm, flags, kind, ext)                               \
	{ name " 32", { 0x40, op, 0xc0, imm }, 4, 2, flags, kind, ext },    \
	{                                                                   \
		name " 64", { 0x48, op, 0xc0, imm }, 4, 2, flags, kind, ext \
	}
#define CONDITION(n)                                                               \
	{ "set", { 0x40, 0x0f, 0x90 | n, 0xc0 }, 4, 3, ALL, ANY, 0 },              \
		{ "cmov 32", { 0x40, 0x0f, 0x40 | n, 0xc0 }, 4, 3, ALL, ANY, -1 }, \
		{ "cmov 64", { 0x48, 0x0f, 0x40 | n, 0xc0 }, 4, 3, ALL, ANY, -1 }, \
	{                                                                          \
		"jump", { 0x70 | n, 3, 0x48, 0xff, 0xc0 }, 5, -1, CF, ANY, -1      \
	}

static const struct form forms[] = {
	SIZES("add", 0x00, 0x01, ALL, ANY, -1),
	SIZES("or", 0x08, 0x09, ALL, ANY, -1),
	SIZES("adc", 0x10, 0x11, ALL, ANY, -1),
	SIZES("sbb", 0x18, 0x19, ALL, ANY, -1),
	SIZES("and", 0x20, 0x21, ALL, ANY, -1),
	SIZES("sub", 0x28, 0x29, ALL, ANY, -1),
	SIZES("xor", 0x30, 0x31, ALL, ANY, -1),
	SIZES("cmp", 0x38, 0x39, ALL, ANY, -1),
	SIZES("add from", 0x02, 0x03, ALL, ANY, -1),
	SIZES("cmp from", 0x3a, 0x3b, ALL, ANY, -1),
	SIZES("test", 0x84, 0x85, ALL, ANY, -1),
	SIZES("mov", 0x88, 0x89, ALL, ANY, -1),
	SIZES("mov from", 0x8a, 0x8b, ALL, ANY, -1),
	SIZES("xchg", 0x86, 0x87, ALL, ANY, -1),
	SIZES("inc", 0xfe, 0xff, ALL, ANY, 0),
	SIZES("dec", 0xfe, 0xff, ALL, ANY, 1),
	SIZES("not", 0xf6, 0xf7, ALL, ANY, 2),
	SIZES("neg", 0xf6, 0xf7, ALL, ANY, 3),
	SIZES("mul", 0xf6, 0xf7, CF | OF, ANY, 4),
	SIZES("imul", 0xf6, 0xf7, CF | OF, ANY, 5),
	{ "div 32", { 0x40, 0xf7, 0xc0 }, 3, 2, 0, DIVIDES, 6 },
	{ "div 64", { 0x48, 0xf7, 0xc0 }, 3, 2, 0, DIVIDES, 6 },
	{ "idiv 32", { 0x40, 0xf7, 0xc0 }, 3, 2, 0, DIVIDES, 7 },
	{ "idiv 64", { 0x48, 0xf7, 0xc0 }, 3, 2, 0, DIVIDES, 7 },
	SIZES("shl 1", 0xd0, 0xd1, ALL, ANY, 4),
	SIZES("shr 1", 0xd0, 0xd1, ALL, ANY, 5),
	SIZES("sar 1", 0xd0, 0xd1, ALL, ANY, 7),
	SIZES("rol 1", 0xd0, 0xd1, CF, ANY, 0),
	SIZES("ror 1", 0xd0, 0xd1, CF, ANY, 1),
	SIZES("shl cl", 0xd2, 0xd3, ZF | SF | PF, ANY, 4),
	SIZES("shr cl", 0xd2, 0xd3, ZF | SF | PF, ANY, 5),
	SIZES("sar cl", 0xd2, 0xd3, ZF | SF | PF, ANY, 7),
	{ "rol cl 32", { 0x40, 0xd3, 0xc0 }, 3, 2, 0, ANY, 0 },
	{ "ror cl 64", { 0x48, 0xd3, 0xc0 }, 3, 2, 0, ANY, 1 },
	IMM8("shl 7", 0xc1, 7, CF | ZF | SF | PF, ANY, 4),
	IMM8("shr 7", 0xc1, 7, CF | ZF | SF | PF, ANY, 5),
	IMM8("sar 31", 0xc1, 31, CF | ZF | SF | PF, ANY, 7),
	IMM8("add -3", 0x83, 0xfd, ALL, ANY, 0),
	IMM8("cmp 127", 0x83, 0x7f, ALL, ANY, 7),
	IMM8("and -16", 0x83, 0xf0, ALL, ANY, 4),
	IMM8("imul 77", 0x6b, 77, CF | OF, ANY, -1),
	TWO("imul two", 0xaf, CF | OF, ANY, -1),
	TWO("movzx 8", 0xb6, ALL, ANY, -1),
	TWO("movsx 8", 0xbe, ALL, ANY, -1),
	{ "movzx 16", { 0x48, 0x0f, 0xb7, 0xc0 }, 4, 3, ALL, ANY, -1 },
	{ "movsx 16", { 0x48, 0x0f, 0xbf, 0xc0 }, 4, 3, ALL, ANY, -1 },
	{ "movsxd", { 0x48, 0x63, 0xc0 }, 3, 2, ALL, ANY, -1 },
	TWO("bsf", 0xbc, ZF, ANY, -1),
	TWO("bsr", 0xbd, ZF, ANY, -1),
	TWO("bt", 0xa3, CF, REGISTERS_ONLY, -1),
	TWO("bts", 0xab, CF, REGISTERS_ONLY, -1),
	TWO("btr", 0xb3, CF, REGISTERS_ONLY, -1),
	TWO("btc", 0xbb, CF, REGISTERS_ONLY, -1),
	{ "shld cl 32", { 0x40, 0x0f, 0xa5, 0xc0 }, 4, 3, 0, REGISTERS_ONLY, -1 },
	{ "shrd cl 64", { 0x48, 0x0f, 0xad, 0xc0 }, 4, 3, 0, REGISTERS_ONLY, -1 },
	TWO("cmpxchg", 0xb1, ALL, ANY, -1),
	TWO("xadd", 0xc1, ALL, ANY, -1),
	{ "popcnt 64", { 0xf3, 0x48, 0x0f, 0xb8, 0xc0 }, 5, 4, ALL, ANY, -1 },
	{ "tzcnt 64", { 0xf3, 0x48, 0x0f, 0xbc, 0xc0 }, 5, 4, CF | ZF, ANY, -1 },
	{ "tzcnt 32", { 0xf3, 0x40, 0x0f, 0xbc, 0xc0 }, 5, 4, CF | ZF, ANY, -1 },
	{ "lzcnt 32", { 0xf3, 0x40, 0x0f, 0xbd, 0xc0 }, 5, 4, CF | ZF, ANY, -1 },
	{ "bswap 64", { 0x48, 0x0f, 0xc9 }, 3, -1, ALL, ANY, -1 },
	{ "bswap 32", { 0x0f, 0xcb }, 2, -1, ALL, ANY, -1 },
	{ "cdqe", { 0x48, 0x98 }, 2, -1, ALL, ANY, -1 },
	{ "cwde", { 0x98 }, 1, -1, ALL, ANY, -1 },
	{ "cbw", { 0x66, 0x98 }, 2, -1, ALL, ANY, -1 },
	{ "cqo", { 0x48, 0x99 }, 2, -1, ALL, ANY, -1 },
	{ "cdq", { 0x99 }, 1, -1, ALL, ANY, -1 },
	{ "push, pop", { 0x50, 0x5b }, 2, -1, ALL, ANY, -1 },
	{ "push -5, pop", { 0x6a, 0xfb, 0x59 }, 3, -1, ALL, ANY, -1 },
	{ "add ah, cl", { 0x00, 0xcc }, 2, -1, ALL, ANY, -1 },
	{ "mov bh, dl", { 0x88, 0xd7 }, 2, -1, ALL, ANY, -1 },
	{ "movzx eax, ch", { 0x0f, 0xb6, 0xc5 }, 3, -1, ALL, ANY, -1 },
	{ "lea", { 0x48, 0x8d, 0x44, 0xcb, 0x11 }, 5, -1, ALL, ANY, -1 },
	{ "lea 32", { 0x8d, 0x44, 0x93, 0x80 }, 4, -1, ALL, ANY, -1 },
	{ "call, ret", { 0xe8, 1, 0, 0, 0, 0x90, 0x58 }, 7, -1, ALL, STRING, -1 },
	{ "rep movsb", { 0xf3, 0xa4 }, 2, -1, ALL, STRING, -1 },
	{ "rep movsq", { 0xf3, 0x48, 0xa5 }, 3, -1, ALL, STRING, -1 },
	{ "rep stosb", { 0xf3, 0xaa }, 2, -1, ALL, STRING, -1 },
	{ "rep stosq", { 0xf3, 0x48, 0xab }, 3, -1, ALL, STRING, -1 },
	{ "repne scasb", { 0xf2, 0xae }, 2, -1, ALL, STRING, -1 },
	{ "repe cmpsb", { 0xf3, 0xa6 }, 2, -1, ALL, STRING, -1 },
	{ "lodsb", { 0xac }, 1, -1, ALL, STRING, -1 },
	CONDITION(0),
	CONDITION(1),
	CONDITION(2),
	CONDITION(3),
	CONDITION(4),
	CONDITION(5),
	CONDITION(6),
	CONDITION(7),
	CONDITION(8),
	CONDITION(9),
	CONDITION(10),
	CONDITION(11),
	CONDITION(12),
	CONDITION(13),
	CONDITION(14),
	CONDITION(15),
};

static uint64_t seed;

static uint64_t any(void)
{
	return hash64(++seed);
}

/* Often a value at an edge. */
static uint64_t any_value(void)
{
	static const uint64_t edges[] = { 0,         1,          0x7f,       0x80,       0xff,      0x7fff,
					  0x8000,    0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_C(1) << 63,
					  UINT64_MAX };
	uint64_t a = any();

	return a % 3 ? any() : edges[a / 3 % (sizeof edges / sizeof *edges)] + (a >> 40) % 3 - 1;
}

struct code {
	uint8_t bytes[512];
	unsigned n, insn, end; /* where the instruction begins, and ends */
};

static void emit(struct code *c, const void *bytes, unsigned n)
{
	memcpy(c->bytes + c->n, bytes, n);
	c->n += n;
}

/* mov between a register and the state, which r15 points at */
static void emit_move(struct code *c, unsigned reg, bool store)
{
	uint32_t at = reg * 8;
	uint8_t bytes[3] = { 0x49 | (reg >= 8 ? 4 : 0), store ? 0x89 : 0x8b, 0x87 | (reg & 7) << 3 };

	emit(c, bytes, sizeof bytes);
	emit(c, &at, sizeof at);
}

static bool is_ours(unsigned reg)
{
	return reg != X86_RSP && reg < 14;
}

static void emit_flags(struct code *c, bool store)
{
	static const uint8_t save[] = { 0x9c, 0x41, 0x8f, 0x87, 0x80, 0, 0, 0 }; /* pushfq; pop [r15 + 128] */
	static const uint8_t set[] = { 0x41, 0xff, 0xb7, 0x80, 0, 0, 0, 0x9d };  /* push [r15 + 128]; popfq */

	emit(c, store ? save : set, 8);
}

static void build(struct code *c, const uint8_t *insn, unsigned n)
{
	static const uint8_t begin[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x49, 0x89, 0xff };
	static const uint8_t end[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3 };
	static const uint8_t data[] = { 0x4d, 0x8b, 0xb7, 0x70, 0, 0, 0 }; /* mov r14, [r15 + 112] */

	c->n = 0;
	emit(c, begin, sizeof begin);
	emit(c, data, sizeof data);
	emit_flags(c, false);
	for (unsigned i = 0; i < 14; i++)
		if (is_ours(i))
			emit_move(c, i, false);
	c->insn = c->n;
	emit(c, insn, n);
	c->end = c->n;
	for (unsigned i = 0; i < 14; i++)
		if (is_ours(i))
			emit_move(c, i, true);
	emit_flags(c, true);
	emit(c, "\xfc", 1);
	emit(c, end, sizeof end);
}

static bool read_host(void *context, uint64_t addr, void *data, size_t n)
{
	(void)context;
	memcpy(data, (const void *)addr, n);
	return true;
}

static enum x86_answer goes_on(void *context, struct x86_interpreter *x, uint64_t target)
{
	(void)context, (void)x, (void)target;
	return X86_GO;
}

/* Choose operands. Returns whether the instruction can be executed at all. */
static void choose(const struct form *f, uint8_t *insn)
{
	static const uint8_t registers[] = { X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSI, X86_RDI };
	uint64_t a = any();
	uint8_t reg = registers[a % 6], rm = registers[a / 6 % 6];
	bool memory = f->kind == ANY && a / 36 % 3 == 0;

	memcpy(insn, f->bytes, f->length);
	if (f->modrm < 0)
		return;
	if (f->extension >= 0)
		reg = (uint8_t)f->extension;
	/* [r14]: a REX prefix with B, which all forms have a place for */
	insn[f->modrm] = (uint8_t)((memory ? 0 : 0xc0) | reg << 3 | (memory ? DATA_REG & 7 : rm));
	for (int i = 0; memory && i < f->modrm; i++)
		if ((insn[i] & 0xf0) == 0x40) {
			insn[i] |= 1;
			return;
		}
	if (memory)
		insn[f->modrm] |= 0xc0;
}

/* Small counts, and pointers into the data; divisions whose results fit. */
static void prepare(const struct form *f, struct state *s, uint64_t data)
{
	for (unsigned i = 0; i < 16; i++)
		s->registers[i] = any_value();
	for (unsigned i = 0; i < DATA; i++)
		s->data[i] = (uint8_t)any();
	s->flags = 2 | (any() & ALL);
	s->registers[DATA_REG] = data + 64;
	if (f->kind == STRING) {
		s->registers[X86_RCX] = any() % 12;
		s->registers[X86_RSI] = data + any() % 64;
		s->registers[X86_RDI] = data + 128 + any() % 16;
		if (any() % 2) /* alike for a while */
			memcpy(s->data + (s->registers[X86_RDI] - data), s->data + (s->registers[X86_RSI] - data), 6);
		s->registers[X86_RAX] = s->data[s->registers[X86_RDI] - data + 3];
	}
	if (f->kind == DIVIDES) {
		bool is_signed = f->extension == 7, wide = f->bytes[0] == 0x48;
		uint64_t top = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;

		s->registers[X86_RDX] = is_signed && s->registers[X86_RAX] & top ? UINT64_MAX : 0;
	}
}

static int fail(const struct form *f, const uint8_t *insn, const char *what, uint64_t ours, uint64_t cpu)
{
	printf("%s (", f->what);
	for (unsigned i = 0; i < f->length; i++)
		printf("%s%02x", i ? " " : "", insn[i]);
	printf("): %s is %#" PRIx64 ", by the CPU %#" PRIx64 "\n", what, ours, cpu);
	return 1;
}

/* A divisor in rax or rdx, or one that is 0, is none to try: registers of the operand are rcx, rbx, rsi, rdi. */
static bool can_run(const struct form *f, const uint8_t *insn, const struct state *s)
{
	unsigned rm = insn[f->modrm < 0 ? 0 : f->modrm] & 7;
	bool wide = f->bytes[0] == 0x48;
	uint64_t by = s->registers[rm];

	if (f->kind != DIVIDES)
		return true;
	if (!wide)
		by = (uint32_t)by;
	return rm != X86_RAX && rm != X86_RDX && by && by != UINT64_MAX && by != UINT32_MAX;
}

static int try_form(struct x86_interpreter *x, const struct form *f, uint8_t *page)
{
	static _Alignas(64) struct state cpu;
	struct state before;
	struct x86_state state = { 0 };
	struct code code;
	uint8_t insn[16] = { 0 }, data[DATA];
	int bad = 0;

	choose(f, insn);
	prepare(f, &cpu, (uint64_t)cpu.data);
	if (!can_run(f, insn, &cpu))
		return 0;
	build(&code, insn, f->length);
	memcpy(page, code.bytes, code.n);
	before = cpu;
	memcpy(state.registers, before.registers, sizeof state.registers);
	state.registers[X86_RSP] = X86_SCRATCH + 0x1000;
	state.rip = (uint64_t)page + code.insn;
	state.flags = before.flags;
	x86_interpreter_begin(x, &state, (uint64_t)page + code.end, NULL);
	if (x86_interpreter_run(x) != X86_LEFT || !x86_interpreter_load(x, (uint64_t)cpu.data, data, DATA))
		return fail(f, insn, "the end of it", x86_interpreter_state(x)->rip - state.rip, f->length);
	((void (*)(struct state *))page)(&cpu);
	state = *x86_interpreter_state(x);
	for (unsigned i = 0; i < 14; i++)
		if (is_ours(i) && state.registers[i] != cpu.registers[i] && !bad)
			bad = fail(f, insn, "a register", state.registers[i], cpu.registers[i]);
	if (!bad && (state.flags ^ cpu.flags) & f->flags)
		bad = fail(f, insn, "flags", state.flags & f->flags, cpu.flags & f->flags);
	if (!bad && memcmp(data, cpu.data, DATA))
		bad = fail(f, insn, "memory", 0, 0);
	return bad;
}

int main(int argc, char **argv)
{
	static const struct x86_interpreter_calls calls = { .read = read_host, .call = goes_on };
	enum { FORMS = sizeof forms / sizeof *forms };
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 2000;
	struct x86_interpreter *x = x86_interpreter_new(&calls);
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int bad = 0;

	seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	if (page == MAP_FAILED)
		return 2;
	for (unsigned i = 0; i < FORMS; i++)
		for (unsigned long k = 0, failed = 0; k < rounds && !failed; k++)
			bad += failed = (unsigned long)try_form(x, &forms[i], page);
	x86_interpreter_free(x);
	printf("%d of %d forms differ\n", bad, FORMS);
	return bad != 0;
}
