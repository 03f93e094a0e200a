/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code_records.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "text.h"

enum { OBJECT = 1 }; /* in the place of the offset, which modules do not have */

void code_record_put(struct buf *out, const struct code_record *r)
{
	buf_put_u8(out, (uint8_t)r->change);
	buf_put_varint(out, r->cpu);
	buf_put_varint(out, r->ns);
	buf_put_varint(out, r->insns);
	buf_put_varint(out, r->mm);
	buf_put_varint(out, r->start);
	buf_put_varint(out, r->size);
	buf_put_varint(out, r->is_object ? OBJECT : r->offset);
	buf_put_varint(out, r->device);
	buf_put_varint(out, r->inode);
	buf_put_varint(out, r->file_size);
	buf_put_str(out, r->name, strlen(r->name));
	buf_put_str(out, r->symbols, r->symbols_len);
}

/* Read a length and that many bytes. Returns a copy, which the caller frees; NULL: none. */
static void *take_bytes(struct cursor *in, size_t *ret_len)
{
	uint64_t n = cursor_varint(in);
	const void *bytes = cursor_take(in, n);

	*ret_len = bytes ? n : 0;
	return *ret_len ? memcpy(xmalloc(n), bytes, n) : NULL;
}

static void decode(struct cursor *in, struct code_record *r)
{
	r->change = cursor_u8(in);
	r->cpu = (uint32_t)cursor_varint(in);
	r->ns = cursor_varint(in);
	r->insns = cursor_varint(in);
	r->mm = cursor_varint(in);
	r->start = cursor_varint(in);
	r->size = cursor_varint(in);
	r->offset = cursor_varint(in);
	r->is_object = r->change == CODE_MODULE && r->offset == OBJECT;
	r->device = cursor_varint(in);
	r->inode = cursor_varint(in);
	r->file_size = cursor_varint(in);
	r->name = take_string(in);
	r->symbols = take_bytes(in, &r->symbols_len);
}

int code_records_decode(struct cursor *in, size_t max, struct code_records *ret, struct error *err)
{
	while (cursor_left(in) && !in->bad) {
		struct code_record *r;

		if (!max--)
			return error_set(err, "more records of code than so few bytes can hold");
		ret->records = array_grow(ret->records, ret->count, &ret->cap, sizeof *ret->records);
		r = &ret->records[ret->count++];
		*r = (struct code_record){ 0 };
		decode(in, r);
		if (r->change < CODE_MODULE || r->change >= CODE_CHANGES)
			in->bad = true;
	}
	return in->bad ? error_set(err, "damaged records of code") : 0;
}

void code_records_deinit(struct code_records *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free((char *)r->records[i].name);
		free((void *)r->records[i].symbols);
	}
	free(r->records);
	*r = (struct code_records){ 0 };
}

void code_file_put(struct buf *out, const struct code_file *f)
{
	/* no path is empty */
	if (f->n_contents)
		buf_put_varint(out, 0);
	buf_put_str(out, f->path, strlen(f->path));
	buf_put_varint(out, f->size);
	if (f->n_contents)
		buf_put_varint(out, f->n_contents);
	for (size_t i = 0; i < f->n_contents; i++)
		buf_put_varint(out, f->contents[i]);
	buf_put_str(out, f->symbols, f->symbols_len);
}

/* Each number takes a byte: there are no more than bytes are left. */
static uint64_t *take_contents(struct cursor *in, size_t *ret_n)
{
	uint64_t n = cursor_varint(in), *list;

	*ret_n = 0;
	if (in->bad || !n || n > cursor_left(in)) {
		in->bad = true;
		return NULL;
	}
	list = xcalloc(n, sizeof *list);
	for (*ret_n = n; n--;)
		list[*ret_n - n - 1] = cursor_varint(in);
	return list;
}

static void decode_file(struct cursor *in, struct code_file *f)
{
	/* in traces before format 8 files have no contents */
	bool has_contents = cursor_left(in) && !*in->p;

	if (has_contents)
		cursor_u8(in);
	f->path = take_string(in);
	f->size = cursor_varint(in);
	if (has_contents)
		f->contents = take_contents(in, &f->n_contents);
	f->symbols = take_bytes(in, &f->symbols_len);
}

int code_files_decode(struct cursor *in, size_t max, struct code_files *ret, struct error *err)
{
	while (cursor_left(in) && !in->bad) {
		struct code_file *f;

		if (!max--)
			return error_set(err, "more files than so few bytes can hold");
		ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
		f = &ret->list[ret->count++];
		*f = (struct code_file){ 0 };
		decode_file(in, f);
	}
	return in->bad ? error_set(err, "damaged symbols of files") : 0;
}

void code_files_deinit(struct code_files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free((char *)f->list[i].path);
		free((uint64_t *)f->list[i].contents);
		free((void *)f->list[i].symbols);
	}
	free(f->list);
	*f = (struct code_files){ 0 };
}
