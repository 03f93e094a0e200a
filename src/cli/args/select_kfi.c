/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a configuration of KFI asks for, in our terms. Entries that ask for nothing here are told of:
 * recording_choice_notes().
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "function_arg.h"
#include "kfi/config.h"
#include "select_arg.h"

/* An address of System.map is one that the kernel was linked for. */
static bool mark_address(const struct session *s, uint64_t addr, bool *marks)
{
	uint64_t slide = meta_get_u64(&s->reader->meta, "slide", 0);
	uint64_t ns = names_kernel_ns(s->names, UINT64_MAX - 1);
	bool any = false;

	for (int i = 0; i < 2; i++, addr += slide) {
		struct place place = names_place(s->names, addr, ns == UINT64_MAX ? 0 : ns, 0);

		if (place.at & AT_START)
			marks[place.function] = any = true;
	}
	return any;
}

static int mark(const struct kfi_function *f, const char *path, const struct session *s, bool *marks, struct error *err)
{
	bool *named, any = false;
	char *end;
	uint64_t addr = strtoull(f->name, &end, 16);

	if (f->name[0] == '0' && f->name[1] == 'x' && !*end)
		return mark_address(s, addr, marks)
			       ? 0
			       : error_set(err, "%s:%u: 0x%" PRIx64 ": no function of the kernel begins there", path,
					   f->line, addr);
	if (functions_named(f->name, s->names, &named, err) < 0)
		return error_prefix(err, "%s:%u", path, f->line);
	functions_prefer_kernel(s->names, named);
	for (size_t i = 0; i < names_count(s->names); i++)
		marks[i] |= named[i], any |= named[i];
	free(named);
	return any ? 0 : -1;
}

static int set_trigger(const struct kfi_trigger *trigger, const char *path, const struct session *s, bool stops,
		       struct selected *ret, struct thin_condition *condition, struct error *err)
{
	static const enum condition_kind kinds[] = {
		[KFI_TRIGGER_NONE] = CONDITION_NONE,
		[KFI_TRIGGER_ENTRY] = CONDITION_ENTRY,
		[KFI_TRIGGER_EXIT] = CONDITION_EXIT,
		[KFI_TRIGGER_TIME] = CONDITION_TIME,
	};
	bool *marks;

	condition->condition = (struct condition){
		.kind = kinds[trigger->kind], .nth = 1, .ns = trigger->usecs * 1000,
		.relative = stops && trigger->kind == KFI_TRIGGER_TIME,
	};
	if (trigger->kind != KFI_TRIGGER_ENTRY && trigger->kind != KFI_TRIGGER_EXIT)
		return 0;
	marks = ret->marks[ret->n_marks++] = xcalloc(names_count(s->names), sizeof *marks);
	condition->functions = marks;
	return mark(&trigger->function, path, s, marks, err);
}

/* As it stands in the file. */
static char *say_start(const struct kfi_trigger *t, const char *path)
{
	switch (t->kind) {
	case KFI_TRIGGER_NONE:
		break;
	case KFI_TRIGGER_TIME:
		return xasprintf("%s:%u: trigger start time %" PRIu64, path, t->line, t->usecs);
	case KFI_TRIGGER_ENTRY:
	case KFI_TRIGGER_EXIT:
		return xasprintf("%s:%u: trigger start %s %s", path, t->line,
				 t->kind == KFI_TRIGGER_EXIT ? "exit" : "entry", t->function.name);
	}
	return NULL;
}

int select_kfi(const struct kfi_run *run, const char *path, const struct session *session, uint64_t after_ns,
	       struct selected *ret, struct error *err)
{
	struct thin_options *o = &ret->options;
	bool *marks;

	*ret = (struct selected){ .what = xasprintf("--kfi %s:%u", path, run->line) };
	o->what = ret->what;
	o->start_what = ret->start_what = say_start(&run->start, path);
	o->after_ns = after_ns;
	o->every = run->autorepeat;
	o->filter.min_duration_ns = run->min_us * 1000;
	o->filter.max_duration_ns = run->max_us * 1000;
	o->filter.no_interrupts = run->no_interrupts;
	o->filter.only_interrupts = run->only_interrupts;
	if (set_trigger(&run->start, path, session, false, ret, &o->start, err) < 0 ||
	    set_trigger(&run->stop, path, session, true, ret, &o->stop, err) < 0)
		return -1;
	if (!run->start.kind && after_ns) /* it is armed then, and waits for nothing */
		o->start.condition = (struct condition){ .kind = CONDITION_TIME, .nth = 1, .ns = after_ns };
	if (!run->n_functions)
		return 0;
	marks = ret->marks[ret->n_marks++] = xcalloc(names_count(session->names), sizeof *marks);
	o->filter.functions = marks;
	for (size_t i = 0; i < run->n_functions; i++)
		if (mark(&run->functions[i], path, session, marks, err) < 0)
			return -1;
	return 0;
}
