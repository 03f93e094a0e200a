/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_arg.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "name_list.h"

static const char *function_at(const void *names, size_t i)
{
	return names_function(names, (uint32_t)i);
}

static const char *object_at(const void *names, size_t i)
{
	return names_object(names, (uint32_t)i);
}

/* Is nothing but thunks marked, which are folded? Then nothing would be found. */
static bool only_thunks(const struct names *names, const bool *marks, struct error *err)
{
	const char *any = NULL;

	for (uint32_t i = 0; names->thunks && i < names_count(names); i++) {
		if (marks[i] && !names->thunks[i])
			return false;
		if (marks[i])
			any = names_function(names, i);
	}
	if (any)
		error_set(err, "%s: only passes control on, and is shown with --thunks", any);
	return any;
}

static int mark_functions(const char *const *lists, unsigned n, const struct names *names, bool **ret,
			  struct error *missed, struct error *err)
{
	const struct name_list all = {
		.count = names_count(names), .at = function_at, .data = names, .by_source = true,
		.what = "function", .where = " in the trace", .hint = FUNCTION_HINT,
	};
	bool *marks = xcalloc(all.count, sizeof *marks);

	*ret = NULL;
	if (name_list_mark(&all, lists, n, marks, missed, err) < 0 || only_thunks(names, marks, err)) {
		free(marks);
		return -1;
	}
	*ret = marks;
	return 0;
}

int functions_named(const char *list, const struct names *names, bool **ret, struct error *err)
{
	return mark_functions(&list, 1, names, ret, NULL, err);
}

int functions_option(const struct args *args, const char *option, const struct names *names, bool **ret,
		     struct error *err)
{
	const char *list = arg(args, option);
	struct error missed = { .text = "" };

	if (mark_functions(&list, 1, names, ret, &missed, err) < 0)
		return error_prefix(err, "--%s", option);
	if (missed.text[0]) {
		error_prefix(&missed, "--%s", option);
		*args->missed = missed;
	}
	return 0;
}

int functions_arg(const struct args *args, const struct names *names, bool **ret, struct error *err)
{
	const char *lists[OPERANDS_MAX] = { arg(args, "function") };

	for (unsigned i = 1; i < args->n_operands; i++)
		lists[i] = args->operands[i];
	*ret = NULL;
	if (!lists[0] && args->n_operands < 2)
		return 0;
	return mark_functions(lists, args->n_operands, names, ret, args->missed, err);
}

/* Take the marks from those functions that `marks` does not have, too. */
static void unmark(bool *functions, const bool *marks, size_t count)
{
	for (size_t i = 0; marks && i < count; i++)
		functions[i] = functions[i] && marks[i];
}

static int objects_arg(const struct args *args, const struct names *names, bool **ret, struct error *err)
{
	const struct name_list all = {
		.count = names_count(names), .at = object_at, .data = names, .what = "module, program or library",
		.where = " in the trace",
	};
	const char *module = arg(args, "module");

	*ret = module ? xcalloc(all.count, sizeof **ret) : NULL;
	return module ? name_list_mark(&all, &module, 1, *ret, args->missed, err) : 0;
}

int only_arg(const struct args *args, const struct names *names, bool **ret, struct error *err)
{
	bool kernel = arg(args, "kernel"), user = arg(args, "user"), *of_module = NULL, *functions = NULL, *all;
	size_t count = names_count(names);
	int r = -1;

	*ret = all = xcalloc(count, sizeof *all);
	if (kernel && user)
		return error_set(err, "--kernel and --user: one of them");
	for (size_t i = 0; i < count; i++)
		all[i] = (!kernel || names_is_kernel(names, (uint32_t)i)) &&
			 (!user || names_is_user(names, (uint32_t)i));
	if (objects_arg(args, names, &of_module, err) == 0 && functions_arg(args, names, &functions, err) == 0) {
		unmark(all, of_module, count);
		unmark(all, functions, count);
		r = 0;
	}
	free(of_module);
	free(functions);
	return r;
}
