/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_script.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/commands/run_script.h"

int recording_script_prepare(struct args *args, struct error *err)
{
	struct buf probes = { 0 }, events = { 0 };
	int r = 0;

	if (!arg(args, "program"))
		return 0;
	r = run_script_asks(arg(args, "program"), NULL, 0, NULL, &probes, &events, err);
	if (r == 0 && *probes.data)
		r = args_give(args, "probe", (char *)probes.data, err);
	if (r == 0 && *events.data)
		r = args_give(args, "event", (char *)events.data, err);
	buf_free(&probes);
	buf_free(&events);
	return r;
}

int recording_script_run(const struct args *args, const char *path, int status, struct error *err)
{
	struct args words;
	int r;

	/* what was not recorded has no answer, and says why */
	if (!arg(args, "program") || err->text[0])
		return status;
	char *argv[] = { "-e", (char *)arg(args, "program"), (char *)path, NULL };

	r = args_parse(&cmd_run, argv, &words, err);
	words.missed = args->missed;
	if (r == 0)
		r = run_script(&words, err) == EXIT_OK ? 0 : -1;
	args_deinit(&words);
	return r < 0 ? EXIT_FAILED : status;
}
