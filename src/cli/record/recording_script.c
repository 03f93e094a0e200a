/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_script.h"

#include <string.h>

#include "analysis/programs/script_fields.h"
#include "analysis/programs/script_needs.h"
#include "cli/commands.h"
#include "cli/commands/run_script.h"
#include "handlers/script_code.h"

static int give(struct args *args, const struct script_needs *needs, const struct script *script, struct error *err)
{
	struct buf probes = { 0 }, events = { 0 };
	int r = 0;

	script_needs_put(needs, script, NULL, &probes, &events);
	if (*probes.data)
		r = args_give(args, "probe", (char *)probes.data, err);
	if (r == 0 && *events.data)
		r = args_give(args, "event", (char *)events.data, err);
	buf_free(&probes);
	buf_free(&events);
	return r;
}

int recording_script_prepare(struct args *args, struct error *err)
{
	struct script_formats nothing = { NULL, NULL, NULL };
	const struct field_types types = { script_field_find, &nothing };
	struct script script;
	struct script_code code = { 0 };
	struct script_needs needs = { 0 };
	int r;

	if (!arg(args, "program"))
		return 0;
	r = run_script_read(arg(args, "program"), NULL, 0, &script, err);
	if (r == 0)
		r = script_compile(&script, &types, &code, err);
	if (r == 0)
		r = script_needs_find(&script, &code.types, &needs, err);
	if (r == 0)
		r = give(args, &needs, &script, err);
	script_needs_deinit(&needs);
	script_code_deinit(&code);
	script_free(&script);
	return r;
}

int recording_script_run(const struct args *args, const char *path, int status, struct error *err)
{
	struct args words;
	int r;

	if (!arg(args, "program"))
		return status;
	char *argv[] = { "-e", (char *)arg(args, "program"), (char *)path, NULL };

	r = args_parse(&cmd_run, argv, &words, err);
	words.missed = args->missed;
	if (r == 0)
		r = run_script(&words, err) == EXIT_OK ? 0 : -1;
	args_deinit(&words);
	return r < 0 ? EXIT_FAILED : status;
}
