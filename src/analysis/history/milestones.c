/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments that people ask for by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending/kernel_log.h"
#include "trace/thinned.h"
#include "why.h"

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool put(struct milestone *ret, uint32_t thread, uint64_t ns, const char *name)
{
	*ret = (struct milestone){ .thread = thread, .ns = ns };
	snprintf(ret->name, sizeof ret->name, "%s", name);
	return true;
}

static bool is_within(const struct span *span, uint64_t ns)
{
	return ns >= span->from_ns && ns < span->to_ns;
}

/* The last request for power-off or restart. */
static bool find_shutdown(const struct history *h, const struct span *within, struct milestone *ret)
{
	bool found = false;

	for (size_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].kind == SPAN_SHUTDOWN && h->spans[i].thread != HISTORY_NONE &&
		    is_within(within, h->spans[i].start_ns))
			found = put(ret, h->spans[i].thread, h->spans[i].start_ns,
				    "the request for power-off or restart");
	return found;
}

static bool is_login(const char *exe)
{
	static const char *const programs[] = { "agetty", "getty", "login", "sulogin", "mingetty" };

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (!strcmp(base_of(exe), programs[i]))
			return true;
	return false;
}

static bool find_login(const struct threads *threads, const struct span *within, struct milestone *ret)
{
	for (size_t i = 0; i < threads->n_programs; i++) {
		const struct program *p = &threads->programs[i];

		if (!p->kernel && is_login(p->exe) && is_within(within, p->start_ns))
			return put(ret, p->thread, p->start_ns, "the login prompt");
	}
	return false;
}

static bool find_init(const struct threads *threads, const struct span *within, struct milestone *ret)
{
	for (size_t i = 0; i < threads->n_programs; i++) {
		const struct program *p = &threads->programs[i];

		if (!p->kernel && threads->list[p->thread].pid == 1 && is_within(within, p->start_ns))
			return put(ret, p->thread, p->start_ns, "the first process");
	}
	return false;
}

/* Who ran on the vCPU as the line was written: before its first switch, there is no task that says so. */
static uint32_t writer_of(const struct history *h, const struct threads *threads, const struct log_line *line)
{
	long thread = line->task ? threads_find(threads, line->task, line->ns) : THREAD_NONE;
	uint32_t at;

	if (thread != THREAD_NONE)
		return (uint32_t)thread;
	if (line->cpu < h->n_cpus) {
		at = history_on_cpu(h, line->cpu, line->ns + 1);
		if (at < h->first_on_cpu[line->cpu + 1])
			return h->slices[h->by_cpu[at]].thread;
	}
	return h->n_slices ? h->slices[0].thread : 0;
}

/* `own`: of the kernel's own lines; programs may write anything. */
static bool find_line(const struct history *h, const struct names *names, const struct threads *threads,
		      const char *text, bool own, const struct span *within, struct milestone *ret)
{
	struct kernel_log log;
	bool found = false;

	kernel_log_init(&log, &h->facts, names->boots);
	for (size_t i = 0; i < log.count && !found; i++) {
		const struct log_line *line = &log.lines[i];

		if (!strstr(line->text, text) || (own && line->facility) || !is_within(within, line->ns))
			continue;
		found = put(ret, writer_of(h, threads, line), line->ns, line->text);
	}
	kernel_log_deinit(&log);
	return found;
}

static bool find_panic(const struct history *h, const struct names *names, const struct threads *threads,
		       const struct span *within, struct milestone *ret)
{
	return find_line(h, names, threads, "Kernel panic - not syncing", true, within, ret);
}

/* A guest that does something for its host tells it so: an agent, a test runner, a daemon that waits for commands. */
static bool find_host(const struct history *h, const struct span *within, struct milestone *ret)
{
	for (size_t i = h->n_host_words; i-- > 0;)
		if (is_within(within, h->host_words[i].ns))
			return put(ret, h->host_words[i].thread, h->host_words[i].ns, "the last word to the host");
	return false;
}

/* Where the call that asks for it was left out, the kernel's last word on it; kernel/reboot.c. */
static bool find_last_word(const struct history *h, const struct names *names, const struct threads *threads,
			   const struct span *within, struct milestone *ret)
{
	return find_line(h, names, threads, "reboot: ", true, within, ret);
}

/* The parts of the trace that are recorded. */
struct recorded {
	struct span all;         /* from the first to the last */
	struct kept_span *spans;
	size_t n;                /* 0: it is whole */
	bool filtered;           /* calls are missing */
};

/* What happened outside of what is recorded, as facts and tasks tell of it, is not what is asked about. */
static bool is_recorded(const struct recorded *r, uint64_t ns)
{
	size_t i = 0;

	while (i < r->n && r->spans[i].stop_ns < ns)
		i++;
	return !r->n || (i < r->n && r->spans[i].start_ns <= ns);
}

static bool find_default(const struct history *h, const struct names *names, const struct threads *threads,
			 const struct recorded *r, const struct span *within, struct milestone *ret)
{
	return (find_panic(h, names, threads, within, ret) && is_recorded(r, ret->ns)) ||
	       (find_shutdown(h, within, ret) && is_recorded(r, ret->ns)) ||
	       (r->filtered && find_last_word(h, names, threads, within, ret) && is_recorded(r, ret->ns)) ||
	       (find_login(threads, within, ret) && is_recorded(r, ret->ns)) ||
	       (find_host(h, within, ret) && is_recorded(r, ret->ns)) ||
	       (find_init(threads, within, ret) && is_recorded(r, ret->ns));
}

static struct recorded recorded(const struct meta *meta, const struct span *within)
{
	struct recorded r = { .all = *within, .filtered = thinned_is_filtered(meta) };

	r.n = thinned_spans(meta, &r.spans);
	if (r.n && r.all.from_ns < r.spans[0].start_ns)
		r.all.from_ns = r.spans[0].start_ns;
	if (r.n && r.spans[r.n - 1].stop_ns != UINT64_MAX && r.all.to_ns > r.spans[r.n - 1].stop_ns)
		r.all.to_ns = r.spans[r.n - 1].stop_ns + 1;
	return r;
}

/* Who got a new program or name, began to exit, wrote a line of the log or began a test at that very time. */
static uint32_t who_told(const struct history *h, const struct threads *threads, uint64_t ns)
{
	for (size_t i = 0; i < threads->n_records; i++) {
		const struct task_record *r = &threads->records[i];

		if (r->ns == ns && r->change >= TASK_NAME)
			return threads->thread_of_record[i];
	}
	for (size_t i = facts_at(&h->facts, ns); i < h->facts.count && h->facts.list[i].ns == ns; i++) {
		const struct fact *f = &h->facts.list[i];
		long thread = f->task && (f->kind == FACT_LOG || f->kind == FACT_TEST)
				      ? threads_find(threads, f->task, ns) : THREAD_NONE;

		if (thread != THREAD_NONE)
			return (uint32_t)thread;
	}
	return HISTORY_NONE;
}

/* Who ran then: on the first vCPU that had something to do, else on the first one. */
static uint32_t who_ran(const struct history *h, const struct threads *threads, uint64_t ns)
{
	uint32_t first = HISTORY_NONE;

	for (unsigned cpu = 0; cpu < h->n_cpus; cpu++) {
		uint32_t at = history_on_cpu(h, cpu, ns);
		const struct slice *x = at < h->first_on_cpu[cpu + 1] ? &h->slices[h->by_cpu[at]] : NULL;
		const struct thread *t = x ? threads_at(threads, x->thread) : NULL;

		if (x && x->end_ns >= ns && x->halted_ns <= (x->end_ns - x->start_ns) / 2 && (!t || t->pid))
			return x->thread;
		if (x && first == HISTORY_NONE)
			first = x->thread;
	}
	return first;
}

bool milestone_at(const struct history *h, const struct threads *threads, uint64_t ns, struct milestone *ret)
{
	uint32_t thread = ns <= h->end_ns ? who_told(h, threads, ns) : HISTORY_NONE;
	const struct thread *t;
	char text[160];

	if (thread == HISTORY_NONE && ns <= h->end_ns)
		thread = who_ran(h, threads, ns);
	t = threads_at(threads, thread);
	if (t)
		snprintf(text, sizeof text, "the time asked for, of %s %d", threads_comm(threads, t, ns), t->pid);
	return thread != HISTORY_NONE && put(ret, thread, ns, t ? text : "the time asked for");
}

/* Where what is recorded ends: of a part that has none of the others. */
static bool find_end(const struct history *h, const struct threads *threads, const struct meta *meta,
		     const struct span *within, struct milestone *ret)
{
	uint64_t ns = within->to_ns > h->end_ns ? h->end_ns : within->to_ns - 1;

	if (!thinned_by(meta) || !milestone_at(h, threads, ns, ret))
		return false;
	return put(ret, ret->thread, ns, "the end of what is recorded");
}

bool milestone_default(const struct history *h, const struct names *names, const struct threads *threads,
		       const struct meta *meta, const struct span *span, struct milestone *ret)
{
	struct recorded r = recorded(meta, span);
	const struct boots *boots = names->boots;
	bool found = false;

	for (size_t i = boots->count; i-- && !found;) {
		struct span boot = r.all;

		if (boot.from_ns < boots->list[i].start_ns)
			boot.from_ns = boots->list[i].start_ns;
		if (i + 1 < boots->count && boot.to_ns > boots->list[i + 1].start_ns)
			boot.to_ns = boots->list[i + 1].start_ns;
		found = boot.from_ns < boot.to_ns && find_default(h, names, threads, &r, &boot, ret);
	}
	found = found || find_end(h, threads, meta, &r.all, ret);
	free(r.spans);
	return found;
}

/* Who told of a unit's end, mounted it, or asked for power-off, as the last phase before that ended then. */
static uint32_t who_ended(const struct history *h, const struct threads *threads, uint64_t ns)
{
	for (size_t i = facts_at(&h->facts, ns); i < h->facts.count && h->facts.list[i].ns == ns; i++) {
		const struct fact *f = &h->facts.list[i];
		bool tells = f->kind == FACT_AUDIT || f->kind == FACT_GROUP_GONE;
		long thread = tells && f->task ? threads_find(threads, f->task, ns) : THREAD_NONE;

		if (thread != THREAD_NONE)
			return (uint32_t)thread;
	}
	for (size_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];

		if (x->thread != HISTORY_NONE && ((x->kind == SPAN_MOUNT && x->end_ns == ns) ||
						  (x->kind == SPAN_SHUTDOWN && x->start_ns == ns)))
			return x->thread;
	}
	return HISTORY_NONE;
}

/* The first process, if it ran right before that; HISTORY_NONE: it did not. */
static uint32_t init_before(const struct history *h, const struct threads *threads, uint64_t ns)
{
	for (size_t i = 0; ns && i < threads->count; i++) {
		uint32_t number = threads->list[i].pid == 1 ? history_slice(h, (uint32_t)i, ns - 1) : HISTORY_NONE;

		if (number != HISTORY_NONE && h->slices[number].end_ns >= ns)
			return (uint32_t)i;
	}
	return HISTORY_NONE;
}

/* A phase is nobody's, nor is a unit: whose doing its end was, else who ran then. HISTORY_NONE: nobody did. */
static uint32_t end_thread(const struct history *h, const struct threads *threads, const struct span_of *x)
{
	uint32_t thread = x->thread;
	struct milestone at;

	if (thread == HISTORY_NONE)
		thread = who_ended(h, threads, x->end_ns);
	if (thread == HISTORY_NONE)
		thread = init_before(h, threads, x->end_ns);
	return thread == HISTORY_NONE && milestone_at(h, threads, x->end_ns, &at) ? at.thread : thread;
}

/* A module's functions may be asked for without that. */
static bool is_name(const char *name, const char *asked)
{
	size_t n = strlen(asked);

	return !strncmp(name, asked, n) && (!name[n] || !strncmp(name + n, " [", 2));
}

static bool find_span(const struct history *h, const struct threads *threads, const char *name,
		      const struct span *within, struct milestone *ret)
{
	char text[160];
	uint32_t thread;

	for (size_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];

		if (!is_name(x->name, name) || x->kind == SPAN_PROCESS || x->kind == SPAN_EXEC ||
		    !is_within(within, x->start_ns))
			continue;
		/* a unit's span is its start-up: what it runs goes on */
		snprintf(text, sizeof text, x->kind == SPAN_UNIT ? "when %s %s had started" : "the end of %s %s",
			 span_kind_name(x->kind), x->name);
		thread = end_thread(h, threads, x);
		return thread != HISTORY_NONE && put(ret, thread, x->end_ns, text);
	}
	return false;
}

/* By its arguments: as a timeline has it. */
static bool find_process(const struct history *h, const struct threads *threads, const char *name,
			 const struct span *within, struct milestone *ret)
{
	char text[160];

	for (size_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];
		const struct thread *t = threads_at(threads, x->thread);

		if (!t || x->kind != SPAN_PROCESS || strcmp(x->name, name) || !is_within(within, x->start_ns))
			continue;
		snprintf(text, sizeof text, "the start of %s, %d", name, t->pid);
		return put(ret, x->thread, x->start_ns, text);
	}
	return false;
}

static bool find_program(const struct threads *threads, const char *name, const struct span *within,
			 struct milestone *ret)
{
	char text[160];

	for (size_t i = 0; i < threads->n_programs; i++) {
		const struct program *p = &threads->programs[i];

		if (p->kernel || !is_within(within, p->start_ns) ||
		    (strcmp(base_of(p->exe), name) && strcmp(p->exe, name) && strcmp(p->comm, name)))
			continue;
		snprintf(text, sizeof text, "the start of %s %d", name, threads->list[p->thread].pid);
		return put(ret, p->thread, p->start_ns, text);
	}
	return false;
}

bool milestone_find(const struct history *h, const struct names *names, const struct threads *threads, const char *what,
		    const struct span *within, struct milestone *ret)
{
	if (!strncmp(what, "log:", 4))
		return find_line(h, names, threads, what + 4, false, within, ret);
	if (!strcmp(what, "panic"))
		return find_panic(h, names, threads, within, ret);
	if (!strcmp(what, "init"))
		return find_init(threads, within, ret);
	if (!strcmp(what, "host"))
		return find_host(h, within, ret);
	if (!strcmp(what, "login"))
		return find_login(threads, within, ret);
	if (!strcmp(what, "poweroff"))
		return find_shutdown(h, within, ret);
	return find_span(h, threads, what, within, ret) || find_program(threads, what, within, ret) ||
	       find_process(h, threads, what, within, ret);
}
