/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_code.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf_type.h"
#include "guest/function_name.h"
#include "program_prototype.h"

enum {
	DEPTH = 8,     /* expressions within expressions */
	PROLOGUE = 16, /* bytes from a function's begin to where its parameters' places are told */
	OPERATIONS_MAX = 128,
};

/* An expression that is made into code, up to where a piece ends. */
struct making {
	const struct dwarf_context *c;
	Dwarf_Attribute *attr;
	struct error *err;
	struct probe_code code;
	bool is_value; /* what is there is the value; else where it is */
	int depth;
};

static int add_all(struct making *m, const Dwarf_Op *ops, size_t n);

static int refuse(struct making *m, unsigned atom)
{
	return error_set(m->err, "its place takes DWARF's operation 0x%x, which is not understood", atom);
}

static int add_register(struct making *m, unsigned number)
{
	int reg = probe_register_of_dwarf(number);

	if (reg < 0)
		return error_set(m->err, "it is in a register for vectors or floating point");
	probe_code_add(&m->code, PROBE_OP_REGISTER, reg);
	return 0;
}

/* Where the stack was before the return address was pushed. */
static int add_frame(struct making *m)
{
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = dwfl_module_dwarf_cfi(m->c->file->module, &bias);
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t n;
	int ret = -1;

	if (!cfi || dwarf_cfi_addrframe(cfi, m->c->address - bias, &frame)) {
		cfi = dwfl_module_eh_cfi(m->c->file->module, &bias);
		if (!cfi || dwarf_cfi_addrframe(cfi, m->c->address - bias, &frame))
			frame = NULL;
	}
	if (!frame || dwarf_frame_cfa(frame, &ops, &n) || !n)
		error_set(m->err, "the file does not say where its frame is (.debug_frame)");
	else
		ret = add_all(m, ops, n);
	free(frame);
	return ret;
}

static int add_frame_base(struct making *m, int64_t offset)
{
	struct making base = { .c = m->c, .err = m->err, .depth = m->depth + 1 };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!m->c->body || !dwarf_attr(m->c->body, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, m->c->address - m->c->file->bias, &ops, &n, 1) != 1)
		return error_set(m->err, "its function does not say where its frame is");
	base.attr = &attr;
	if (base.depth > DEPTH || add_all(&base, ops, n) < 0) {
		probe_code_deinit(&base.code);
		return -1;
	}
	probe_code_add_all(&m->code, &base.code);
	probe_code_deinit(&base.code);
	probe_code_add_behind(&m->code, offset);
	return 0;
}

/* Is there a template of it, of which each CPU has a copy? Since Linux 6.15 that lies among the kernel's data. */
static bool is_per_cpu(const struct dwarf_file *f, uint64_t address, uint64_t text)
{
	uint64_t begin, end;

	return address < text || (dwarf_file_address(f, "__per_cpu_start", &begin) && begin <= address &&
				  dwarf_file_address(f, "__per_cpu_end", &end) && address < end);
}

/* An address of the file's, which is elsewhere at run time. */
static int add_address(struct making *m, uint64_t address)
{
	const struct dwarf_file *f = m->c->file;
	uint64_t offset, text;
	const char *name = dwarf_file_symbol_at(f, address + f->bias, &offset);

	if (f->kind != DWARF_KERNEL || !dwarf_file_address(f, "_text", &text))
		return error_set(m->err, "it is at an address of its own, which is told only of the kernel's");
	if (is_per_cpu(f, address, text))
		return error_set(m->err, "it is each CPU's own");
	if (name && offset <= INT32_MAX && dwarf_file_names(f, name) == 1)
		probe_code_add_symbol(&m->code, name, (int64_t)offset);
	else
		probe_code_add_symbol(&m->code, "_text", (int64_t)(address - text));
	return 0;
}

/* DW_OP_entry_value: what a register was when the function was called. Its return address is below the frame. */
static int add_entry_value(struct making *m, const Dwarf_Op *op)
{
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	size_t n;
	int reg;

	if (dwarf_getlocation_attr(m->attr, op, &inner) || dwarf_getlocation(&inner, &ops, &n) || n != 1 ||
	    ops->atom < DW_OP_reg0 || ops->atom > DW_OP_reg31)
		return refuse(m, op->atom);
	reg = probe_register_of_dwarf(ops->atom - DW_OP_reg0);
	if (reg < 0 || add_frame(m) < 0)
		return reg < 0 ? refuse(m, op->atom) : -1;
	probe_code_add_behind(&m->code, -8);
	probe_code_add(&m->code, PROBE_OP_ENTRY, reg);
	return 0;
}

static int add_implicit(struct making *m, const Dwarf_Op *op)
{
	Dwarf_Block block;
	uint64_t value = 0;

	if (dwarf_getlocation_implicit_value(m->attr, op, &block) || block.length > sizeof value)
		return refuse(m, op->atom);
	memcpy(&value, block.data, block.length);
	probe_code_add(&m->code, PROBE_OP_NUMBER, (int64_t)value);
	m->is_value = true;
	return 0;
}

/* One to one. PROBE_OPS: it is not one of them. */
static enum probe_op plain_operation(unsigned atom)
{
	static const uint8_t of[256] = {
		[DW_OP_drop] = PROBE_OP_DROP,      [DW_OP_swap] = PROBE_OP_SWAP,
		[DW_OP_rot] = PROBE_OP_ROTATE,     [DW_OP_abs] = PROBE_OP_ABSOLUTE,
		[DW_OP_and] = PROBE_OP_AND,        [DW_OP_div] = PROBE_OP_DIVIDE,
		[DW_OP_minus] = PROBE_OP_SUBTRACT, [DW_OP_mod] = PROBE_OP_MODULO,
		[DW_OP_mul] = PROBE_OP_MULTIPLY,   [DW_OP_neg] = PROBE_OP_NEGATE,
		[DW_OP_not] = PROBE_OP_NOT,        [DW_OP_or] = PROBE_OP_OR,
		[DW_OP_plus] = PROBE_OP_ADD,       [DW_OP_shl] = PROBE_OP_LEFT,
		[DW_OP_shr] = PROBE_OP_RIGHT,      [DW_OP_shra] = PROBE_OP_RIGHT_SIGNED,
		[DW_OP_xor] = PROBE_OP_XOR,        [DW_OP_eq] = PROBE_OP_EQUAL,
		[DW_OP_ne] = PROBE_OP_UNEQUAL,     [DW_OP_lt] = PROBE_OP_LESS,
		[DW_OP_le] = PROBE_OP_LESS_EQUAL,  [DW_OP_gt] = PROBE_OP_MORE,
		[DW_OP_ge] = PROBE_OP_MORE_EQUAL,
	};

	return atom < 256 && of[atom] ? (enum probe_op)of[atom] : PROBE_OPS;
}

static int add_stack(struct making *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_dup:
		probe_code_add(&m->code, PROBE_OP_PICK, 0);
		return 0;
	case DW_OP_over:
		probe_code_add(&m->code, PROBE_OP_PICK, 1);
		return 0;
	case DW_OP_pick:
		probe_code_add(&m->code, PROBE_OP_PICK, (int64_t)op->number);
		return op->number < 16 ? 0 : refuse(m, op->atom);
	case DW_OP_deref:
		probe_code_add(&m->code, PROBE_OP_READ, 8);
		return 0;
	case DW_OP_deref_size:
		if (op->number != 1 && op->number != 2 && op->number != 4 && op->number != 8)
			return refuse(m, op->atom);
		probe_code_add(&m->code, PROBE_OP_READ, (int64_t)op->number);
		return 0;
	case DW_OP_plus_uconst:
		probe_code_add_behind(&m->code, (int64_t)op->number);
		return 0;
	default:
		if (plain_operation(op->atom) == PROBE_OPS)
			return refuse(m, op->atom);
		probe_code_add(&m->code, plain_operation(op->atom), 0);
		return 0;
	}
}

static int add_one(struct making *m, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		probe_code_add(&m->code, PROBE_OP_NUMBER, op->atom - DW_OP_lit0);
		return 0;
	}
	if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) {
		probe_code_add(&m->code, PROBE_OP_NUMBER, (int64_t)op->number);
		return 0;
	}
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		m->is_value = true;
		return add_register(m, op->atom - DW_OP_reg0);
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		if (add_register(m, op->atom - DW_OP_breg0) < 0)
			return -1;
		probe_code_add_behind(&m->code, (int64_t)op->number);
		return 0;
	}
	switch (op->atom) {
	case DW_OP_regx:
		m->is_value = true;
		return add_register(m, (unsigned)op->number);
	case DW_OP_bregx:
		if (add_register(m, (unsigned)op->number) < 0)
			return -1;
		probe_code_add_behind(&m->code, (int64_t)op->number2);
		return 0;
	case DW_OP_addr:
		return add_address(m, op->number);
	case DW_OP_fbreg:
		return add_frame_base(m, (int64_t)op->number);
	case DW_OP_call_frame_cfa:
		return add_frame(m);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return add_entry_value(m, op);
	case DW_OP_implicit_value:
		return add_implicit(m, op);
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return error_set(m->err, "it points to what is in no memory");
	case DW_OP_stack_value:
		m->is_value = true;
		return 0;
	case DW_OP_nop:
		return 0;
	default:
		return add_stack(m, op);
	}
}

static int add_all(struct making *m, const Dwarf_Op *ops, size_t n)
{
	if (n > OPERATIONS_MAX)
		return error_set(m->err, "its place takes more operations than are understood");
	for (size_t i = 0; i < n; i++)
		if (add_one(m, &ops[i]) < 0)
			return -1;
	return 0;
}

static void add_piece(struct dwarf_location *l, struct making *m, uint64_t bytes)
{
	l->pieces = xreallocarray(l->pieces, l->count + 1, sizeof *l->pieces);
	l->pieces[l->count++] = (struct dwarf_piece){
		.code = m->code,
		.is_place = !m->is_value,
		.is_lost = !m->code.count,
		.bytes = bytes,
	};
	m->code = (struct probe_code){ 0 };
	m->is_value = false;
}

static int add_pieces(struct dwarf_location *l, struct making *m, const Dwarf_Op *ops, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		if (ops[i].atom == DW_OP_bit_piece)
			return refuse(m, ops[i].atom);
		if (ops[i].atom != DW_OP_piece)
			continue;
		if (add_all(m, ops + from, i - from) < 0)
			return -1;
		add_piece(l, m, ops[i].number);
		from = i + 1;
	}
	if (from == n)
		return 0;
	if (add_all(m, ops + from, n - from) < 0)
		return -1;
	add_piece(l, m, 0);
	return 0;
}

/* A function's parameters may be told of only behind what is done for profiling. */
static bool find_at_begin(Dwarf_Attribute *attr, const struct dwarf_context *c, Dwarf_Op **ret, size_t *ret_n)
{
	Dwarf_Addr base, start, end, here = c->address - c->file->bias;
	ptrdiff_t at = 0;

	if (!c->begins)
		return false;
	while ((at = dwarf_getlocations(attr, at, &base, &start, &end, ret, ret_n)) > 0)
		if (start >= here && start <= here + PROLOGUE)
			return true;
	return false;
}

/* What has no sign is written in as few bytes as it takes: those are no signed number. */
static bool constant_of(Dwarf_Attribute *attr, Dwarf_Word *ret)
{
	unsigned form = dwarf_whatform(attr);
	Dwarf_Sword number;

	if (form != DW_FORM_sdata && form != DW_FORM_implicit_const)
		return dwarf_formudata(attr, ret) == 0;
	if (dwarf_formsdata(attr, &number) != 0)
		return false;
	*ret = (Dwarf_Word)number;
	return true;
}

static int constant(struct dwarf_location *l, struct making *m, Dwarf_Attribute *attr)
{
	Dwarf_Word value;

	if (!constant_of(attr, &value))
		return error_set(m->err, "its value is no number");
	probe_code_add(&m->code, PROBE_OP_NUMBER, (int64_t)value);
	m->is_value = true;
	add_piece(l, m, 0);
	return 0;
}

/* Has the variable one place for all of the function? It holds behind the prologue only: the stack's, and registers. */
static bool is_set_later(Dwarf_Attribute *attr, const Dwarf_Op *ops)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		return (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_breg31) || ops->atom == DW_OP_fbreg;
	default:
		return false;
	}
}

/* A compiler that follows variables would have made a list, had the register another value before. */
static bool is_followed(const struct dwarf_context *c, const Dwarf_Op *ops)
{
	enum { RBP = 6, RSP = 7 }; /* DWARF's numbers */
	Dwarf_Attribute attr;
	Dwarf_Die unit;
	const char *options = dwarf_diecu(c->body, &unit, NULL, NULL)
				      ? dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attr))
				      : NULL;

	return ops->atom != DW_OP_fbreg && ops->atom != DW_OP_breg0 + RBP && ops->atom != DW_OP_breg0 + RSP &&
	       !(options && strstr(options, "-fno-var-tracking"));
}

/* A clone's callers do not give it all that the source says. */
static bool is_clone(const struct dwarf_context *c)
{
	uint64_t offset;
	const char *name = dwarf_file_symbol_at(c->file, c->address, &offset);

	return name && function_name_source(name, strlen(name)) < strlen(name);
}

/* The parameter where callers put it. False: that is not told. */
static bool add_given(struct dwarf_location *l, struct making *m, Dwarf_Die *parameter)
{
	enum { WORD = 8 };
	struct prototype p = { 0 };
	bool told = dwarf_tag(parameter) == DW_TAG_formal_parameter && !is_clone(m->c) &&
		    program_prototype_until(m->c->body, parameter, &p);
	const struct parameter *last = told ? &p.parameters[p.count - 1] : NULL;
	int reg = told ? prototype_register(&p, p.count - 1) : -1, at = told ? prototype_stack(&p, p.count - 1) : -1;
	Dwarf_Die type;

	told = reg >= 0 || at >= 0;
	if (reg >= 0 && last->kind == VALUE_STRUCT && last->bytes > WORD) {
		for (int i = 0; i < 2; i++) {
			probe_code_add(&m->code, PROBE_OP_REGISTER, probe_register_of_parameter((unsigned)(reg + i)));
			m->is_value = true;
			add_piece(l, m, WORD);
		}
	} else if (told) {
		probe_code_add(&m->code, PROBE_OP_REGISTER,
			       reg >= 0 ? probe_register_of_parameter((unsigned)reg) : PROBE_RSP);
		/* of a structure that is given by its address, that is its place */
		m->is_value = reg >= 0 && (last->kind != VALUE_POINTER || !dwarf_type_of(parameter, &type) ||
					   !dwarf_is_structure(&type));
		probe_code_add_behind(&m->code, reg >= 0 ? 0 : WORD * (at + 1)); /* the return address is first */
		add_piece(l, m, 0);
	}
	prototype_deinit(&p);
	return told;
}

int dwarf_location_init(struct dwarf_location *ret, const struct dwarf_context *c, Dwarf_Die *variable,
			struct error *err)
{
	struct making m = { .c = c, .err = err };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	int r;

	*ret = (struct dwarf_location){ 0 };
	if (dwarf_attr_integrate(variable, DW_AT_const_value, &attr))
		return constant(ret, &m, &attr);
	if (dwarf_hasattr(variable, DW_AT_declaration) && c->file->kind == DWARF_KERNEL) {
		probe_code_add_symbol(&m.code, dwarf_diename(variable), 0);
		add_piece(ret, &m, 0);
		return 0;
	}
	if (dwarf_file_is_narrow(c->file))
		return error_set(err, "where it is in a file of 32 bits is not known");
	if (!dwarf_attr(variable, DW_AT_location, &attr) && !dwarf_attr_integrate(variable, DW_AT_location, &attr))
		return error_set(err, "it is optimized out");
	m.attr = &attr;
	if ((dwarf_getlocation_addr(&attr, c->address - c->file->bias, &ops, &n, 1) != 1 || !n) &&
	    !find_at_begin(&attr, c, &ops, &n))
		return error_set(err, "it is optimized out at this place");
	if (c->begins && c->body && is_set_later(&attr, ops)) {
		if (add_given(ret, &m, variable))
			return 0;
		if (!is_followed(c, ops))
			return error_set(err, "where it is at the function's first instruction is not told");
	}
	r = add_pieces(ret, &m, ops, n);
	probe_code_deinit(&m.code);
	return r;
}

void dwarf_location_deinit(struct dwarf_location *l)
{
	for (size_t i = 0; i < l->count; i++)
		probe_code_deinit(&l->pieces[i].code);
	free(l->pieces);
	*l = (struct dwarf_location){ 0 };
}
