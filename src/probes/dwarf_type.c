/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_type.h"

#include <dwarf.h>
#include <string.h>

enum {
	DEPTH = 16,
	STRUCTURES_MAX = 4096, /* are looked into for a member: a hostile one has itself as a member, many times */
};

static bool raw_type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Die type;

	return raw_type_of(die, &type) && dwarf_peel_type(&type, ret) == 0;
}

static void put(Dwarf_Die *type, int depth, struct buf *out);

static void put_inner(Dwarf_Die *type, int depth, struct buf *out)
{
	Dwarf_Die inner;

	if (depth < DEPTH && raw_type_of(type, &inner))
		put(&inner, depth + 1, out);
	else
		buf_printf(out, "void");
}

static void put_counts(Dwarf_Die *type, struct buf *out)
{
	unsigned i = 0, dimensions = dwarf_array_dimensions(type);

	do {
		uint64_t count = dwarf_array_count(type, i);

		if (count)
			buf_printf(out, "[%llu]", (unsigned long long)count);
		else
			buf_printf(out, "[]");
	} while (++i < dimensions);
}

static void put(Dwarf_Die *type, int depth, struct buf *out)
{
	const char *name = dwarf_diename(type);

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		put_inner(type, depth, out);
		buf_printf(out, "%s", out->len && out->data[out->len - 1] == '*' ? "*" : " *");
		return;
	case DW_TAG_array_type:
		put_inner(type, depth, out);
		put_counts(type, out);
		return;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
		buf_printf(out, dwarf_tag(type) == DW_TAG_const_type ? "const " : "volatile ");
		put_inner(type, depth, out);
		return;
	case DW_TAG_structure_type:
		buf_printf(out, "struct %s", name ? name : "{…}");
		return;
	case DW_TAG_union_type:
		buf_printf(out, "union %s", name ? name : "{…}");
		return;
	case DW_TAG_enumeration_type:
		buf_printf(out, "enum %s", name ? name : "{…}");
		return;
	case DW_TAG_subroutine_type:
		buf_printf(out, "function");
		return;
	default:
		buf_printf(out, "%s", name ? name : "?");
	}
}

void dwarf_type_put(Dwarf_Die *die, struct buf *out)
{
	put_inner(die, 0, out);
}

bool dwarf_is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, &value) == 0 ? value : 0;
}

/* Where a member begins; none of a union's is told. DWARF 2 says it as an expression. */
static bool begin_of(Dwarf_Die *member, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	*ret = 0;
	if (!dwarf_attr(member, DW_AT_data_member_location, &attr) || dwarf_formudata(&attr, ret) == 0)
		return true;
	if (dwarf_getlocation(&attr, &ops, &n) || n != 1 || ops->atom != DW_OP_plus_uconst)
		return false;
	*ret = ops->number;
	return true;
}

static bool find_place(Dwarf_Die *member, struct dwarf_member *ret)
{
	uint64_t bits = number_of(member, DW_AT_bit_size), at = number_of(member, DW_AT_data_bit_offset);
	Dwarf_Die type;
	int size = dwarf_type_of(member, &type) ? dwarf_bytesize(&type) : 0;

	*ret = (struct dwarf_member){ .die = *member };
	if (!begin_of(member, &ret->bytes))
		return false;
	if (!bits || (size != 1 && size != 2 && size != 4 && size != 8))
		return true;
	if (dwarf_hasattr(member, DW_AT_bit_offset)) /* DWARF 3: counted from the highest bit of its storage */
		at = 8 * ret->bytes + 8 * (uint64_t)size - number_of(member, DW_AT_bit_offset) - bits;
	else if (!dwarf_hasattr(member, DW_AT_data_bit_offset))
		at = 8 * ret->bytes;
	ret->width = (unsigned)size;
	ret->bits = (unsigned)bits;
	ret->bytes = at / (8 * ret->width) * ret->width;
	ret->shift = (unsigned)(at - 8 * ret->bytes);
	return true;
}

static bool find(Dwarf_Die *structure, const char *name, int depth, unsigned *left, struct dwarf_member *ret)
{
	Dwarf_Die child, inner;

	if (depth == DEPTH || !*left || dwarf_child(structure, &child))
		return false;
	--*left;
	do {
		const char *own = dwarf_diename(&child);
		uint64_t at;

		if (dwarf_tag(&child) != DW_TAG_member)
			continue;
		if (own && !strcmp(own, name))
			return find_place(&child, ret);
		if (own || !begin_of(&child, &at) || !dwarf_type_of(&child, &inner) || !dwarf_is_structure(&inner))
			continue;
		if (find(&inner, name, depth + 1, left, ret)) {
			ret->bytes += at;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

bool dwarf_find_member(Dwarf_Die *structure, const char *name, struct dwarf_member *ret)
{
	unsigned left = STRUCTURES_MAX;

	return find(structure, name, 0, &left, ret);
}

/* Of an enumeration: has the type that its values are kept in a sign? */
static bool has_sign(Dwarf_Die *enumeration)
{
	Dwarf_Die type;

	return dwarf_type_of(enumeration, &type) && number_of(&type, DW_AT_encoding) == DW_ATE_signed;
}

bool dwarf_type_of_number(Dwarf_Die *type, struct probe_type *ret)
{
	int size = dwarf_bytesize(type), tag = dwarf_tag(type);
	uint64_t encoding = number_of(type, DW_AT_encoding);

	if (tag == DW_TAG_pointer_type && size <= 0)
		size = 8;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	ret->bytes = (unsigned)size;
	ret->format = PROBE_HEX; /* as perf probe prints what has no sign */
	if (tag == DW_TAG_enumeration_type) {
		if (has_sign(type))
			ret->format = PROBE_SIGNED;
		return true;
	}
	if (tag == DW_TAG_pointer_type)
		return true;
	if (dwarf_is_structure(type)) /* in one register, as transparent unions are */
		return true;
	if (tag != DW_TAG_base_type || encoding == DW_ATE_float || encoding == DW_ATE_complex_float)
		return false;
	if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char)
		ret->format = PROBE_SIGNED;
	return true;
}

/* False: the array has fewer dimensions. */
static bool find_dimension(Dwarf_Die *array, unsigned number, Dwarf_Die *ret)
{
	if (dwarf_child(array, ret))
		return false;
	do
		if (dwarf_tag(ret) == DW_TAG_subrange_type && !number--)
			return true;
	while (dwarf_siblingof(ret, ret) == 0);
	return false;
}

unsigned dwarf_array_dimensions(Dwarf_Die *array)
{
	Dwarf_Die range;
	unsigned n = 0;

	while (n < DEPTH && find_dimension(array, n, &range))
		n++;
	return n;
}

uint64_t dwarf_array_count(Dwarf_Die *array, unsigned dimension)
{
	Dwarf_Die range;
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!find_dimension(array, dimension, &range))
		return 0;
	if (dwarf_attr(&range, DW_AT_count, &attr) && dwarf_formudata(&attr, &value) == 0)
		return value < INT32_MAX ? value : 0;
	return dwarf_attr(&range, DW_AT_upper_bound, &attr) && dwarf_formudata(&attr, &value) == 0 && value < INT32_MAX
		       ? value + 1
		       : 0;
}

static int64_t size_of(Dwarf_Die *type, unsigned dimensions, int depth)
{
	Dwarf_Die element;
	int64_t size;

	if (dwarf_tag(type) != DW_TAG_array_type)
		return dwarf_bytesize(type) > 0 ? dwarf_bytesize(type) : 0;
	size = depth < DEPTH && dwarf_type_of(type, &element) ? size_of(&element, 0, depth + 1) : 0;
	for (unsigned i = dimensions, n = dwarf_array_dimensions(type); i < n && size <= INT32_MAX; i++)
		size *= (int64_t)dwarf_array_count(type, i);
	return size <= INT32_MAX ? size : 0;
}

int64_t dwarf_size_of(Dwarf_Die *type, unsigned dimensions)
{
	return size_of(type, dimensions, 0);
}
