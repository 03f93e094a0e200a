/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_texts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
	RECORD_MAX = 1 << 16,
	SOME = 256,
	BEHIND = 16, /* zeros behind a record: a string in it ends there at last */
};

struct event_texts {
	const struct event_formats *formats;
	const struct event_layout *layouts;
	const struct names *names;
	struct tep_handle *tep;
	/* as libtraceevent has them; NULL: not understood. The numbers by which it tells them apart are ours: the */
	struct tep_event **events; /* … kernel's may not be known */
	bool *known;               /* by number of event: it was looked at */
	uint64_t ns;               /* of what is printed */
	struct buf name;           /* that the resolver returned last */
	struct trace_seq text;
	uint8_t record[RECORD_MAX + BEHIND];
};

/* What a pointer leads to, for %pS and the like. */
static char *resolve(void *context, unsigned long long *addr, char **module)
{
	struct event_texts *d = context;
	struct names_symbol symbol;

	if (!d->names || !names_symbol(d->names, *addr, d->ns, 0, &symbol))
		return NULL;
	d->name.len = 0;
	buf_printf(&d->name, "%s", symtab_name(symbol.tab, symbol.index));
	buf_put_u8(&d->name, 0);
	*addr -= symbol.offset;
	*module = NULL;
	return (char *)d->name.data;
}

/* The format's text with a number of ours for its ID. */
static void put_format(const struct event_format *format, size_t number, struct buf *out)
{
	const char *id = strstr(format->text, "\nID: "), *behind = id ? strchr(id + 1, '\n') : NULL;

	if (!behind)
		return;
	buf_put(out, format->text, (size_t)(id - format->text));
	buf_printf(out, "\nID: %zu%s", number + 1, behind);
}

static void describe(struct event_texts *t, size_t number)
{
	const struct event_format *format = &t->formats->list[number];
	struct buf text = { 0 };

	if (number >= UINT16_MAX) /* records begin with their numbers, of 16 bits */
		return;
	put_format(format, number, &text);
	if (text.len && !tep_parse_event(t->tep, (char *)text.data, text.len, format->system))
		t->events[number] = tep_find_event(t->tep, (int)number + 1);
	buf_free(&text);
}

static void print(struct event_texts *t, const struct event_record *r)
{
	uint16_t number = (uint16_t)(r->event + 1);
	struct tep_record record = {
		.ts = r->ns,
		.size = (int)r->size,
		.record_size = (int)r->size,
		.data = t->record,
		.cpu = (int)r->cpu,
		.ref_count = 1,
	};

	memcpy(t->record, r->data, r->size);
	memcpy(t->record, &number, sizeof number);
	memset(t->record + r->size, 0, BEHIND);
	t->ns = r->ns;
	trace_seq_reset(&t->text);
	tep_print_event(t->tep, &t->text, &record, "%s", TEP_PRINT_INFO);
}

/* A record of one byte only, as long as its fields make it. */
static void print_nothing(struct event_texts *t, size_t number, int fill)
{
	const struct event_layout *l = &t->layouts[number];
	struct event_record r = { .event = number, .size = fill ? SOME : 0 };
	uint8_t data[RECORD_MAX];

	for (size_t i = 0; i < l->count; i++)
		if ((uint64_t)l->fields[i].offset + l->fields[i].size > r.size)
			r.size = (uint64_t)l->fields[i].offset + l->fields[i].size;
	if (!t->events[number] || r.size > RECORD_MAX)
		return;
	memset(data, fill, sizeof data);
	r.data = data;
	print(t, &r);
}

/* Does not return. */
static void try_format(struct event_texts *t, size_t number)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
	enum { SECONDS = 10 };

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	alarm(SECONDS);
	describe(t, number);
	print_nothing(t, number, 0);
	print_nothing(t, number, 0xff);
	_exit(0);
}

/*
 * libtraceevent trusts formats, but a trace may have any: one that is none has made it follow a null pointer. So a
 * child tries each first, and one that it does not come back from is not for us.
 */
static bool is_harmless(struct event_texts *t, size_t number)
{
	pid_t child = fork();
	int status;

	if (!child)
		try_format(t, number);
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* libtraceevent takes off quotes, and looks two bytes further back: shorter texts stay addresses. */
static void add_strings(struct event_texts *t)
{
	enum { SHORTEST = 2 };
	const struct event_strings *strings = &t->formats->strings;
	struct buf quoted = { 0 };

	for (size_t i = 0; i < strings->count; i++) {
		const struct event_string *s = &strings->list[i];

		if (!s->text || strlen(s->text) < SHORTEST)
			continue;
		quoted.len = 0;
		buf_printf(&quoted, "\"%s\"", s->text);
		buf_put_u8(&quoted, 0);
		tep_register_print_string(t->tep, (char *)quoted.data, s->addr);
	}
	buf_free(&quoted);
}

struct event_texts *event_texts_new(const struct event_formats *formats, const struct names *names,
				    const struct event_layout *layouts)
{
	struct event_texts *t = xcalloc(1, sizeof *t);

	*t = (struct event_texts){ .formats = formats, .names = names, .layouts = layouts, .tep = tep_alloc() };
	t->events = xcalloc(formats->count + 1, sizeof *t->events);
	t->known = xcalloc(formats->count + 1, sizeof *t->known);
	trace_seq_init(&t->text);
	if (!t->tep)
		return t; /* no text is understood then */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(t->tep, 8);
	tep_set_page_size(t->tep, 4096);
	tep_set_file_bigendian(t->tep, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(t->tep, TEP_LITTLE_ENDIAN);
	tep_set_function_resolver(t->tep, resolve, t);
	add_strings(t);
	return t;
}

void event_texts_free(struct event_texts *t)
{
	free(t->events);
	free(t->known);
	trace_seq_destroy(&t->text);
	buf_free(&t->name);
	if (t->tep)
		tep_free(t->tep);
	free(t);
}

bool event_texts_put(struct event_texts *t, const struct event_record *r, struct buf *out)
{
	if (t->tep && !t->known[r->event]) {
		t->known[r->event] = true;
		if (is_harmless(t, r->event))
			describe(t, r->event);
	}
	if (!t->events[r->event] || t->events[r->event]->flags & TEP_EVENT_FL_FAILED || r->size > RECORD_MAX)
		return false;
	print(t, r);
	buf_put(out, t->text.buffer, t->text.len);
	return true;
}
