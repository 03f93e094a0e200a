/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { BUFFER_KB = 16384, KFI_BYTES_MAX = 1 << 20 };

static int set_condition(const char *option, const struct condition *c, bool stops, struct host_choice *ret,
			 struct error *err)
{
	const char **entry = stops ? &ret->options.stop_entry : &ret->options.start_entry;
	const char **exit = stops ? &ret->part.stop_exit : &ret->part.start_exit;

	if (c->nth > 1)
		return error_set(err, "%s: the kernel takes the first time; #N is not there", option);
	switch (c->kind) {
	case CONDITION_NONE:
		return 0;
	case CONDITION_ENTRY:
		*entry = c->text;
		return 0;
	case CONDITION_EXIT:
		*exit = c->text;
		return 0;
	case CONDITION_TIME:
		*(stops ? &ret->stop_ns : &ret->start_ns) = c->ns;
		return 0;
	default:
		return error_set(err, "%s: entry:FUNCTION, exit:FUNCTION or time:TIME are there for this kernel",
				 option);
	}
}

static int condition_arg(const struct args *args, const char *name, bool stops, struct condition *c,
			 struct host_choice *ret, struct error *err)
{
	cleanup_free char *option = xasprintf("--%s", name);

	if (!arg(args, name))
		return 0;
	if (condition_parse(option, arg(args, name), c, err) < 0)
		return -1;
	return set_condition(option, c, stops, ret, err);
}

static struct condition condition_of(const struct kfi_trigger *t)
{
	static const enum condition_kind kinds[] = {
		[KFI_TRIGGER_NONE] = CONDITION_NONE,
		[KFI_TRIGGER_ENTRY] = CONDITION_ENTRY,
		[KFI_TRIGGER_EXIT] = CONDITION_EXIT,
		[KFI_TRIGGER_TIME] = CONDITION_TIME,
	};

	return (struct condition){
		.kind = kinds[t->kind],
		.text = t->function.name ? xstrdup(t->function.name) : NULL,
		.ns = t->usecs * 1000,
		.nth = 1,
	};
}

static int refuse(const char *path, const struct kfi_run *run, struct error *err)
{
	const struct {
		bool asked;
		const char *words, *instead;
	} not_there[] = {
		{ run->max_us, "filter maxtime", "thin --max-duration" },
		{ run->no_interrupts, "filter noints", "thin --no-interrupts" },
		{ run->only_interrupts, "filter onlyints", "thin --only-interrupts" },
		{ run->stack || run->worst_stack, "watch stack", "stack --deepest" },
		{ run->autorepeat, "autorepeat", "thin --every" },
		{ run->overwrite, "overwrite", "thin --limit N --keep last" },
	};

	for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
		if (not_there[i].asked)
			return error_set(
				err, "%s: %s: the kernel's tracer does not do that; of a trace, upto %s does",
				path, not_there[i].words, not_there[i].instead);
	return 0;
}

/* "do_fork,vfs_read" */
static char *names_of(const struct kfi_run *run)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < run->n_functions; i++)
		buf_printf(&names, "%s%s", i ? "," : "", run->functions[i].name);
	buf_put_u8(&names, 0);
	return (char *)names.data;
}

static int set_run(const char *path, const struct kfi_run *run, struct host_choice *ret, struct error *err)
{
	if (refuse(path, run, err) < 0)
		return -1;
	ret->start = condition_of(&run->start);
	ret->stop = condition_of(&run->stop);
	if (set_condition(path, &ret->start, false, ret, err) < 0 ||
	    set_condition(path, &ret->stop, true, ret, err) < 0)
		return -1;
	/* KFI counts a stop's time from the start */
	if (run->stop.kind == KFI_TRIGGER_TIME && run->start.kind == KFI_TRIGGER_TIME)
		ret->stop_ns += ret->start_ns;
	if (run->stop.kind == KFI_TRIGGER_TIME && (ret->options.start_entry || ret->part.start_exit))
		return error_set(err, "%s:%u: a time since a function was called, or returned, is not there for this kernel", path,
				 run->stop.line);
	if (run->min_us)
		ret->options.min_us = run->min_us;
	if (run->n_functions)
		ret->options.functions = ret->functions = names_of(run);
	if (run->lines[KFI_LOGENTRIES])
		ret->part.max_calls = run->log_entries;
	return 0;
}

static int kfi_arg(const struct args *args, struct host_choice *ret, struct error *err)
{
	const char *path = arg(args, "kfi");
	struct buf text = { 0 };
	int r;

	if (!path)
		return 0;
	if (arg(args, "start") || arg(args, "stop") || arg(args, "functions") || arg(args, "min-duration"))
		return error_set(err, "--kfi: not with --start, --stop, --functions or --min-duration");
	r = file_read(path, KFI_BYTES_MAX, &text, err);
	if (r == 0)
		r = kfi_config_parse(path, (char *)text.data, text.len, &ret->config, err);
	if (r == 0 && ret->config.count > 1)
		r = error_set(err, "%s:%u: one run at a time", path, ret->config.runs[1].line);
	if (r == 0)
		r = set_run(path, &ret->config.runs[0], ret, err);
	buf_free(&text);
	return r;
}

static int numbers_arg(const struct args *args, struct host_choice *ret, struct error *err)
{
	struct host_options *o = &ret->options;
	uint64_t pid = 0, ns = 0;

	if (arg_u64(args, "depth", &o->depth, err) < 0 || arg_u64(args, "pid", &pid, err) < 0 ||
	    arg_u64(args, "buffer", &o->buffer_kb, err) < 0 ||
	    (arg(args, "min-duration") && arg_time(args, "min-duration", &ns, err) < 0) ||
	    (arg(args, "before") && arg_time(args, "before", &ret->before_ns, err) < 0))
		return -1;
	if (pid > INT32_MAX)
		return error_set(err, "--pid %" PRIu64 ": no process", pid);
	if (ns && ns < 1000)
		return error_set(err, "--min-duration: the kernel counts microseconds here: 1us at least");
	o->pid = (int32_t)pid;
	o->min_us = ns / 1000;
	return 0;
}

int host_choice_arg(const struct args *args, struct host_choice *ret, struct error *err)
{
	*ret = (struct host_choice){
		.options = {
			.functions = arg(args, "functions"),
			.not = arg(args, "not"),
			.below = arg(args, "below"),
			.buffer_kb = BUFFER_KB,
		},
		.stop_ns = UINT64_MAX,
	};
	if (numbers_arg(args, ret, err) < 0 || condition_arg(args, "start", false, &ret->start, ret, err) < 0 ||
	    condition_arg(args, "stop", true, &ret->stop, ret, err) < 0)
		return -1;
	if (kfi_arg(args, ret, err) < 0)
		return -1;
	ret->part.by_ends = ret->options.min_us; /* the tracer tells of long calls when they end */
	return 0;
}

void host_choice_deinit(struct host_choice *c)
{
	condition_deinit(&c->start);
	condition_deinit(&c->stop);
	kfi_config_deinit(&c->config);
	free(c->functions);
}
