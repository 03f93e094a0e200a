/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_decoder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
	HEADER = 8,              /* struct trace_entry, include/linux/trace_events.h */
	RECORD_MAX = 1 << 16,
	BEHIND = 16,             /* zeros behind a record: a string in it ends there at last */
};

/* An event as libtraceevent has it. The numbers by which it tells them apart are ours: the kernel's may not be known. */
struct described {
	struct tep_event *event; /* NULL: its format is not understood */
	struct tep_format_field **fields;
	size_t count;
};

struct event_decoder {
	const struct names *names;
	struct tep_handle *tep;
	struct described *events;
	size_t count;
	uint64_t ns;             /* of what is printed */
	struct buf name;         /* that the resolver returned last */
	struct trace_seq text;
	uint8_t record[RECORD_MAX + BEHIND];
};

/* What a pointer leads to, for %pS and the like. */
static char *resolve(void *context, unsigned long long *addr, char **module)
{
	struct event_decoder *d = context;
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

static struct tep_event *parse(struct event_decoder *d, const struct event_format *format, size_t number)
{
	struct buf text = { 0 };
	struct tep_event *event = NULL;

	put_format(format, number, &text);
	if (text.len && !tep_parse_event(d->tep, (char *)text.data, text.len, format->system))
		event = tep_find_event(d->tep, (int)number + 1);
	buf_free(&text);
	return event;
}

static void describe(struct event_decoder *d, const struct event_format *format, size_t number)
{
	struct described *e = &d->events[number];
	size_t n = 0;

	e->event = parse(d, format, number);
	if (!e->event)
		return;
	for (struct tep_format_field *f = e->event->format.fields; f; f = f->next)
		n++;
	e->fields = xcalloc(n + 1, sizeof *e->fields);
	for (struct tep_format_field *f = e->event->format.fields; f; f = f->next)
		e->fields[e->count++] = f;
}

/* How far a format has come that a child tries. */
enum trial { UNTRIED, TRIED, FINE, BAD };

static void print_nothing(struct event_decoder *d, size_t number, int fill);

/* Does not return. */
static void try_formats(struct event_decoder *d, const struct event_formats *formats, volatile uint8_t *trials)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
	enum { SECONDS = 20 };

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	alarm(SECONDS);
	for (size_t i = 0; i < formats->count; i++) {
		if (trials[i] != UNTRIED)
			continue;
		trials[i] = TRIED;
		describe(d, &formats->list[i], i);
		print_nothing(d, i, 0);
		print_nothing(d, i, 0xff);
		trials[i] = FINE;
	}
	_exit(0);
}

/*
 * libtraceevent trusts formats, but a trace may have any: one that is none has made it follow a null pointer. So a child
 * tries them first, and those that it does not come back from are not for us.
 */
static void find_bad_formats(struct event_decoder *d, const struct event_formats *formats, volatile uint8_t *trials)
{
	enum { CHILDREN = 32 };

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		bool bad = false;

		if (!child)
			try_formats(d, formats, trials);
		if (child < 0 || waitpid(child, NULL, 0) < 0)
			break;
		for (size_t k = 0; k < formats->count; k++)
			if (trials[k] == TRIED) {
				trials[k] = BAD;
				bad = true;
			}
		if (!bad)
			break;
	}
}

static void describe_all(struct event_decoder *d, const struct event_formats *formats)
{
	volatile uint8_t *trials = mmap(NULL, d->count + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (trials == MAP_FAILED)
		abort();
	find_bad_formats(d, formats, trials);
	for (size_t i = 0; i < d->count; i++)
		if (trials[i] == FINE)
			describe(d, &formats->list[i], i);
	munmap((void *)trials, d->count + 1);
}

struct event_decoder *event_decoder_new(const struct event_formats *formats, const struct names *names)
{
	struct event_decoder *d = xcalloc(1, sizeof *d);

	d->names = names;
	d->tep = tep_alloc();
	if (!d->tep)
		abort();
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(d->tep, 8);
	tep_set_page_size(d->tep, 4096);
	tep_set_file_bigendian(d->tep, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(d->tep, TEP_LITTLE_ENDIAN);
	tep_set_function_resolver(d->tep, resolve, d);
	trace_seq_init(&d->text);
	d->count = formats->count;
	d->events = xcalloc(d->count + 1, sizeof *d->events);
	describe_all(d, formats);
	return d;
}

void event_decoder_free(struct event_decoder *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->events[i].fields);
	free(d->events);
	trace_seq_destroy(&d->text);
	buf_free(&d->name);
	tep_free(d->tep);
	free(d);
}

bool event_record_of(const struct event_formats *formats, const struct fact *fact, struct event_record *ret)
{
	if (fact->kind != FACT_EVENT || !fact->n_numbers || !fact->n_texts || fact->numbers[0] >= formats->count)
		return false;
	*ret = (struct event_record){
		.event = fact->numbers[0], .data = fact->texts[0], .size = fact->lens[0], .ns = fact->ns, .cpu = fact->cpu,
	};
	return true;
}

int32_t event_record_pid(const struct event_record *r)
{
	int32_t pid = 0;

	if (r->size >= HEADER)
		memcpy(&pid, (const char *)r->data + 4, sizeof pid);
	return pid;
}

/* Where a string or an array of changing length is: include/trace/stages/stage1_struct_define.h. */
static void place_of(const struct tep_format_field *f, const void *data, size_t *ret_offset, size_t *ret_size)
{
	uint32_t word;

	*ret_offset = (size_t)f->offset;
	*ret_size = (size_t)f->size;
	if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
		return;
	memcpy(&word, (const char *)data + f->offset, sizeof word);
	*ret_size = word >> 16;
	*ret_offset = word & 0xffff;
	if (f->flags & TEP_FIELD_IS_RELATIVE)
		*ret_offset += (size_t)f->offset + (size_t)f->size;
}

/* Is the field in the record, with all that it says of itself? */
static bool has_field(const struct tep_format_field *f, const void *data, size_t size)
{
	size_t offset, length;

	if (f->offset < 0 || f->size < 0 || (size_t)f->offset + (size_t)f->size > size ||
	    (f->flags & TEP_FIELD_IS_DYNAMIC && f->size != 4))
		return false;
	place_of(f, data, &offset, &length);
	return offset <= size && length <= size - offset;
}

/* libtraceevent trusts records: one that lacks a field is not for it. */
static bool is_whole(const struct described *e, const struct event_record *r)
{
	if (!e->event || r->size < HEADER || r->size > RECORD_MAX)
		return false;
	for (size_t i = 0; i < e->count; i++)
		if (!has_field(e->fields[i], r->data, r->size))
			return false;
	return true;
}

/* A copy with our number, as libtraceevent takes it. */
static struct tep_record record_for(struct event_decoder *d, const struct event_record *r)
{
	uint16_t number = (uint16_t)(r->event + 1);

	memcpy(d->record, r->data, r->size);
	memcpy(d->record, &number, sizeof number);
	memset(d->record + r->size, 0, BEHIND);
	d->ns = r->ns;
	return (struct tep_record){
		.ts = r->ns, .size = (int)r->size, .record_size = (int)r->size, .data = d->record, .cpu = (int)r->cpu,
		.ref_count = 1,
	};
}

static void print(struct event_decoder *d, const struct event_record *r)
{
	struct tep_record record = record_for(d, r);

	trace_seq_reset(&d->text);
	tep_print_event(d->tep, &d->text, &record, "%s", TEP_PRINT_INFO);
}

/* A record of one byte only, as long as its fields make it. */
static void print_nothing(struct event_decoder *d, size_t number, int fill)
{
	const struct described *e = &d->events[number];
	struct event_record r = { .event = number, .size = HEADER };
	void *data;

	for (size_t i = 0; i < e->count; i++)
		if (e->fields[i]->offset >= 0 && e->fields[i]->size >= 0 &&
		    (size_t)e->fields[i]->offset + (size_t)e->fields[i]->size > r.size)
			r.size = (size_t)e->fields[i]->offset + (size_t)e->fields[i]->size;
	r.size += fill ? RECORD_MAX / 2 : 0;
	if (r.size > RECORD_MAX)
		return;
	r.data = data = xmalloc(r.size);
	memset(data, fill, r.size);
	if (is_whole(e, &r))
		print(d, &r);
	free(data);
}

void event_put_text(struct event_decoder *d, const struct event_record *r, struct buf *out)
{

	if (!is_whole(&d->events[r->event], r)) {
		buf_printf(out, "[a record of %zu bytes that its format does not describe]", r->size);
		return;
	}
	print(d, r);
	buf_put(out, d->text.buffer, d->text.len);
}

size_t event_fields(const struct event_decoder *d, size_t event)
{
	return d->events[event].count;
}

const char *event_field_name(const struct event_decoder *d, size_t event, size_t field)
{
	return d->events[event].fields[field]->name;
}

const char *event_field_type(const struct event_decoder *d, size_t event, size_t field)
{
	return d->events[event].fields[field]->type;
}

long event_field_find(const struct event_decoder *d, size_t event, const char *name)
{
	for (size_t i = 0; i < d->events[event].count; i++)
		if (!strcmp(d->events[event].fields[i]->name, name))
			return (long)i;
	return -1;
}

static struct event_value text_value(const char *bytes, size_t n, struct buf *scratch)
{
	buf_put(scratch, bytes, strnlen(bytes, n));
	buf_put_u8(scratch, 0);
	return (struct event_value){ .kind = EVENT_TEXT, .text = (char *)scratch->data };
}

/* "[1, 2]": numbers of an array, or bytes that are no text */
static struct event_value array_value(const struct tep_format_field *f, const uint8_t *bytes, size_t n,
				      struct buf *scratch)
{
	size_t each = f->elementsize == 2 || f->elementsize == 4 || f->elementsize == 8 ? f->elementsize : 1;

	buf_printf(scratch, "[");
	for (size_t at = 0; at + each <= n; at += each) {
		uint64_t value = 0;

		memcpy(&value, bytes + at, each);
		buf_printf(scratch, f->flags & TEP_FIELD_IS_SIGNED ? "%s%lld" : "%s%llu", at ? ", " : "",
			   (long long)value);
	}
	buf_printf(scratch, "]");
	buf_put_u8(scratch, 0);
	return (struct event_value){ .kind = EVENT_TEXT, .text = (char *)scratch->data };
}

struct event_value event_value(struct event_decoder *d, const struct event_record *r, size_t field, struct buf *scratch)
{
	const struct tep_format_field *f = d->events[r->event].fields[field];
	size_t offset, size;
	uint64_t value = 0;

	scratch->len = 0;
	if (!has_field(f, r->data, r->size))
		return (struct event_value){ .kind = EVENT_NOTHING };
	place_of(f, r->data, &offset, &size);
	if (f->flags & TEP_FIELD_IS_STRING)
		return text_value((const char *)r->data + offset, size, scratch);
	if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC) || size > sizeof value)
		return array_value(f, (const uint8_t *)r->data + offset, size, scratch);
	memcpy(&value, (const char *)r->data + offset, size);
	if (f->flags & TEP_FIELD_IS_SIGNED && size && size < 8)
		value = (uint64_t)((int64_t)(value << (64 - size * 8)) >> (64 - size * 8));
	return (struct event_value){
		.kind = f->flags & TEP_FIELD_IS_POINTER  ? EVENT_ADDRESS
			: f->flags & TEP_FIELD_IS_SIGNED ? EVENT_SIGNED
							 : EVENT_NUMBER,
		.number = value,
	};
}

void event_value_put(struct event_decoder *d, const struct event_record *r, const struct event_value *value,
		     struct buf *out)
{
	struct names_symbol symbol;

	switch (value->kind) {
	case EVENT_NOTHING:
		buf_printf(out, "-");
		break;
	case EVENT_NUMBER:
		if (addr_is_kernel(value->number) && d->names && names_symbol(d->names, value->number, r->ns, 0, &symbol))
			names_address(d->names, value->number, r->ns, 0, out);
		else
			buf_printf(out, addr_is_kernel(value->number) ? "0x%llx" : "%llu",
				   (unsigned long long)value->number);
		break;
	case EVENT_SIGNED:
		buf_printf(out, "%lld", (long long)value->number);
		break;
	case EVENT_ADDRESS:
		buf_printf(out, "0x%llx", (unsigned long long)value->number);
		break;
	case EVENT_TEXT:
		buf_printf(out, "%s", value->text);
		break;
	}
}
