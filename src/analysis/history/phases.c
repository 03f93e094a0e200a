/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The boots of a history, their phases and the levels of their initcalls. */
#include <stdlib.h>
#include <string.h>

#include "making.h"
#include "trace/thinned.h"

static uint32_t add_window(struct making *m, enum span_kind kind, const char *name, uint32_t parent, uint64_t start,
			   uint64_t end)
{
	struct span_of span = {
		.kind = kind, .name = name, .parent = parent, .thread = HISTORY_NONE, .function = HISTORY_NONE,
		.start_ns = start, .end_ns = end,
	};

	if (end <= start)
		return HISTORY_NONE;
	spans_add_all(m->history, &span);
	spans_add(m, &span);
	return (uint32_t)m->history->n_spans - 1;
}

/* The boundaries of a boot's phases; UINT64_MAX: it did not come so far. */
struct boot_times {
	uint64_t start;
	uint64_t snapshot; /* the guest goes on from it; else `start` */
	uint64_t decompressor, kernel, init, main, shutdown, devices_down, end;
};

/* When the boot's devices began to be shut down; UINT64_MAX: they did not. */
static uint64_t devices_down(const struct history *h, const struct boot_times *t)
{
	uint64_t ns = UINT64_MAX;

	for (size_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].kind == SPAN_SHUTDOWN && h->spans[i].start_ns >= t->start &&
		    h->spans[i].start_ns < t->end && h->spans[i].start_ns < ns)
			ns = h->spans[i].start_ns;
	return ns;
}

/* systemd-shutdown, or the initramfs's /shutdown, to which that goes back */
static bool is_shutdown(const struct program *p)
{
	const char *slash = strrchr(p->exe, '/');

	return strstr(slash ? slash : p->exe, "shutdown");
}

/*
 * The first process's programs: the one that runs longest is what the machine is for. Those before it are the
 * initramfs's. Another one behind it shuts the machine down; but where the machine did not go down, what came last is
 * what it is for.
 */
static void find_programs(const struct threads *threads, struct boot_times *t)
{
	const struct program *main = NULL, *last = NULL;
	const struct thread *init = NULL;
	uint64_t longest = 0;

	for (size_t i = 0; i < threads->count && !init; i++)
		if (threads->list[i].pid == 1 && threads->list[i].start_ns >= t->start &&
		    threads->list[i].start_ns < t->end)
			init = &threads->list[i];
	if (!init)
		return;
	for (uint32_t k = 0; k < init->n_programs; k++) {
		const struct program *p = &threads->programs[init->first_program + k];
		uint64_t end = p->end_ns < t->end ? p->end_ns : t->end;

		if (p->kernel || p->start_ns >= t->end)
			continue;
		if (t->init == UINT64_MAX)
			t->init = p->start_ns;
		if (main && is_shutdown(p)) {
			t->shutdown = p->start_ns;
			break;
		}
		last = p;
		if (end - p->start_ns > longest) {
			longest = end - p->start_ns;
			main = p;
		}
	}
	if (!main)
		return;
	for (const struct program *p = main + 1; p <= last; p++) {
		if (!strcmp(p->exe, main->exe)) /* it began itself anew */
			continue;
		if (t->shutdown == UINT64_MAX && t->devices_down != UINT64_MAX) {
			t->shutdown = p->start_ns;
			break;
		}
		main = p;
	}
	t->main = main->start_ns;
}

/* Where it is not known which programs ran: behind the kernel's own work they did. */
static void find_first_syscall(const struct making *m, size_t b, struct boot_times *t)
{
	if (t->init == UINT64_MAX && t->kernel != UINT64_MAX)
		t->init = t->main = m->syscall_ns[b];
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t put_phases(struct making *m, const struct boot_times *t, uint32_t boot)
{
	const struct { const char *name; uint64_t start, end; } phases[] = {
		{ "before the snapshot", t->start, earlier(earlier(t->snapshot, t->init), t->end) },
		{ "firmware", t->snapshot, earlier(earlier(t->decompressor, t->kernel), t->end) },
		{ "decompressor", t->decompressor, earlier(t->kernel, t->end) },
		{ "kernel", t->kernel, earlier(earlier(t->init, t->shutdown), t->end) },
		{ "initramfs", t->init, earlier(earlier(t->main, t->shutdown), t->end) },
		{ "user", t->main, earlier(t->shutdown, t->end) },
		{ "shutdown", t->shutdown, t->end },
	};
	uint32_t kernel = HISTORY_NONE;

	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
		uint32_t number = add_window(m, SPAN_PHASE, phases[i].name, boot, phases[i].start, phases[i].end);

		if (phases[i].start == t->kernel)
			kernel = number;
	}
	return kernel;
}

/* init/main.c, initcall_level_names */
static bool is_level(const char *name)
{
	static const char *const levels[] = { "pure", "core", "postcore", "arch", "subsys", "fs", "device", "late" };

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (!strcmp(levels[i], name))
			return true;
	return false;
}

/* The levels of initcalls: one ends where the next begins, the last with its last initcall. */
static void put_levels(struct making *m, const struct stacks *s, const struct boot_times *t, uint32_t kernel)
{
	struct history *h = m->history;
	uint64_t last = 0, first = UINT64_MAX, smp = UINT64_MAX;
	const struct fact *level = NULL;
	size_t n = h->n_spans;

	for (size_t i = 0; i < n; i++) {
		const struct span_of *x = &h->spans[i];

		if (x->start_ns < t->kernel || x->end_ns > earlier(t->init, t->end))
			continue;
		if (x->kind == SPAN_INITCALL && x->end_ns > last)
			last = x->end_ns;
		/* consoles' come before there is a first process */
		if (x->kind == SPAN_INITCALL && x->start_ns < first && x->thread < s->threads->count &&
		    s->threads->list[x->thread].pid == 1)
			first = x->start_ns;
		if (x->kind == SPAN_SMP)
			smp = x->start_ns;
	}
	if (first < smp && smp != UINT64_MAX)
		add_window(m, SPAN_LEVEL, "early", kernel, first, smp);
	for (size_t i = 0; i < h->facts.count; i++) {
		const struct fact *f = &h->facts.list[i];

		if (f->kind != FACT_LEVEL || f->ns < t->kernel || f->ns >= earlier(t->init, t->end) ||
		    !is_level(fact_text(f, 0)))
			continue;
		if (level)
			add_window(m, SPAN_LEVEL, fact_text(level, 0), kernel, level->ns, f->ns);
		level = f;
	}
	if (level)
		add_window(m, SPAN_LEVEL, fact_text(level, 0), kernel, level->ns, last);
}

/* When a guest went on whose kernel ran before the recording: where the part of it begins that the trace has. */
static uint64_t snapshot_ns(const struct meta *meta, const struct boot_times *t)
{
	struct kept_span *spans;
	size_t n = thinned_spans(meta, &spans), i = 0;
	uint64_t ns;

	while (i < n && spans[i].start_ns < t->start)
		i++;
	ns = i < n && spans[i].start_ns < t->end ? spans[i].start_ns : t->start;
	free(spans);
	return ns;
}

/* Is it a part of a machine's life, or a program's, that somebody recorded, and not a boot? */
static bool is_recording(const struct making *m, const struct names *names)
{
	bool boots = !meta_get(&m->reader->meta, "imported") || names_find(names, "start_kernel") != UINT32_MAX;

	for (size_t i = 0; i < m->history->n_spans && !boots; i++)
		boots = m->history->spans[i].kind == SPAN_INITCALL;
	return !boots;
}

static const char *recording_name(const struct meta *meta)
{
	const char *program = meta_get(meta, "program.exe"), *slash = program ? strrchr(program, '/') : NULL;

	return slash && slash[1] ? slash + 1 : program && *program ? program : "recording";
}

static const char *boot_name(const struct boots *boots, size_t b)
{
	if (boots->count == 1)
		return "boot";
	if (!b)
		return "first boot";
	/* its kernel ran already */
	return boots->list[b].kernel_ns == boots->list[b].start_ns ? "snapshot" : "next boot";
}

void spans_put_boot(struct making *m, const struct stacks *s, size_t b)
{
	const struct boots *boots = s->names->boots;
	const struct boot *boot = &boots->list[b];
	struct boot_times t = {
		.start = boot->start_ns, .decompressor = boot->decompressor_ns, .kernel = boot->kernel_ns,
		.snapshot = boot->start_ns, .init = UINT64_MAX, .main = UINT64_MAX,
		.shutdown = UINT64_MAX, .end = b + 1 < boots->count ? boots->list[b + 1].start_ns : m->history->end_ns,
	};
	uint32_t number, kernel;

	if (t.kernel == t.start)
		t.kernel = t.snapshot = snapshot_ns(&m->reader->meta, &t);
	t.devices_down = devices_down(m->history, &t);
	find_programs(s->threads, &t);
	find_first_syscall(m, b, &t);
	t.shutdown = earlier(t.shutdown, t.devices_down);
	if (is_recording(m, s->names)) {
		add_window(m, SPAN_BOOT, recording_name(&m->reader->meta), HISTORY_NONE, t.start, t.end);
		return;
	}
	number = add_window(m, SPAN_BOOT, boot_name(boots, b), HISTORY_NONE,
			    t.start, t.end);
	/* a kernel of one's own has no phases, and what of it is firmware is not known */
	kernel = boot->kernel_ns == UINT64_MAX && s->names->n_own ? HISTORY_NONE : put_phases(m, &t, number);
	if (kernel != HISTORY_NONE)
		put_levels(m, s, &t, kernel);
}
