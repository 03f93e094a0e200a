/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "added_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append.h"
#include "base/alloc.h"
#include "boots.h"
#include "event_formats.h"
#include "facts.h"

/* How many keys "args.N" or "event.N" there are. */
static uint64_t count_keys(const struct meta *meta, const char *what)
{
	char key[48];
	uint64_t n = 0;

	for (;; n++) {
		snprintf(key, sizeof key, "%s.%llu", what, (unsigned long long)n);
		if (!meta_get(meta, key))
			return n;
	}
}

static bool has_event(const struct event_formats *formats, const char *system, const char *name)
{
	for (size_t i = 0; i < formats->count; i++)
		if (!strcmp(formats->list[i].system, system) && !strcmp(formats->list[i].name, name))
			return true;
	return false;
}

/* As the kernel names its probes. */
static char *free_name(const struct event_formats *taken, const struct event_format *f)
{
	char *name = xstrdup(f->name);

	for (unsigned i = 1; has_event(taken, f->system, name); i++) {
		free(name);
		name = xasprintf("%s_%u", f->name, i);
	}
	return name;
}

/* The format with that name: in its first line, and in that which begins with "name: ". */
static void put_format(struct buf *out, const struct event_format *f, const char *name)
{
	size_t n = strcspn(f->text, "\n");

	buf_printf(out, "%s:%s\n", f->system, name);
	if (!strncmp(f->text, "name: ", 6))
		buf_printf(out, "name: %s%s", name, f->text + n);
	else
		buf_printf(out, "%s", f->text);
	buf_put_u8(out, 0);
}

/* All lines of one event: "event.3", "event.3.faults". */
static void put_event(const struct reader *from, size_t i, uint64_t number, const struct event_formats *taken,
		      const struct event_format *f, struct buf *out)
{
	static const char *const more[] = { "syscall", "faults", "missing", "why" };
	cleanup_free char *name = free_name(taken, f);
	struct buf text = { 0 };
	char key[48], new[48];

	put_format(&text, f, name);
	snprintf(new, sizeof new, "event.%llu", (unsigned long long)number);
	meta_put(out, new, (char *)text.data);
	buf_free(&text);
	for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
		snprintf(key, sizeof key, "event.%zu.%s", i, more[k]);
		snprintf(new, sizeof new, "event.%llu.%s", (unsigned long long)number, more[k]);
		if (meta_get(&from->meta, key))
			meta_put(out, new, meta_get(&from->meta, key));
	}
}

/* Each says by which question it came. */
static void put_events(const struct reader *from, const struct reader *to, const struct event_formats *theirs,
		       const struct event_formats *taken, struct buf *out)
{
	char key[48];

	for (size_t i = 0; i < theirs->count; i++) {
		put_event(from, i, taken->count + i, taken, &theirs->list[i], out);
		snprintf(key, sizeof key, "event.%zu.past", taken->count + i);
		meta_put_u64(out, key, count_keys(&to->meta, "past"));
	}
}

/* Texts that records have as addresses: the same ones, if events were asked for before. */
static void put_strings(const struct reader *from, const struct reader *to, struct buf *out)
{
	char key[BOOT_KEY];

	for (size_t boot = 0; !boot || meta_get(&from->meta, boot_key(boot, "start_ns", key)); boot++) {
		const char *strings = boot_key(boot, "event_strings", key);

		if (meta_get(&from->meta, strings) && !meta_get(&to->meta, strings))
			meta_put(out, strings, meta_get(&from->meta, strings));
	}
}

static void put_prototypes(const struct reader *from, uint64_t first, struct buf *out)
{
	uint64_t n = count_keys(&from->meta, "args");
	char key[48], new[48];

	for (uint64_t i = 0; i < n; i++) {
		snprintf(key, sizeof key, "args.%llu", (unsigned long long)i);
		snprintf(new, sizeof new, "args.%llu", (unsigned long long)(first + i));
		meta_put(out, new, meta_get(&from->meta, key));
	}
}

static bool is_value(const struct fact *f)
{
	static const char values[] = { FACT_EVENT, FACT_ARGS, FACT_RETURNS, FACT_FLOATS, FACT_STACK };

	return memchr(values, (int)f->kind, sizeof values) && f->n_numbers;
}

/* Chunks have a size that readers take. */
static struct buf *room_for_fact(struct added_values *ret)
{
	enum { PIECE = 32 << 20 };

	if (!ret->n_facts || ret->facts[ret->n_facts - 1].len > PIECE) {
		ret->facts = array_grow(ret->facts, ret->n_facts, &ret->facts_cap, sizeof *ret->facts);
		ret->facts[ret->n_facts++] = (struct buf){ 0 };
	}
	return &ret->facts[ret->n_facts - 1];
}

static void put_facts(const struct facts *facts, uint64_t first_event, uint64_t first_prototype,
		      struct added_values *ret)
{
	for (size_t i = 0; i < facts->count; i++) {
		struct fact f = facts->list[i];

		if (!is_value(&f))
			continue;
		f.numbers[0] += f.kind == FACT_EVENT ? first_event : first_prototype;
		ret->records += f.kind == FACT_EVENT;
		ret->calls += f.kind == FACT_ARGS;
		fact_put(room_for_fact(ret), &f);
	}
}

static void put_question(const struct reader *to, const char *asked, struct buf *out)
{
	char key[48];

	snprintf(key, sizeof key, "past.%llu", (unsigned long long)count_keys(&to->meta, "past"));
	meta_put(out, key, asked);
}

/* What was asked for, and is nowhere in the guest. */
static void put_nowhere(const struct event_formats *theirs, const struct event_formats *taken, struct buf *out)
{
	for (size_t i = 0; i < theirs->n_nowhere; i++) {
		const struct event_nowhere *n = &theirs->nowhere[i];
		cleanup_free char *text = *n->why ? xasprintf("%s\n%s", n->definition, n->why) : xstrdup(n->definition);
		char key[48];

		snprintf(key, sizeof key, "nowhere.%zu", taken->n_nowhere + i);
		meta_put(out, key, text);
	}
}

int added_values_read(const struct reader *from, const struct reader *to, const char *asked, struct added_values *ret,
		      struct error *err)
{
	struct event_formats theirs = { 0 }, taken = { 0 };
	uint64_t prototypes = count_keys(&to->meta, "args");
	struct facts facts = { 0 };
	int r;

	*ret = (struct added_values){ 0 };
	r = event_formats_read(&from->meta, &theirs, err) < 0 || event_formats_read(&to->meta, &taken, err) < 0 ||
	    facts_read(from, &facts, err) < 0;
	if (!r) {
		put_events(from, to, &theirs, &taken, &ret->events);
		put_strings(from, to, &ret->events);
		put_prototypes(from, prototypes, &ret->events);
		put_facts(&facts, taken.count, prototypes, ret);
		put_nowhere(&theirs, &taken, &ret->events);
		put_question(to, asked, &ret->question);
	}
	facts_deinit(&facts);
	event_formats_deinit(&theirs);
	event_formats_deinit(&taken);
	return r ? -1 : 0;
}

void added_values_deinit(struct added_values *a)
{
	for (size_t i = 0; i < a->n_facts; i++)
		buf_free(&a->facts[i]);
	free(a->facts);
	buf_free(&a->events);
	buf_free(&a->question);
}

static int append(const char *path, enum chunk_type type, const struct buf *payload, struct error *err)
{
	struct reader *r;
	int ret;

	if (reader_open(path, &r, err) < 0)
		return -1;
	ret = trace_append(r, type, payload, err);
	reader_free(r);
	return ret;
}

int added_values_append(const struct added_values *a, const struct reader *to, struct error *err)
{
	/* the values' numbers are taken first: whoever is killed in between leaves events without records */
	if (a->events.len && append(to->path, CHUNK_META, &a->events, err) < 0)
		return -1;
	for (size_t i = 0; i < a->n_facts; i++)
		if (append(to->path, CHUNK_FACTS, &a->facts[i], err) < 0)
			return -1;
	return append(to->path, CHUNK_META, &a->question, err);
}

static bool is_of(const struct meta *meta, size_t event, uint64_t question)
{
	char key[48];

	snprintf(key, sizeof key, "event.%zu.past", event);
	return meta_get_u64(meta, key, UINT64_MAX) == question;
}

static char *names_of(const struct meta *meta, uint64_t question)
{
	struct event_formats formats;
	struct buf out = { 0 };
	struct error ignored;

	if (event_formats_read(meta, &formats, &ignored) == 0)
		for (size_t i = 0; i < formats.count; i++)
			if (is_of(meta, i, question))
				buf_printf(&out, "%s%s:%s", out.len ? "," : "", formats.list[i].system,
					   formats.list[i].name);
	event_formats_deinit(&formats);
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

bool added_values_known(const struct meta *meta, const char *asked, char **ret_names)
{
	char key[48];

	for (uint64_t i = 0;; i++) {
		snprintf(key, sizeof key, "past.%llu", (unsigned long long)i);
		const char *text = meta_get(meta, key);

		if (!text)
			return false;
		if (strcmp(text, asked))
			continue;
		*ret_names = names_of(meta, i);
		return true;
	}
}
