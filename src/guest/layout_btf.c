/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A layout as BTF: each structure with the members that are known, as numbers of eight bytes. */
#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "layout.h"
#include "layout_part.h"

enum { WORD = 8 };

static char *structure_name(enum member member)
{
	return xstrndup(layout_member(member), strcspn(layout_member(member), "."));
}

static uint32_t size_of(const struct layout *l, const char *name)
{
	size_t n = strlen(name);
	uint32_t size = 0;

	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (!strcmp(layout_structure((enum layout_size)i), name) && l->size[i])
			return l->size[i];
	for (int i = 0; i < MEMBERS; i++)
		if (!strncmp(layout_member((enum member)i), name, n) && layout_member((enum member)i)[n] == '.' &&
		    l->offset[i] != MEMBER_UNKNOWN && (uint32_t)l->offset[i] + WORD > size)
			size = (uint32_t)l->offset[i] + WORD;
	return size;
}

static bool came_before(enum member member, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < (int)member; i++)
		if (!strncmp(layout_member((enum member)i), name, n) && layout_member((enum member)i)[n] == '.')
			return true;
	return false;
}

/* The structure of a member, if no member before has it, with all that it has. */
static int add_structure(struct btf *btf, const struct layout *l, int word, enum member first)
{
	cleanup_free char *name = structure_name(first);
	uint32_t size = size_of(l, name);
	size_t n = strlen(name);

	if (!size || came_before(first, name))
		return 0;
	if (btf__add_struct(btf, name, size) < 0)
		return -1;
	for (int i = (int)first; i < MEMBERS; i++) {
		const char *member = layout_member((enum member)i);

		if (!strncmp(member, name, n) && member[n] == '.' && l->offset[i] != MEMBER_UNKNOWN &&
		    btf__add_field(btf, member + n + 1, word, (uint32_t)l->offset[i] * 8, 0) < 0)
			return -1;
	}
	return 0;
}

int layout_put_btf(const struct layout *l, struct buf *out, struct error *err)
{
	struct btf *btf = btf__new_empty();
	int word = btf ? btf__add_int(btf, "unsigned long", WORD, 0) : -1, r = word;
	const void *data;
	uint32_t len;

	for (int i = 0; i < MEMBERS && r >= 0; i++)
		r = add_structure(btf, l, word, (enum member)i);
	if (r >= 0 && !l->whole)
		r = btf__add_struct(btf, LAYOUT_PART, 0);
	data = r < 0 ? NULL : btf__raw_data(btf, &len);
	if (data)
		buf_put(out, data, len);
	btf__free(btf);
	return data ? 0 : error_set(err, "types cannot be written: libbpf failed");
}
