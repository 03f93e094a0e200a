/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_interpreter.h"

#include <Zydis/Zydis.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

#ifdef UPTO_SMALL_TABLES
enum { STEPS_MAX = 400, PIECES = 64, CACHED = 256 };
#else
enum { STEPS_MAX = 20000, PIECES = 1024, CACHED = 8192 };
#endif

/* PIECES: of memory that was touched; CACHED: decoded instructions; powers of two, as are LINES. */
enum {
	PIECES_MAX = PIECES / 4 * 3,
	PIECE = 64, /* bytes */
	LINES = 16, /* of code that was read */
	LINE = 256,
	INSN_MAX = 15,
	OPERANDS = 3,
	NO_REGISTER = 0xff,
	RIP_RELATIVE = 0xfe,
	HIGH_BYTE = 0x80, /* ah, ch, dh, bh */
};

enum flag { CF = 1, PF = 1 << 2, ZF = 1 << 6, SF = 1 << 7, IF = 1 << 9, DF = 1 << 10, OF = 1 << 11 };

/* An operand as it is used. */
struct operand {
	enum { NONE, REGISTER, MEMORY, IMMEDIATE } kind;
	uint8_t size; /* in bytes */
	uint8_t reg, base, index, scale;
	uint8_t segment; /* 0, 'f', 'g' */
	int64_t value;   /* displacement, or immediate */
};

struct insn {
	uint64_t addr; /* 0: none */
	uint8_t bytes[INSN_MAX], length;
	uint8_t condition, repeats;
	uint8_t address_size; /* in bytes */
	bool moved;           /* by a segment that is not 0 in 64-bit code */
	uint16_t mnemonic;
	struct operand operands[OPERANDS];
};

/* Some bytes of memory, aligned. */
struct piece {
	uint64_t addr;
	uint32_t run; /* in which it is known */
	uint8_t bytes[PIECE];
};

struct line {
	uint64_t addr;
	uint32_t run;
	uint8_t bytes[LINE];
};

struct x86_interpreter {
	const struct x86_interpreter_calls *calls;
	void *context;
	struct x86_state state;
	ZydisDecoder decoder;
	uint32_t run;
	unsigned pieces_used, steps;
	bool guessed;
	uint64_t top;     /* the stack pointer where it began */
	uint64_t back;    /* where it ends with that stack pointer; 0: nowhere */
	enum x86_end end; /* X86_GOES_ON: none yet */
	struct piece pieces[PIECES];
	struct piece *last; /* that was touched */
	struct line lines[LINES];
	struct insn insns[CACHED];
};

struct x86_interpreter *x86_interpreter_new(const struct x86_interpreter_calls *calls)
{
	struct x86_interpreter *x = xcalloc(1, sizeof *x);

	x->calls = calls;
	ZydisDecoderInit(&x->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return x;
}

void x86_interpreter_free(struct x86_interpreter *x)
{
	free(x);
}

void x86_interpreter_begin(struct x86_interpreter *x, const struct x86_state *state, uint64_t back, void *context)
{
	x->state = *state;
	x->back = back;
	x->context = context;
	if (!++x->run) { /* it has come round */
		memset(x->pieces, 0, sizeof x->pieces);
		memset(x->lines, 0, sizeof x->lines);
		x->run = 1;
	}
	x->pieces_used = x->steps = 0;
	x->last = NULL;
	x->guessed = false;
	x->top = state->registers[X86_RSP];
	x->end = X86_GOES_ON;
}

struct x86_state *x86_interpreter_state(struct x86_interpreter *x)
{
	return &x->state;
}

static void ends(struct x86_interpreter *x, enum x86_end end)
{
	if (x->end == X86_GOES_ON)
		x->end = end;
}

static struct piece *find_piece(struct x86_interpreter *x, uint64_t addr)
{
	size_t i = hash64(addr) & (PIECES - 1);
	struct piece *p;

	for (; (p = &x->pieces[i])->run == x->run; i = (i + 1) & (PIECES - 1))
		if (p->addr == addr)
			return p;
	if (x->pieces_used == PIECES_MAX) {
		ends(x, X86_TOO_LONG);
		return NULL;
	}
	if (addr - X86_SCRATCH < X86_SCRATCH_SIZE) {
		memset(p->bytes, 0, PIECE);
	} else if (!x->calls->read(x->context, addr, p->bytes, PIECE)) {
		ends(x, X86_NOT_READ);
		return NULL;
	}
	p->addr = addr;
	p->run = x->run;
	x->pieces_used++;
	return p;
}

/* The memory at an aligned address, as it is now. NULL: it cannot be had, which ends the run. */
static struct piece *piece_at(struct x86_interpreter *x, uint64_t addr)
{
	if (!x->last || x->last->addr != addr)
		x->last = find_piece(x, addr);
	return x->last;
}

/* Go through memory piece by piece. */
static bool access_memory(struct x86_interpreter *x, uint64_t addr, void *load, const void *store, size_t n)
{
	for (size_t done = 0, part; done < n; done += part) {
		size_t offset = (addr + done) % PIECE;
		struct piece *p = piece_at(x, addr + done - offset);

		part = n - done < PIECE - offset ? n - done : PIECE - offset;
		if (!p)
			return false;
		if (store)
			memcpy(p->bytes + offset, (const char *)store + done, part);
		else
			memcpy((char *)load + done, p->bytes + offset, part);
	}
	return true;
}

bool x86_interpreter_load(struct x86_interpreter *x, uint64_t addr, void *data, size_t n)
{
	return access_memory(x, addr, data, NULL, n);
}

bool x86_interpreter_store(struct x86_interpreter *x, uint64_t addr, const void *data, size_t n)
{
	return access_memory(x, addr, NULL, data, n);
}

static uint64_t load(struct x86_interpreter *x, uint64_t addr, unsigned size)
{
	uint64_t value = 0;

	access_memory(x, addr, &value, NULL, size);
	return value;
}

static void store(struct x86_interpreter *x, uint64_t addr, uint64_t value, unsigned size)
{
	access_memory(x, addr, NULL, &value, size);
}

static uint64_t mask(unsigned size)
{
	return size >= 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
}

static uint64_t sign_extend(uint64_t value, unsigned size)
{
	unsigned shift = 64 - size * 8;

	return size >= 8 ? value : (uint64_t)((int64_t)(value << shift) >> shift);
}

static uint64_t register_value(const struct x86_interpreter *x, uint8_t reg, unsigned size)
{
	uint64_t value = x->state.registers[reg & 0xf];

	return (reg & HIGH_BYTE ? value >> 8 : value) & mask(size);
}

static void set_register(struct x86_interpreter *x, uint8_t reg, unsigned size, uint64_t value)
{
	uint64_t *to = &x->state.registers[reg & 0xf], m = mask(size);

	if (reg & HIGH_BYTE)
		*to = (*to & ~UINT64_C(0xff00)) | (value & 0xff) << 8;
	else if (size == 4)
		*to = value & m; /* writing 32 bits clears those above */
	else
		*to = (*to & ~m) | (value & m);
}

static uint64_t address_of(const struct x86_interpreter *x, const struct insn *in, const struct operand *o)
{
	uint64_t addr = (uint64_t)o->value;

	if (o->base == RIP_RELATIVE)
		addr += in->addr + in->length;
	else if (o->base != NO_REGISTER)
		addr += x->state.registers[o->base];
	if (o->index != NO_REGISTER)
		addr += x->state.registers[o->index] * o->scale;
	if (in->address_size == 4)
		addr = (uint32_t)addr;
	return addr;
}

static uint64_t linear_of(const struct x86_interpreter *x, const struct insn *in, const struct operand *o)
{
	return address_of(x, in, o) + (o->segment == 'g' ? x->state.gs_base : o->segment == 'f' ? x->state.fs_base : 0);
}

static uint64_t get(struct x86_interpreter *x, const struct insn *in, unsigned i)
{
	const struct operand *o = &in->operands[i];

	switch (o->kind) {
	case REGISTER:
		return register_value(x, o->reg, o->size);
	case MEMORY:
		return load(x, linear_of(x, in, o), o->size);
	case IMMEDIATE:
		return (uint64_t)o->value;
	default:
		ends(x, X86_NOT_UNDERSTOOD);
		return 0;
	}
}

static void set(struct x86_interpreter *x, const struct insn *in, unsigned i, uint64_t value)
{
	const struct operand *o = &in->operands[i];

	if (o->kind == REGISTER)
		set_register(x, o->reg, o->size, value);
	else if (o->kind == MEMORY)
		store(x, linear_of(x, in, o), value, o->size);
	else
		ends(x, X86_NOT_UNDERSTOOD);
}

static void set_flag(struct x86_interpreter *x, enum flag flag, bool is)
{
	x->state.flags = is ? x->state.flags | flag : x->state.flags & ~(uint64_t)flag;
}

static bool has_flag(const struct x86_interpreter *x, enum flag flag)
{
	return x->state.flags & flag;
}

static bool is_negative(uint64_t value, unsigned size)
{
	return value >> (size * 8 - 1) & 1;
}

static void set_result_flags(struct x86_interpreter *x, uint64_t value, unsigned size)
{
	value &= mask(size);
	set_flag(x, ZF, !value);
	set_flag(x, SF, is_negative(value, size));
	set_flag(x, PF, !(__builtin_popcount((unsigned)value & 0xff) & 1));
}

static uint64_t logic(struct x86_interpreter *x, uint64_t value, unsigned size)
{
	set_result_flags(x, value, size);
	set_flag(x, CF, false);
	set_flag(x, OF, false);
	return value & mask(size);
}

static uint64_t add(struct x86_interpreter *x, uint64_t a, uint64_t b, bool carry, unsigned size)
{
	uint64_t m = mask(size), sum = (a + b + carry) & m;

	a &= m, b &= m;
	set_result_flags(x, sum, size);
	set_flag(x, CF, sum < a || (carry && sum == a));
	set_flag(x, OF, is_negative(~(a ^ b) & (a ^ sum), size));
	return sum;
}

static uint64_t subtract(struct x86_interpreter *x, uint64_t a, uint64_t b, bool borrow, unsigned size)
{
	uint64_t m = mask(size), rest = (a - b - borrow) & m;

	a &= m, b &= m;
	set_result_flags(x, rest, size);
	set_flag(x, CF, a < b || (borrow && a == b));
	set_flag(x, OF, is_negative((a ^ b) & (a ^ rest), size));
	return rest;
}

/* Intel's manual, volume 1, appendix B: the low four bits of an instruction's code. */
static bool holds(const struct x86_interpreter *x, uint8_t condition)
{
	bool is;

	switch (condition >> 1) {
	case 0:
		is = has_flag(x, OF);
		break;
	case 1:
		is = has_flag(x, CF);
		break;
	case 2:
		is = has_flag(x, ZF);
		break;
	case 3:
		is = has_flag(x, CF) || has_flag(x, ZF);
		break;
	case 4:
		is = has_flag(x, SF);
		break;
	case 5:
		is = has_flag(x, PF);
		break;
	case 6:
		is = has_flag(x, SF) != has_flag(x, OF);
		break;
	default:
		is = has_flag(x, ZF) || has_flag(x, SF) != has_flag(x, OF);
		break;
	}
	return is != (condition & 1);
}

static void shift(struct x86_interpreter *x, const struct insn *in)
{
	unsigned size = in->operands[0].size, bits = size * 8;
	unsigned n = (unsigned)get(x, in, 1) & (size == 8 ? 63 : 31);
	uint64_t a = get(x, in, 0), r, m = mask(size);
	bool carry, before = is_negative(a, size);

	if (!n) {
		set(x, in, 0, a); /* of 32 bits, those above are cleared all the same */
		return;
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
		carry = n <= bits && a >> (bits - n) & 1;
		r = n < bits ? a << n : 0;
		break;
	case ZYDIS_MNEMONIC_SHR:
		carry = n <= bits && a >> (n - 1) & 1;
		r = n < bits ? a >> n : 0;
		break;
	case ZYDIS_MNEMONIC_SAR:
		a = sign_extend(a, size);
		carry = (int64_t)a >> (n - 1) & 1;
		r = (uint64_t)((int64_t)a >> n);
		break;
	case ZYDIS_MNEMONIC_ROL:
		n %= bits;
		r = (a << n | (n ? a >> (bits - n) : 0)) & m;
		set_flag(x, CF, r & 1);
		set_flag(x, OF, (r & 1) != is_negative(r, size));
		set(x, in, 0, r);
		return;
	default:
		n %= bits;
		r = (a >> n | (n ? a << (bits - n) : 0)) & m;
		set_flag(x, CF, is_negative(r, size));
		set_flag(x, OF, is_negative(r, size) != is_negative(r << 1, size));
		set(x, in, 0, r);
		return;
	}
	r &= m;
	set_result_flags(x, r, size);
	set_flag(x, CF, carry);
	set_flag(x, OF,
		 in->mnemonic == ZYDIS_MNEMONIC_SHL ? carry != is_negative(r, size)
						    : in->mnemonic == ZYDIS_MNEMONIC_SHR && before);
	set(x, in, 0, r);
}

static void double_shift(struct x86_interpreter *x, const struct insn *in)
{
	unsigned size = in->operands[0].size, bits = size * 8;
	unsigned n = (unsigned)get(x, in, 2) & (size == 8 ? 63 : 31);
	uint64_t a = get(x, in, 0), b = get(x, in, 1), r;
	bool left = in->mnemonic == ZYDIS_MNEMONIC_SHLD;

	if (!n) {
		set(x, in, 0, a);
		return;
	}
	if (n >= bits) { /* not defined */
		ends(x, X86_NOT_UNDERSTOOD);
		return;
	}
	r = (left ? a << n | b >> (bits - n) : a >> n | b << (bits - n)) & mask(size);
	set_result_flags(x, r, size);
	set_flag(x, CF, left ? a >> (bits - n) & 1 : a >> (n - 1) & 1);
	set(x, in, 0, r);
}

/* Of one operand: rdx:rax; of two and three: what fits. */
static void multiply(struct x86_interpreter *x, const struct insn *in, bool is_signed)
{
	unsigned size = in->operands[0].size;
	bool one = in->operands[1].kind == NONE, three = in->operands[2].kind != NONE;
	uint64_t a = one ? register_value(x, X86_RAX, size) : get(x, in, three ? 1 : 0);
	uint64_t b = get(x, in, one ? 0 : three ? 2 : 1);
	unsigned __int128 wide =
		is_signed ? (unsigned __int128)((__int128)(int64_t)sign_extend(a, size) * (int64_t)sign_extend(b, size))
			  : (unsigned __int128)a * b;
	uint64_t low = (uint64_t)wide & mask(size), high = (uint64_t)(wide >> size * 8) & mask(size);
	bool more = is_signed ? high != (is_negative(low, size) ? mask(size) : 0) : high != 0;

	if (!one) {
		set(x, in, 0, low);
	} else if (size == 1) {
		set_register(x, X86_RAX, 2, low | high << 8);
	} else {
		set_register(x, X86_RAX, size, low);
		set_register(x, X86_RDX, size, high);
	}
	set_flag(x, CF, more);
	set_flag(x, OF, more);
}

static void divide(struct x86_interpreter *x, const struct insn *in, bool is_signed)
{
	unsigned size = in->operands[0].size;
	uint64_t by = get(x, in, 0), low = register_value(x, X86_RAX, size), high = register_value(x, X86_RDX, size);
	unsigned __int128 what, quotient, rest;

	if (size == 1 || !by) {
		ends(x, X86_NOT_UNDERSTOOD);
		return;
	}
	what = (unsigned __int128)high << size * 8 | low;
	if (is_signed) {
		unsigned up = 128 - size * 16;
		__int128 all = (__int128)(what << up) >> up, d = (int64_t)sign_extend(by, size), q;

		if (d == -1 && what << up == (unsigned __int128)1 << 127) {
			ends(x, X86_NOT_UNDERSTOOD);
			return;
		}
		q = all / d;
		quotient = (unsigned __int128)q;
		rest = (unsigned __int128)(all % d);
		if (q != (int64_t)sign_extend((uint64_t)quotient & mask(size), size)) { /* the CPU faults */
			ends(x, X86_NOT_UNDERSTOOD);
			return;
		}
	} else {
		quotient = what / by;
		rest = what % by;
		if (quotient > mask(size)) {
			ends(x, X86_NOT_UNDERSTOOD);
			return;
		}
	}
	set_register(x, X86_RAX, size, (uint64_t)quotient);
	set_register(x, X86_RDX, size, (uint64_t)rest);
}

static void bit_test(struct x86_interpreter *x, const struct insn *in)
{
	const struct operand *o = &in->operands[0];
	unsigned size = o->size;
	int64_t number = (int64_t)sign_extend(get(x, in, 1), in->operands[1].size);
	uint64_t addr = 0, value, bit;

	if (o->kind == MEMORY) { /* a number in a register may lead beyond the operand */
		addr = linear_of(x, in, o);
		if (in->operands[1].kind == REGISTER)
			addr += (uint64_t)((number >> (size == 8 ? 6 : size == 4 ? 5 : 4)) * (int64_t)size);
		value = load(x, addr, size);
	} else {
		value = get(x, in, 0);
	}
	bit = UINT64_C(1) << ((uint64_t)number & (size * 8 - 1));
	set_flag(x, CF, value & bit);
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_BTS:
		value |= bit;
		break;
	case ZYDIS_MNEMONIC_BTR:
		value &= ~bit;
		break;
	case ZYDIS_MNEMONIC_BTC:
		value ^= bit;
		break;
	default:
		return;
	}
	if (o->kind == MEMORY)
		store(x, addr, value, size);
	else
		set(x, in, 0, value);
}

static void count_bits(struct x86_interpreter *x, const struct insn *in)
{
	unsigned size = in->operands[0].size;
	uint64_t value = get(x, in, 1);
	unsigned lowest = value ? (unsigned)__builtin_ctzll(value) : size * 8,
		 highest = value ? 63u - (unsigned)__builtin_clzll(value) : 0;

	set_flag(x, ZF, !value);
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR: /* of 0, the register stays as it is: so do all makers' */
		if (value)
			set(x, in, 0, in->mnemonic == ZYDIS_MNEMONIC_BSF ? lowest : highest);
		return;
	case ZYDIS_MNEMONIC_TZCNT:
		set(x, in, 0, lowest);
		set_flag(x, CF, !value);
		set_flag(x, ZF, value && !lowest);
		return;
	case ZYDIS_MNEMONIC_LZCNT:
		set(x, in, 0, value ? size * 8 - 1 - highest : size * 8);
		set_flag(x, CF, !value);
		set_flag(x, ZF, value && highest == size * 8 - 1);
		return;
	default:
		set(x, in, 0, (uint64_t)__builtin_popcountll(value));
		logic(x, value, size);
		set_flag(x, SF, false);
		set_flag(x, PF, false);
	}
}

/* movs, stos, lods, scas, cmps, with what repeats them; only upwards, as kernels go. */
static void string(struct x86_interpreter *x, const struct insn *in, unsigned size)
{
	enum { BY_ZERO_FLAG = 2 };
	uint64_t *r = x->state.registers, value;
	bool compares = false;

	if (in->address_size != 8 || x->state.flags & DF || in->moved) {
		ends(x, X86_NOT_UNDERSTOOD);
		return;
	}
	while (x->end == X86_GOES_ON && (!in->repeats || r[X86_RCX])) {
		switch (in->mnemonic) {
		case ZYDIS_MNEMONIC_MOVSB:
		case ZYDIS_MNEMONIC_MOVSW:
		case ZYDIS_MNEMONIC_MOVSD:
		case ZYDIS_MNEMONIC_MOVSQ:
			value = load(x, r[X86_RSI], size);
			store(x, r[X86_RDI], value, size);
			r[X86_RSI] += size, r[X86_RDI] += size;
			break;
		case ZYDIS_MNEMONIC_STOSB:
		case ZYDIS_MNEMONIC_STOSW:
		case ZYDIS_MNEMONIC_STOSD:
		case ZYDIS_MNEMONIC_STOSQ:
			store(x, r[X86_RDI], r[X86_RAX], size);
			r[X86_RDI] += size;
			break;
		case ZYDIS_MNEMONIC_LODSB:
		case ZYDIS_MNEMONIC_LODSW:
		case ZYDIS_MNEMONIC_LODSD:
		case ZYDIS_MNEMONIC_LODSQ:
			set_register(x, X86_RAX, size, load(x, r[X86_RSI], size));
			r[X86_RSI] += size;
			break;
		case ZYDIS_MNEMONIC_SCASB:
		case ZYDIS_MNEMONIC_SCASW:
		case ZYDIS_MNEMONIC_SCASD:
		case ZYDIS_MNEMONIC_SCASQ:
			subtract(x, r[X86_RAX], load(x, r[X86_RDI], size), false, size);
			r[X86_RDI] += size;
			compares = true;
			break;
		default:
			value = load(x, r[X86_RSI], size);
			subtract(x, value, load(x, r[X86_RDI], size), false, size);
			r[X86_RSI] += size, r[X86_RDI] += size;
			compares = true;
			break;
		}
		if (!in->repeats)
			return;
		r[X86_RCX]--;
		if (compares && has_flag(x, ZF) == (in->repeats == BY_ZERO_FLAG))
			return;
		if (++x->steps > STEPS_MAX)
			ends(x, X86_TOO_LONG);
	}
}

static void push(struct x86_interpreter *x, uint64_t value)
{
	x->state.registers[X86_RSP] -= 8;
	store(x, x->state.registers[X86_RSP], value, 8);
}

static uint64_t pop(struct x86_interpreter *x)
{
	uint64_t value = load(x, x->state.registers[X86_RSP], 8);

	x->state.registers[X86_RSP] += 8;
	return value;
}

static void returns(struct x86_interpreter *x, const struct insn *in)
{
	bool leaves = x->state.registers[X86_RSP] >= x->top;

	x->state.rip = pop(x);
	if (in->operands[0].kind == IMMEDIATE)
		x->state.registers[X86_RSP] += (uint64_t)in->operands[0].value;
	if (leaves)
		ends(x, X86_LEFT);
}

static void calls(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t target = get(x, in, 0), back = in->addr + in->length;

	push(x, back);
	if (x->end != X86_GOES_ON)
		return;
	x->state.rip = target;
	switch (x->calls->call(x->context, x, target)) {
	case X86_GO:
		break;
	case X86_RETURN:
		x->state.registers[X86_RSP] += 8;
		x->state.rip = back;
		break;
	case X86_STOP:
		ends(x, X86_STOPPED);
		break;
	}
}

/* A call in tail position is a jump: who is asked of calls is asked of that, too. */
static void jumps(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t target = get(x, in, 0);

	if (x->end != X86_GOES_ON)
		return;
	x->state.rip = target;
	switch (x->calls->call(x->context, x, target)) {
	case X86_GO:
		break;
	case X86_RETURN:
		returns(x, &(struct insn){ 0 });
		break;
	case X86_STOP:
		ends(x, X86_STOPPED);
		break;
	}
}

static void nop(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t to = x->calls->nop ? x->calls->nop(x->context, x, in->addr) : 0;

	if (to == 1)
		ends(x, X86_STOPPED);
	else if (to)
		x->state.rip = to;
}

static void exchange(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t a = get(x, in, 0), b = get(x, in, 1);

	set(x, in, 0, b);
	set(x, in, 1, a);
}

static void compare_exchange(struct x86_interpreter *x, const struct insn *in)
{
	unsigned size = in->operands[0].size;
	uint64_t a = get(x, in, 0), expected = register_value(x, X86_RAX, size);

	subtract(x, expected, a, false, size);
	if (a == expected)
		set(x, in, 0, get(x, in, 1));
	else
		set_register(x, X86_RAX, size, a);
}

static void exchange_add(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t a = get(x, in, 0), b = get(x, in, 1), sum = add(x, a, b, false, in->operands[0].size);
	bool in_memory = in->operands[0].kind == MEMORY; /* its address may be by the register that changes */

	if (in_memory)
		set(x, in, 0, sum);
	set(x, in, 1, a);
	if (!in_memory)
		set(x, in, 0, sum);
}

/* inc and dec leave the carry flag as it is. */
static void step_by_one(struct x86_interpreter *x, const struct insn *in, bool up)
{
	bool carry = has_flag(x, CF);
	unsigned size = in->operands[0].size;
	uint64_t a = get(x, in, 0);

	set(x, in, 0, up ? add(x, a, 1, false, size) : subtract(x, a, 1, false, size));
	set_flag(x, CF, carry);
}

static void arithmetic(struct x86_interpreter *x, const struct insn *in)
{
	unsigned size = in->operands[0].size;
	uint64_t a = get(x, in, 0), b = get(x, in, 1);

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		set(x, in, 0, add(x, a, b, false, size));
		break;
	case ZYDIS_MNEMONIC_ADC:
		set(x, in, 0, add(x, a, b, has_flag(x, CF), size));
		break;
	case ZYDIS_MNEMONIC_SUB:
		set(x, in, 0, subtract(x, a, b, false, size));
		break;
	case ZYDIS_MNEMONIC_SBB:
		set(x, in, 0, subtract(x, a, b, has_flag(x, CF), size));
		break;
	case ZYDIS_MNEMONIC_CMP:
		subtract(x, a, b, false, size);
		break;
	case ZYDIS_MNEMONIC_AND:
		set(x, in, 0, logic(x, a & b, size));
		break;
	case ZYDIS_MNEMONIC_OR:
		set(x, in, 0, logic(x, a | b, size));
		break;
	case ZYDIS_MNEMONIC_XOR:
		set(x, in, 0, logic(x, a ^ b, size));
		break;
	default:
		logic(x, a & b, size);
		break; /* TEST */
	}
}

static void extend_rax(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t rax = x->state.registers[X86_RAX];

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_CBW:
		set_register(x, X86_RAX, 2, sign_extend(rax & 0xff, 1));
		break;
	case ZYDIS_MNEMONIC_CWDE:
		set_register(x, X86_RAX, 4, sign_extend(rax & mask(2), 2));
		break;
	case ZYDIS_MNEMONIC_CDQE:
		set_register(x, X86_RAX, 8, sign_extend(rax & mask(4), 4));
		break;
	case ZYDIS_MNEMONIC_CDQ:
		set_register(x, X86_RDX, 4, is_negative(rax, 4) ? UINT32_MAX : 0);
		break;
	default:
		set_register(x, X86_RDX, 8, is_negative(rax, 8) ? UINT64_MAX : 0);
		break; /* CQO */
	}
}

static uint64_t swap_bytes(uint64_t value, unsigned size)
{
	return size == 8 ? __builtin_bswap64(value) : __builtin_bswap32((uint32_t)value);
}

static void execute_other(struct x86_interpreter *x, const struct insn *in)
{
	unsigned size = in->operands[0].size;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_NOT:
		set(x, in, 0, ~get(x, in, 0));
		break;
	case ZYDIS_MNEMONIC_NEG:
		set(x, in, 0, subtract(x, 0, get(x, in, 0), false, size));
		break;
	case ZYDIS_MNEMONIC_IMUL:
		multiply(x, in, true);
		break;
	case ZYDIS_MNEMONIC_MUL:
		multiply(x, in, false);
		break;
	case ZYDIS_MNEMONIC_DIV:
		divide(x, in, false);
		break;
	case ZYDIS_MNEMONIC_IDIV:
		divide(x, in, true);
		break;
	case ZYDIS_MNEMONIC_BSWAP:
		set(x, in, 0, swap_bytes(get(x, in, 0), size));
		break;
	case ZYDIS_MNEMONIC_XCHG:
		exchange(x, in);
		break;
	case ZYDIS_MNEMONIC_CMPXCHG:
		compare_exchange(x, in);
		break;
	case ZYDIS_MNEMONIC_XADD:
		exchange_add(x, in);
		break;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		double_shift(x, in);
		break;
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		bit_test(x, in);
		break;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_LZCNT:
	case ZYDIS_MNEMONIC_POPCNT:
		count_bits(x, in);
		break;
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
		extend_rax(x, in);
		break;
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_SCASB:
	case ZYDIS_MNEMONIC_CMPSB:
		string(x, in, 1);
		break;
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_CMPSW:
		string(x, in, 2);
		break;
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_CMPSD:
		string(x, in, 4);
		break;
	case ZYDIS_MNEMONIC_MOVSQ:
	case ZYDIS_MNEMONIC_STOSQ:
	case ZYDIS_MNEMONIC_LODSQ:
	case ZYDIS_MNEMONIC_SCASQ:
	case ZYDIS_MNEMONIC_CMPSQ:
		string(x, in, 8);
		break;
	case ZYDIS_MNEMONIC_RDTSC:
		x->guessed = true;
		set_register(x, X86_RAX, 4, 0);
		set_register(x, X86_RDX, 4, 0);
		break;
	case ZYDIS_MNEMONIC_PUSHFQ:
		push(x, x->state.flags);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		x->state.flags = pop(x);
		break;
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
		set_flag(x, IF, in->mnemonic == ZYDIS_MNEMONIC_STI);
		break;
	case ZYDIS_MNEMONIC_CLD:
		set_flag(x, DF, false);
		break;
	/* what others would see of it, nobody sees here */
	case ZYDIS_MNEMONIC_STAC:
	case ZYDIS_MNEMONIC_CLAC:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_PREFETCHW:
	case ZYDIS_MNEMONIC_PREFETCHT0:
	case ZYDIS_MNEMONIC_PREFETCHT1:
	case ZYDIS_MNEMONIC_PREFETCHT2:
	case ZYDIS_MNEMONIC_PREFETCHNTA:
		break;
	default:
		ends(x, X86_NOT_UNDERSTOOD);
	}
}

static bool is_conditional_jump(const struct insn *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_JB:
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_JL:
	case ZYDIS_MNEMONIC_JLE:
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_JNBE:
	case ZYDIS_MNEMONIC_JNL:
	case ZYDIS_MNEMONIC_JNLE:
	case ZYDIS_MNEMONIC_JNO:
	case ZYDIS_MNEMONIC_JNP:
	case ZYDIS_MNEMONIC_JNS:
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JO:
	case ZYDIS_MNEMONIC_JP:
	case ZYDIS_MNEMONIC_JS:
	case ZYDIS_MNEMONIC_JZ:
		return true;
	default:
		return false;
	}
}

/* By their codes: cmovcc is 0f 40 … 4f, setcc 0f 90 … 9f. */
static bool takes_condition(const struct insn *in, bool *ret_sets)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_CMOVB:
	case ZYDIS_MNEMONIC_CMOVBE:
	case ZYDIS_MNEMONIC_CMOVL:
	case ZYDIS_MNEMONIC_CMOVLE:
	case ZYDIS_MNEMONIC_CMOVNB:
	case ZYDIS_MNEMONIC_CMOVNBE:
	case ZYDIS_MNEMONIC_CMOVNL:
	case ZYDIS_MNEMONIC_CMOVNLE:
	case ZYDIS_MNEMONIC_CMOVNO:
	case ZYDIS_MNEMONIC_CMOVNP:
	case ZYDIS_MNEMONIC_CMOVNS:
	case ZYDIS_MNEMONIC_CMOVNZ:
	case ZYDIS_MNEMONIC_CMOVO:
	case ZYDIS_MNEMONIC_CMOVP:
	case ZYDIS_MNEMONIC_CMOVS:
	case ZYDIS_MNEMONIC_CMOVZ:
		*ret_sets = false;
		return true;
	case ZYDIS_MNEMONIC_SETB:
	case ZYDIS_MNEMONIC_SETBE:
	case ZYDIS_MNEMONIC_SETL:
	case ZYDIS_MNEMONIC_SETLE:
	case ZYDIS_MNEMONIC_SETNB:
	case ZYDIS_MNEMONIC_SETNBE:
	case ZYDIS_MNEMONIC_SETNL:
	case ZYDIS_MNEMONIC_SETNLE:
	case ZYDIS_MNEMONIC_SETNO:
	case ZYDIS_MNEMONIC_SETNP:
	case ZYDIS_MNEMONIC_SETNS:
	case ZYDIS_MNEMONIC_SETNZ:
	case ZYDIS_MNEMONIC_SETO:
	case ZYDIS_MNEMONIC_SETP:
	case ZYDIS_MNEMONIC_SETS:
	case ZYDIS_MNEMONIC_SETZ:
		*ret_sets = true;
		return true;
	default:
		return false;
	}
}

static void execute_conditional(struct x86_interpreter *x, const struct insn *in)
{
	bool sets, is = holds(x, in->condition);

	if (is_conditional_jump(in)) {
		if (is)
			x->state.rip = get(x, in, 0);
	} else if (!takes_condition(in, &sets)) {
		execute_other(x, in);
	} else if (sets) {
		set(x, in, 0, is);
	} else { /* 32 bits are written, and those above cleared, in either case */
		set(x, in, 0, get(x, in, is ? 1 : 0));
	}
}

static void execute(struct x86_interpreter *x, const struct insn *in)
{
	uint64_t *r = x->state.registers;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		set(x, in, 0, get(x, in, 1));
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		set(x, in, 0, sign_extend(get(x, in, 1), in->operands[1].size));
		break;
	case ZYDIS_MNEMONIC_LEA:
		set(x, in, 0, address_of(x, in, &in->operands[1]));
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
		arithmetic(x, in);
		break;
	case ZYDIS_MNEMONIC_INC:
		step_by_one(x, in, true);
		break;
	case ZYDIS_MNEMONIC_DEC:
		step_by_one(x, in, false);
		break;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		shift(x, in);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		if (in->operands[0].size == 2) { /* of the stack, too */
			ends(x, X86_NOT_UNDERSTOOD);
			break;
		}
		push(x, sign_extend(get(x, in, 0), in->operands[0].size));
		break;
	case ZYDIS_MNEMONIC_POP:
		set(x, in, 0, pop(x));
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		r[X86_RSP] = r[X86_RBP];
		r[X86_RBP] = pop(x);
		break;
	case ZYDIS_MNEMONIC_CALL:
		calls(x, in);
		break;
	case ZYDIS_MNEMONIC_RET:
		returns(x, in);
		break;
	case ZYDIS_MNEMONIC_JMP:
		jumps(x, in);
		break;
	case ZYDIS_MNEMONIC_NOP:
		nop(x, in);
		break;
	default:
		execute_conditional(x, in);
	}
}

static bool is_our_register(ZydisRegister reg, struct operand *o)
{
	int id = ZydisRegisterGetId(reg);

	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR64:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR16:
		o->reg = (uint8_t)id;
		return true;
	case ZYDIS_REGCLASS_GPR8: /* al cl dl bl, ah ch dh bh, spl bpl sil dil, r8b … */
		o->reg = (uint8_t)(id < 4 ? id : id < 8 ? (id - 4) | HIGH_BYTE : id - 4);
		return true;
	default:
		return false;
	}
}

static bool take_base(ZydisRegister reg, uint8_t *ret)
{
	struct operand o;

	*ret = NO_REGISTER;
	if (reg == ZYDIS_REGISTER_NONE)
		return true;
	if (reg == ZYDIS_REGISTER_RIP) {
		*ret = RIP_RELATIVE;
		return true;
	}
	if (!is_our_register(reg, &o))
		return false;
	*ret = o.reg;
	return true;
}

static bool take_operand(const struct insn *in, const ZydisDecodedOperand *from, struct operand *o)
{
	o->size = (uint8_t)(from->size / 8);
	switch (from->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		o->kind = REGISTER;
		return is_our_register(from->reg.value, o);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		o->kind = MEMORY;
		o->scale = from->mem.scale;
		o->value = from->mem.disp.has_displacement ? from->mem.disp.value : 0;
		o->segment = from->mem.segment == ZYDIS_REGISTER_GS   ? 'g'
			     : from->mem.segment == ZYDIS_REGISTER_FS ? 'f'
								      : 0;
		return o->size <= 8 && take_base(from->mem.base, &o->base) && take_base(from->mem.index, &o->index);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		o->kind = IMMEDIATE;
		o->value = from->imm.value.s;
		if (from->imm.is_relative)
			o->value += (int64_t)(in->addr + in->length);
		return true;
	default:
		return false;
	}
}

static bool decode(struct x86_interpreter *x, uint64_t addr, const uint8_t *bytes, size_t n, struct insn *in)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	*in = (struct insn){ 0 };
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&x->decoder, bytes, n, &z, operands)))
		return false;
	in->addr = addr;
	in->length = z.length;
	memcpy(in->bytes, bytes, z.length);
	in->mnemonic = (uint16_t)z.mnemonic;
	in->condition = z.opcode & 0xf;
	in->address_size = z.address_width / 8;
	in->repeats = z.attributes & ZYDIS_ATTRIB_HAS_REPNE                           ? 2
		      : z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE) ? 1
										      : 0;
	in->moved = z.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS);
	if (z.mnemonic == ZYDIS_MNEMONIC_NOP) /* what it seems to read, it does not */
		return true;
	for (unsigned i = 0, at = 0; i < z.operand_count_visible; i++) {
		bool hidden = operands[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

		if (!hidden && at < OPERANDS && !take_operand(in, &operands[i], &in->operands[at++]))
			in->mnemonic = ZYDIS_MNEMONIC_INVALID;
	}
	return true;
}

/* Copy the code at rip, as far as it can be read. Returns how much. */
static size_t read_code(struct x86_interpreter *x, uint64_t addr, uint8_t *bytes)
{
	size_t n = 0;

	while (n < INSN_MAX) {
		uint64_t begin = (addr + n) & ~(uint64_t)(LINE - 1), offset = addr + n - begin;
		struct line *l = &x->lines[begin / LINE % LINES];
		size_t part = LINE - offset < INSN_MAX - n ? LINE - offset : INSN_MAX - n;

		if (l->run != x->run || l->addr != begin) {
			l->run = 0;
			if (!x->calls->read(x->context, begin, l->bytes, LINE))
				break;
			l->run = x->run;
			l->addr = begin;
		}
		memcpy(bytes + n, l->bytes + offset, part);
		n += part;
	}
	return n;
}

/* The instruction at rip. NULL ends the run. */
static const struct insn *fetch(struct x86_interpreter *x)
{
	uint64_t addr = x->state.rip;
	struct insn *in = &x->insns[hash64(addr) & (CACHED - 1)];
	uint8_t bytes[INSN_MAX];
	size_t n = read_code(x, addr, bytes);

	if (in->addr == addr && in->length && in->length <= n && !memcmp(in->bytes, bytes, in->length))
		return in;
	if (!n) {
		ends(x, X86_NOT_READ);
		return NULL;
	}
	if (!decode(x, addr, bytes, n, in)) {
		ends(x, n < INSN_MAX ? X86_NOT_READ : X86_NOT_UNDERSTOOD);
		return NULL;
	}
	return in;
}

bool x86_interpreter_has_guessed(const struct x86_interpreter *x)
{
	return x->guessed;
}

const char *x86_interpreter_mnemonic(struct x86_interpreter *x)
{
	ZydisDecodedInstruction z;
	uint8_t bytes[INSN_MAX];
	size_t n = read_code(x, x->state.rip, bytes);

	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&x->decoder, NULL, bytes, n, &z)))
		return "?";
	return ZydisMnemonicGetString(z.mnemonic);
}

enum x86_end x86_interpreter_run(struct x86_interpreter *x)
{
	if (x->end == X86_STOPPED)
		x->end = X86_GOES_ON;
	while (x->end == X86_GOES_ON) {
		const struct insn *in;

		if (x->back && x->state.rip == x->back && x->state.registers[X86_RSP] == x->top) {
			ends(x, X86_LEFT);
			break;
		}
		in = fetch(x);
		if (!in)
			break;
		if (++x->steps > STEPS_MAX) {
			ends(x, X86_TOO_LONG);
			break;
		}
		x->state.rip += in->length;
		execute(x, in);
		if (x->end == X86_NOT_UNDERSTOOD || x->end == X86_NOT_READ)
			x->state.rip = in->addr;
	}
	return x->end;
}
