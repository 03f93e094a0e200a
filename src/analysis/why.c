/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { DEPTH_MAX = 200 /* of waits within waits */ };

struct why_memory {
	char **list;
	size_t count, cap;
};

/* A chain under way. Links come last first. */
struct walking {
	const struct history *h;
	const struct threads *threads;
	struct why *why;
	size_t cap;
	uint32_t *away_at;      /* of each slice, by number: the absence that begins with its end; HISTORY_NONE */
	uint32_t **on_cpu;      /* of each vCPU: numbers of its slices, by time */
	size_t *n_on_cpu;
	unsigned n_cpus;
	uint64_t idle_ns;       /* the first thread was switched from for the first time */
};

const char *link_kind_name(enum link_kind kind)
{
	static const char *const names[LINK_KINDS] = {
		"run", "ready", "timer", "disk", "lock", "child", "peer", "rcu", "work", "device", "halt", "unknown",
	};

	return names[kind];
}

static enum link_kind kind_of_wait(enum wait_kind kind)
{
	static const enum link_kind kinds[WAIT_KINDS] = {
		[WAIT_UNKNOWN] = LINK_UNKNOWN, [WAIT_TIMER] = LINK_TIMER, [WAIT_DISK] = LINK_DISK, [WAIT_LOCK] = LINK_LOCK,
		[WAIT_CHILD] = LINK_CHILD, [WAIT_PEER] = LINK_PEER, [WAIT_RCU] = LINK_RCU, [WAIT_WORK] = LINK_WORK,
		[WAIT_DEVICE] = LINK_DEVICE, [WAIT_IDLE] = LINK_WORK,
	};

	return kinds[kind];
}

static void put_link(struct walking *w, enum link_kind kind, uint32_t thread, uint64_t start, uint64_t end, uint32_t slice, uint32_t away)
{
	struct why *why = w->why;

	if (end <= start)
		return;
	why->links = array_grow(why->links, why->n_links, &w->cap, sizeof *why->links);
	why->links[why->n_links++] = (struct link){
		.kind = kind, .thread = thread, .start_ns = start, .end_ns = end, .slice = slice, .away = away,
	};
}

/* The last of a vCPU's slices that begin before that moment; the count: none. */
static size_t slice_on_cpu(const struct walking *w, unsigned cpu, uint64_t ns)
{
	const uint32_t *list = w->on_cpu[cpu];
	size_t low = 0, high = w->n_on_cpu[cpu];

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->h->slices[list[mid]].start_ns < ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : w->n_on_cpu[cpu];
}

/* The thread was ready, and others had the vCPU on which it ran then. */
static void put_ready(struct walking *w, uint32_t thread, unsigned cpu, uint64_t start, uint64_t end, uint32_t away)
{
	size_t i = slice_on_cpu(w, cpu, end);

	while (end > start && i < w->n_on_cpu[cpu]) {
		const struct slice *x = &w->h->slices[w->on_cpu[cpu][i]];
		uint64_t from = x->start_ns > start ? x->start_ns : start;

		put_link(w, LINK_READY, thread, from, end, w->on_cpu[cpu][i], away);
		end = from < end ? from : end;
		i = i ? i - 1 : w->n_on_cpu[cpu];
	}
	put_link(w, LINK_READY, thread, start, end, HISTORY_NONE, away);
}

/* What a sleep is that nobody but an interrupt ended. */
static enum link_kind kind_of_sleep(const struct away *a)
{
	switch (a->context) {
	case WAKE_TIMER:
		return a->kind == WAIT_RCU ? LINK_RCU : LINK_TIMER;
	case WAKE_DISK:
		return LINK_DISK;
	case WAKE_RCU:
		return LINK_RCU;
	case WAKE_DEVICE:
		return a->kind == WAIT_DISK || a->kind == WAIT_RCU ? kind_of_wait(a->kind) : LINK_DEVICE;
	default:
		return kind_of_wait(a->kind);
	}
}

static void walk(struct walking *w, uint32_t thread, uint64_t from, uint64_t to, uint32_t away, unsigned depth);

/* The thread slept in that time, and was woken up, if it was, at its end. */
static void walk_sleep(struct walking *w, const struct away *a, uint32_t number, uint64_t from, uint64_t to, unsigned depth)
{
	if (a->context == WAKE_TASK && a->waker != HISTORY_NONE && a->waker != a->thread && a->wake_ns == to && depth < DEPTH_MAX)
		walk(w, a->waker, from, to, number, depth + 1);
	else
		put_link(w, kind_of_sleep(a), a->thread, from, to, HISTORY_NONE, number);
}

/* Who made the thread: the one that ran then. HISTORY_NONE: it was there before the kernel could be asked. */
static uint32_t maker_of(const struct walking *w, uint32_t thread)
{
	const struct thread *t = thread < w->threads->count ? &w->threads->list[thread] : NULL;
	const struct task_record *record = t ? threads_record(w->threads, t->task, t->start_ns) : NULL;
	size_t at = record && record->cpu < w->n_cpus ? slice_on_cpu(w, record->cpu, t->start_ns) : 0;
	uint32_t maker;

	if (!record || record->change != TASK_NEW || record->cpu >= w->n_cpus || at >= w->n_on_cpu[record->cpu])
		return HISTORY_NONE;
	maker = w->h->slices[w->on_cpu[record->cpu][at]].thread;
	return maker == thread ? HISTORY_NONE : maker;
}

/* From where the thread first ran back to where it was made it was ready; before that, there was its maker. */
static void walk_birth(struct walking *w, uint32_t thread, uint64_t from, uint64_t to, uint32_t away, unsigned depth)
{
	uint64_t made = thread < w->threads->count ? w->threads->list[thread].start_ns : 0;
	uint32_t first = history_slice(w->h, thread, to), maker = maker_of(w, thread);

	made = made < from ? from : made < to ? made : to;
	put_ready(w, thread, first == HISTORY_NONE ? 0 : w->h->slices[first].cpu, made, to, away);
	if (maker != HISTORY_NONE && depth < DEPTH_MAX)
		walk(w, maker, from, made, away, depth + 1);
	else
		put_link(w, LINK_UNKNOWN, thread, from, made, HISTORY_NONE, away);
}

/* The absence behind a slice, up to `to`. */
static void walk_away(struct walking *w, uint32_t number, unsigned cpu, uint64_t from, uint64_t to, uint32_t via, unsigned depth)
{
	const struct away *a = &w->h->aways[number];
	uint64_t woken = a->wake_ns < to ? a->wake_ns : to;

	if (woken < from)
		woken = from;
	put_ready(w, a->thread, cpu, woken, to, via);
	if (woken > from)
		walk_sleep(w, a, number, from, woken, depth);
}

/* Tile [from, to) with what the thread did, or waited for. */
static void walk(struct walking *w, uint32_t thread, uint64_t from, uint64_t to, uint32_t away, unsigned depth)
{
	const struct history *h = w->h;
	uint32_t before = HISTORY_NONE; /* the slice that comes next in time */

	while (to > from) {
		uint32_t number = history_slice(h, thread, to - 1);
		const struct slice *x = number == HISTORY_NONE ? NULL : &h->slices[number];
		uint64_t start;

		if (!x) {
			walk_birth(w, thread, from, to, away, depth);
			return;
		}
		if (x->end_ns >= to) {
			start = x->start_ns > from ? x->start_ns : from;
			put_link(w, x->halted_ns > (x->end_ns - x->start_ns) / 2 ? LINK_HALT : LINK_RUN, thread, start, to, number, away);
		} else {
			start = x->end_ns > from ? x->end_ns : from;
			if (w->away_at[number] != HISTORY_NONE)
				walk_away(w, w->away_at[number], before == HISTORY_NONE ? x->cpu : h->slices[before].cpu, start, to, away, depth);
			else
				put_link(w, LINK_UNKNOWN, thread, start, to, HISTORY_NONE, away);
		}
		to = start;
		before = number;
	}
}

/* Find the absence behind each slice, and the slices of each vCPU. */
static void prepare(struct walking *w)
{
	const struct history *h = w->h;

	for (size_t i = 0; i < h->n_slices; i++)
		if (h->slices[i].cpu >= w->n_cpus)
			w->n_cpus = h->slices[i].cpu + 1;
	w->away_at = xcalloc(h->n_slices + 1, sizeof *w->away_at);
	w->on_cpu = xcalloc(w->n_cpus + 1, sizeof *w->on_cpu);
	w->n_on_cpu = xcalloc(w->n_cpus + 1, sizeof *w->n_on_cpu);
	for (unsigned i = 0; i < w->n_cpus; i++)
		w->on_cpu[i] = xcalloc(h->n_slices + 1, sizeof **w->on_cpu);
	for (size_t i = 0; i < h->n_slices; i++) {
		const struct slice *x = &h->slices[i];

		w->away_at[i] = HISTORY_NONE;
		w->on_cpu[x->cpu][w->n_on_cpu[x->cpu]++] = (uint32_t)i;
	}
	for (size_t i = 0; i < h->n_aways; i++) {
		const struct away *a = &h->aways[i];
		uint32_t last = a->start_ns ? history_slice(h, a->thread, a->start_ns - 1) : HISTORY_NONE;

		if (last != HISTORY_NONE && h->slices[last].end_ns == a->start_ns)
			w->away_at[last] = (uint32_t)i;
		if (!i)
			w->idle_ns = a->start_ns;
	}
}

static void forget(struct walking *w)
{
	for (unsigned i = 0; i < w->n_cpus; i++)
		free(w->on_cpu[i]);
	free(w->on_cpu);
	free(w->n_on_cpu);
	free(w->away_at);
}

/* Causes */

static const char *keep(struct why *w, struct buf *text)
{
	struct why_memory *m = w->memory;

	buf_put_u8(text, 0);
	m->list = array_grow(m->list, m->count, &m->cap, sizeof *m->list);
	m->list[m->count] = xstrdup((char *)text->data);
	buf_free(text);
	return m->list[m->count++];
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const struct span_of *phase_at(const struct history *h, uint64_t ns)
{
	for (size_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].kind == SPAN_PHASE && h->spans[i].start_ns <= ns && ns < h->spans[i].end_ns)
			return &h->spans[i];
	return NULL;
}

/* A program by its file, "udevd"; a thread of the kernel by its name. */
static void put_program(struct buf *out, const struct walking *w, uint32_t thread, uint64_t ns)
{
	const struct thread *t = thread < w->threads->count ? &w->threads->list[thread] : NULL;
	const struct program *p = t ? &w->threads->programs[threads_program(w->threads, thread, ns)] : NULL;
	const struct span_of *phase;

	if (p && !p->kernel && *p->exe) {
		const char *comm = threads_comm(w->threads, t, ns);

		buf_printf(out, "%s", comm);
		/* a script, or an applet: both names tell something */
		if (strncmp(base_of(p->exe), comm, 15))
			buf_printf(out, " (%s)", base_of(p->exe));
		return;
	}
	phase = phase_at(w->h, ns);
	/* after the first thread has made all others it is the idle one */
	if ((!t || t->pid == 1 || (t->pid == 0 && ns < w->idle_ns)) && phase)
		buf_printf(out, "%s", phase->name);
	else
		buf_printf(out, "%s", t ? threads_comm(w->threads, t, ns) : "[boot]");
}

/* What it was in: an initcall, a module, a program. */
static void put_context(struct buf *out, const struct walking *w, uint32_t span, uint32_t thread, uint64_t ns)
{
	const struct span_of *x = span == HISTORY_NONE ? NULL : &w->h->spans[span];

	if (!x || x->kind == SPAN_EXEC)
		put_program(out, w, thread, ns);
	else if (x->kind == SPAN_SIGNATURE || x->kind == SPAN_RELOCATION)
		buf_printf(out, "%s of modules", span_kind_name(x->kind));
	else if (x->kind == SPAN_CONSOLE)
		buf_printf(out, "printk and console output");
	else
		buf_printf(out, "%s %s", span_kind_name(x->kind), x->name);
}

static uint32_t span_of_link(const struct walking *w, const struct link *l)
{
	if (l->slice != HISTORY_NONE)
		return w->h->slices[l->slice].span;
	return l->away == HISTORY_NONE ? HISTORY_NONE : w->h->aways[l->away].span;
}

/* Links of one cause have one key. */
static const char *key_of(struct walking *w, const struct names *names, const struct link *l)
{
	uint32_t thread = l->kind == LINK_READY && l->slice != HISTORY_NONE ? w->h->slices[l->slice].thread : l->thread;
	struct buf text = { 0 };

	put_context(&text, w, span_of_link(w, l), thread, l->start_ns);
	if (l->kind != LINK_RUN && l->kind != LINK_READY && l->kind != LINK_HALT && l->away != HISTORY_NONE) {
		const struct away *a = &w->h->aways[l->away];

		buf_put_u8(&text, 1);
		if (a->function != HISTORY_NONE)
			buf_printf(&text, "%s", names_function(names, a->function));
		buf_put_u8(&text, 1);
		if (a->caller != HISTORY_NONE)
			buf_printf(&text, "%s", names_function(names, a->caller));
	}
	return keep(w->why, &text);
}

/* The functions of a cause in which most of its time went. */
struct hot {
	uint32_t function;
	uint64_t ns;
};

static int by_ns(const void *va, const void *vb)
{
	const struct hot *a = va, *b = vb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static void add_hot(struct hot **list, size_t *n, size_t *cap, uint32_t function, uint64_t ns)
{
	size_t i = 0;

	while (i < *n && (*list)[i].function != function)
		i++;
	if (i == *n) {
		*list = array_grow(*list, *n, cap, sizeof **list);
		(*list)[(*n)++] = (struct hot){ .function = function };
	}
	(*list)[i].ns += ns;
}

/* "200 processes, " if more than one of a program's is meant. */
static void put_processes(struct buf *out, const struct walking *w, uint32_t cause)
{
	struct map known = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < w->why->n_links; i++) {
		const struct link *l = &w->why->links[i];
		uint32_t thread = l->cause == cause && l->slice != HISTORY_NONE ? w->h->slices[l->slice].thread : HISTORY_NONE;
		uint64_t *seen = thread < w->threads->count && w->threads->list[thread].pid > 1 ? map_put(&known, thread + 1, 0) : NULL;

		n += seen && !*seen;
		if (seen)
			*seen = 1;
	}
	map_free(&known);
	if (n > 1)
		buf_printf(out, "%zu threads, ", n);
}

static const char *running_in(struct walking *w, const struct names *names, uint32_t cause, const char *before)
{
	struct hot *list = NULL;
	struct buf text = { 0 };
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < w->why->n_links; i++) {
		const struct link *l = &w->why->links[i];
		const struct slice *x = l->cause == cause && l->slice != HISTORY_NONE ? &w->h->slices[l->slice] : NULL;

		for (int k = 0; x && k < HISTORY_HOT && x->hot[k].ns; k++)
			add_hot(&list, &n, &cap, x->hot[k].function, x->hot[k].ns);
	}
	if (n)
		qsort(list, n, sizeof *list, by_ns);
	put_processes(&text, w, cause);
	buf_printf(&text, "%s", before);
	for (size_t i = 0; i < n && i < HISTORY_HOT; i++) {
		buf_printf(&text, "%s", i ? ", " : " in ");
		buf_printf(&text, "%s", names_function(names, list[i].function));
	}
	free(list);
	return keep(w->why, &text);
}

/* The first function behind those that wait which is of a module, or that is called by the next on the way out. */
static void put_callers(struct buf *out, const struct walking *w, const struct names *names, const struct away *a)
{
	const uint32_t *f = w->h->functions + a->stack.first;
	size_t at = 0, shown = 0;

	while (at < a->stack.count && f[at] != a->function)
		at++;
	for (size_t i = at + 1; i < a->stack.count && shown < 2; i++) {
		buf_printf(out, "%s", shown ? " < " : ", called from ");
		buf_printf(out, "%s", names_function(names, f[i]));
		shown++;
	}
}

static const char *asleep_in(struct walking *w, const struct names *names, const struct link *l)
{
	const struct away *a = &w->h->aways[l->away];
	const struct thread *t = l->thread < w->threads->count ? &w->threads->list[l->thread] : NULL;
	struct buf text = { 0 };

	buf_printf(&text, "asleep");
	if (a->function != HISTORY_NONE) {
		buf_printf(&text, " in ");
		buf_printf(&text, "%s", names_function(names, a->function));
		put_callers(&text, w, names, a);
	}
	if (t)
		buf_printf(&text, ", %s %d", threads_comm(w->threads, t, l->start_ns), t->pid);
	return keep(w->why, &text);
}

/* "reads of vda" and whose: the request that was under way. */
static const char *disk_of(struct walking *w, const struct names *names, const struct link *l)
{
	const struct facts *facts = &w->h->facts;
	const struct fact *found = NULL;
	struct buf text = { 0 };

	for (size_t i = 0; i < facts->count && facts->list[i].ns < l->end_ns; i++)
		if (facts->list[i].kind == FACT_ISSUE)
			found = &facts->list[i];
	if (!found)
		return asleep_in(w, names, l);
	buf_printf(&text, "disk %s of %s, for ", found->numbers[1] == 0 ? "reads" : found->numbers[1] == 1 ? "writes" : "requests",
		   *fact_text(found, 0) ? fact_text(found, 0) : "?");
	put_program(&text, w, l->thread, l->start_ns);
	return keep(w->why, &text);
}

static const char *what_of(struct walking *w, const struct names *names, uint32_t cause, const struct link *l)
{
	if (l->kind == LINK_RUN)
		return running_in(w, names, cause, "on CPU");
	if (l->kind == LINK_READY)
		return running_in(w, names, cause, "had the CPU");
	if (l->kind == LINK_HALT)
		return "halted";
	if (l->kind == LINK_DISK)
		return disk_of(w, names, l);
	return l->away == HISTORY_NONE ? "not known" : asleep_in(w, names, l);
}

static int by_size(const void *va, const void *vb)
{
	const struct cause *a = va, *b = vb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->longest < b->longest ? -1 : a->longest > b->longest;
}

static void add_to_cause(struct why *why, uint32_t number, uint32_t link)
{
	struct cause *c = &why->causes[number];
	struct link *l = &why->links[link];
	uint64_t ns = l->end_ns - l->start_ns;

	if (!c->links || ns > why->links[c->longest].end_ns - why->links[c->longest].start_ns)
		c->longest = link;
	c->ns += ns;
	c->links++;
	l->cause = number;
}

static void make_causes(struct walking *w, const struct names *names)
{
	struct why *why = w->why;
	struct map known = { 0 };
	uint32_t *now;
	size_t cap = 0;

	for (uint32_t i = 0; i < why->n_links; i++) {
		struct link *l = &why->links[i];
		const char *key = key_of(w, names, l);
		uint64_t *at = map_put(&known, hash_text(l->kind + 1, key), 0);

		if (!*at) {
			struct buf name = { 0 };

			why->causes = array_grow(why->causes, why->n_causes, &cap, sizeof *why->causes);
			buf_put(&name, key, strcspn(key, "\1"));
			why->causes[why->n_causes] = (struct cause){ .kind = l->kind, .name = keep(why, &name) };
			*at = ++why->n_causes;
		}
		add_to_cause(why, (uint32_t)*at - 1, i);
	}
	map_free(&known);
	for (uint32_t i = 0; i < why->n_causes; i++) {
		struct cause *c = &why->causes[i];
		const struct link *l = &why->links[c->longest];

		c->what = what_of(w, names, i, l);
		if (l->kind != LINK_RUN && l->kind != LINK_READY && l->away != HISTORY_NONE)
			c->stack = w->h->aways[l->away].stack;
	}
	if (why->n_causes)
		qsort(why->causes, why->n_causes, sizeof *why->causes, by_size);
	now = xcalloc(why->n_links + 1, sizeof *now);
	for (uint32_t i = 0; i < why->n_causes; i++)
		now[why->links[why->causes[i].longest].cause] = i;
	for (uint32_t i = 0; i < why->n_links; i++)
		why->links[i].cause = now[why->links[i].cause];
	free(now);
}

static void turn(struct why *why)
{
	for (size_t i = 0; i < why->n_links / 2; i++) {
		struct link other = why->links[i];

		why->links[i] = why->links[why->n_links - 1 - i];
		why->links[why->n_links - 1 - i] = other;
	}
}

void why_make(const struct history *h, const struct names *names, const struct threads *threads, uint64_t from_ns, const struct milestone *to,
	      struct why *ret)
{
	struct walking w = { .h = h, .threads = threads, .why = ret };

	*ret = (struct why){ .from_ns = from_ns, .to_ns = to->ns, .memory = xcalloc(1, sizeof *ret->memory) };
	prepare(&w);
	walk(&w, to->thread, from_ns, to->ns, HISTORY_NONE, 0);
	turn(ret);
	make_causes(&w, names);
	forget(&w);
}

void why_deinit(struct why *w)
{
	for (size_t i = 0; w->memory && i < w->memory->count; i++)
		free(w->memory->list[i]);
	if (w->memory)
		free(w->memory->list);
	free(w->memory);
	free(w->links);
	free(w->causes);
	*w = (struct why){ 0 };
}
