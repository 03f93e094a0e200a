/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arguments.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "guest/function_name.h"
#include "recorder/kernel/kernel_types.h"
#include "recorder/kernel/kernel_argument.h"
#include "recorder/kernel/structures.h"
#include "recorder/says.h"
#include "recorder/watch/watch_put.h"
#include "returns.h"
#include "trace/meta.h"
#include "unread_texts.h"

#ifdef UPTO_SMALL_TABLES
enum { FUNCTIONS_MAX = 64 };
#else
enum { FUNCTIONS_MAX = 4096 };
#endif

enum {
	TEXT_MAX = 256,
	COMM_LEN = 16, /* TASK_COMM_LEN, include/linux/sched.h */
};

static struct {
	char **patterns;
	bool *fit; /* by pattern: some function has such a name */
	size_t count;
	struct map at; /* where a chosen function begins → its number + 1 */
	/* by number, of all kernels that booted; they stay where they are, since vCPUs read them at any time */
	struct prototype *prototypes;
	size_t found, more; /* more: that there was no room for */
} chosen;

void arguments_init(const char *list)
{
	for (size_t n, room = 0; list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		chosen.patterns = array_grow(chosen.patterns, chosen.count, &room, sizeof *chosen.patterns);
		chosen.patterns[chosen.count++] = xstrndup(list, n);
	}
	if (chosen.count)
		kernel_types_want();
	chosen.fit = xcalloc(chosen.count, sizeof *chosen.fit);
}

/* They stay where they are, since vCPUs read them at any time. */
static struct prototype *next_prototype(void)
{
	if (!chosen.prototypes)
		chosen.prototypes = xcalloc(FUNCTIONS_MAX, sizeof *chosen.prototypes);
	return &chosen.prototypes[chosen.found];
}

static void tell_prototype(const struct prototype *p, struct buf *lines)
{
	struct buf text = { 0 };
	char key[32];

	prototype_put(p, &text);
	buf_put_u8(&text, 0);
	snprintf(key, sizeof key, "args.%zu", chosen.found);
	meta_put(lines, key, (char *)text.data);
	buf_free(&text);
}

uint64_t arguments_choose(const char *prototype, struct buf *lines)
{
	struct prototype *p = next_prototype();
	struct error ignored;

	if (chosen.found == FUNCTIONS_MAX || prototype_parse(prototype, p, &ignored) < 0)
		return 0;
	tell_prototype(p, lines);
	return ++chosen.found;
}

/*
 * By what is shown, or by the name in the source: vfs_read is also vfs_read.isra.0. What seldom runs of it,
 * vfs_read.cold, is entered by jumps, and is given nothing.
 */
static bool is_asked(const char *name)
{
	size_t len = function_name_source(name, strlen(name));
	cleanup_free char *source = xstrndup(name, len);
	bool any = false;

	if (strstr(name, ".cold"))
		return false;
	for (size_t i = 0; i < chosen.count; i++)
		if (!fnmatch(chosen.patterns[i], name, 0) || !fnmatch(chosen.patterns[i], source, 0))
			any = chosen.fit[i] = true;
	return any;
}

static void choose(const struct btf_prototypes *types, uint64_t addr, const char *name, struct buf *lines)
{
	struct prototype *p = next_prototype();

	btf_prototypes_find(types, name, p);
	p->addr = addr;
	tell_prototype(p, lines);
	*map_put(&chosen.at, addr, 0) = ++chosen.found;
	returns_choose_args(addr, (uint32_t)chosen.found);
}

/* Of a table whose addresses lie `slide` lower than where they are. */
static void choose_all(const struct btf_prototypes *types, const struct symtab *tab, uint64_t slide, struct buf *lines)
{
	for (size_t i = 0; i < tab->count; i++) {
		const char *name = symtab_name(tab, (long)i);

		if (!is_asked(name))
			continue;
		if (chosen.found < FUNCTIONS_MAX)
			choose(types, tab->symbols[i].addr + slide, name, lines);
		else
			chosen.more++;
	}
	if (chosen.more)
		recorder_says("--args: %zu functions more have such a name; those of the first %d are recorded",
			      chosen.more, FUNCTIONS_MAX);
}

static void forget(uint64_t function)
{
	*map_put(&chosen.at, function, 0) = 0;
	returns_choose_args(function, 0);
}

void arguments_found(struct buf *lines)
{
	struct kernel *k = &recorder.kernel;

	if (!chosen.count || k->no_linux || guest_is_narrow())
		return;
	for (size_t i = 0; i < chosen.found; i++)
		if (chosen.prototypes[i].addr)
			forget(chosen.prototypes[i].addr);
	choose_all(kernel_types(), &k->tab, k->slide, lines);
}

/* Another module may have been there. */
static void forget_at(const struct symtab *tab)
{
	for (size_t i = 0; i < chosen.found; i++)
		if (chosen.prototypes[i].addr && symtab_section_of(tab, chosen.prototypes[i].addr))
			forget(chosen.prototypes[i].addr);
}

void arguments_module(const struct btf_prototypes *types, const struct symtab *tab)
{
	struct buf lines = { 0 };

	if (!chosen.count || guest_is_narrow())
		return;
	pthread_mutex_lock(&recorder.lock);
	forget_at(tab);
	choose_all(types, tab, 0, &lines);
	pthread_mutex_unlock(&recorder.lock);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

void arguments_finish(void)
{
	if (chosen.count && guest_is_narrow()) {
		recorder_says("--args: what functions of a kernel of 32 bits are given is not recorded");
		return;
	}
	for (size_t i = 0; i < chosen.count; i++)
		if (!chosen.fit[i])
			recorder_says("--args: the kernel and the modules that were loaded have no function %s",
				      chosen.patterns[i]);
}

uint64_t arguments_at(uint64_t addr)
{
	const uint64_t *number = chosen.at.count ? map_get(&chosen.at, addr) : NULL;

	return number ? *number : 0;
}

/* What a value is the name of; "": it has none, or cannot be read. */
static const char *name_of(struct vcpu *v, enum value_kind kind, uint64_t value, char *text, char *path)
{
	uint64_t name;

	*text = '\0';
	if (!value)
		return text;
	switch (kind) {
	case VALUE_STRING:
		return structure_text(v, value, text, TEXT_MAX);
	case VALUE_FILE:
		return structure_path(v, value, path);
	case VALUE_PATH:
		return structure_path_at(v, value, path);
	case VALUE_DENTRY:
		name = STRUCTURES_KNOWN(DENTRY_NAME, QSTR_NAME)
			       ? structure_pointer(v, value + (uint64_t)structure_at(DENTRY_NAME), QSTR_NAME)
			       : 0;
		break;
	case VALUE_TASK:
		return structure_at(TASK_COMM) == MEMBER_UNKNOWN
			       ? text
			       : structure_text(v, value + (uint64_t)structure_at(TASK_COMM), text, COMM_LEN);
	case VALUE_DEVICE: /* dev_name(), include/linux/device.h */
		name = STRUCTURES_KNOWN(DEVICE_OBJECT, OBJECT_NAME)
			       ? structure_pointer(v, value + (uint64_t)structure_at(DEVICE_OBJECT), OBJECT_NAME)
			       : 0;
		break;
	case VALUE_FILENAME: /* begins with it: include/linux/fs.h */
		name = guest_read(&v->regs, value, &name, sizeof name) ? name : 0;
		break;
	default:
		return text;
	}
	return name ? structure_text(v, name, text, TEXT_MAX) : text;
}

/* What one call was given; `stack` has numbers where some of that is there. */
struct given {
	const struct prototype *prototype;
	struct fact args, stack;
};

/* Of one that has a text. */
static uint64_t value_with_text(const struct given *g, unsigned i)
{
	int reg = prototype_register(g->prototype, i);
	unsigned word = 1 + (unsigned)prototype_stack(g->prototype, i);

	if (reg >= 0)
		return g->args.numbers[2 + reg];
	return word < g->stack.n_numbers ? g->stack.numbers[word] : 0;
}

static void add_texts(struct vcpu *v, struct given *g)
{
	static __thread char texts[PROTOTYPE_TEXTS][TEXT_MAX], paths[PROTOTYPE_TEXTS][STRUCTURE_PATH];
	const struct prototype *p = g->prototype;

	for (unsigned i = 0; i < p->count; i++) {
		int text = prototype_text(p, i);
		uint64_t value;

		if (text < 0)
			continue;
		value = value_with_text(g, i);
		g->args.texts[text] = name_of(v, p->parameters[i].kind, value, texts[text], paths[text]);
		g->args.lens[text] = strlen(g->args.texts[text]);
		g->args.n_texts = (unsigned)text + 1;
	}
}

/* A text that is not in memory, or goes on in a page that is not. */
static bool is_unread(struct vcpu *v, const struct given *g, unsigned i)
{
	enum { GUEST_PAGE = 4096 };
	const struct prototype *p = g->prototype;
	uint64_t at = value_with_text(g, i), end = at + g->args.lens[prototype_text(p, i)];
	char next;

	return p->parameters[i].kind == VALUE_STRING && at && (end == at || end % GUEST_PAGE == 0) &&
	       !guest_read(&v->regs, end, &next, sizeof next);
}

/* A part of a text would be taken for the whole. */
static void keep_unread(struct vcpu *v, struct given *g)
{
	struct fact *args = &g->args;
	struct unread_texts texts = { .task = v->task, .slot = args->numbers[1], .function = args->numbers[0] };
	bool any = false;

	for (unsigned i = 0; i < g->prototype->count; i++) {
		int text = prototype_text(g->prototype, i);

		if (text < 0 || !is_unread(v, g, i))
			continue;
		texts.at[text] = value_with_text(g, i);
		args->texts[text] = "";
		args->lens[text] = 0;
		any = true;
	}
	if (any)
		unread_texts_keep(&texts);
}

/* How many of the words that can be recorded have arguments. */
static unsigned words_on_stack(const struct prototype *p)
{
	unsigned words = 0;

	for (unsigned i = 0; i < p->count; i++) {
		int place = prototype_stack(p, i);

		if (place >= 0 && place < PROTOTYPE_STACK && prototype_stack_words(p, i) == 1)
			words = (unsigned)place + 1;
	}
	return words;
}

static void add_stack(struct vcpu *v, struct given *g)
{
	uint64_t words[PROTOTYPE_STACK], behind = g->args.numbers[1] + sizeof *words;
	unsigned n = words_on_stack(g->prototype);

	g->stack = (struct fact){ .kind = FACT_STACK, .numbers = { g->args.numbers[0] } };
	if (!n || !guest_read(&v->regs, behind, words, n * sizeof *words))
		return;
	memcpy(g->stack.numbers + 1, words, n * sizeof *words);
	g->stack.n_numbers = 1 + n;
}

static struct given given(struct vcpu *v, uint64_t number)
{
	struct given g = {
		.prototype = &chosen.prototypes[number],
		.args = {
			.kind = FACT_ARGS,
			.n_numbers = 2 + PROTOTYPE_REGISTERS,
			.numbers = { number, registers_read(&v->regs, REG_SP) },
		},
	};

	for (unsigned i = 0; i < PROTOTYPE_REGISTERS; i++)
		g.args.numbers[2 + i] = kernel_argument(&v->regs, i);
	add_stack(v, &g);
	add_texts(v, &g);
	keep_unread(v, &g);
	return g;
}

/* Floating numbers that it was given, of which functions of the kernel have none. */
static void tell_floats(struct vcpu *v, uint64_t number, uint64_t behind)
{
	const struct prototype *p = &chosen.prototypes[number];
	struct fact fact = { .kind = FACT_FLOATS, .n_numbers = 1, .numbers = { number } };

	for (unsigned i = 0; i < p->count; i++) {
		int vector = prototype_vector(p, i);

		if (vector < 0)
			continue;
		fact.numbers[1 + vector] = registers_read(&v->regs, (enum reg)((int)REG_VECTORS + vector));
		fact.n_numbers = 2 + (unsigned)vector;
	}
	if (fact.n_numbers > 1)
		watch_tell_within(v, &fact, behind);
}

void arguments_enters(struct vcpu *v, uint64_t number, uint64_t behind)
{
	struct given g = given(v, number);

	tell_floats(v, number, behind);
	if (g.stack.n_numbers)
		watch_tell_within(v, &g.stack, behind);
	watch_tell_within(v, &g.args, behind);
}

void watch_args(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	struct given g = given(v, (uintptr_t)data);

	if (g.stack.n_numbers)
		watch_tell_beside(v, &g.stack, false);
	watch_tell_beside(v, &g.args, true); /* at the time at which the call is entered, by which it is found */
}

void arguments_returns(struct vcpu *v, uint64_t number)
{
	static __thread char texts[PROTOTYPE_TEXTS][TEXT_MAX];
	uint64_t slot = registers_read(&v->regs, REG_SP), result = registers_read(&v->regs, REG_RESULT);
	struct fact fact = { .kind = FACT_RETURNS, .n_numbers = 3, .numbers = { number, slot, result } };
	struct unread_texts unread = { .task = v->task, .slot = slot, .function = number };

	if (chosen.prototypes[number].result.kind == VALUE_FLOAT)
		fact.numbers[fact.n_numbers++] = registers_read(&v->regs, REG_VECTORS);

	if (unread_texts_take(&unread))
		for (unsigned i = 0; i < PROTOTYPE_TEXTS; i++) {
			fact.texts[i] = unread.at[i] ? structure_text(v, unread.at[i], texts[i], TEXT_MAX) : "";
			fact.lens[i] = strlen(fact.texts[i]);
			fact.n_texts = i + 1;
		}
	watch_tell_beside(v, &fact, false);
}
