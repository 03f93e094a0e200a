/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

/* Before the text of a key. */
enum { HAS = '=', LACKS = '-' };

int event_keys_parse(const char *list, struct event_keys *ret, struct error *err)
{
	*ret = (struct event_keys){ 0 };
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (ret->count == EVENT_KEYS_MAX)
			return error_set(err, "at most %d keys", EVENT_KEYS_MAX);
		ret->names[ret->count++] = xstrndup(list, n);
	}
	return ret->count ? 0 : error_set(err, "no key: a field, or event, comm, pid, cpu, caller, stack");
}

int event_keys_check(const struct event_keys *k, const struct event_decoder *d, size_t events, const bool *chosen,
		     struct error *err)
{
	static const char *const all[] = { "event", "comm", "pid", "cpu", "caller", "stack" };

	for (unsigned i = 0; i < k->count; i++) {
		bool any = false;

		for (size_t a = 0; a < sizeof all / sizeof *all; a++)
			any |= !strcmp(k->names[i], all[a]);
		for (size_t e = 0; e < events && !any; e++)
			any = chosen[e] && event_field_find(d, e, k->names[i]) >= 0;
		if (!any)
			return error_set(err,
					 "%s: no event that is chosen has such a field; 'upto events -l' lists them",
					 k->names[i]);
	}
	return 0;
}

bool event_keys_want_stacks(const struct event_keys *k)
{
	for (unsigned i = 0; i < k->count; i++)
		if (!strcmp(k->names[i], "caller") || !strcmp(k->names[i], "stack"))
			return true;
	return false;
}

void event_keys_deinit(struct event_keys *k)
{
	for (unsigned i = 0; i < k->count; i++)
		free(k->names[i]);
	*k = (struct event_keys){ 0 };
}

void event_histogram_add(struct event_histogram *h, uint64_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (!h->count || value > h->max)
		h->max = value;
	h->count++;
	h->sum += value;
	h->buckets[value ? 64 - (unsigned)__builtin_clzll(value) : 0]++;
}

/* Append in which calls the record was made. False: the key is none of these, or that is not known. */
static bool put_calls(const char *key, const struct fact *f, const struct event_stacks *stacks, struct buf *out)
{
	const char *text = NULL;

	if (stacks && !strcmp(key, "caller"))
		text = event_caller(stacks, f);
	else if (stacks && !strcmp(key, "stack"))
		text = event_stack(stacks, f);
	buf_printf(out, "%s", text ? text : "");
	return text;
}

/* Append what a record says for a key. False: it has no such field. */
static bool put_key(const char *key, const struct event_record *r, const struct fact *f, const struct event_sources *of,
		    struct buf *scratch, struct buf *out)
{
	const struct event_format *format = &of->formats->list[r->event];
	struct event_value value;
	long field;

	if (!strcmp(key, "event")) {
		buf_printf(out, "%s:%s", format->system, format->name);
	} else if (!strcmp(key, "comm")) {
		buf_printf(out, "%s", event_comm(of->threads, f));
	} else if (!strcmp(key, "pid")) {
		buf_printf(out, "%d", event_record_pid(r));
	} else if (!strcmp(key, "cpu")) {
		buf_printf(out, "%u", f->cpu);
	} else {
		field = event_field_find(of->decoder, r->event, key);
		if (field < 0)
			return put_calls(key, f, of->stacks, out);
		value = event_value(of->decoder, r, (size_t)field, scratch);
		event_value_put(of->decoder, r, &value, out);
	}
	return true;
}

/* Append what a record says for all keys, with a NUL behind each. */
static void put_keys(const struct event_keys *keys, const struct event_record *r, const struct fact *f,
		     const struct event_sources *of, struct buf *scratch, struct buf *out)
{
	for (unsigned i = 0; i < keys->count; i++) {
		size_t tag = out->len;

		/* what has no such field differs from what has an empty one */
		buf_put_u8(out, HAS);
		if (!put_key(keys->names[i], r, f, of, scratch, out))
			out->data[tag] = LACKS;
		buf_put_u8(out, 0);
	}
}

/* Rows that have a text of their own: found by its hash, and compared. */
struct table_of_texts {
	struct map first; /* hash → number of the text + 1 */
	char **texts;
	size_t *lens, count, cap, lens_cap;
};

static size_t number_of_text(struct table_of_texts *t, const struct buf *text)
{
	uint64_t hash = hash_bytes(1, text->data, text->len);

	for (;; hash = hash64(hash + 1)) {
		uint64_t *number = map_put(&t->first, hash, 0);

		if (!*number) {
			t->texts = array_grow(t->texts, t->count, &t->cap, sizeof *t->texts);
			t->lens = array_grow(t->lens, t->count, &t->lens_cap, sizeof *t->lens);
			t->texts[t->count] = xmalloc(text->len + 1);
			memcpy(t->texts[t->count], text->data, text->len);
			t->lens[t->count] = text->len;
			*number = ++t->count;
			return t->count - 1;
		}
		if (t->lens[*number - 1] == text->len && !memcmp(t->texts[*number - 1], text->data, text->len))
			return *number - 1;
	}
}

static void table_of_texts_free(struct table_of_texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->texts[i]);
	free(t->texts);
	free(t->lens);
	map_free(&t->first);
}

static void take_keys(struct event_sum *s, unsigned n, const char *text)
{
	for (unsigned i = 0; i < n; i++, text += strlen(text) + 1)
		s->keys[i] = *text == LACKS ? NULL : xstrdup(text + 1);
}

static void add_value(struct event_sum *s, const char *value, const struct event_record *r,
		      const struct event_sources *of, struct buf *scratch, bool *any)
{
	long field = value ? event_field_find(of->decoder, r->event, value) : -1;
	struct event_value v;

	if (field < 0)
		return;
	*any = true;
	v = event_value(of->decoder, r, (size_t)field, scratch);
	/* of signed ones, those below 0 are errors, most often, and have no place among the others */
	if (v.kind == EVENT_NUMBER || (v.kind == EVENT_SIGNED && (int64_t)v.number >= 0) || v.kind == EVENT_ADDRESS)
		event_histogram_add(&s->values, v.number);
}

static int by_count(const void *va, const void *vb)
{
	const struct event_sum *a = va, *b = vb;

	if (a->values.sum != b->values.sum)
		return a->values.sum < b->values.sum ? 1 : -1;
	return a->count != b->count ? (a->count < b->count ? 1 : -1) : 0;
}

int event_sums_init(struct event_sums *ret, const struct event_list *l, const struct event_sources *of,
		    const struct event_keys *keys, const char *value, struct error *err)
{
	struct table_of_texts rows = { 0 };
	struct buf text = { 0 }, scratch = { 0 };
	bool any = !value || !l->count;

	*ret = (struct event_sums){ .keys = *keys };
	for (size_t i = 0; i < l->count; i++) {
		struct event_record r;
		size_t row;

		event_record_of(of->formats, l->list[i], &r);
		text.len = 0;
		put_keys(keys, &r, l->list[i], of, &scratch, &text);
		row = number_of_text(&rows, &text);
		if (row == ret->count) {
			ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
			ret->list[ret->count] = (struct event_sum){ 0 };
			take_keys(&ret->list[ret->count++], keys->count, (char *)text.data);
		}
		ret->list[row].count++;
		add_value(&ret->list[row], value, &r, of, &scratch, &any);
	}
	table_of_texts_free(&rows);
	buf_free(&text);
	buf_free(&scratch);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_count);
	return any ? 0 : error_set(err, "--value %s: no event that is chosen has such a field", value);
}

void event_sums_deinit(struct event_sums *s)
{
	for (size_t i = 0; i < s->count; i++)
		for (unsigned k = 0; k < s->keys.count; k++)
			free(s->list[i].keys[k]);
	free(s->list);
	event_keys_deinit(&s->keys);
	*s = (struct event_sums){ 0 };
}

static void add_pair(struct event_pairs *p, const struct event_pair *pair)
{
	p->list = array_grow(p->list, p->count, &p->cap, sizeof *p->list);
	p->list[p->count++] = *pair;
}

/* Those that are open with the same values, as a list: each one's number is that of the one before it. */
struct open_pairs {
	size_t *last, last_cap;     /* by number of the values: the last pair's number + 1 */
	size_t *before, before_cap; /* by number of the pair */
};

static void begin_pair(struct event_pairs *p, struct open_pairs *open, size_t key, const struct fact *f)
{
	open->before = array_grow(open->before, p->count, &open->before_cap, sizeof *open->before);
	open->before[p->count] = open->last[key];
	add_pair(p, &(struct event_pair){ .begin = f });
	open->last[key] = p->count;
	p->open++;
}

static void end_pair(struct event_pairs *p, struct open_pairs *open, size_t key, const struct fact *f)
{
	size_t number = open->last[key];

	if (!number) {
		open->before = array_grow(open->before, p->count, &open->before_cap, sizeof *open->before);
		add_pair(p, &(struct event_pair){ .end = f });
		p->unbegun++;
		return;
	}
	p->list[number - 1].end = f;
	open->last[key] = open->before[number - 1];
	p->open--;
	event_histogram_add(&p->ns, f->ns - p->list[number - 1].begin->ns);
}

void event_pairs_init(struct event_pairs *ret, const struct event_list *l, const struct event_sources *of,
		      const bool *begins, const bool *ends, const struct event_keys *by)
{
	struct table_of_texts keys = { 0 };
	struct open_pairs open = { 0 };
	struct buf text = { 0 }, scratch = { 0 };

	*ret = (struct event_pairs){ 0 };
	for (size_t i = 0; i < l->count; i++) {
		struct event_record r;
		size_t key, before = keys.count;

		event_record_of(of->formats, l->list[i], &r);
		if (!begins[r.event] && !ends[r.event])
			continue;
		text.len = 0;
		put_keys(by, &r, l->list[i], of, &scratch, &text);
		buf_printf(&text, "%zu,%zu,%zu", boots_at(of->boots, l->list[i]->ns),
			   intervals_find(&of->spans, l->list[i]->ns), intervals_find(l->intervals, l->list[i]->ns));
		key = number_of_text(&keys, &text);
		if (key == before) {
			open.last = array_grow(open.last, key, &open.last_cap, sizeof *open.last);
			open.last[key] = 0;
		}
		(begins[r.event] ? begin_pair : end_pair)(ret, &open, key, l->list[i]);
	}
	table_of_texts_free(&keys);
	free(open.last);
	free(open.before);
	buf_free(&text);
	buf_free(&scratch);
}

void event_pairs_deinit(struct event_pairs *p)
{
	free(p->list);
	*p = (struct event_pairs){ 0 };
}
