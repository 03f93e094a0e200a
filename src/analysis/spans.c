/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was done in a boot: which functions of the kernel stand for it, and what it is called. */
#include "history_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/code_records.h"

/* Functions that last as long as what they stand for. Where they are in the kernel's source stands behind them. */
static const struct {
	const char *function;
	enum span_kind kind;
	enum fact_kind fact; /* that tells its name; 0: it is the function's */
} span_functions[] = {
	{ "do_one_initcall", SPAN_INITCALL, FACT_INITCALL },        /* init/main.c */
	{ "really_probe", SPAN_PROBE, FACT_PROBE },                 /* drivers/base/dd.c */
	{ "load_module", SPAN_MODULE, 0 },                          /* kernel/module/main.c */
	{ "do_init_module", SPAN_MODULE_INIT, 0 },
	{ "module_sig_check", SPAN_SIGNATURE, 0 },                  /* kernel/module/signing.c */
	{ "apply_relocate_add", SPAN_RELOCATION, 0 },               /* arch/x86/kernel/module.c */
	{ "path_mount", SPAN_MOUNT, FACT_MOUNT },                   /* fs/namespace.c */
	{ "_request_firmware", SPAN_FIRMWARE_FILE, FACT_FIRMWARE }, /* drivers/base/firmware_loader/main.c */
	{ "bprm_execve", SPAN_EXEC, 0 },                            /* fs/exec.c */
	{ "unpack_to_rootfs", SPAN_INITRAMFS, 0 },                  /* init/initramfs.c */
	{ "smp_init", SPAN_SMP, 0 },                                /* kernel/smp.c */
	{ "process_one_work", SPAN_WORK, FACT_WORK },               /* kernel/workqueue.c */
	{ "device_shutdown", SPAN_SHUTDOWN, 0 },                    /* drivers/base/core.c */
	{ "vprintk_emit", SPAN_CONSOLE, 0 },                        /* kernel/printk/printk.c */
	{ "console_unlock", SPAN_CONSOLE, 0 },
	{ "serial8250_console_write", SPAN_CONSOLE, 0 },            /* drivers/tty/serial/8250/8250_port.c */
	{ "vt_console_print", SPAN_CONSOLE, 0 },                    /* drivers/tty/vt/vt.c */
	/* init/main.c, and what it calls */
	{ "setup_arch", SPAN_STAGE, 0 }, { "mm_core_init", SPAN_STAGE, 0 }, { "mm_init", SPAN_STAGE, 0 }, { "trap_init", SPAN_STAGE, 0 },
	{ "ftrace_init", SPAN_STAGE, 0 }, { "vfs_caches_init", SPAN_STAGE, 0 }, { "arch_cpu_finalize_init", SPAN_STAGE, 0 },
	{ "check_bugs", SPAN_STAGE, 0 }, { "acpi_early_init", SPAN_STAGE, 0 }, { "page_alloc_init_late", SPAN_STAGE, 0 },
	{ "free_initmem", SPAN_STAGE, 0 }, { "mark_rodata_ro", SPAN_STAGE, 0 }, { "wait_for_initramfs", SPAN_STAGE, 0 },
	{ "sched_init", SPAN_STAGE, 0 }, { "time_init", SPAN_STAGE, 0 }, { "rcu_init", SPAN_STAGE, 0 },
	/* calls the consoles' initcalls itself: kernel/printk/printk.c */
	{ "console_init", SPAN_STAGE, 0 },
	/* tells the arguments of the exec that it is called in */
	{ "finalize_exec", SPAN_KINDS, FACT_ARGUMENTS },
};

#define CONSOLES "console_init"

enum { FUNCTIONS = sizeof span_functions / sizeof *span_functions };

const char *span_kind_name(enum span_kind kind)
{
	static const char *const names[SPAN_KINDS] = {
		"boot", "phase", "stage", "level", "initcall", "probe", "smp", "initramfs", "module", "module-init", "signature", "relocation",
		"mount", "firmware", "exec", "work", "process", "shutdown", "console", "unit",
	};

	return names[kind];
}

enum span_kind span_kind_find(const char *name)
{
	enum span_kind kind = 0;

	while (kind < SPAN_KINDS && strcmp(name, span_kind_name(kind)))
		kind++;
	return kind;
}

uint8_t *spans_roles(const struct names *names)
{
	uint8_t *roles = xcalloc(names_count(names), sizeof *roles);

	for (uint32_t i = 0; i < names_count(names); i++) {
		const char *name = names_function(names, i);

		if (!names_is_kernel(names, i) || *names_object(names, i))
			continue;
		if (!strcmp(name, "try_to_wake_up"))
			roles[i] = ROLE_WAKE;
		for (unsigned k = 0; k < FUNCTIONS && !roles[i]; k++)
			if (!strcmp(name, span_functions[k].function))
				roles[i] = (uint8_t)(ROLE_SPANS + k);
	}
	return roles;
}

static const char *keep_buf(struct history *h, struct buf *text)
{
	const char *kept;

	buf_put_u8(text, 0);
	kept = history_keep(h, (char *)text->data, strlen((char *)text->data));
	buf_free(text);
	return kept;
}

/* Arguments in a row, with spaces between. */
static const char *arguments_name(struct history *h, const struct fact *f)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < f->lens[0]; i++)
		buf_put_u8(&text, (uint8_t)(f->texts[0][i] ? f->texts[0][i] : i + 1 < f->lens[0] ? ' ' : '\0'));
	return keep_buf(h, &text);
}

static const char *function_name(const struct stacks *s, uint64_t addr)
{
	return names_function(s->names, names_place(s->names, addr, s->ns, 0).function);
}

static const char *name_of(struct making *m, const struct stacks *s, const struct fact *f, uint32_t *ret_function)
{
	struct buf text = { 0 };

	switch (f->kind) {
	case FACT_INITCALL:
	case FACT_WORK:
		*ret_function = names_place(s->names, f->numbers[f->kind == FACT_WORK], s->ns, 0).function;
		return function_name(s, f->numbers[f->kind == FACT_WORK]);
	case FACT_PROBE:
		buf_printf(&text, "%s (%s)", fact_text(f, 0), fact_text(f, 1));
		return keep_buf(m->history, &text);
	case FACT_MOUNT:
		if (*fact_text(f, 1))
			buf_printf(&text, "%s on %s", fact_text(f, 1), fact_text(f, 2));
		else
			buf_printf(&text, "%s%s%s", fact_text(f, 0), *fact_text(f, 0) ? " on " : "", fact_text(f, 2));
		return keep_buf(m->history, &text);
	default:
		return history_keep(m->history, fact_text(f, 0), strlen(fact_text(f, 0)));
	}
}

static void add_span(struct making *m, const struct span_of *span)
{
	struct history *h = m->history;

	h->spans = array_grow(h->spans, h->n_spans, &m->spans_cap, sizeof *h->spans);
	h->spans[h->n_spans++] = *span;
}

/* The module that is initialised at this very moment, as the recorder told of it. */
static const char *module_name(const struct making *m, const struct stack *stack, const struct stacks *s)
{
	const struct code_records *code = &m->reader->code;

	for (size_t i = 0; i < code->count; i++)
		if (code->records[i].change == CODE_MODULE && code->records[i].insns == s->insns && code->records[i].cpu == (uint32_t)stack->cpu)
			return code->records[i].name;
	return NULL;
}

/* Name the module's initialisation, and its loading, which calls that or ends with a jump to it. */
static void name_module(struct making *m, const struct stack *stack, const struct stacks *s, uint32_t init)
{
	const char *name = module_name(m, stack, s);
	struct span_of *spans = m->history->spans;

	for (uint32_t i = init; name && i-- > 0;)
		if (spans[i].kind == SPAN_MODULE && spans[i].thread == spans[init].thread) {
			spans[i].name = name;
			break;
		}
	if (name)
		spans[init].name = name;
}

/* What came within the loading of a module before its name was known. */
static void name_parts(struct history *h)
{
	for (size_t i = 0; i < h->n_spans; i++) {
		struct span_of *span = &h->spans[i];

		if ((span->kind == SPAN_SIGNATURE || span->kind == SPAN_RELOCATION) && span->parent != HISTORY_NONE)
			span->name = h->spans[span->parent].name;
	}
}

static void tell_arguments(struct making *m, const struct stack *stack, const struct stacks *s, uint32_t thread)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_ARGUMENTS, (uint32_t)stack->cpu, s->insns);
	uint32_t i = m->open[thread].span;

	if (f && i != HISTORY_NONE && m->history->spans[i].kind == SPAN_EXEC)
		m->history->spans[i].name = arguments_name(m->history, f);
}

void spans_enter(struct making *m, struct stacks *s, struct stack *stack, const struct frame *frame, uint8_t role)
{
	uint32_t thread = (uint32_t)(stack - s->list), number = (uint32_t)m->history->n_spans, function = frame->function;
	unsigned which = role - ROLE_SPANS;
	const struct fact *f;
	struct span_of span = {
		.kind = span_functions[which].kind, .parent = m->open[thread].span, .thread = thread, .start_ns = s->ns, .end_ns = UINT64_MAX,
		.name = names_function(s->names, frame->function),
	};

	/* some are called for every new process, too */
	if (span.kind == SPAN_STAGE && thread < s->threads->count && !s->threads->programs[threads_program(s->threads, thread, s->ns)].kernel)
		return;
	if (span.kind == SPAN_KINDS) {
		tell_arguments(m, stack, s, thread);
		return;
	}
	f = span_functions[which].fact ? facts_find(&m->history->facts, span_functions[which].fact, (uint32_t)stack->cpu, s->insns) : NULL;
	if (f)
		span.name = name_of(m, s, f, &function);
	span.function = function;
	add_span(m, &span);
	((struct frame *)(uintptr_t)frame)->data = number + 1;
	m->consoles += !strcmp(span_functions[which].function, CONSOLES);
	m->open[thread].span = number;
	history_cut_slice(m, s, (unsigned)stack->cpu, thread, number, HISTORY_NONE);
	if (span.kind == SPAN_MODULE_INIT)
		name_module(m, stack, s, number);
}

void spans_enter_callee(struct making *m, struct stacks *s, struct stack *stack, struct frame *frame)
{
	const struct frame *caller = stack->depth > 1 ? &stack->frames[stack->depth - 2] : NULL;

	if (!caller || frame->kind != FRAME_CALL || strcmp(names_function(s->names, caller->function), CONSOLES))
		return;
	m->callee = (struct callee){ .depth = stack->depth, .start_ns = s->ns, .function = frame->function };
}

void spans_leave_callee(struct making *m, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_RESULT, (uint32_t)stack->cpu, s->insns);
	uint32_t thread = (uint32_t)(stack - s->list);

	if (stack->depth != m->callee.depth)
		return;
	if (f && f->numbers[0] == FACT_INITCALL)
		add_span(m, &(struct span_of){
			.kind = SPAN_INITCALL, .parent = m->open[thread].span, .thread = thread, .function = m->callee.function,
			.start_ns = m->callee.start_ns, .end_ns = s->ns, .insns = stack->insns - frame->insns, .cpu_ns = stack->ns - frame->ns,
			.name = names_function(s->names, m->callee.function), .has_result = true, .result = (int32_t)f->numbers[1],
		});
	m->callee.depth = 0;
}

void spans_leave(struct making *m, struct stacks *s, struct stack *stack, const struct frame *frame, uint8_t role)
{
	uint32_t thread = (uint32_t)(stack - s->list);
	struct span_of *span;
	const struct fact *f;

	(void)role;
	if (!frame->data || frame->data > m->history->n_spans)
		return;
	span = &m->history->spans[frame->data - 1];
	m->consoles -= m->consoles && !strcmp(span_functions[role - ROLE_SPANS].function, CONSOLES);
	span->end_ns = s->ns;
	span->insns = stack->insns - frame->insns;
	span->cpu_ns = stack->ns - frame->ns;
	m->open[thread].span = span->parent;
	if (stack->cpu < 0)
		return;
	f = facts_find(&m->history->facts, FACT_RESULT, (uint32_t)stack->cpu, s->insns);
	if (f && f->numbers[0] == span_functions[role - ROLE_SPANS].fact) {
		span->has_result = true;
		span->result = (int32_t)f->numbers[1];
	}
	history_cut_slice(m, s, (unsigned)stack->cpu, thread, span->parent, HISTORY_NONE);
}

/* Phases */


/* What all vCPUs ran in a time. */
static void sum_window(const struct history *h, uint64_t start, uint64_t end, struct span_of *span)
{
	for (size_t i = 0; i < h->n_slices; i++) {
		const struct slice *x = &h->slices[i];
		uint64_t from = x->start_ns > start ? x->start_ns : start, to = x->end_ns < end ? x->end_ns : end;
		uint64_t all = x->end_ns - x->start_ns, ran = all - (x->halted_ns < all ? x->halted_ns : all);

		if (to <= from)
			continue;
		span->cpu_ns += to - from == all ? ran : (uint64_t)((__uint128_t)ran * (to - from) / all);
		span->insns += to - from == all ? x->insns : (uint64_t)((__uint128_t)x->insns * (to - from) / all);
	}
}

static uint32_t add_window(struct making *m, enum span_kind kind, const char *name, uint32_t parent, uint64_t start, uint64_t end)
{
	struct span_of span = {
		.kind = kind, .name = name, .parent = parent, .thread = HISTORY_NONE, .function = HISTORY_NONE, .start_ns = start, .end_ns = end,
	};

	if (end <= start)
		return HISTORY_NONE;
	sum_window(m->history, start, end, &span);
	add_span(m, &span);
	return (uint32_t)m->history->n_spans - 1;
}

/* The boundaries of a boot's phases; UINT64_MAX: it did not come so far. */
struct boot_times {
	uint64_t start, decompressor, kernel, init, main, shutdown, end;
};

/* The first process's programs: the one that runs longest is what the machine is for. Those before it are the initramfs's. */
static void find_programs(const struct threads *threads, struct boot_times *t)
{
	const struct program *main = NULL;
	const struct thread *init = NULL;
	uint64_t longest = 0;

	for (size_t i = 0; i < threads->count && !init; i++)
		if (threads->list[i].pid == 1 && threads->list[i].start_ns >= t->start && threads->list[i].start_ns < t->end)
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
		if (end - p->start_ns > longest) {
			longest = end - p->start_ns;
			main = p;
		}
	}
	if (!main)
		return;
	t->main = main->start_ns;
	if (main->end_ns < t->end && main + 1 < threads->programs + init->first_program + init->n_programs)
		t->shutdown = main->end_ns;
}

static void find_shutdown(const struct history *h, struct boot_times *t)
{
	for (size_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].kind == SPAN_SHUTDOWN && h->spans[i].start_ns >= t->start && h->spans[i].start_ns < t->shutdown &&
		    h->spans[i].start_ns < t->end)
			t->shutdown = h->spans[i].start_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t put_phases(struct making *m, const struct boot_times *t, uint32_t boot)
{
	const struct { const char *name; uint64_t start, end; } phases[] = {
		{ "firmware", t->start, earlier(earlier(t->decompressor, t->kernel), t->end) },
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
		if (x->kind == SPAN_INITCALL && x->start_ns < first && x->thread < s->threads->count && s->threads->list[x->thread].pid == 1)
			first = x->start_ns;
		if (x->kind == SPAN_SMP)
			smp = x->start_ns;
	}
	if (first < smp && smp != UINT64_MAX)
		add_window(m, SPAN_LEVEL, "early", kernel, first, smp);
	for (size_t i = 0; i < h->facts.count; i++) {
		const struct fact *f = &h->facts.list[i];

		if (f->kind != FACT_LEVEL || f->ns < t->kernel || f->ns >= earlier(t->init, t->end) || !is_level(fact_text(f, 0)))
			continue;
		if (level)
			add_window(m, SPAN_LEVEL, fact_text(level, 0), kernel, level->ns, f->ns);
		level = f;
	}
	if (level)
		add_window(m, SPAN_LEVEL, fact_text(level, 0), kernel, level->ns, last);
}

static void put_boot(struct making *m, const struct stacks *s, size_t b)
{
	const struct boots *boots = s->names->boots;
	const struct boot *boot = &boots->list[b];
	struct boot_times t = {
		.start = boot->start_ns, .decompressor = boot->decompressor_ns, .kernel = boot->kernel_ns, .init = UINT64_MAX, .main = UINT64_MAX,
		.shutdown = UINT64_MAX, .end = b + 1 < boots->count ? boots->list[b + 1].start_ns : m->history->end_ns,
	};
	uint32_t number, kernel;

	find_programs(s->threads, &t);
	find_shutdown(m->history, &t);
	number = add_window(m, SPAN_BOOT, boots->count > 1 ? b ? "next boot" : "first boot" : "boot", HISTORY_NONE, t.start, t.end);
	kernel = put_phases(m, &t, number);
	if (kernel != HISTORY_NONE)
		put_levels(m, s, &t, kernel);
}

/* systemd.unit(5): kinds of units that have control groups */
static bool is_unit(const char *name)
{
	static const char *const kinds[] = { ".service", ".mount", ".socket", ".swap" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(dot, kinds[i]))
			return true;
	return false;
}

/* Does the message say "unit=NAME", of a service without its suffix? AUDIT_SERVICE_START: systemd, src/core/manager.c. */
static bool is_about(const struct fact *f, const char *unit)
{
	enum { AUDIT_SERVICE_START = 1130 };
	const char *at = f->kind == FACT_AUDIT && f->numbers[0] == AUDIT_SERVICE_START ? strstr(fact_text(f, 0), "unit=") : NULL;
	size_t n = strlen(unit) - strlen(".service");

	return at && !strncmp(at + 5, unit, n) && at[5 + n] == ' ';
}

/* Where a mount unit's file system is: "dev-hugepages.mount" is /dev/hugepages. systemd.unit(5), "string escaping" */
static bool is_mounted_at(const char *unit, const char *path)
{
	size_t n = strlen(unit) - strlen(".mount");

	for (size_t i = 0; i < n && *path == '/'; path++) {
		const char *rest = path + 1;

		for (; i < n && unit[i] != '-'; i++, rest++) {
			bool escaped = !strncmp(unit + i, "\\x2d", 4);

			if (*rest != (escaped ? '-' : unit[i]))
				return false;
			i += escaped ? 3 : 0;
		}
		if (i == n)
			return !*rest;
		i++;
		path = rest - 1;
	}
	return false;
}

static void end_unit(struct span_of *unit, const struct fact *end)
{
	unit->end_ns = end->ns;
	unit->has_result = end->kind == FACT_AUDIT;
	unit->result = unit->has_result && strstr(fact_text(end, 0), "res=failed") ? 1 : 0;
}

/* The mount that the unit is for; HISTORY_NONE: none came. */
static uint32_t mount_of(const struct history *h, const struct span_of *unit)
{
	for (uint32_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];
		const char *on = x->kind == SPAN_MOUNT && x->start_ns >= unit->start_ns ? strstr(x->name, " on /") : NULL;

		if (on && is_mounted_at(unit->name, on + strlen(" on ")))
			return i;
	}
	return HISTORY_NONE;
}

/* A unit is under way from when systemd makes its control group until it says that the unit is there, or removes the group. */
static bool find_unit_end(const struct history *h, size_t made, struct span_of *unit)
{
	const struct fact *gone = NULL, *group = &h->facts.list[made];
	const char *dot = strrchr(unit->name, '.');
	uint32_t mount = !strcmp(dot, ".mount") ? mount_of(h, unit) : HISTORY_NONE;

	if (mount != HISTORY_NONE) {
		unit->end_ns = h->spans[mount].end_ns;
		unit->has_result = h->spans[mount].has_result;
		unit->result = h->spans[mount].result;
		return true;
	}
	for (size_t k = made + 1; k < h->facts.count; k++) {
		const struct fact *f = &h->facts.list[k];
		bool same = (f->kind == FACT_GROUP || f->kind == FACT_GROUP_GONE) && !strcmp(fact_text(f, 0), fact_text(group, 0));

		if (same && f->kind == FACT_GROUP)
			break;
		if (!strcmp(dot, ".service") && is_about(f, unit->name)) {
			end_unit(unit, f);
			return true;
		}
		if (same && !gone)
			gone = f;
	}
	if (gone)
		end_unit(unit, gone);
	return gone;
}

static void put_units(struct making *m)
{
	struct history *h = m->history;

	for (size_t i = 0; i < h->facts.count; i++) {
		const struct fact *f = &h->facts.list[i];
		const char *slash = f->kind == FACT_GROUP ? strrchr(fact_text(f, 0), '/') : NULL;
		struct span_of span = {
			.kind = SPAN_UNIT, .parent = HISTORY_NONE, .thread = HISTORY_NONE, .function = HISTORY_NONE, .start_ns = f->ns,
		};

		if (!slash || !is_unit(slash + 1))
			continue;
		span.name = history_keep(h, slash + 1, strlen(slash + 1));
		if (!find_unit_end(h, i, &span))
			continue;
		sum_window(h, span.start_ns, span.end_ns, &span);
		add_span(m, &span);
	}
}

/* The arguments of a program, as it began; NULL: they are not known. */
static const char *program_arguments(struct history *h, const struct thread *t, const struct program *p)
{
	enum { SOON_NS = 100000000 };

	for (size_t i = facts_at(&h->facts, p->start_ns); i < h->facts.count && h->facts.list[i].ns < p->start_ns + SOON_NS; i++)
		if (h->facts.list[i].kind == FACT_ARGUMENTS && h->facts.list[i].task == t->task)
			return arguments_name(h, &h->facts.list[i]);
	return NULL;
}

/* Processes: what each ran, but for the first one's, which are phases. */
static void put_processes(struct making *m, const struct stacks *s)
{
	struct history *h = m->history;
	const struct threads *threads = s->threads;

	for (size_t i = 0; i < threads->n_programs; i++) {
		const struct program *p = &threads->programs[i];
		const struct thread *thread = &threads->list[p->thread];
		const char *arguments;
		struct span_of span = {
			.kind = SPAN_PROCESS, .parent = HISTORY_NONE, .thread = p->thread, .function = HISTORY_NONE, .start_ns = p->start_ns,
			.end_ns = earlier(p->end_ns, h->end_ns), .name = *p->exe ? p->exe : p->comm,
		};

		if (p->kernel || thread->pid <= 1 || thread->pid != thread->tgid || span.end_ns <= span.start_ns)
			continue;
		arguments = i == thread->first_program ? NULL : program_arguments(h, thread, p);
		if (arguments)
			span.name = arguments;
		for (uint32_t k = h->first_slice[p->thread]; k < h->first_slice[p->thread + 1]; k++) {
			const struct slice *x = &h->slices[h->by_thread[k]];

			if (x->start_ns < span.start_ns || x->start_ns >= span.end_ns)
				continue;
			span.cpu_ns += x->end_ns - x->start_ns;
			span.insns += x->insns;
		}
		add_span(m, &span);
	}
}

/* Who has no parent in its thread lies in the smallest part of the boot that has all of it. */
static uint32_t container(const struct history *h, const struct stacks *s, const struct span_of *x)
{
	uint32_t best = HISTORY_NONE;
	bool first = x->thread < s->threads->count && s->threads->list[x->thread].pid == 1;

	for (uint32_t i = 0; i < h->n_spans; i++) {
		const struct span_of *c = &h->spans[i];

		if (c->kind != SPAN_BOOT && c->kind != SPAN_PHASE && (c->kind != SPAN_LEVEL || !first))
			continue;
		if (c->start_ns <= x->start_ns && c->end_ns >= x->end_ns &&
		    (best == HISTORY_NONE || c->end_ns - c->start_ns < h->spans[best].end_ns - h->spans[best].start_ns))
			best = i;
	}
	return best;
}

struct sorted {
	struct span_of span;
	uint32_t number; /* before they were sorted */
};

static int by_start(const void *va, const void *vb)
{
	const struct span_of *a = &((const struct sorted *)va)->span, *b = &((const struct sorted *)vb)->span;
	uint32_t na = ((const struct sorted *)va)->number, nb = ((const struct sorted *)vb)->number;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	/* what is around others comes first */
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if ((a->kind <= SPAN_PHASE || b->kind <= SPAN_PHASE) && a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return na < nb ? -1 : na > nb;
}

static void sort_spans(struct history *h)
{
	struct sorted *sorted = xcalloc(h->n_spans + 1, sizeof *sorted);
	uint32_t *now = xcalloc(h->n_spans + 1, sizeof *now);

	for (uint32_t i = 0; i < h->n_spans; i++)
		sorted[i] = (struct sorted){ .span = h->spans[i], .number = i };
	if (h->n_spans)
		qsort(sorted, h->n_spans, sizeof *sorted, by_start);
	for (uint32_t i = 0; i < h->n_spans; i++)
		now[sorted[i].number] = i;
	for (uint32_t i = 0; i < h->n_spans; i++) {
		h->spans[i] = sorted[i].span;
		if (h->spans[i].parent != HISTORY_NONE)
			h->spans[i].parent = now[h->spans[i].parent];
	}
	for (size_t i = 0; i < h->n_slices; i++)
		if (h->slices[i].span != HISTORY_NONE)
			h->slices[i].span = now[h->slices[i].span];
	for (size_t i = 0; i < h->n_aways; i++)
		if (h->aways[i].span != HISTORY_NONE)
			h->aways[i].span = now[h->aways[i].span];
	free(sorted);
	free(now);
}

/* What did not come to its end lasted to the trace's, or to its boot's. */
static void close_open(struct making *m, const struct stacks *s)
{
	for (size_t i = 0; i < m->history->n_spans; i++) {
		struct span_of *x = &m->history->spans[i];

		if (x->end_ns != UINT64_MAX)
			continue;
		x->end_ns = m->history->end_ns;
		for (size_t k = s->list[x->thread].depth; k-- > 0;) {
			const struct frame *f = &s->list[x->thread].frames[k];

			if (f->data == i + 1) {
				x->insns = s->list[x->thread].insns - f->insns;
				x->cpu_ns = s->list[x->thread].ns - f->ns;
			}
		}
	}
}

void spans_finish(struct making *m, const struct stacks *s)
{
	struct history *h = m->history;

	close_open(m, s);
	name_parts(h);
	put_processes(m, s);
	put_units(m);
	for (size_t b = 0; b < s->names->boots->count; b++)
		put_boot(m, s, b);
	for (uint32_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].parent == HISTORY_NONE && h->spans[i].kind != SPAN_BOOT)
			h->spans[i].parent = container(h, s, &h->spans[i]);
	sort_spans(h);
}
