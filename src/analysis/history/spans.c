/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was done in a boot: which functions of the kernel stand for it, and what it is called. */
#include "making.h"

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
	{ "do_one_initcall", SPAN_INITCALL, FACT_INITCALL }, /* init/main.c */
	{ "really_probe", SPAN_PROBE, FACT_PROBE },          /* drivers/base/dd.c */
	{ "load_module", SPAN_MODULE, 0 },                   /* kernel/module/main.c */
	{ "do_init_module", SPAN_MODULE_INIT, 0 },
	{ "module_sig_check", SPAN_SIGNATURE, 0 },    /* kernel/module/signing.c */
	{ "apply_relocate_add", SPAN_RELOCATION, 0 }, /* arch/x86/kernel/module.c */
	{ "path_mount", SPAN_MOUNT, FACT_MOUNT },     /* fs/namespace.c */
	/* security_move_mount() was told what; the compiler may have dropped arguments of what does it */
	{ "do_move_mount", SPAN_MOUNT, 0 },
	{ "do_move_mount.isra.0", SPAN_MOUNT, 0 },
	{ "_request_firmware", SPAN_FIRMWARE_FILE, FACT_FIRMWARE }, /* drivers/base/firmware_loader/main.c */
	{ "bprm_execve", SPAN_EXEC, 0 },                            /* fs/exec.c */
	{ "unpack_to_rootfs", SPAN_INITRAMFS, 0 },                  /* init/initramfs.c */
	{ "smp_init", SPAN_SMP, 0 },                                /* kernel/smp.c */
	{ "process_one_work", SPAN_WORK, FACT_WORK },               /* kernel/workqueue.c */
	{ "kunit_try_run_case", SPAN_TEST, 0 },                     /* lib/kunit/test.c, which may be a module */
	{ "device_shutdown", SPAN_SHUTDOWN, 0 },                    /* drivers/base/core.c */
	{ "pm_suspend", SPAN_SUSPEND, 0 },                          /* kernel/power/suspend.c */
	{ "vprintk_emit", SPAN_CONSOLE, 0 },                        /* kernel/printk/printk.c */
	{ "console_unlock", SPAN_CONSOLE, 0 },
	{ "serial8250_console_write", SPAN_CONSOLE, 0 }, /* drivers/tty/serial/8250/8250_port.c */
	{ "vt_console_print", SPAN_CONSOLE, 0 },         /* drivers/tty/vt/vt.c */
	/* init/main.c, and what it calls */
	{ "setup_arch", SPAN_STAGE, 0 },
	{ "mm_core_init", SPAN_STAGE, 0 },
	{ "mm_init", SPAN_STAGE, 0 },
	{ "trap_init", SPAN_STAGE, 0 },
	{ "ftrace_init", SPAN_STAGE, 0 },
	{ "vfs_caches_init", SPAN_STAGE, 0 },
	{ "arch_cpu_finalize_init", SPAN_STAGE, 0 },
	{ "check_bugs", SPAN_STAGE, 0 },
	{ "acpi_early_init", SPAN_STAGE, 0 },
	{ "page_alloc_init_late", SPAN_STAGE, 0 },
	{ "free_initmem", SPAN_STAGE, 0 },
	{ "mark_rodata_ro", SPAN_STAGE, 0 },
	{ "wait_for_initramfs", SPAN_STAGE, 0 },
	{ "sched_init", SPAN_STAGE, 0 },
	{ "time_init", SPAN_STAGE, 0 },
	{ "rcu_init", SPAN_STAGE, 0 },
	/* calls the consoles' initcalls itself: kernel/printk/printk.c */
	{ "console_init", SPAN_STAGE, 0 },
	/* tells the arguments of the exec that it is called in */
	{ "finalize_exec", SPAN_KINDS, FACT_ARGUMENTS },
	/* tells what the do_move_mount() behind it mounts: security/security.c */
	{ "security_move_mount", SPAN_KINDS, FACT_MOUNT },
};

#define CONSOLES "console_init"

/* kernel/time/timer.c, kernel/workqueue.c */
static const char *const sets_timer[] = { "mod_timer", "add_timer", "queue_delayed_work_on", "mod_delayed_work_on" };

enum { FUNCTIONS = sizeof span_functions / sizeof *span_functions, TIMERS = sizeof sets_timer / sizeof *sets_timer };

const char *span_kind_name(enum span_kind kind)
{
	static const char *const names[SPAN_KINDS] = {
		"boot",    "phase",       "stage",     "level",      "initcall", "probe",     "smp",      "initramfs",
		"module",  "module-init", "signature", "relocation", "mount",    "firmware",  "exec",     "work",
		"process", "shutdown",    "console",   "unit",       "test",     "test-part", "recorded",
		"suspend", "event",
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

/* The fact that tells what such a span is of; 0: none does. */
static enum fact_kind fact_of(enum span_kind kind)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (span_functions[i].kind == kind)
			return span_functions[i].fact;
	return 0;
}

/* A module stands behind the name. */
static bool is_function(const char *name, const char *function)
{
	size_t len = strcspn(name, " ");

	return strlen(function) == len && !strncmp(name, function, len);
}

/*
 * By which programs talk to the host: through a virtio port (drivers/char/virtio_console.c) or vsock
 * (net/vmw_vsock/af_vsock.c), each of which may be a module.
 */
static bool is_word_to_host(const char *name)
{
	static const char *const functions[] = { "port_fops_write", "vsock_connectible_sendmsg",
						 "vsock_stream_sendmsg" };

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (is_function(name, functions[i]))
			return true;
	return false;
}

uint8_t *spans_roles(const struct names *names)
{
	uint8_t *roles = xcalloc(names_count(names), sizeof *roles);

	for (uint32_t i = 0; i < names_count(names); i++) {
		const char *name = names_function(names, i);

		if (!names_is_kernel(names, i))
			continue;
		if (is_word_to_host(name))
			roles[i] = ROLE_HOST;
		if (*names_object(names, i) && strcmp(names_object(names, i), "kunit"))
			continue;
		if (!strcmp(name, "try_to_wake_up"))
			roles[i] = ROLE_WAKE;
		if (!strcmp(name, "__queue_work"))
			roles[i] = ROLE_QUEUE;
		for (unsigned k = 0; k < TIMERS; k++)
			if (!strcmp(name, sets_timer[k]))
				roles[i] = ROLE_TIMER;
		for (unsigned k = 0; k < FUNCTIONS && !roles[i]; k++)
			if (is_function(name, span_functions[k].function))
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
const char *spans_arguments(struct history *h, const struct fact *f)
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

/* The module that is initialised at this very moment, as the recorder told of it. */
static const char *module_name(const struct making *m, const struct stack *stack, const struct stacks *s)
{
	const struct code_records *code = &m->reader->code;

	for (size_t i = 0; i < code->count; i++)
		if (code->records[i].change == CODE_MODULE && !code->records[i].is_object &&
		    code->records[i].insns == s->insns && code->records[i].cpu == (uint32_t)stack->cpu)
			return code->records[i].name;
	return NULL;
}

/* Name the module's initialisation, and its loading, which calls that or ends with a jump to it. */
static bool name_module(struct making *m, const struct stack *stack, const struct stacks *s, uint32_t init)
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
	return name;
}

void spans_name_parts(struct history *h)
{
	for (size_t i = 0; i < h->n_spans; i++) {
		struct span_of *span = &h->spans[i];

		if ((span->kind == SPAN_SIGNATURE || span->kind == SPAN_RELOCATION) && span->parent != HISTORY_NONE)
			span->name = h->spans[span->parent].name;
	}
}

static bool tell_arguments(struct making *m, const struct stack *stack, const struct stacks *s, uint32_t thread)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_ARGUMENTS, (uint32_t)stack->cpu, s->insns);
	uint32_t i = m->open[thread].span;

	if (f && i != HISTORY_NONE && m->history->spans[i].kind == SPAN_EXEC)
		m->history->spans[i].name = spans_arguments(m->history, f);
	return f;
}

/* What is only found by the function's fact, and has no span itself. */
static bool tell_others(struct making *m, const struct stack *stack, const struct stacks *s, enum fact_kind kind)
{
	uint32_t thread = stacks_number(s, stack);
	const struct fact *f;

	if (kind == FACT_ARGUMENTS)
		return tell_arguments(m, stack, s, thread);
	f = facts_find(&m->history->facts, kind, (uint32_t)stack->cpu, s->insns);
	m->open[thread].mount = f;
	return f;
}

void spans_tell(struct making *m, struct stacks *s, struct stack *stack, struct frame *frame, uint8_t role)
{
	unsigned which = role - ROLE_SPANS;
	uint32_t thread = stacks_number(s, stack), number = (frame->data & ~FRAME_UNTOLD) - 1;
	const struct fact *f;
	bool told = true;

	if (span_functions[which].kind != SPAN_KINDS && number >= m->history->n_spans)
		return;
	if (span_functions[which].kind == SPAN_KINDS) {
		told = tell_others(m, stack, s, span_functions[which].fact);
	} else if (span_functions[which].fact) {
		struct span_of *span = &m->history->spans[number];

		f = facts_find(&m->history->facts, span_functions[which].fact, (uint32_t)stack->cpu, s->insns);
		if (f)
			span->name = name_of(m, s, f, &span->function);
		if (f && f->kind == FACT_WORK)
			span->queued = handovers_begin(m, f->numbers[0]);
		told = f;
		/* whatever was to be moved before was not */
		if (span_functions[which].kind == SPAN_MOUNT)
			m->open[thread].mount = NULL;
	} else if (span_functions[which].kind == SPAN_MOUNT) {
		struct span_of *span = &m->history->spans[number];

		f = m->open[thread].mount;
		if (f)
			span->name = name_of(m, s, f, &span->function);
		m->open[thread].mount = NULL;
	} else if (span_functions[which].kind == SPAN_MODULE_INIT) {
		told = name_module(m, stack, s, number);
	}
	frame->data = told ? frame->data & ~FRAME_UNTOLD : frame->data | FRAME_UNTOLD;
}

/* The function on top of the stack. */
static bool is_called_by(const struct stacks *s, const struct stack *stack, const char *caller)
{
	return stack->depth > 1 &&
	       !strcmp(names_function(s->names, stack->frames[stack->depth - 2].function), caller);
}

void spans_enter(struct making *m, struct stacks *s, struct stack *stack, struct frame *frame, uint8_t role)
{
	uint32_t thread = stacks_number(s, stack), number = (uint32_t)m->history->n_spans;
	unsigned which = role - ROLE_SPANS;
	struct span_of span = {
		.kind = span_functions[which].kind, .parent = m->open[thread].span, .thread = thread,
		.start_ns = s->ns, .end_ns = UINT64_MAX,
		.name = names_function(s->names, frame->function), .function = frame->function, .queued = HISTORY_NONE,
	};

	/* another function of that name makes every process's memory: kernel/fork.c */
	if (span.kind == SPAN_STAGE && !strcmp(span.name, "mm_init") && !is_called_by(s, stack, "start_kernel"))
		return;
	/* some are called for every new process, too */
	if (span.kind == SPAN_STAGE && thread < s->threads->count &&
	    !s->threads->programs[threads_program(s->threads, thread, s->ns)].kernel)
		return;
	if (span.kind != SPAN_KINDS) {
		spans_add(m, &span);
		frame->data = number + 1;
		m->consoles += !strcmp(span_functions[which].function, CONSOLES);
		m->open[thread].span = number;
		slices_cut(m, s, (unsigned)stack->cpu, thread, number, HISTORY_NONE);
	}
	spans_tell(m, s, stack, frame, role);
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
	uint32_t thread = stacks_number(s, stack);

	if (stack->depth != m->callee.depth)
		return;
	if (f && f->numbers[0] == FACT_INITCALL)
		spans_add(m, &(struct span_of){
			.kind = SPAN_INITCALL, .parent = m->open[thread].span, .thread = thread,
			.function = m->callee.function,
			.start_ns = m->callee.start_ns, .end_ns = s->ns, .insns = stack->insns - frame->insns,
			.cpu_ns = stack->ns - frame->ns,
			.name = names_function(s->names, m->callee.function), .has_result = true,
			.result = (int32_t)f->numbers[1],
		});
	m->callee.depth = 0;
}

/* Of a span that ended right before the event. */
static bool tell_result(struct making *m, const struct stacks *s, const struct stack *stack, struct span_of *span)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_RESULT, (uint32_t)stack->cpu, s->insns);

	if (!f || f->numbers[0] != fact_of(span->kind))
		return false;
	span->has_result = true;
	span->result = (int32_t)f->numbers[1];
	return true;
}

void spans_tell_result(struct making *m, struct stacks *s, const struct stack *stack)
{
	struct open_thread *open = &m->open[stacks_number(s, stack)];

	if (open->unresolved != HISTORY_NONE && tell_result(m, s, stack, &m->history->spans[open->unresolved]))
		open->unresolved = HISTORY_NONE;
}

void spans_leave(struct making *m, struct stacks *s, struct stack *stack, const struct frame *frame, uint8_t role)
{
	uint32_t thread = stacks_number(s, stack), number = (frame->data & ~FRAME_UNTOLD) - 1;
	struct span_of *span;

	if (number >= m->history->n_spans)
		return;
	span = &m->history->spans[number];
	m->consoles -= m->consoles && !strcmp(span_functions[role - ROLE_SPANS].function, CONSOLES);
	span->end_ns = s->ns;
	span->insns = stack->insns - frame->insns;
	span->cpu_ns = stack->ns - frame->ns;
	m->open[thread].span = span->parent;
	if (stack->cpu < 0)
		return;
	if (fact_of(span->kind))
		m->open[thread].unresolved = tell_result(m, s, stack, span) ? HISTORY_NONE : number;
	/* of a thread that has died, frames are left when the vCPU is another's */
	if (m->running[stack->cpu].plain.slice.thread == thread)
		slices_cut(m, s, (unsigned)stack->cpu, thread, m->history->spans[number].parent, HISTORY_NONE);
}
