/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "layout_part.h"

enum {
	ANONYMOUS_DEPTH = 8,   /* how deeply anonymous structures and unions may nest */
	MEMBERS_MAX = 1 << 14, /* are looked at for one: a hostile structure has itself as a member, many times */
};

/* Offset in bits of the named member, also if it is in an anonymous member; -1: the type has no such member. */
static int64_t find_member(const struct btf *btf, const struct btf_type *type, const char *name, int depth,
			   unsigned *left)
{
	const struct btf_member *m;

	if (!type || !btf_is_composite(type) || depth > ANONYMOUS_DEPTH)
		return -1;
	m = btf_members(type);
	for (unsigned i = 0; i < btf_vlen(type) && *left; i++, --*left) {
		const char *here = btf__name_by_offset(btf, m[i].name_off);
		int64_t at = btf_member_bit_offset(type, i), within;

		if (here && *here) {
			if (!strcmp(here, name))
				return at;
			continue;
		}
		within = find_member(btf, btf__type_by_id(btf, m[i].type), name, depth + 1, left);
		if (within >= 0)
			return at + within;
	}
	return -1;
}

static uint32_t size_of(const struct btf *btf, const char *structure)
{
	int32_t id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	int64_t size = id < 0 ? 0 : btf__resolve_size(btf, (uint32_t)id);

	return size > 0 && size <= UINT16_MAX ? (uint32_t)size : 0;
}

static int32_t offset_of(const struct btf *btf, const char *member)
{
	const char *dot = strchr(member, '.');
	unsigned left = MEMBERS_MAX;
	char structure[64];
	int64_t bits;
	int32_t id;

	snprintf(structure, sizeof structure, "%.*s", (int)(dot - member), member);
	id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	bits = id < 0 ? -1 : find_member(btf, btf__type_by_id(btf, (uint32_t)id), dot + 1, 0, &left);
	return bits < 0 || bits % 8 || bits / 8 > INT32_MAX ? MEMBER_UNKNOWN : (int32_t)(bits / 8);
}

/* libbpf would read types at any address that the header gives, also at a misaligned one. */
static bool is_aligned(const void *data, size_t len)
{
	struct btf_header h;

	if (len < sizeof h)
		return false;
	memcpy(&h, data, sizeof h);
	return h.hdr_len % sizeof(uint32_t) == 0 && h.type_off % sizeof(uint32_t) == 0;
}

int layout_from_btf(const void *data, size_t len, struct layout *ret, struct error *err)
{
	struct btf *btf;

	layout_init(ret);
	if (len > UINT32_MAX || !is_aligned(data, len))
		return error_set(err, "damaged BTF");
	btf = btf__new(data, (uint32_t)len);
	if (!btf)
		return error_set(err, "damaged BTF");
	for (int i = 0; i < MEMBERS; i++) {
		const char *older = layout_older_member((enum member)i);

		ret->offset[i] = offset_of(btf, layout_member((enum member)i));
		if (ret->offset[i] == MEMBER_UNKNOWN && older)
			ret->offset[i] = offset_of(btf, older);
	}
	for (int i = 0; i < LAYOUT_SIZES; i++)
		ret->size[i] = size_of(btf, layout_structure((enum layout_size)i));
	ret->whole = btf__find_by_name(btf, LAYOUT_PART) < 0;
	btf__free(btf);
	return 0;
}
