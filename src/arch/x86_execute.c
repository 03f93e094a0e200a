/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each instruction does: AMD's manual, volume 3. */
#include "x86_interpreter_state.h"

enum flag { CF = 1, PF = 1 << 2, ZF = 1 << 6, SF = 1 << 7, IF = 1 << 9, DF = 1 << 10, OF = 1 << 11 };

static uint64_t load(struct x86_interpreter *x, uint64_t addr, unsigned size)
{
	uint64_t value = 0;

	x86_interpreter_load(x, addr, &value, size);
	return value;
}

static void store(struct x86_interpreter *x, uint64_t addr, uint64_t value, unsigned size)
{
	x86_interpreter_store(x, addr, &value, size);
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

	return (reg & X86_HIGH_BYTE ? value >> 8 : value) & mask(size);
}

static void set_register(struct x86_interpreter *x, uint8_t reg, unsigned size, uint64_t value)
{
	uint64_t *to = &x->state.registers[reg & 0xf], m = mask(size);

	if (reg & X86_HIGH_BYTE)
		*to = (*to & ~UINT64_C(0xff00)) | (value & 0xff) << 8;
	else if (size == 4)
		*to = value & m; /* writing 32 bits clears those above */
	else
		*to = (*to & ~m) | (value & m);
}

static uint64_t address_of(const struct x86_interpreter *x, const struct x86_operation *in, const struct x86_operand *o)
{
	uint64_t addr = (uint64_t)o->value;

	if (o->base == X86_RIP_RELATIVE)
		addr += in->addr + in->length;
	else if (o->base != X86_NO_REGISTER)
		addr += x->state.registers[o->base];
	if (o->index != X86_NO_REGISTER)
		addr += x->state.registers[o->index] * o->scale;
	if (in->address_size == 4)
		addr = (uint32_t)addr;
	return addr;
}

static uint64_t linear_of(const struct x86_interpreter *x, const struct x86_operation *in, const struct x86_operand *o)
{
	return address_of(x, in, o) + (o->segment == 'g' ? x->state.gs_base : o->segment == 'f' ? x->state.fs_base : 0);
}

static uint64_t get(struct x86_interpreter *x, const struct x86_operation *in, unsigned i)
{
	const struct x86_operand *o = &in->operands[i];

	switch (o->kind) {
	case X86_REGISTER:
		return register_value(x, o->reg, o->size);
	case X86_MEMORY:
		return load(x, linear_of(x, in, o), o->size);
	case X86_IMMEDIATE:
		return (uint64_t)o->value;
	default:
		x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
		return 0;
	}
}

static void set(struct x86_interpreter *x, const struct x86_operation *in, unsigned i, uint64_t value)
{
	const struct x86_operand *o = &in->operands[i];

	if (o->kind == X86_REGISTER)
		set_register(x, o->reg, o->size, value);
	else if (o->kind == X86_MEMORY)
		store(x, linear_of(x, in, o), value, o->size);
	else
		x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
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

static void shift(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->operands[0].size, bits = size * 8;
	unsigned n = (unsigned)get(x, in, 1) & (size == 8 ? 63 : 31);
	uint64_t a = get(x, in, 0), r, m = mask(size);
	bool carry, before = is_negative(a, size);

	if (!n) {
		set(x, in, 0, a); /* of 32 bits, those above are cleared all the same */
		return;
	}
	switch (in->operation) {
	case X86_OP_SHL:
		carry = n <= bits && a >> (bits - n) & 1;
		r = n < bits ? a << n : 0;
		break;
	case X86_OP_SHR:
		carry = n <= bits && a >> (n - 1) & 1;
		r = n < bits ? a >> n : 0;
		break;
	case X86_OP_SAR:
		a = sign_extend(a, size);
		carry = (int64_t)a >> (n - 1) & 1;
		r = (uint64_t)((int64_t)a >> n);
		break;
	case X86_OP_ROL:
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
		 in->operation == X86_OP_SHL ? carry != is_negative(r, size) : in->operation == X86_OP_SHR && before);
	set(x, in, 0, r);
}

static void double_shift(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->operands[0].size, bits = size * 8;
	unsigned n = (unsigned)get(x, in, 2) & (size == 8 ? 63 : 31);
	uint64_t a = get(x, in, 0), b = get(x, in, 1), r;
	bool left = in->operation == X86_OP_SHLD;

	if (!n) {
		set(x, in, 0, a);
		return;
	}
	if (n >= bits) { /* not defined */
		x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
		return;
	}
	r = (left ? a << n | b >> (bits - n) : a >> n | b << (bits - n)) & mask(size);
	set_result_flags(x, r, size);
	set_flag(x, CF, left ? a >> (bits - n) & 1 : a >> (n - 1) & 1);
	set(x, in, 0, r);
}

/* Of one operand: rdx:rax; of two and three: what fits. */
static void multiply(struct x86_interpreter *x, const struct x86_operation *in, bool is_signed)
{
	unsigned size = in->operands[0].size;
	bool one = in->operands[1].kind == X86_NONE, three = in->operands[2].kind != X86_NONE;
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

static void divide(struct x86_interpreter *x, const struct x86_operation *in, bool is_signed)
{
	unsigned size = in->operands[0].size;
	uint64_t by = get(x, in, 0), low = register_value(x, X86_RAX, size), high = register_value(x, X86_RDX, size);
	unsigned __int128 what, quotient, rest;

	if (size == 1 || !by) {
		x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
		return;
	}
	what = (unsigned __int128)high << size * 8 | low;
	if (is_signed) {
		unsigned up = 128 - size * 16;
		__int128 all = (__int128)(what << up) >> up, d = (int64_t)sign_extend(by, size), q;

		if (d == -1 && what << up == (unsigned __int128)1 << 127) {
			x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
			return;
		}
		q = all / d;
		quotient = (unsigned __int128)q;
		rest = (unsigned __int128)(all % d);
		if (q != (int64_t)sign_extend((uint64_t)quotient & mask(size), size)) { /* the CPU faults */
			x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
			return;
		}
	} else {
		quotient = what / by;
		rest = what % by;
		if (quotient > mask(size)) {
			x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
			return;
		}
	}
	set_register(x, X86_RAX, size, (uint64_t)quotient);
	set_register(x, X86_RDX, size, (uint64_t)rest);
}

static void bit_test(struct x86_interpreter *x, const struct x86_operation *in)
{
	const struct x86_operand *o = &in->operands[0];
	unsigned size = o->size;
	int64_t number = (int64_t)sign_extend(get(x, in, 1), in->operands[1].size);
	uint64_t addr = 0, value, bit;

	if (o->kind == X86_MEMORY) { /* a number in a register may lead beyond the operand */
		addr = linear_of(x, in, o);
		if (in->operands[1].kind == X86_REGISTER)
			addr += (uint64_t)((number >> (size == 8 ? 6 : size == 4 ? 5 : 4)) * (int64_t)size);
		value = load(x, addr, size);
	} else {
		value = get(x, in, 0);
	}
	bit = UINT64_C(1) << ((uint64_t)number & (size * 8 - 1));
	set_flag(x, CF, value & bit);
	switch (in->operation) {
	case X86_OP_BTS:
		value |= bit;
		break;
	case X86_OP_BTR:
		value &= ~bit;
		break;
	case X86_OP_BTC:
		value ^= bit;
		break;
	default:
		return;
	}
	if (o->kind == X86_MEMORY)
		store(x, addr, value, size);
	else
		set(x, in, 0, value);
}

static void count_bits(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->operands[0].size;
	uint64_t value = get(x, in, 1);
	unsigned lowest = value ? (unsigned)__builtin_ctzll(value) : size * 8,
		 highest = value ? 63u - (unsigned)__builtin_clzll(value) : 0;

	set_flag(x, ZF, !value);
	switch (in->operation) {
	case X86_OP_BSF:
	case X86_OP_BSR: /* of 0, the register stays as it is: so do all makers' */
		if (value)
			set(x, in, 0, in->operation == X86_OP_BSF ? lowest : highest);
		return;
	case X86_OP_TZCNT:
		set(x, in, 0, lowest);
		set_flag(x, CF, !value);
		set_flag(x, ZF, value && !lowest);
		return;
	case X86_OP_LZCNT:
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
static void string(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->element;
	enum { BY_ZERO_FLAG = 2 };
	uint64_t *r = x->state.registers, value;
	bool compares = false;

	if (in->address_size != 8 || x->state.flags & DF || in->moved) {
		x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
		return;
	}
	while (x->end == X86_GOES_ON && (!in->repeats || r[X86_RCX])) {
		switch (in->operation) {
		case X86_OP_MOVS:
			value = load(x, r[X86_RSI], size);
			store(x, r[X86_RDI], value, size);
			r[X86_RSI] += size, r[X86_RDI] += size;
			break;
		case X86_OP_STOS:
			store(x, r[X86_RDI], r[X86_RAX], size);
			r[X86_RDI] += size;
			break;
		case X86_OP_LODS:
			set_register(x, X86_RAX, size, load(x, r[X86_RSI], size));
			r[X86_RSI] += size;
			break;
		case X86_OP_SCAS:
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
			x86_interpreter_end(x, X86_TOO_LONG);
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

static void returns(struct x86_interpreter *x, const struct x86_operation *in)
{
	bool leaves = x->state.registers[X86_RSP] >= x->top;

	x->state.rip = pop(x);
	if (in->operands[0].kind == X86_IMMEDIATE)
		x->state.registers[X86_RSP] += (uint64_t)in->operands[0].value;
	if (leaves)
		x86_interpreter_end(x, X86_LEFT);
}

static void calls(struct x86_interpreter *x, const struct x86_operation *in)
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
		x86_interpreter_end(x, X86_STOPPED);
		break;
	}
}

/* A call in tail position is a jump: who is asked of calls is asked of that, too. */
static void jumps(struct x86_interpreter *x, const struct x86_operation *in)
{
	uint64_t target = get(x, in, 0);

	if (x->end != X86_GOES_ON)
		return;
	x->state.rip = target;
	switch (x->calls->call(x->context, x, target)) {
	case X86_GO:
		break;
	case X86_RETURN:
		returns(x, &(struct x86_operation){ 0 });
		break;
	case X86_STOP:
		x86_interpreter_end(x, X86_STOPPED);
		break;
	}
}

static void nop(struct x86_interpreter *x, const struct x86_operation *in)
{
	uint64_t to = x->calls->nop ? x->calls->nop(x->context, x, in->addr) : 0;

	if (to == 1)
		x86_interpreter_end(x, X86_STOPPED);
	else if (to)
		x->state.rip = to;
}

static void exchange(struct x86_interpreter *x, const struct x86_operation *in)
{
	uint64_t a = get(x, in, 0), b = get(x, in, 1);

	set(x, in, 0, b);
	set(x, in, 1, a);
}

static void compare_exchange(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->operands[0].size;
	uint64_t a = get(x, in, 0), expected = register_value(x, X86_RAX, size);

	subtract(x, expected, a, false, size);
	if (a == expected)
		set(x, in, 0, get(x, in, 1));
	else
		set_register(x, X86_RAX, size, a);
}

static void exchange_add(struct x86_interpreter *x, const struct x86_operation *in)
{
	uint64_t a = get(x, in, 0), b = get(x, in, 1), sum = add(x, a, b, false, in->operands[0].size);
	bool in_memory = in->operands[0].kind == X86_MEMORY; /* its address may be by the register that changes */

	if (in_memory)
		set(x, in, 0, sum);
	set(x, in, 1, a);
	if (!in_memory)
		set(x, in, 0, sum);
}

/* inc and dec leave the carry flag as it is. */
static void step_by_one(struct x86_interpreter *x, const struct x86_operation *in, bool up)
{
	bool carry = has_flag(x, CF);
	unsigned size = in->operands[0].size;
	uint64_t a = get(x, in, 0);

	set(x, in, 0, up ? add(x, a, 1, false, size) : subtract(x, a, 1, false, size));
	set_flag(x, CF, carry);
}

static void arithmetic(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->operands[0].size;
	uint64_t a = get(x, in, 0), b = get(x, in, 1);

	switch (in->operation) {
	case X86_OP_ADD:
		set(x, in, 0, add(x, a, b, false, size));
		break;
	case X86_OP_ADC:
		set(x, in, 0, add(x, a, b, has_flag(x, CF), size));
		break;
	case X86_OP_SUB:
		set(x, in, 0, subtract(x, a, b, false, size));
		break;
	case X86_OP_SBB:
		set(x, in, 0, subtract(x, a, b, has_flag(x, CF), size));
		break;
	case X86_OP_CMP:
		subtract(x, a, b, false, size);
		break;
	case X86_OP_AND:
		set(x, in, 0, logic(x, a & b, size));
		break;
	case X86_OP_OR:
		set(x, in, 0, logic(x, a | b, size));
		break;
	case X86_OP_XOR:
		set(x, in, 0, logic(x, a ^ b, size));
		break;
	default:
		logic(x, a & b, size);
		break; /* TEST */
	}
}

static void extend_rax(struct x86_interpreter *x, const struct x86_operation *in)
{
	uint64_t rax = x->state.registers[X86_RAX];

	switch (in->operation) {
	case X86_OP_CBW:
		set_register(x, X86_RAX, 2, sign_extend(rax & 0xff, 1));
		break;
	case X86_OP_CWDE:
		set_register(x, X86_RAX, 4, sign_extend(rax & mask(2), 2));
		break;
	case X86_OP_CDQE:
		set_register(x, X86_RAX, 8, sign_extend(rax & mask(4), 4));
		break;
	case X86_OP_CDQ:
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

static void execute_other(struct x86_interpreter *x, const struct x86_operation *in)
{
	unsigned size = in->operands[0].size;

	switch (in->operation) {
	case X86_OP_NOT:
		set(x, in, 0, ~get(x, in, 0));
		break;
	case X86_OP_NEG:
		set(x, in, 0, subtract(x, 0, get(x, in, 0), false, size));
		break;
	case X86_OP_IMUL:
		multiply(x, in, true);
		break;
	case X86_OP_MUL:
		multiply(x, in, false);
		break;
	case X86_OP_DIV:
		divide(x, in, false);
		break;
	case X86_OP_IDIV:
		divide(x, in, true);
		break;
	case X86_OP_BSWAP:
		set(x, in, 0, swap_bytes(get(x, in, 0), size));
		break;
	case X86_OP_XCHG:
		exchange(x, in);
		break;
	case X86_OP_CMPXCHG:
		compare_exchange(x, in);
		break;
	case X86_OP_XADD:
		exchange_add(x, in);
		break;
	case X86_OP_SHLD:
	case X86_OP_SHRD:
		double_shift(x, in);
		break;
	case X86_OP_BT:
	case X86_OP_BTS:
	case X86_OP_BTR:
	case X86_OP_BTC:
		bit_test(x, in);
		break;
	case X86_OP_BSF:
	case X86_OP_BSR:
	case X86_OP_TZCNT:
	case X86_OP_LZCNT:
	case X86_OP_POPCNT:
		count_bits(x, in);
		break;
	case X86_OP_CBW:
	case X86_OP_CWDE:
	case X86_OP_CDQE:
	case X86_OP_CDQ:
	case X86_OP_CQO:
		extend_rax(x, in);
		break;
	case X86_OP_MOVS:
	case X86_OP_STOS:
	case X86_OP_LODS:
	case X86_OP_SCAS:
	case X86_OP_CMPS:
		string(x, in);
		break;
	case X86_OP_RDTSCP:
		set_register(x, X86_RCX, 4, 0); /* fall through */
	case X86_OP_RDTSC:
		x->guessed = true;
		set_register(x, X86_RAX, 4, 0);
		set_register(x, X86_RDX, 4, 0);
		break;
	case X86_OP_PUSHFQ:
		push(x, x->state.flags);
		break;
	case X86_OP_POPFQ:
		x->state.flags = pop(x);
		break;
	case X86_OP_CLI:
	case X86_OP_STI:
		set_flag(x, IF, in->operation == X86_OP_STI);
		break;
	case X86_OP_CLD:
		set_flag(x, DF, false);
		break;
	/* what others would see of it, nobody sees here */
	case X86_OP_NOTHING:
		break;
	default:
		x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
	}
}

void x86_execute(struct x86_interpreter *x, const struct x86_operation *in)
{
	uint64_t *r = x->state.registers;

	switch (in->operation) {
	case X86_OP_MOV:
	case X86_OP_MOVZX:
		set(x, in, 0, get(x, in, 1));
		break;
	case X86_OP_MOVSX:
	case X86_OP_MOVSXD:
		set(x, in, 0, sign_extend(get(x, in, 1), in->operands[1].size));
		break;
	case X86_OP_LEA:
		set(x, in, 0, address_of(x, in, &in->operands[1]));
		break;
	case X86_OP_ADD:
	case X86_OP_ADC:
	case X86_OP_SUB:
	case X86_OP_SBB:
	case X86_OP_CMP:
	case X86_OP_TEST:
	case X86_OP_AND:
	case X86_OP_OR:
	case X86_OP_XOR:
		arithmetic(x, in);
		break;
	case X86_OP_INC:
		step_by_one(x, in, true);
		break;
	case X86_OP_DEC:
		step_by_one(x, in, false);
		break;
	case X86_OP_SHL:
	case X86_OP_SHR:
	case X86_OP_SAR:
	case X86_OP_ROL:
	case X86_OP_ROR:
		shift(x, in);
		break;
	case X86_OP_PUSH:
		if (in->operands[0].size == 2) { /* of the stack, too */
			x86_interpreter_end(x, X86_NOT_UNDERSTOOD);
			break;
		}
		push(x, sign_extend(get(x, in, 0), in->operands[0].size));
		break;
	case X86_OP_POP:
		set(x, in, 0, pop(x));
		break;
	case X86_OP_LEAVE:
		r[X86_RSP] = r[X86_RBP];
		r[X86_RBP] = pop(x);
		break;
	case X86_OP_CALL:
		calls(x, in);
		break;
	case X86_OP_RET:
		returns(x, in);
		break;
	case X86_OP_JMP:
		jumps(x, in);
		break;
	case X86_OP_NOP:
		nop(x, in);
		break;
	case X86_OP_JCC:
		if (holds(x, in->condition))
			x->state.rip = get(x, in, 0);
		break;
	case X86_OP_SETCC:
		set(x, in, 0, holds(x, in->condition));
		break;
	case X86_OP_CMOVCC: /* 32 bits are written, and those above cleared, in either case */
		set(x, in, 0, get(x, in, holds(x, in->condition) ? 1 : 0));
		break;
	default:
		execute_other(x, in);
	}
}
