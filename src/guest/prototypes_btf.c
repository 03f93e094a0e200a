/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prototypes_btf.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"

enum { TYPE_DEPTH = 32, WORD = 8, TWICE = 0 };

struct btf_prototypes {
	struct btf *btf;
	struct map functions; /* hash of the name → type's number; TWICE: of several functions */
};

static uint64_t key_of(const char *name)
{
	uint64_t key = 1;

	for (; *name; name++)
		key = hash64(key ^ (uint8_t)*name);
	return key | 1;
}

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name ? name : "";
}

/* Its functions' types have numbers from `first` on. Takes it over; NULL: it is damaged. */
static struct btf_prototypes *of_btf(struct btf *btf, uint32_t first)
{
	struct btf_prototypes *b;

	if (!btf)
		return NULL;
	b = xcalloc(1, sizeof *b);
	b->btf = btf;
	for (uint32_t id = first; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		uint64_t *at;

		if (!btf_is_func(t))
			continue;
		at = map_put(&b->functions, key_of(name_at(btf, t->name_off)), UINT64_MAX);
		*at = *at == UINT64_MAX ? id : TWICE;
	}
	return b;
}

struct btf_prototypes *btf_prototypes_new(const void *data, size_t len)
{
	return of_btf(btf__new(data, (uint32_t)len), 1);
}

/* libbpf takes such types from a file only: btf__new_split() came with its version 1.4. */
struct btf_prototypes *btf_prototypes_of_module(const struct btf_prototypes *kernel, const void *data, size_t len)
{
	int fd = memfd_create("upto-types", MFD_CLOEXEC);
	struct btf *btf = NULL;
	char path[32];

	if (fd < 0)
		return NULL;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (write(fd, data, len) == (ssize_t)len)
		btf = btf__parse_raw_split(path, kernel->btf);
	close(fd);
	return of_btf(btf, btf__type_cnt(kernel->btf));
}

void btf_prototypes_free(struct btf_prototypes *b)
{
	if (!b)
		return;
	btf__free(b->btf);
	map_free(&b->functions);
	free(b);
}

/* Typedefs and qualifiers are gone past; NULL: there is no such type. */
static const struct btf_type *plain(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	for (int i = 0; t && i < TYPE_DEPTH && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)); i++)
		t = t->type ? btf__type_by_id(btf, t->type) : NULL;
	return t;
}

static bool is_const(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	for (int i = 0; t && i < TYPE_DEPTH && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)); i++) {
		if (btf_is_const(t))
			return true;
		t = t->type ? btf__type_by_id(btf, t->type) : NULL;
	}
	return false;
}

/* What a pointer's structure is named by. */
static enum value_kind pointer_kind(const struct btf *btf, const struct btf_type *pointer)
{
	static const struct {
		const char *structure;
		enum value_kind kind;
	} named[] = {
		{ "file", VALUE_FILE },   { "path", VALUE_PATH },       { "dentry", VALUE_DENTRY },
		{ "device", VALUE_DEVICE }, { "task_struct", VALUE_TASK }, { "filename", VALUE_FILENAME },
	};
	const struct btf_type *to = pointer->type ? plain(btf, pointer->type) : NULL;

	if (!to)
		return VALUE_POINTER;
	/* what is not const is a buffer, whose content at the function's entry means nothing */
	if (btf_is_int(to) && to->size == 1 && is_const(btf, pointer->type) && !strcmp(name_at(btf, to->name_off), "char"))
		return VALUE_STRING;
	for (size_t i = 0; (btf_is_struct(to) || btf_is_fwd(to)) && i < sizeof named / sizeof *named; i++)
		if (!strcmp(name_at(btf, to->name_off), named[i].structure))
			return named[i].kind;
	return VALUE_POINTER;
}

static enum value_kind kind_of(const struct btf *btf, const struct btf_type *t)
{
	if (!t)
		return VALUE_NONE;
	if (btf_is_ptr(t))
		return pointer_kind(btf, t);
	if (btf_is_enum(t))
		return btf_kflag(t) ? VALUE_SIGNED : VALUE_UNSIGNED;
	if (btf_is_enum64(t))
		return btf_kflag(t) ? VALUE_SIGNED : VALUE_UNSIGNED;
	if (btf_is_int(t))
		return btf_int_encoding(t) & BTF_INT_BOOL ? VALUE_BOOL
		       : btf_int_encoding(t) & BTF_INT_SIGNED ? VALUE_SIGNED : VALUE_UNSIGNED;
	return btf_is_composite(t) ? VALUE_STRUCT : VALUE_REGISTER;
}

/* As in C, as far as it is a name with pointers to it. */
static void put_type(const struct btf *btf, uint32_t id, int depth, struct buf *out)
{
	const struct btf_type *t = id ? btf__type_by_id(btf, id) : NULL;
	const char *name = t ? name_at(btf, t->name_off) : "void";

	if (t && depth == TYPE_DEPTH)
		name = "?";
	else if (t && btf_is_ptr(t)) {
		put_type(btf, t->type, depth + 1, out);
		buf_printf(out, "%s", out->len && out->data[out->len - 1] == '*' ? "*" : " *");
		return;
	} else if (t && (btf_is_mod(t) || btf_is_type_tag(t))) {
		if (btf_is_const(t))
			buf_printf(out, "const ");
		put_type(btf, t->type, depth + 1, out);
		return;
	}
	if (t && (btf_is_struct(t) || (btf_is_fwd(t) && !btf_kflag(t))))
		buf_printf(out, "struct ");
	else if (t && (btf_is_union(t) || btf_is_fwd(t)))
		buf_printf(out, "union ");
	else if (t && btf_is_any_enum(t))
		buf_printf(out, "enum ");
	buf_printf(out, "%s", t && btf_is_func_proto(t) ? "function" : *name ? name : "…");
}

/* A name of the guest's that would be taken for more than that is none. */
static char *word(const char *name)
{
	return xstrdup(strpbrk(name, "\t:\n") ? "?" : name);
}

static struct parameter parameter_of(const struct btf *btf, const char *name, uint32_t type)
{
	const struct btf_type *t = type ? plain(btf, type) : NULL;
	struct parameter p = { .kind = kind_of(btf, t), .name = word(name) };
	int64_t size = t ? btf__resolve_size(btf, type) : 0;
	struct buf text = { 0 };

	p.bytes = p.kind == VALUE_STRUCT ? (unsigned)size : size > 0 && size <= WORD ? (unsigned)size : t ? WORD : 0;
	put_type(btf, type, 0, &text);
	buf_put_u8(&text, 0);
	p.type = word((char *)text.data);
	buf_free(&text);
	return p;
}

static void describe(const struct btf *btf, const struct btf_type *proto, struct prototype *ret)
{
	const struct btf_param *params = btf_params(proto);

	ret->result = parameter_of(btf, "", proto->type);
	for (unsigned i = 0; i < btf_vlen(proto) && i < PROTOTYPE_PARAMETERS; i++) {
		if (!params[i].type && i + 1u == btf_vlen(proto))
			break; /* more that the types do not tell of: "..." */
		ret->parameters[ret->count++] =
			parameter_of(btf, name_at(btf, params[i].name_off), params[i].type);
	}
}

uint32_t btf_prototypes_type(const struct btf_prototypes *b, const char *symbol)
{
	const uint64_t *id = b ? map_get(&b->functions, key_of(symbol)) : NULL;
	const struct btf_type *t = id && *id != TWICE ? btf__type_by_id(b->btf, (uint32_t)*id) : NULL;
	bool is_it = t && !strcmp(name_at(b->btf, t->name_off), symbol);
	const struct btf_type *proto = is_it ? btf__type_by_id(b->btf, t->type) : NULL;

	return proto && btf_is_func_proto(proto) ? t->type : 0;
}

const struct btf *btf_prototypes_types(const struct btf_prototypes *b)
{
	return b->btf;
}

void btf_prototypes_find(const struct btf_prototypes *b, const char *symbol, struct prototype *ret)
{
	uint32_t proto = btf_prototypes_type(b, symbol);

	*ret = (struct prototype){ .function = word(symbol) };
	if (proto)
		describe(b->btf, btf__type_by_id(b->btf, proto), ret);
	else
		prototype_of_registers(ret);
}
