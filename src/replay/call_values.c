/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int read_prototypes(const struct meta *meta, struct call_values *c, struct error *err)
{
	size_t cap = 0;
	const char *text;
	char key[32];

	for (;; c->count++) {
		snprintf(key, sizeof key, "args.%zu", c->count);
		text = meta_get(meta, key);
		if (!text)
			return 0;
		c->prototypes = array_grow(c->prototypes, c->count, &cap, sizeof *c->prototypes);
		if (prototype_parse(text, &c->prototypes[c->count], err) < 0)
			return -1;
		if (c->prototypes[c->count].addr)
			*map_put(&c->functions, c->prototypes[c->count].addr, 1) = 1;
	}
}

/* Is it one of these names? */
static bool is_named(const struct names *names, uint32_t function, const char *list)
{
	size_t len;
	const char *shown = names_alone(names, function, &len);

	for (size_t n; *list; list += n + (list[n] == '|')) {
		n = strcspn(list, "|");
		if (n == len && !strncmp(shown, list, n))
			return true;
	}
	return false;
}

static void put_names(struct map *hashes, const char *names)
{
	for (size_t n; *names; names += n + (names[n] == '|')) {
		n = strcspn(names, "|");
		cleanup_free char *name = xstrndup(names, n);

		*map_put(hashes, hash_text(0, name), 1) = 1;
	}
}

/* Functions of programs are where they are mapped: their names tell. */
static void find_named(struct call_values *c, const struct names *names)
{
	struct map hashes = { 0 };

	for (size_t i = 0; i < c->count; i++)
		if (!c->prototypes[i].addr)
			put_names(&hashes, c->prototypes[i].function);
	for (uint32_t f = 0; hashes.count && f < names_count(names); f++) {
		size_t len;
		const char *shown = names_alone(names, f, &len);
		cleanup_free char *name = xstrndup(shown, len);

		if (names_is_user(names, f) && map_get(&hashes, hash_text(0, name)))
			*map_put(&c->named, f, 1) = 1;
	}
	map_free(&hashes);
}

static uint64_t key_of_call(const struct fact *f)
{
	return hash64(hash64(f->task) ^ f->numbers[1]) ^ f->numbers[0];
}

/* Is it of the call that the other one tells of? */
static bool is_of_call(const struct fact *f, const struct fact *args)
{
	unsigned same = f->kind == FACT_ARGS ? args->n_numbers : 2;

	if (f->task != args->task || f->n_numbers < same)
		return false;
	return !memcmp(f->numbers, args->numbers, same * sizeof *f->numbers);
}

static void take_texts(struct fact *args, const struct fact *later)
{
	for (unsigned i = 0; i < later->n_texts && i < args->n_texts; i++)
		if (!args->lens[i]) {
			args->texts[i] = later->texts[i];
			args->lens[i] = later->lens[i];
		}
}

static uint64_t key_of_place(const struct fact *f, enum fact_kind kind)
{
	return hash64(hash64(f->insns) ^ f->cpu) ^ kind;
}

static void find_beside(struct call_values *c)
{
	for (size_t i = 0; i < c->facts.count; i++) {
		const struct fact *f = &c->facts.list[i];

		if (f->kind == FACT_FLOATS || f->kind == FACT_STACK)
			*map_put(&c->beside, key_of_place(f, f->kind), 0) = i + 1;
	}
}

/* Number `i` of the fact of that kind that was recorded beside a call's arguments. */
static bool number_beside(const struct call_values *c, const struct fact *args, enum fact_kind kind, unsigned i,
			  uint64_t *ret)
{
	const uint64_t *at = map_get(&c->beside, key_of_place(args, kind));
	const struct fact *f = at ? &c->facts.list[*at - 1] : NULL;

	if (!f || f->kind != kind || f->cpu != args->cpu || f->insns != args->insns ||
	    f->numbers[0] != args->numbers[0] || i >= f->n_numbers)
		return false;
	*ret = f->numbers[i];
	return true;
}

/* Of one that takes one word there. */
static bool number_on_stack(const struct call_values *c, const struct fact *args, unsigned i, uint64_t *ret)
{
	const struct prototype *p = call_values_prototype(c, args);
	int place = prototype_stack(p, i);

	return place >= 0 && prototype_stack_words(p, i) == 1 &&
	       number_beside(c, args, FACT_STACK, 1 + (unsigned)place, ret);
}

bool call_values_number(const struct call_values *c, const struct fact *args, unsigned i, uint64_t *ret)
{
	enum { FIRST_REGISTER = 2 };
	const struct prototype *p = call_values_prototype(c, args);
	int r = prototype_register(p, i);

	if (p->parameters[i].kind == VALUE_FLOAT)
		return false;
	if (r < 0)
		return number_on_stack(c, args, i, ret);
	if (FIRST_REGISTER + (unsigned)r >= args->n_numbers)
		return false;
	*ret = args->numbers[FIRST_REGISTER + r];
	return true;
}

static double float_of(uint64_t bits, unsigned bytes)
{
	uint32_t low = (uint32_t)bits;
	double wide;
	float narrow;

	memcpy(&wide, &bits, sizeof wide);
	memcpy(&narrow, &low, sizeof narrow);
	return bytes == sizeof narrow ? (double)narrow : wide;
}

bool call_values_float(const struct call_values *c, const struct fact *args, unsigned i, double *ret)
{
	const struct prototype *p = call_values_prototype(c, args);
	int vector = prototype_vector(p, i);
	uint64_t bits;

	if (p->parameters[i].kind != VALUE_FLOAT ||
	    !(vector >= 0 ? number_beside(c, args, FACT_FLOATS, 1 + (unsigned)vector, &bits)
			  : number_on_stack(c, args, i, &bits)))
		return false;
	*ret = float_of(bits, p->parameters[i].bytes);
	return true;
}

bool call_values_float_result(const struct call_values *c, const struct fact *result, double *ret)
{
	enum { AT = 3, BYTES_MAX = 8 };
	const struct prototype *p = call_values_prototype(c, result);

	if (!p || p->result.kind != VALUE_FLOAT || p->result.bytes > BYTES_MAX || result->n_numbers <= AT)
		return false;
	*ret = float_of(result->numbers[AT], p->result.bytes);
	return true;
}

/* Where a function's first instruction is the one that touches the page, it is executed twice, and told of twice. */
static void take_later_texts(struct call_values *c)
{
	struct map calls = { 0 }; /* under way → number of their fact + 1 */

	for (size_t i = 0; i < c->facts.count; i++) {
		const struct fact *f = &c->facts.list[i];
		struct fact *args;
		uint64_t *at;

		if ((f->kind != FACT_ARGS && f->kind != FACT_RETURNS) || f->n_numbers < 2)
			continue;
		at = map_put(&calls, key_of_call(f), 0);
		args = *at ? &c->facts.list[*at - 1] : NULL;
		if (args && is_of_call(f, args))
			take_texts(args, f);
		else if (f->kind == FACT_ARGS)
			*at = i + 1;
		if (f->kind == FACT_RETURNS)
			*at = 0;
	}
	map_free(&calls);
}

void call_values_complete(struct call_values *c)
{
	find_beside(c);
	take_later_texts(c);
}

int call_values_read(const struct reader *r, const struct names *names, struct call_values *ret, struct error *err)
{
	*ret = (struct call_values){ .names = names };
	if (read_prototypes(&r->meta, ret, err) < 0)
		return -1;
	find_named(ret, names);
	return ret->count ? facts_read(r, &ret->facts, err) : 0;
}

void call_values_deinit(struct call_values *c)
{
	for (size_t i = 0; i < c->count; i++)
		prototype_deinit(&c->prototypes[i]);
	free(c->prototypes);
	map_free(&c->functions);
	map_free(&c->named);
	map_free(&c->beside);
	facts_deinit(&c->facts);
	*c = (struct call_values){ 0 };
}

const struct prototype *call_values_prototype(const struct call_values *c, const struct fact *fact)
{
	return fact->n_numbers && fact->numbers[0] < c->count ? &c->prototypes[fact->numbers[0]] : NULL;
}

bool call_values_is_named(const struct call_values *c, const struct prototype *p, uint32_t function)
{
	return !p->addr && map_get(&c->named, function) && is_named(c->names, function, p->function);
}

/* Is it of that frame, as far as its function and its place on the stack tell? */
static bool is_of(const struct call_values *c, const struct fact *f, const struct frame *frame)
{
	const struct prototype *p = call_values_prototype(c, f);

	if (!p || f->n_numbers < 2 || f->numbers[1] != frame->slot)
		return false;
	return p->addr ? p->addr == frame->addr : call_values_is_named(c, p, frame->function);
}

static bool is_chosen(const struct call_values *c, const struct frame *frame)
{
	return map_get(&c->functions, frame->addr) || map_get(&c->named, frame->function);
}

/*
 * An interrupt came before the function's first instruction, where its arguments are read: they are the first ones that
 * are read for that function at that place of the thread's stack, since the call cannot have been left before.
 */
static const struct fact *read_later(const struct call_values *c, const struct frame *frame, uint64_t task)
{
	enum { SOON = 4096 };
	size_t i = facts_at(&c->facts, frame->entry_ns);

	for (size_t n = 0; i < c->facts.count && n < SOON; i++, n++) {
		const struct fact *f = &c->facts.list[i];

		if (f->kind == FACT_ARGS && f->task == task && is_of(c, f, frame))
			return f;
	}
	return NULL;
}

const struct fact *call_values_at_entry(const struct call_values *c, const struct frame *frame, unsigned cpu,
					uint64_t insns)
{
	const struct fact *f = c->count ? facts_find(&c->facts, FACT_ARGS, cpu, insns) : NULL;

	return f && is_of(c, f, frame) ? f : NULL;
}

const struct fact *call_values_entered(const struct call_values *c, const struct frame *frame, uint64_t task)
{
	const struct fact *f = c->count && is_chosen(c, frame) ? read_later(c, frame, task) : NULL;

	return f && f->ns == frame->entry_ns ? f : NULL;
}

const struct fact *call_values_args(const struct call_values *c, const struct frame *frame, uint64_t task, unsigned cpu,
				    uint64_t insns)
{
	const struct fact *f = call_values_at_entry(c, frame, cpu, insns);

	if (f)
		return f;
	return is_chosen(c, frame) ? read_later(c, frame, task) : NULL;
}

/* The return of a kernel with return thunks comes a little behind the jump to the thunk, where the result was read. */
const struct fact *call_values_result(const struct call_values *c, const struct frame *frame, unsigned cpu,
				      uint64_t insns)
{
	enum { THUNK_INSNS = 8 };

	for (uint64_t back = 0; c->count && back <= THUNK_INSNS && back <= insns; back++) {
		const struct fact *f = facts_find(&c->facts, FACT_RETURNS, cpu, insns - back);

		if (f)
			return is_of(c, f, frame) ? f : NULL;
	}
	return NULL;
}

/* They have the time at which the call was entered, or a later one: see read_later(). */
const struct fact *call_values_open(const struct call_values *c, const struct frame *frame, uint64_t task, uint64_t ns)
{
	const struct fact *f = c->count && is_chosen(c, frame) ? read_later(c, frame, task) : NULL;

	return f && f->ns <= ns ? f : NULL;
}
