/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a chain's links are caused by, in people's words: links of one kind in one context are one cause. */
#include "why_make.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

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

static void find_phases(struct walking *w)
{
	size_t cap = 0;

	for (size_t i = 0; i < w->h->n_spans; i++) {
		if (w->h->spans[i].kind != SPAN_PHASE)
			continue;
		w->phases = array_grow(w->phases, w->n_phases, &cap, sizeof(*w->phases));
		w->phases[w->n_phases++] = &w->h->spans[i];
	}
}

static const struct span_of *phase_at(const struct walking *w, uint64_t ns)
{
	for (size_t i = 0; i < w->n_phases; i++)
		if (w->phases[i]->start_ns <= ns && ns < w->phases[i]->end_ns)
			return w->phases[i];
	return NULL;
}

/* A program by its file, "udevd"; a thread of the kernel by its name. */
static void put_program(struct buf *out, const struct walking *w, uint32_t thread, uint64_t ns)
{
	const struct thread *t = threads_at(w->threads, thread);
	const struct program *p = t ? &w->threads->programs[threads_program(w->threads, thread, ns)] : NULL;
	const struct span_of *phase = NULL;

	if (p && !p->kernel && *p->exe) {
		const char *comm = threads_comm(w->threads, t, ns);

		buf_printf(out, "%s", comm);
		/* a script, or an applet: both names tell something */
		if (strncmp(base_of(p->exe), comm, 15))
			buf_printf(out, " (%s)", base_of(p->exe));
		return;
	}
	/* after the first thread has made all others it is the idle one */
	if (!t || t->pid == 1 || (t->pid == 0 && ns < w->idle_ns))
		phase = phase_at(w, ns);
	if (phase)
		buf_printf(out, "%s", phase->name);
	else
		buf_printf(out, "%s", threads_comm(w->threads, t, ns));
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

/* The timer that ended a link; NULL: none did. */
static const struct timer_set *timer_of(const struct history *h, const struct link *l)
{
	if (l->kind != LINK_TIMER)
		return NULL;
	if (l->work != HISTORY_NONE)
		return &h->queued[h->spans[l->work].queued].timer;
	return l->away == HISTORY_NONE ? NULL : &h->aways[l->away].timer;
}

/* Links of one cause have one key. */
static const char *key_of(struct walking *w, const struct names *names, const struct link *l)
{
	uint32_t thread = l->kind == LINK_READY && l->slice != HISTORY_NONE ? w->h->slices[l->slice].thread : l->thread;
	const struct slice *slice = l->slice == HISTORY_NONE ? NULL : &w->h->slices[l->slice];
	const struct timer_set *timer = timer_of(w->h, l);
	struct buf text = { 0 };

	if (timer && timer->function != HISTORY_NONE)
		buf_printf(&text, "timer %s", names_function(names, timer->function));
	else if (l->work != HISTORY_NONE)
		put_context(&text, w, l->work, thread, l->start_ns);
	else if (slice && slice->handler != HISTORY_NONE)
		buf_printf(&text, "interrupts, %s", names_function(names, slice->handler));
	else
		put_context(&text, w, span_of_link(w, l), thread, l->start_ns);
	if (link_waits(l)) {
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

struct hots {
	struct hot *list;
	size_t count, cap;
	struct map numbers; /* function → number in the list, and 1 */
};

static void add_hot(struct hots *hots, uint32_t function, uint64_t ns)
{
	uint64_t *number = map_put(&hots->numbers, function, 0);

	if (!*number) {
		hots->list = array_grow(hots->list, hots->count, &hots->cap, sizeof *hots->list);
		hots->list[hots->count++] = (struct hot){ .function = function };
		*number = hots->count;
	}
	hots->list[*number - 1].ns += ns;
}

/* The links of a cause are those with the numbers links[begins[cause]], … */
static void group_links(struct walking *w)
{
	const struct why *why = w->why;
	uint32_t *at;

	w->links = xcalloc(why->n_links + 1, sizeof *w->links);
	w->begins = xcalloc(why->n_causes + 1, sizeof *w->begins);
	for (size_t i = 0; i < why->n_links; i++)
		w->begins[why->links[i].cause + 1]++;
	for (size_t i = 0; i < why->n_causes; i++)
		w->begins[i + 1] += w->begins[i];
	at = xcalloc(why->n_causes + 1, sizeof *at);
	for (uint32_t i = 0; i < why->n_links; i++) {
		uint32_t cause = why->links[i].cause;

		w->links[w->begins[cause] + at[cause]++] = i;
	}
	free(at);
}

/* What ran in a cause's link of that place in w->links; NULL: nothing did. */
static const struct slice *slice_of(const struct walking *w, size_t place)
{
	const struct link *l = &w->why->links[w->links[place]];

	return l->slice != HISTORY_NONE ? &w->h->slices[l->slice] : NULL;
}

/* "200 processes, " if more than one of a program's is meant. */
static void put_processes(struct buf *out, const struct walking *w, uint32_t cause)
{
	struct map known = { 0 };
	size_t n = 0;

	for (size_t i = w->begins[cause]; i < w->begins[cause + 1]; i++) {
		const struct slice *x = slice_of(w, i);
		uint32_t thread = x && x->handler == HISTORY_NONE ? x->thread : HISTORY_NONE;
		uint64_t *seen = thread < w->threads->count && w->threads->list[thread].pid > 1
					 ? map_put(&known, thread + 1, 0)
					 : NULL;

		n += seen && !*seen;
		if (seen)
			*seen = 1;
	}
	map_free(&known);
	if (n > 1)
		buf_printf(out, "%zu threads, ", n);
}

/* Of other threads than those that a part of a trace is of, it is not known what they did. */
static bool is_known(const struct walking *w, uint32_t cause)
{
	bool known = false;

	for (size_t i = w->begins[cause]; i < w->begins[cause + 1] && !known; i++) {
		const struct slice *x = slice_of(w, i);
		long thread = x && x->thread < w->threads->count ? (long)x->thread : THREAD_NONE;

		known = !x || threads_is_chosen(w->threads, thread);
	}
	return known;
}

static const char *running_in(struct walking *w, const struct names *names, uint32_t cause, const char *before)
{
	struct hots hots = { 0 };
	struct buf text = { 0 };

	for (size_t i = w->begins[cause]; i < w->begins[cause + 1]; i++) {
		const struct slice *x = slice_of(w, i);

		for (int k = 0; x && k < HISTORY_HOT && x->hot[k].ns; k++)
			add_hot(&hots, x->hot[k].function, x->hot[k].ns);
	}
	if (hots.count)
		qsort(hots.list, hots.count, sizeof *hots.list, by_ns);
	put_processes(&text, w, cause);
	buf_printf(&text, "%s", before);
	if (!is_known(w, cause)) {
		buf_printf(&text, ", its calls were left out");
		hots.count = 0;
	}
	for (size_t i = 0; i < hots.count && i < HISTORY_HOT; i++) {
		buf_printf(&text, "%s", i ? ", " : " in ");
		buf_printf(&text, "%s", names_function(names, hots.list[i].function));
	}
	free(hots.list);
	map_free(&hots.numbers);
	return keep(w->why, &text);
}

/* The next two functions outward of the one that it waits in. */
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

/* Where a timer was set, and by whom, if that was another thread. */
static void put_setter(struct buf *out, const struct walking *w, const struct names *names, const struct link *l)
{
	const struct timer_set *t = timer_of(w->h, l);

	if (t && t->function != HISTORY_NONE && t->in != HISTORY_NONE)
		buf_printf(out, ", set in %s", names_function(names, t->in));
	if (t && t->function != HISTORY_NONE && t->by < w->threads->count)
		buf_printf(out, ", %s %d", threads_comm(w->threads, &w->threads->list[t->by], t->ns),
			   w->threads->list[t->by].pid);
}

/* Until work was queued by a timer, or by a device's interrupt. */
static const char *until_queued(struct walking *w, const struct names *names, const struct link *l)
{
	const struct work_queued *q = &w->h->queued[w->h->spans[l->work].queued];
	struct buf text = { 0 };

	buf_printf(&text, "until work %s was queued", w->h->spans[l->work].name);
	if (l->kind == LINK_DEVICE && q->in != HISTORY_NONE)
		buf_printf(&text, " in %s, by an interrupt", names_function(names, q->in));
	put_setter(&text, w, names, l);
	return keep(w->why, &text);
}

/* How many other threads the cause's links are of. */
static size_t other_threads(const struct walking *w, uint32_t cause, uint32_t thread)
{
	struct map seen = { 0 };
	size_t n = 0;

	for (uint32_t i = w->begins[cause]; i < w->begins[cause + 1]; i++) {
		uint32_t other = w->why->links[w->links[i]].thread;
		uint64_t *at = other == thread ? NULL : map_put(&seen, (uint64_t)other + 1, 0);

		n += at && !*at;
		if (at)
			*at = 1;
	}
	map_free(&seen);
	return n;
}

static const char *asleep_in(struct walking *w, const struct names *names, uint32_t cause, const struct link *l)
{
	const struct away *a = &w->h->aways[l->away];
	const struct thread *t = l->thread < w->threads->count ? &w->threads->list[l->thread] : NULL;
	size_t others = other_threads(w, cause, l->thread);
	struct buf text = { 0 };

	buf_printf(&text, "asleep");
	if (a->function != HISTORY_NONE) {
		buf_printf(&text, " in ");
		buf_printf(&text, "%s", names_function(names, a->function));
		put_callers(&text, w, names, a);
	}
	if (t)
		buf_printf(&text, ", %s %d", threads_comm(w->threads, t, l->start_ns), t->pid);
	if (others)
		buf_printf(&text, others == 1 ? " and another" : " and %zu others", others);
	put_setter(&text, w, names, l);
	return keep(w->why, &text);
}

/* The request whose end woke the thread up: the last that was done by then. NULL: none is known. */
static const struct fact *request_of(const struct facts *facts, const struct link *l)
{
	const struct fact *done = NULL;

	for (size_t i = facts_at(facts, l->end_ns + 1); i-- > 0 && facts->list[i].ns >= l->start_ns;)
		if (facts->list[i].kind == FACT_COMPLETE) {
			done = &facts->list[i];
			break;
		}
	for (size_t i = done ? (size_t)(done - facts->list) : 0; i-- > 0;)
		if (facts->list[i].kind == FACT_ISSUE && facts->list[i].numbers[0] == done->numbers[0])
			return &facts->list[i];
	return NULL;
}

/* "disk reads of vda, for udevd" */
static const char *disk_of(struct walking *w, const struct names *names, uint32_t cause, const struct link *l)
{
	const struct fact *found = request_of(&w->h->facts, l);
	struct buf text = { 0 };

	if (!found)
		return asleep_in(w, names, cause, l);
	buf_printf(&text, "disk %s of %s, for ",
		   found->numbers[1] == 0   ? "reads"
		   : found->numbers[1] == 1 ? "writes"
					    : "requests",
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
		return boots_slept(names->boots, l->start_ns, l->end_ns) ? "suspended to RAM" : "halted";
	if (l->kind == LINK_DISK)
		return disk_of(w, names, cause, l);
	if (l->work != HISTORY_NONE)
		return until_queued(w, names, l);
	return l->away == HISTORY_NONE ? "not known" : asleep_in(w, names, cause, l);
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

void why_make_causes(struct walking *w, const struct names *names)
{
	struct why *why = w->why;
	struct map known = { 0 };
	uint32_t *now;
	size_t cap = 0;

	find_phases(w);
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
	group_links(w);
	for (uint32_t i = 0; i < why->n_causes; i++) {
		struct cause *c = &why->causes[i];
		const struct link *l = &why->links[c->longest];

		c->what = what_of(w, names, i, l);
		if (link_waits(l))
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
	free(w->links);
	free(w->begins);
	free(w->phases);
}
