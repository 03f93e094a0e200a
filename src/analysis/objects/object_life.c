/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "object_life.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/texts.h"

struct reading {
	struct object_life *life;
	struct texts texts;
	uint64_t address;
	const struct object_report *report;
	uint32_t allocates, frees;     /* numbers of the functions that tell of them … */
	uint32_t reports[2];           /* … and of those that report */
	struct object_moment reported; /* the last report that began */
};

const char *object_event_name(enum object_event what)
{
	static const char *const names[] = { "allocated", "freed", "used" };

	return names[what];
}

/* The number behind that, in a line of the log; 0: the line has none. */
static uint64_t number_in(const char *text, const char *at, int base)
{
	const char *found = strstr(text, at);

	return found ? strtoull(found + strlen(at), NULL, base) : 0;
}

/* A report's other lines: mm/kasan/report.c. They end with the next report, of whatever. */
static void read_object_of(const struct kernel_log *log, size_t i, struct object_report *ret)
{
	for (; i < log->count && !strstr(log->lines[i].text, "BUG: "); i++) {
		if (!ret->object)
			ret->object = number_in(log->lines[i].text, "belongs to the object at ", 16);
		if (ret->object && !ret->size && strstr(log->lines[i].text, "belongs to the cache "))
			ret->size = number_in(log->lines[i].text, " of size ", 10);
	}
}

/*
 * The address that a report's line names; 0: none. Of what was freed twice, or is no object, kernels from 6.2 on have a
 * line of their own; those before it name the object only.
 */
static uint64_t address_in(const char *text)
{
	static const char *const words[] = { " at addr ", "Free of addr ", "belongs to the object at " };
	uint64_t address = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words && !address; i++)
		address = number_in(text, words[i], 16);
	return address;
}

bool object_report_find(const struct kernel_log *log, uint64_t address, struct object_report *ret)
{
	const struct log_line *line = NULL;

	for (size_t i = 0; i < log->count; i++) {
		uint64_t about = address_in(log->lines[i].text);

		if (strstr(log->lines[i].text, "BUG: KASAN: "))
			line = &log->lines[i];
		if (!line || !about || (address && about != address))
			continue;
		*ret = (struct object_report){ .line = line, .address = about };
		read_object_of(log, (size_t)(line - log->lines) + 1, ret);
		return true;
	}
	return false;
}

static bool read_object(const struct text *text, uint64_t *ret_object, uint64_t *ret_size)
{
	uint64_t object[2];

	if (text->arg < TEXT_ALLOCATED || text->len != sizeof object)
		return false;
	memcpy(object, text->bytes, sizeof object);
	*ret_object = object[0];
	*ret_size = object[1];
	return true;
}

/* Where a kernel does not describe its types, the size of its objects is known only of the one that was reported. */
static bool is_about(const struct reading *r, uint64_t object, uint64_t size)
{
	if (size)
		return r->address >= object && r->address - object < size;
	return object == (r->report && r->report->object ? r->report->object : r->address);
}

static bool is_wanted(void *state, const struct text *text)
{
	uint64_t object, size;

	return read_object(text, &object, &size) && is_about(state, object, size);
}

static bool is_kasans(const char *function)
{
	static const char *const begins[] = { "kasan_", "__kasan_", "__asan_", "check_region_inline" };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (!strncmp(function, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Without the frames on top that are KASAN's own. */
static struct stack copy_of(const struct stacks *s, const struct stack *stack)
{
	struct stack copy = *stack;

	while (copy.depth > 1 && is_kasans(names_function(s->names, copy.frames[copy.depth - 1].function))) {
		copy.depth--;
		copy.place = copy.frames[copy.depth].kind == FRAME_TAIL ? 0 : copy.frames[copy.depth].from;
	}
	copy.frames = xmalloc(copy.depth * sizeof *copy.frames);
	memcpy(copy.frames, stack->frames, copy.depth * sizeof *copy.frames);
	return copy;
}

static struct object_moment moment_of(enum object_event what, const struct stacks *s, const struct stack *stack)
{
	return (struct object_moment){
		.what = what, .ns = s->ns, .cpu = (unsigned)stack->cpu, .stack = copy_of(s, stack),
	};
}

static void add(struct object_life *life, const struct object_moment *moment)
{
	life->list = array_grow(life->list, life->count, &life->cap, sizeof *life->list);
	life->list[life->count++] = *moment;
}

static void told(struct reading *r, const struct stacks *s, const struct stack *stack, enum object_event what)
{
	unsigned arg = what == OBJECT_ALLOCATED ? TEXT_ALLOCATED : TEXT_FREED;
	const struct text *text = texts_find(&r->texts, (uint32_t)stack->cpu, s->insns, arg);
	struct object_moment moment;
	uint64_t object, size;

	if (!text || !read_object(text, &object, &size) || !is_about(r, object, size))
		return;
	moment = moment_of(what, s, stack);
	moment.address = object;
	moment.size = size ? size : r->report ? r->report->size : 0;
	add(r->life, &moment);
}

/* A report begins: whose it is, its lines of the log tell later. */
static void reported(struct reading *r, const struct stacks *s, const struct stack *stack)
{
	if (!r->report || s->ns > r->report->line->ns)
		return;
	free(r->reported.stack.frames);
	r->reported = moment_of(OBJECT_USED, s, stack);
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct reading *r = state;

	if (__builtin_expect(!s->event || stack->cpu < 0, 0))
		return;
	if (frame->function == r->allocates)
		told(r, s, stack, OBJECT_ALLOCATED);
	else if (frame->function == r->frees)
		told(r, s, stack, OBJECT_FREED);
	else if (frame->function == r->reports[0] || frame->function == r->reports[1])
		reported(r, s, stack);
}

static int by_time(const void *va, const void *vb)
{
	const struct object_moment *a = va, *b = vb;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

int object_life_read(const struct session *session, uint64_t address, const struct object_report *report,
		     struct object_life *ret, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter };
	struct reading r = {
		.life = ret, .address = address, .report = report,
		.allocates = names_find(session->names, "kasan_save_alloc_info"),
		.frees = names_find(session->names, "kasan_save_free_info"),
		.reports = { names_find(session->names, "kasan_report"),
			     names_find(session->names, "kasan_report_invalid_free") },
	};
	int result;

	*ret = (struct object_life){ 0 };
	result = texts_read_some(session->reader, is_wanted, &r, &r.texts, err);
	if (result == 0)
		result = stacks_replay(&ret->stacks, session, NULL, UINT64_MAX, &visitor, &r, err);
	if (r.reported.stack.frames)
		add(ret, &r.reported);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_time);
	texts_deinit(&r.texts);
	return result;
}

size_t object_life_last(const struct object_life *life, size_t end)
{
	while (end && life->list[end - 1].what != OBJECT_ALLOCATED)
		end--;
	return end ? end - 1 : 0;
}

void object_life_deinit(struct object_life *life)
{
	for (size_t i = 0; i < life->count; i++)
		free(life->list[i].stack.frames);
	free(life->list);
	stacks_deinit(&life->stacks);
	*life = (struct object_life){ 0 };
}
