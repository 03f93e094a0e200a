/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "printer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "print_series.h"

enum { BAR = 52 };

static void put_tuple(const struct printer *p, const struct type *type, const struct value *v, const char *between,
		      struct buf *out)
{
	for (size_t i = 0; i < type->n_fields; i++) {
		struct value part = tuple_part(type, v, i);

		buf_printf(out, "%s", i ? between : "");
		if (type->names)
			buf_printf(out, ".%s = ", type->names[i]);
		printer_put_value(p, &type->fields[i], &part, out);
	}
}

/* Of one in UTF-8 that has several bytes; else 1. */
static unsigned character_length(const uint8_t *at, size_t left, uint32_t *ret)
{
	enum { LONGEST = 4 };
	char text[LONGEST + 1] = { 0 };
	unsigned n;

	*ret = *at;
	if (*at < 0x80)
		return 1;
	memcpy(text, at, left < LONGEST ? left : LONGEST);
	n = utf8_decode(text, ret);
	return n ? n : 1;
}

/* What the guest has called something: it may not steer a terminal. JSON is quoted where it is put. */
static void put_shown(const struct printer *p, const uint8_t *text, size_t len, struct buf *out)
{
	unsigned n;

	for (size_t i = 0; i < len; i += n) {
		uint32_t c;
		bool harmless;

		n = character_length(text + i, len - i, &c);
		harmless = c == '\n' || c == '\t' || ((n > 1 || c < 0x80) && !utf8_is_control(c));
		if (p->json || harmless)
			buf_put(out, text + i, n);
		for (unsigned k = 0; !p->json && !harmless && k < n; k++)
			buf_printf(out, "\\x%02x", text[i + k]);
	}
}

void printer_put_value(const struct printer *p, const struct type *type, const struct value *v, struct buf *out)
{
	struct buf text = { 0 };

	switch (type->kind) {
	case TYPE_TEXT:
		put_shown(p, v->p, v->n, out);
		return;
	case TYPE_NAME:
		p->host->put_name(p->host->context, v->n, &text);
		break;
	case TYPE_KSTACK:
	case TYPE_USTACK:
		p->host->put_stack(p->host->context, v->n, p->is_key ? 4 : 8, &text);
		break;
	case TYPE_TUPLE:
		buf_printf(out, type->names ? "{ " : "(");
		put_tuple(p, type, v, ", ", out);
		buf_printf(out, type->names ? " }" : ")");
		return;
	default:
		if (type->kind == TYPE_POINTER && p->is_key)
			buf_printf(out, "0x%" PRIx64, v->n);
		else if (type->is_signed || type->kind == TYPE_AGGREGATE || p->is_key)
			buf_printf(out, "%" PRId64, (int64_t)v->n);
		else
			buf_printf(out, "%" PRIu64, v->n);
	}
	put_shown(p, text.data, text.len, out);
	buf_free(&text);
}

/* In JSON, a text between quotes. */
static void put_quoted(struct buf *out, const void *text, size_t len)
{
	const uint8_t *s = text;

	buf_put_u8(out, '"');
	for (size_t i = 0; i < len; i++) {
		uint32_t ignored;
		unsigned n = character_length(s + i, len - i, &ignored);

		if (n > 1) {
			buf_put(out, s + i, n);
			i += n - 1;
		} else if (s[i] == '"' || s[i] == '\\')
			buf_printf(out, "\\%c", s[i]);
		else if (s[i] == '\n')
			buf_printf(out, "\\n");
		else if (s[i] == '\t')
			buf_printf(out, "\\t");
		else if (s[i] < ' ' || s[i] >= 0x7f) /* bytes that may be no letters become those of Latin-1 */
			buf_printf(out, "\\u%04x", s[i]);
		else
			buf_put_u8(out, s[i]);
	}
	buf_put_u8(out, '"');
}

static bool is_plain_number(const struct type *type)
{
	return type->kind == TYPE_NUMBER || type->kind == TYPE_POINTER || type->kind == TYPE_AGGREGATE;
}

static void put_json_value(const struct printer *p, const struct type *type, const struct value *v, struct buf *out);

static void put_json_tuple(const struct printer *p, const struct type *type, const struct value *v, struct buf *out)
{
	buf_put_u8(out, type->names ? '{' : '[');
	for (size_t i = 0; i < type->n_fields; i++) {
		struct value part = tuple_part(type, v, i);

		buf_printf(out, "%s", i ? "," : "");
		if (type->names)
			buf_printf(out, "\"%s\": ", type->names[i]);
		put_json_value(p, &type->fields[i], &part, out);
	}
	buf_put_u8(out, type->names ? '}' : ']');
}

static void put_json_value(const struct printer *p, const struct type *type, const struct value *v, struct buf *out)
{
	struct buf text = { 0 };

	if (is_plain_number(type)) {
		printer_put_value(p, type, v, out);
		return;
	}
	if (type->kind == TYPE_TUPLE) {
		put_json_tuple(p, type, v, out);
		return;
	}
	printer_put_value(p, type, v, &text);
	put_quoted(out, text.data, text.len);
	buf_free(&text);
}

/* "a, b" of a key with parts, without parentheses */
static void put_key(const struct printer *p, const struct script_map *m, const struct map_entry *e, const char *between,
		    struct buf *out)
{
	struct printer of_keys = *p;

	of_keys.is_key = true;
	if (m->key.kind == TYPE_TUPLE && !m->key.names)
		put_tuple(&of_keys, &m->key, &e->key, between, out);
	else
		printer_put_value(&of_keys, &m->key, &e->key, out);
}

/* 1024 → "1K"; of lhist() only what is a multiple */
static void put_bound(struct buf *out, const struct type *value, int64_t n)
{
	static const char units[] = " KMGTPE";
	unsigned unit = 0, most = value->aggregate == LHIST ? 2 : sizeof units - 2;

	while (n && n % 1024 == 0 && unit < most) {
		n /= 1024;
		unit++;
	}
	buf_printf(out, "%" PRId64, n);
	if (unit)
		buf_put_u8(out, (uint8_t)units[unit]);
}

/* The last bucket of lhist(): from the range's end on. */
static bool is_behind_range(const struct type *value, size_t bucket)
{
	return value->aggregate == LHIST && bucket == map_buckets(value) - 1;
}

/* Where the range is no multiple of the step, its rest is in the last bucket, too, as in bpftrace. */
static int64_t bucket_from(const struct type *value, size_t bucket)
{
	return is_behind_range(value, bucket) ? value->max : map_bucket_from(value, bucket);
}

static void put_label(struct buf *out, const struct type *value, size_t bucket)
{
	bool single = value->aggregate == HIST && bucket && bucket - 1 < (1u << value->bits) + !value->bits;

	if (!bucket) {
		buf_printf(out, "(..., ");
		put_bound(out, value, value->aggregate == LHIST ? value->min : 0);
		buf_put_u8(out, ')');
		return;
	}
	buf_put_u8(out, '[');
	put_bound(out, value, bucket_from(value, bucket));
	if (is_behind_range(value, bucket)) {
		buf_printf(out, ", ...)");
	} else if (single) {
		buf_put_u8(out, ']');
	} else {
		buf_printf(out, ", ");
		put_bound(out, value, map_bucket_from(value, bucket + 1));
		buf_put_u8(out, ')');
	}
}

/* The first and the last bucket that have something. False: none has. */
static bool find_buckets(const struct script_map *m, const struct map_entry *e, size_t *first, size_t *last,
			 uint64_t *most)
{
	bool any = false;

	*most = 0;
	for (size_t i = 0; i < map_buckets(&m->value); i++) {
		if (!e->buckets[i])
			continue;
		if (!any)
			*first = i;
		any = true;
		*last = i;
		if (e->buckets[i] > *most)
			*most = e->buckets[i];
	}
	return any;
}

static void put_histogram(const struct printer *p, const struct script_map *m, const struct map_entry *e, uint64_t div)
{
	size_t first, last;
	uint64_t most;
	struct buf label = { 0 };

	if (!find_buckets(m, e, &first, &last, &most))
		return;
	for (size_t i = first; i <= last; i++) {
		unsigned bar = (unsigned)((float)e->buckets[i] / (float)most * BAR);

		label.len = 0;
		put_label(&label, &m->value, i);
		buf_printf(p->out, "%-16.*s%8" PRIu64 " |", (int)label.len, (char *)label.data, e->buckets[i] / div);
		for (unsigned k = 0; k < BAR; k++)
			buf_put_u8(p->out, k < bar ? '@' : ' ');
		buf_printf(p->out, "|\n");
	}
	buf_free(&label);
}

static void put_json_histogram(const struct printer *p, const struct script_map *m, const struct map_entry *e,
			       uint64_t div)
{
	size_t first, last;
	uint64_t most;

	buf_put_u8(p->out, '[');
	if (find_buckets(m, e, &first, &last, &most))
		for (size_t i = first; i <= last; i++) {
			buf_printf(p->out, "%s{", i > first ? ", " : "");
			if (i)
				buf_printf(p->out, "\"min\": %" PRId64 ", ", bucket_from(&m->value, i));
			if (!i)
				buf_printf(p->out, "\"max\": %" PRId64 ", ",
					   m->value.aggregate == LHIST ? m->value.min - 1 : -1);
			else if (!is_behind_range(&m->value, i))
				buf_printf(p->out, "\"max\": %" PRId64 ", ", map_bucket_from(&m->value, i + 1) - 1);
			buf_printf(p->out, "\"count\": %" PRIu64 "}", e->buckets[i] / div);
		}
	buf_put_u8(p->out, ']');
}

static void put_sums(const struct printer *p, const struct script_map *m, const struct map_entry *e, uint64_t div)
{
	const struct map_sums *s = &e->sums;

	if (m->value.kind != TYPE_AGGREGATE) {
		struct value v = e->value;

		if (is_plain_number(&m->value) && div > 1)
			v.n = (uint64_t)((int64_t)v.n / (int64_t)div);
		printer_put_value(p, &m->value, &v, p->out);
	} else if (m->value.aggregate == STATS) {
		buf_printf(p->out, "count %" PRIu64 ", average %" PRId64 ", total %" PRId64, s->count,
			   s->count ? s->sum / (int64_t)s->count : 0, s->sum);
	} else {
		buf_printf(p->out, "%" PRId64, script_map_number(m, e) / (int64_t)div);
	}
}

static bool is_histogram(const struct script_map *m)
{
	return m->value.kind == TYPE_AGGREGATE && (m->value.aggregate == HIST || m->value.aggregate == LHIST);
}

static bool is_series(const struct script_map *m)
{
	return m->value.kind == TYPE_AGGREGATE && m->value.aggregate == TSERIES;
}

/* `last`: of a series, the last interval that is shown */
static void put_entry(const struct printer *p, const struct script_map *m, const struct map_entry *e, uint64_t last,
		      uint64_t div)
{
	buf_printf(p->out, "@%s", m->name);
	if (m->has_key) {
		buf_put_u8(p->out, '[');
		put_key(p, m, e, ", ", p->out);
		buf_put_u8(p->out, ']');
	}
	buf_printf(p->out, is_series(m) ? ":\n" : ": ");
	if (is_series(m)) {
		print_series(m, e, last, div, p->host->began_ns, p->out);
	} else if (is_histogram(m)) {
		buf_put_u8(p->out, '\n');
		put_histogram(p, m, e, div);
	} else {
		put_sums(p, m, e, div);
	}
	if (m->value.kind != TYPE_KSTACK && m->value.kind != TYPE_USTACK) /* the last frame's line has ended */
		buf_put_u8(p->out, '\n');
}

/* bpftrace has a line's end behind all entries of these, of histograms behind each, and for other maps that are empty.
 */
static bool is_average(const struct script_map *m)
{
	return m->value.kind == TYPE_AGGREGATE && (m->value.aggregate == AVG || m->value.aggregate == STATS);
}

static void put_json_number(const struct printer *p, const struct script_map *m, const struct map_entry *e,
			    uint64_t last, int64_t div)
{
	const struct map_sums *s = &e->sums;
	struct value plain = e->value;

	if (is_series(m))
		print_series_json(m, e, last, p->host->began_ns, p->out);
	else if (is_histogram(m))
		put_json_histogram(p, m, e, (uint64_t)div);
	else if (m->value.kind != TYPE_AGGREGATE) {
		if (is_plain_number(&m->value) && div > 1)
			plain.n = (uint64_t)((int64_t)plain.n / div);
		put_json_value(p, &m->value, &plain, p->out);
	} else if (m->value.aggregate == STATS)
		buf_printf(p->out, "{\"count\": %" PRIu64 ", \"average\": %" PRId64 ", \"total\": %" PRId64 "}",
			   s->count, s->count ? s->sum / (int64_t)s->count : 0, s->sum);
	else
		buf_printf(p->out, "%" PRId64, script_map_number(m, e) / div);
}

static void put_json_map(const struct printer *p, const struct script_map *m, struct map_entry *const *list, size_t n,
			 int64_t div)
{
	uint64_t last = is_series(m) ? print_series_last(m) : 0;
	const char *kind = is_series(m)      ? "tseries"
			   : is_histogram(m) ? "hist"
			   : is_average(m)   ? "stats"
					     : "map";
	struct buf key = { 0 };

	buf_printf(p->out, "{\"type\": \"%s\", \"data\": {\"@%s\": ", kind, m->name);
	if (m->has_key)
		buf_put_u8(p->out, '{');
	for (size_t i = 0; i < n; i++) {
		if (m->has_key) {
			key.len = 0;
			put_key(p, m, list[i], ",", &key);
			buf_printf(p->out, "%s", i ? ", " : "");
			put_quoted(p->out, key.data, key.len);
			buf_printf(p->out, ": ");
		}
		put_json_number(p, m, list[i], last, div);
		p->pass_on(p->context);
	}
	buf_printf(p->out, "%s}}\n", m->has_key ? "}" : "");
	buf_free(&key);
}

static bool is_kept_as(const struct script_map *m, enum aggregate aggregate)
{
	return m->value.kind == TYPE_AGGREGATE && m->value.aggregate == aggregate;
}

/* As in bpftrace, stats() are all shown, and neither they nor what lhist() counts are divided. */
void printer_put_map(const struct printer *p, const struct script_map *m, uint64_t asked_top, uint64_t asked_div)
{
	uint64_t top = is_kept_as(m, STATS) ? 0 : asked_top;
	uint64_t div = (int64_t)asked_div > 0 && !is_kept_as(m, LHIST) && !is_kept_as(m, STATS) ? asked_div : 1;
	struct map_entry **list = script_map_sorted(m);
	size_t first = top && top < m->live ? m->live - top : 0;
	uint64_t last = is_series(m) ? print_series_last(m) : 0;

	if (p->json) {
		if (first < m->live) /* of what is empty bpftrace's -f json has no line */
			put_json_map(p, m, list + first, m->live - first, (int64_t)div);
	} else {
		for (size_t i = first; i < m->live; i++) {
			put_entry(p, m, list[i], last, div);
			p->pass_on(p->context);
		}
		if (first == m->live ? !is_histogram(m) && !is_series(m) : is_average(m))
			buf_put_u8(p->out, '\n');
	}
	free(list);
}

void printer_put_entry(const struct printer *p, const struct script_map *m, const struct map_entry *e)
{
	struct map_entry *list[] = { (struct map_entry *)e };

	if (p->json)
		put_json_map(p, m, list, 1, 1);
	else
		put_entry(p, m, e, is_series(m) ? print_series_last(m) : 0, 1);
}

void printer_put_line(const struct printer *p, const struct type *type, const struct value *v)
{
	if (p->json) {
		buf_printf(p->out, "{\"type\": \"value\", \"data\": ");
		put_json_value(p, type, v, p->out);
		buf_printf(p->out, "}\n");
		return;
	}
	printer_put_value(p, type, v, p->out);
	buf_put_u8(p->out, '\n');
}

void printer_put_text(const struct printer *p, const char *kind, const void *text, size_t len)
{
	if (!p->json) {
		buf_put(p->out, text, len);
		return;
	}
	buf_printf(p->out, "{\"type\": \"%s\", \"data\": ", kind);
	put_quoted(p->out, text, len);
	buf_printf(p->out, "}\n");
}
