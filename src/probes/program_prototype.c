/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program_prototype.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf_type.h"
#include "libc_prototypes.h"
#include "symbols/dwarf_unit.h"

enum {
	WORD = 8,
	DEPTH = 16,
	TYPES_MAX = 4096, /* are looked into: a hostile one has itself as a member, many times */
};

static enum value_kind kind_of_base(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &encoding);
	switch (encoding) {
	case DW_ATE_boolean:
		return VALUE_BOOL;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return VALUE_SIGNED;
	case DW_ATE_float:
	case DW_ATE_complex_float:
		return VALUE_FLOAT;
	default:
		return VALUE_UNSIGNED;
	}
}

/* Of two parts: in as many registers, or in one, or in none. */
static bool is_complex(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	return dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &encoding) == 0 &&
	       encoding == DW_ATE_complex_float;
}

static bool is_text(Dwarf_Die *pointer)
{
	Dwarf_Die to;

	return dwarf_type_of(pointer, &to) && dwarf_tag(&to) == DW_TAG_base_type && dwarf_bytesize(&to) == 1 &&
	       kind_of_base(&to) == VALUE_SIGNED;
}

/* Where it has one, it is in other registers, or in these and others: System V ABI, 3.2.3. */
static bool has_float(Dwarf_Die *type, unsigned depth, unsigned *left)
{
	Dwarf_Die child, inner;
	int tag = dwarf_tag(type);

	if (tag == DW_TAG_base_type)
		return kind_of_base(type) == VALUE_FLOAT;
	if (tag == DW_TAG_array_type)
		return depth < DEPTH && dwarf_type_of(type, &inner) && has_float(&inner, depth + 1, left);
	if (!dwarf_is_structure(type) || depth == DEPTH || !*left || dwarf_child(type, &child) != 0)
		return false;
	--*left;
	do
		if ((dwarf_tag(&child) == DW_TAG_member || dwarf_tag(&child) == DW_TAG_inheritance) &&
		    dwarf_type_of(&child, &inner) && has_float(&inner, depth + 1, left))
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Itanium C++ ABI: one that has a constructor or destructor of its own is given by its address. */
static bool is_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word convention = 0;

	return dwarf_is_structure(type) &&
	       dwarf_formudata(dwarf_attr(type, DW_AT_calling_convention, &attr), &convention) == 0 &&
	       convention == DW_CC_pass_by_reference;
}

static enum value_kind kind_of(Dwarf_Die *type)
{
	if (is_by_reference(type))
		return VALUE_POINTER;
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		/* __int128 is in two registers */
		return kind_of_base(type) != VALUE_FLOAT && dwarf_bytesize(type) > WORD ? VALUE_STRUCT
											: kind_of_base(type);
	case DW_TAG_enumeration_type:
		return VALUE_SIGNED;
	case DW_TAG_pointer_type:
		return is_text(type) ? VALUE_STRING : VALUE_POINTER;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return VALUE_POINTER;
	default:
		return dwarf_is_structure(type) ? VALUE_STRUCT : VALUE_REGISTER;
	}
}

/* The type of a parameter, or what a function gives back. */
static struct parameter parameter_of(Dwarf_Die *die, const char *name)
{
	struct parameter p = { .kind = VALUE_NONE, .name = xstrdup(name ? name : "") };
	struct buf text = { 0 };
	Dwarf_Die type;

	if (dwarf_type_of(die, &type)) {
		int bytes = dwarf_bytesize(&type);

		p.kind = kind_of(&type);
		p.bytes = bytes > 0 && (bytes <= WORD || p.kind == VALUE_STRUCT) ? (unsigned)bytes : WORD;
		if (p.kind == VALUE_FLOAT && (bytes > WORD || is_complex(&type)))
			p.bytes = 2 * WORD;
		dwarf_type_put(die, &text);
	}
	buf_put_u8(&text, 0);
	p.type = xstrdup((char *)text.data);
	buf_free(&text);
	return p;
}

/* That says nothing of what a function takes. */
static bool is_assembly(Dwarf_Die *unit)
{
	return dwarf_srclang(unit) == DW_LANG_Mips_Assembler;
}

/* The function whose code begins there. */
static bool function_at(const struct dwarf_file *f, uint64_t addr, Dwarf_Die *ret)
{
	Dwarf_Addr bias;
	Dwarf_Die unit, *scopes = NULL;
	bool known = dwarf_unit_at(f->units, addr, &unit, &bias) && !is_assembly(&unit);
	int n = known ? dwarf_scopes(f, &unit, addr - bias, &scopes) : 0;
	bool found = false;

	for (int i = 0; i < n; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
			*ret = scopes[i];
			found = true;
		}
	free(scopes);
	return found;
}

/* Is the result put where the caller says, by an address before all that it gives? */
static bool has_hidden_result(Dwarf_Die *function, struct parameter *ret)
{
	enum { IN_REGISTERS = 2 * WORD };
	Dwarf_Die type;

	if (!dwarf_type_of(function, &type) || !dwarf_is_structure(&type) ||
	    (!is_by_reference(&type) && dwarf_bytesize(&type) <= IN_REGISTERS))
		return false;
	*ret = (struct parameter){ VALUE_POINTER, WORD, xstrdup("(result)"), xstrdup("") };
	return true;
}

/* False: it is in registers that nobody could tell without the whole of the ABI's rules. */
static bool add_parameter(Dwarf_Die *die, struct prototype *ret)
{
	struct parameter *p = &ret->parameters[ret->count];
	unsigned left = TYPES_MAX;
	Dwarf_Die type;

	*p = parameter_of(die, dwarf_diename(die));
	ret->count++;
	if (p->kind == VALUE_FLOAT && dwarf_type_of(die, &type) && is_complex(&type))
		return false;
	return p->kind != VALUE_STRUCT || p->bytes > 2 * WORD || !dwarf_type_of(die, &type) ||
	       !has_float(&type, 0, &left);
}

static bool find_in_dwarf(const struct dwarf_file *f, uint64_t addr, struct prototype *ret)
{
	Dwarf_Die die, child;

	if (!function_at(f, addr, &die))
		return false;
	ret->result = parameter_of(&die, "");
	/* a text that is given back may be anything by then */
	if (ret->result.kind == VALUE_STRING)
		ret->result.kind = VALUE_POINTER;
	ret->count = has_hidden_result(&die, &ret->parameters[0]);
	for (int r = dwarf_child(&die, &child); r == 0; r = dwarf_siblingof(&child, &child))
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && ret->count < PROTOTYPE_PARAMETERS &&
		    !add_parameter(&child, ret))
			return false;
	return true;
}

static bool find_in_table(const struct dwarf_file *f, const char *names, struct prototype *ret)
{
	cleanup_free char *list = xstrdup(names);
	char *rest = list, *name;

	while ((name = strsep(&rest, "|")))
		if (libc_prototype_find(f->path, name, ret))
			return true;
	return false;
}

/* Debug information of the C library has flags as numbers. */
void program_prototype_find(const struct dwarf_file *f, uint64_t addr, const char *names, struct prototype *ret)
{
	*ret = (struct prototype){ .function = xstrdup(names) };
	if (find_in_table(f, names, ret) || find_in_dwarf(f, addr, ret))
		return;
	prototype_deinit(ret);
	ret->function = xstrdup(names);
	prototype_of_registers(ret);
}
