/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program_prototype.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf_type.h"
#include "guest/function_name.h"
#include "libc_prototypes.h"
#include "symbols/dwarf_unit.h"

enum {
	WORD = 8,
	DEPTH = 16,
	TYPES_MAX = 4096, /* are looked into: a hostile one has itself as a member, many times */
};

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word number = 0;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &number) == 0 ? number : 0;
}

static enum value_kind kind_of_base(Dwarf_Die *type)
{
	switch (number_of(type, DW_AT_encoding)) {
	case DW_ATE_boolean:
		return VALUE_BOOL;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return VALUE_SIGNED;
	case DW_ATE_float:
	case DW_ATE_complex_float:
	case DW_ATE_imaginary_float:
	case DW_ATE_decimal_float:
		return VALUE_FLOAT;
	default:
		return VALUE_UNSIGNED;
	}
}

/* Others are of two parts, or print otherwise; of 16 bytes, __float128 is in a vector register. */
static bool is_plain_float(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return number_of(type, DW_AT_encoding) == DW_ATE_float &&
	       (dwarf_bytesize(type) <= WORD || (name && !strcmp(name, "long double")));
}

static bool is_text(Dwarf_Die *pointer)
{
	Dwarf_Die to;

	return dwarf_type_of(pointer, &to) && dwarf_tag(&to) == DW_TAG_base_type && dwarf_bytesize(&to) == 1 &&
	       kind_of_base(&to) == VALUE_SIGNED;
}

/* A constructor that takes a reference: it may be one that copies. What implicit ones there are, members tell. */
static bool copies(Dwarf_Die *type, Dwarf_Die *function)
{
	const char *of = dwarf_diename(type), *name = dwarf_diename(function);
	Dwarf_Die child, to;

	if (!of || !name || strlen(name) != strcspn(of, "<") || strncmp(of, name, strlen(name)) ||
	    dwarf_child(function, &child))
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && dwarf_type_of(&child, &to) &&
		    (dwarf_tag(&to) == DW_TAG_reference_type || dwarf_tag(&to) == DW_TAG_rvalue_reference_type))
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* What a type has in it, which decides how one is given: System V ABI, 3.2.3, and the Itanium C++ ABI, 3.1. */
enum {
	HOLDS = 1,  /* anything at all */
	FLOATS = 2, /* it may be in other registers, or in these and others */
	COPIES = 4, /* it may have a constructor or destructor of its own, and then is given by its address */
	ADDRESS = 8, /* it has one, or virtual functions: it is given so */
};

static unsigned look_into(Dwarf_Die *type, unsigned depth, unsigned *left);

/* One that the program wrote is none that the compiler made (DW_AT_artificial), or was told to make. */
static unsigned look_at_function(Dwarf_Die *type, Dwarf_Die *function)
{
	const char *name = dwarf_diename(function);

	if (number_of(function, DW_AT_virtuality))
		return ADDRESS;
	if (!name || *name != '~')
		return copies(type, function) ? COPIES : 0;
	return dwarf_hasattr(function, DW_AT_artificial) || dwarf_hasattr(function, DW_AT_defaulted) ? COPIES : ADDRESS;
}

static unsigned look_at(Dwarf_Die *type, Dwarf_Die *child, unsigned depth, unsigned *left)
{
	const char *name = dwarf_diename(child);
	int tag = dwarf_tag(child);
	unsigned virtual = number_of(child, DW_AT_virtuality) ? ADDRESS : 0;
	Dwarf_Die inner;

	if (tag == DW_TAG_subprogram)
		return look_at_function(type, child);
	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(child, DW_AT_declaration))
		return 0; /* a static one is a declaration */
	if (name && !strncmp(name, "_vptr", strlen("_vptr")))
		virtual = ADDRESS;
	return virtual | (dwarf_type_of(child, &inner) ? look_into(&inner, depth + 1, left) : HOLDS);
}

static unsigned look_into(Dwarf_Die *type, unsigned depth, unsigned *left)
{
	Dwarf_Die child, inner;
	int tag = dwarf_tag(type);
	unsigned found = 0;

	if (tag == DW_TAG_base_type)
		return HOLDS | (kind_of_base(type) == VALUE_FLOAT ? FLOATS : 0);
	if (tag != DW_TAG_array_type && !dwarf_is_structure(type))
		return HOLDS;
	if (depth == DEPTH || !*left || dwarf_hasattr(type, DW_AT_declaration) || dwarf_hasattr(type, DW_AT_GNU_vector))
		return HOLDS | FLOATS | COPIES;
	--*left;
	if (tag == DW_TAG_array_type)
		return dwarf_type_of(type, &inner) ? look_into(&inner, depth + 1, left) : HOLDS;
	for (int r = dwarf_child(type, &child); r == 0; r = dwarf_siblingof(&child, &child))
		found |= look_at(type, &child, depth, left);
	return found;
}

static unsigned contents_of(Dwarf_Die *type)
{
	unsigned left = TYPES_MAX;

	return look_into(type, 0, &left);
}

/* clang says how a structure is given; gcc does not. */
static bool is_by_reference(Dwarf_Die *type)
{
	uint64_t convention = number_of(type, DW_AT_calling_convention);

	if (!dwarf_is_structure(type))
		return false;
	return convention ? convention == DW_CC_pass_by_reference : contents_of(type) & ADDRESS;
}

static bool is_told(Dwarf_Die *type)
{
	unsigned contents = contents_of(type);

	return number_of(type, DW_AT_calling_convention) || contents & ADDRESS || !(contents & COPIES);
}

static enum value_kind kind_of(Dwarf_Die *type)
{
	Dwarf_Die of;

	if (is_by_reference(type))
		return VALUE_POINTER;
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		/* __int128 is in two registers */
		return kind_of_base(type) != VALUE_FLOAT && dwarf_bytesize(type) > WORD ? VALUE_STRUCT
											: kind_of_base(type);
	case DW_TAG_enumeration_type:
		return dwarf_type_of(type, &of) ? kind_of_base(&of) : VALUE_UNSIGNED;
	case DW_TAG_pointer_type:
		return is_text(type) ? VALUE_STRING : VALUE_POINTER;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return VALUE_POINTER;
	case DW_TAG_array_type: /* a vector */
		return VALUE_FLOAT;
	default:
		return dwarf_is_structure(type) ? VALUE_STRUCT : VALUE_REGISTER;
	}
}

static unsigned bytes_of(Dwarf_Die *type, enum value_kind kind)
{
	int bytes = dwarf_bytesize(type);

	if (kind == VALUE_FLOAT && (bytes > WORD || !is_plain_float(type)))
		return 2 * WORD;
	if (kind == VALUE_STRUCT && bytes >= 0) /* an empty class has a byte, which nobody gives */
		return bytes <= 1 && !contents_of(type) ? 0 : (unsigned)bytes;
	return bytes > 0 && bytes <= WORD ? (unsigned)bytes : WORD;
}

/* The type of a parameter, or what a function gives back. */
static struct parameter parameter_of(Dwarf_Die *die, const char *name)
{
	struct parameter p = { .kind = VALUE_NONE, .name = xstrdup(name ? name : "") };
	struct buf text = { 0 };
	Dwarf_Die type;

	if (dwarf_type_of(die, &type)) {
		p.kind = kind_of(&type);
		p.bytes = bytes_of(&type, p.kind);
		dwarf_type_put(die, &text);
	}
	buf_put_u8(&text, 0);
	p.type = xstrdup((char *)text.data);
	buf_free(&text);
	return p;
}

/* Assembly says nothing of what a function takes, and others, Rust among them, do not keep to the ABI of C. */
static bool is_of_c(Dwarf_Die *function)
{
	enum { CPLUSPLUS_17 = 0x2a, CPLUSPLUS_20, C17 };
	Dwarf_Die unit;

	if (!dwarf_diecu(function, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case C17:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case CPLUSPLUS_17:
	case CPLUSPLUS_20:
	case DW_LANG_ObjC:
	case DW_LANG_ObjC_plus_plus:
		return true;
	default:
		return false;
	}
}

/* The function whose code begins there. */
static bool function_at(const struct dwarf_file *f, uint64_t addr, Dwarf_Die *ret)
{
	Dwarf_Addr bias;
	Dwarf_Die unit, *scopes = NULL;
	int n = dwarf_unit_at(f->units, addr, &unit, &bias) ? dwarf_scopes(&unit, addr - bias, &scopes) : 0;
	bool found = false;

	for (int i = 0; i < n; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
			*ret = scopes[i];
			found = true;
		}
	free(scopes);
	return found;
}

/* Is the result put where the caller says, by an address before all that it gives? False: that is not told. */
static bool add_hidden_result(Dwarf_Die *function, struct prototype *ret)
{
	enum { IN_REGISTERS = 2 * WORD };
	Dwarf_Die type;

	if (!dwarf_type_of(function, &type) || !dwarf_is_structure(&type))
		return true;
	if (is_by_reference(&type) || dwarf_bytesize(&type) > IN_REGISTERS)
		ret->parameters[ret->count++] =
			(struct parameter){ VALUE_POINTER, WORD, xstrdup("(result)"), xstrdup("") };
	return ret->count || is_told(&type);
}

/* False: it is in registers that nobody could tell without the whole of the ABI's rules. */
static bool add_parameter(Dwarf_Die *die, struct prototype *ret)
{
	struct parameter *p = &ret->parameters[ret->count];
	Dwarf_Die type;

	*p = parameter_of(die, dwarf_diename(die));
	ret->count++;
	if (!dwarf_type_of(die, &type) || p->kind == VALUE_REGISTER)
		return false;
	if (p->kind == VALUE_FLOAT)
		return is_plain_float(&type);
	return p->kind != VALUE_STRUCT ||
	       (is_told(&type) && (p->bytes > 2 * WORD || !(contents_of(&type) & FLOATS)));
}

bool program_prototype_until(Dwarf_Die *function, const Dwarf_Die *last, struct prototype *ret)
{
	Dwarf_Die child;

	/* clang: its callers give something else than the source says */
	if (!is_of_c(function) || number_of(function, DW_AT_calling_convention) == DW_CC_nocall)
		return false;
	ret->result = parameter_of(function, "");
	/* a text that is given back may be anything by then */
	if (ret->result.kind == VALUE_STRING)
		ret->result.kind = VALUE_POINTER;
	if (!add_hidden_result(function, ret))
		return false;
	for (int r = dwarf_child(function, &child); r == 0; r = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || ret->count == PROTOTYPE_PARAMETERS)
			continue;
		if (!add_parameter(&child, ret))
			return false;
		if (last && child.addr == last->addr)
			return true;
	}
	return !last;
}

/* Clones (.constprop, .isra, .part) do not take all that the source says. */
static bool is_clone(const char *names)
{
	for (const char *name = names; *name; name += *name == '|') {
		size_t len = strcspn(name, "|");

		if (function_name_source(name, len) < len)
			return true;
		name += len;
	}
	return false;
}

static bool find_in_dwarf(const struct dwarf_file *f, uint64_t addr, const char *names, struct prototype *ret)
{
	Dwarf_Die die;

	return !is_clone(names) && function_at(f, addr, &die) && program_prototype_until(&die, NULL, ret);
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
	if (find_in_table(f, names, ret) || find_in_dwarf(f, addr, names, ret))
		return;
	prototype_deinit(ret);
	ret->function = xstrdup(names);
	prototype_of_registers(ret);
}
