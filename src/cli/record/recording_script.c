/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_script.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/commands/run_script.h"
#include "cli/commands/scripting.h"
#include "recording_choice.h"

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

/* As `upto run` has them. `more`: another option, or NULL. */
static int run_args(const struct args *args, const char *path, const char *more, struct args *ret, struct error *err)
{
	char *argv[] = { "-e", (char *)arg(args, "program"), (char *)path, (char *)more, NULL };
	int r = args_parse(&cmd_run, argv, ret, err);

	ret->missed = args->missed;
	return r;
}

/* Returns an exit status. */
static int run_at_end(const struct args *args, const char *path, struct error *err)
{
	struct args words;
	int r = run_args(args, path, NULL, &words, err);

	r = r < 0 ? EXIT_FAILED : run_script(&words, err);
	args_deinit(&words);
	return r;
}

static int run_beside(void *context, const char *path, bool (*guest_has_ended)(void))
{
	struct args words;
	struct error err = { 0 };
	int r = run_args(context, path, "--follow", &words, &err);

	scripting_hear_interrupts(2); /* the first one ends the guest */
	r = r < 0 ? r : run_script_follow(&words, guest_has_ended, &err);
	if (err.text[0]) {
		fprintf(stderr, "upto: %s\n", err.text);
		r = -1;
	}
	args_deinit(&words);
	return r;
}

/* May it run beside the guest? A trace of which something is taken out later is another one then. */
static int find_live(const struct recording *rec, bool *ret, struct error *err)
{
	const char *why;

	if (run_script_is_live(arg(rec->args, "program"), ret, &why, err) < 0)
		return -1;
	*ret = *ret && !recording_chooses(rec->args);
	if (why && !rec->quiet)
		fprintf(stderr, "upto: the program's output comes when the guest has ended: it asks for %s\n", why);
	return 0;
}

int recording_script_run(struct recording *rec, struct error *err)
{
	struct beside beside = { .run = run_beside, .context = (void *)rec->args };
	bool live = false;
	int status, own;

	if (!arg(rec->args, "program"))
		return recording_run(rec, err);
	if (find_live(rec, &live, err) < 0)
		return EXIT_USAGE;
	rec->beside = live ? &beside : NULL;
	status = recording_run(rec, err);
	/* what was not recorded has no answer, and says why */
	if (err->text[0])
		return status;
	if (beside.ended)
		return beside.status == EXIT_OK ? status : beside.status;
	own = run_at_end(rec->args, rec->output, err);
	return own == EXIT_OK ? status : own;
}
