/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ending.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "quiet.h"
#include "trace/thinned.h"

const char *ending_how_name(enum ending_how how)
{
	static const char *const names[ENDINGS] = {
		"unknown", "power-off", "restart", "halt", "panic", "stopped", "asked", "outside", "cut"
	};

	return names[how];
}

const char *trouble_name(enum trouble_kind kind)
{
	static const char *const names[TROUBLE_KINDS] = {
		"",          "panic", "oops",          "bug", "warning", "soft lockup", "hard lockup",
		"hung task", "stall", "out of memory",
	};

	return names[kind];
}

/* __die_header(), arch/x86/kernel/dumpstack.c: "Oops: Oops: 0002 [#1] PREEMPT SMP" */
static bool is_oops(const char *text)
{
	const char *count = strstr(text, " [#");

	return count && isdigit((unsigned char)count[3]);
}

static enum trouble_kind trouble_of(const char *text)
{
	static const struct { const char *begin, *within; enum trouble_kind kind; } lines[] = {
		{ "Kernel panic - not syncing", "", TROUBLE_PANIC },                 /* kernel/panic.c */
		{ "watchdog: BUG: soft lockup", "", TROUBLE_SOFT_LOCKUP },           /* kernel/watchdog.c */
		/* kernel/watchdog.c, before 6.5 watchdog_hld.c */
		{ "", "etected hard LOCKUP", TROUBLE_HARD_LOCKUP },
		{ "INFO: task ", " blocked for more than ", TROUBLE_HUNG_TASK },     /* kernel/hung_task.c */
		{ "INFO: task ", " blocked in I/O wait for more than ", TROUBLE_HUNG_TASK }, /* since 2026 */
		{ "rcu: INFO: ", " detected stalls", TROUBLE_STALL },                /* kernel/rcu/tree_stall.h */
		{ "rcu: INFO: ", " self-detected stall", TROUBLE_STALL },
		{ "rcu: INFO: ", " detected expedited stalls", TROUBLE_STALL },      /* kernel/rcu/tree_exp.h */
		{ "Out of memory: Killed process", "", TROUBLE_OUT_OF_MEMORY },      /* mm/oom_kill.c */
		{ "Memory cgroup out of memory: Killed process", "", TROUBLE_OUT_OF_MEMORY },
		{ "kernel BUG at ", "", TROUBLE_BUG },                               /* lib/bug.c */
		{ "BUG: ", "", TROUBLE_BUG },
		{ "WARNING: ", "", TROUBLE_WARNING },                                /* kernel/panic.c, lockdep … */
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strncmp(text, lines[i].begin, strlen(lines[i].begin)) && strstr(text, lines[i].within))
			return lines[i].kind;
	return is_oops(text) ? TROUBLE_OOPS : TROUBLE_NONE;
}

/* kernel/reboot.c */
static enum ending_how ending_of(const char *text)
{
	static const struct { const char *begin; enum ending_how how;
	} lines[] = {
		{ "reboot: Power down", ENDED_POWER_OFF },
		{ "reboot: Restarting system", ENDED_RESTART },
		{ "reboot: System halted", ENDED_HALT },
		{ "reboot: Power off not available: System halted", ENDED_HALT }, /* since 6.4 */
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strncmp(text, lines[i].begin, strlen(lines[i].begin)))
			return lines[i].how;
	return ENDED_UNKNOWN;
}

static void decide(struct ending *e, enum ending_how how, const struct log_line *line)
{
	e->how = how;
	e->ns = line->ns;
	e->task = line->task;
	e->text = line->text;
}

static void add_trouble(struct ending *e, size_t *cap, enum trouble_kind kind, const struct log_line *line)
{
	e->troubles = array_grow(e->troubles, e->n_troubles, cap, sizeof *e->troubles);
	e->troubles[e->n_troubles++] = (struct trouble){
		.kind = kind, .boot = line->boot, .ns = line->ns, .task = line->task, .text = line->text,
	};
}

static uint64_t end_ns(const struct reader *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].header.type == CHUNK_EVENTS && r->chunks[i].header.last_ns > ns)
			ns = r->chunks[i].header.last_ns;
	return ns;
}

/* Does a part of a recording end before all of it did? */
static bool ends_early(const struct meta *m)
{
	struct kept_span *spans;
	size_t n = thinned_spans(m, &spans);
	bool ret = n && spans[n - 1].stop_ns != UINT64_MAX;

	free(n ? spans : NULL);
	return ret;
}

/* How it ended, where the kernel said nothing of it. */
static enum ending_how untold(const struct reader *r, const struct kernel_log *log)
{
	if (!r->ended || r->cut_why || meta_get(&r->meta, "stopped"))
		return ENDED_CUT;
	if (meta_get(&r->meta, "imported"))
		return ENDED_UNKNOWN;
	if (ends_early(&r->meta))
		return ENDED_OUTSIDE;
	if (meta_get(&r->meta, "end_asked"))
		return ENDED_ASKED;
	return log->count ? ENDED_STOPPED : ENDED_UNKNOWN;
}

void ending_find(const struct reader *r, const struct kernel_log *log, struct ending *ret)
{
	size_t cap = 0, last_boot = r->boots.count - 1;

	*ret = (struct ending){ .boot = last_boot, .quiet_ns = UINT64_MAX };
	for (size_t i = 0; i < log->count; i++) {
		const struct log_line *line = &log->lines[i];
		/* programs may write anything */
		enum trouble_kind kind = line->facility ? TROUBLE_NONE : trouble_of(line->text);
		enum ending_how how = line->facility || line->boot != last_boot ? ENDED_UNKNOWN : ending_of(line->text);

		if (kind)
			add_trouble(ret, &cap, kind, line);
		if (kind == TROUBLE_PANIC && line->boot == last_boot && ret->how != ENDED_PANIC)
			decide(ret, ENDED_PANIC, line);
		else if (how && ret->how != ENDED_PANIC)
			decide(ret, how, line);
	}
	if (ret->how)
		return;
	ret->how = untold(r, log);
	ret->ns = end_ns(r);
}

int ending_find_hang(const struct session *s, struct ending *e, struct error *err)
{
	if (e->how != ENDED_STOPPED && e->how != ENDED_ASKED && e->how != ENDED_CUT)
		return 0;
	if (quiet_since(s, e->ns, &e->quiet_ns, err) < 0)
		return -1;
	lockups_deinit(&e->lockups);
	return lockups_find(s, e->ns, &e->lockups, err);
}

void ending_deinit(struct ending *e)
{
	free(e->troubles);
	lockups_deinit(&e->lockups);
	*e = (struct ending){ 0 };
}

const struct trouble *ending_panic(const struct ending *e, const struct span *within)
{
	const struct trouble *ret = NULL;

	for (size_t i = 0; i < e->n_troubles; i++) {
		const struct trouble *t = &e->troubles[i];

		if (t->kind == TROUBLE_PANIC && t->ns >= within->from_ns && t->ns < within->to_ns &&
		    (!ret || t->boot != ret->boot))
			ret = t;
	}
	return ret;
}

/* " by poweroff (55)" */
static void put_who(const struct ending *e, const struct threads *threads, const char *before, struct buf *out)
{
	const struct task_record *task = e->task ? threads_record(threads, e->task, e->ns) : NULL;

	if (task && task->pid != TASK_PID_UNKNOWN)
		buf_printf(out, "%s%s (%d)", before, task->comm, task->pid);
}

/* ": init (1), cat (118)": the processes that are there. */
static void put_processes(const struct ending *e, const struct threads *threads, struct buf *out)
{
	enum { NAMED = 4 };
	size_t n = 0;

	for (size_t i = 0; i < threads->count; i++) {
		const struct thread *t = &threads->list[i];

		if (t->end_ns < e->ns || t->start_ns > e->ns || t->pid != t->tgid || (t->kernel && t->pid != 1))
			continue;
		if (n++ < NAMED)
			buf_printf(out, "%s%s (%d)", n == 1 ? ": " : ", ", threads_comm(threads, t, e->ns), t->pid);
	}
	if (n > NAMED)
		buf_printf(out, ", %zu more", n - NAMED);
	if (n)
		buf_printf(out, n == 1 ? " waits" : " wait");
}

static void put_seconds(uint64_t ns, struct buf *out)
{
	buf_printf(out, "%" PRIu64 ".%06" PRIu64 " s", ns / 1000000000, ns % 1000000000 / 1000);
}

/* "; vCPU 0 takes no interrupt since 4.097013 s: busybox (117) is in stay [bugs]" */
static void put_lockups(const struct lockups *lockups, const struct session *s, struct buf *out)
{
	for (size_t i = 0; i < lockups->count; i++) {
		const struct lockup *l = &lockups->list[i];
		const struct task_record *task = threads_record(s->threads, l->task, l->since_ns);
		struct place place = names_place(s->names, l->place, l->since_ns, 0);

		buf_printf(out, "; vCPU %u takes no interrupt since ", l->cpu);
		put_seconds(l->since_ns, out);
		if (task && task->pid != TASK_PID_UNKNOWN)
			buf_printf(out, ": %s (%d) is in %s", task->comm, task->pid,
				   names_function(s->names, place.function));
	}
}

void ending_put(const struct ending *e, const struct session *s, struct buf *out)
{
	static const char *const words[ENDINGS] = {
		[ENDED_POWER_OFF] = "powered off",
		[ENDED_RESTART] = "restarted",
		[ENDED_HALT] = "halted",
		[ENDED_PANIC] = "panicked",
		[ENDED_STOPPED] = "it ran on until QEMU ended",
		[ENDED_ASKED] = "it ran on until upto was told to end it",
		[ENDED_OUTSIDE] = "behind the part that the trace has",
		[ENDED_CUT] = "the trace has no end",
		[ENDED_UNKNOWN] = "not known",
	};

	buf_printf(out, "%s", words[e->how]);
	if (e->how != ENDED_PANIC)
		put_who(e, s->threads, " by ", out);
	if (e->how) {
		buf_printf(out, e->how == ENDED_OUTSIDE ? ", which ends at " : ", at ");
		put_seconds(e->ns, out);
	}
	if (e->quiet_ns != UINT64_MAX) {
		buf_printf(out, "; no process ran since ");
		put_seconds(e->quiet_ns, out);
		put_processes(e, s->threads, out);
	}
	put_lockups(&e->lockups, s, out);
	if (e->how != ENDED_PANIC)
		return;
	put_who(e, s->threads, " in ", out);
	buf_printf(out, ": %.*s", (int)strcspn(e->text, "\n"), e->text);
}

void ending_put_troubles(const struct ending *e, struct buf *out)
{
	static const char *const many[TROUBLE_KINDS] = {
		"",
		"panics",
		"oopses",
		"bugs",
		"warnings",
		"soft lockups",
		"hard lockups",
		"hung tasks",
		"stalls",
		"times out of memory",
	};
	size_t counts[TROUBLE_KINDS] = { 0 };

	for (size_t i = 0; i < e->n_troubles; i++)
		counts[e->troubles[i].kind] += e->troubles[i].kind != TROUBLE_PANIC || e->troubles[i].boot != e->boot;
	for (int k = TROUBLE_PANIC; k < TROUBLE_KINDS; k++)
		if (counts[k])
			buf_printf(out, "%s%zu %s", out->len ? ", " : "", counts[k],
				   counts[k] == 1 ? trouble_name((enum trouble_kind)k) : many[k]);
}
