/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rerun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/record/kernel_files.h"
#include "cli/record/qemu.h"
#include "cli/record/recording.h"
#include "cli/record/recording_probes.h"
#include "cli/record/run_inputs.h"
#include "cli/record/run_register.h"
#include "trace/thinned.h"

int rerun_possible(const struct reader *r, char *const *argv, struct error *err)
{
	const char *folder = meta_get(&r->meta, "run.directory"), *log = meta_get(&r->meta, "run.log"),
		   *by = thinned_by(&r->meta);

	if (!folder || !meta_get(&r->meta, "run.argv.0"))
		return error_set(
			err,
			"%s: its guest cannot run again as it did: that takes 'upto record --deterministic', or, with "
			"disks or networks, --replayable",
			r->path);
	if (by)
		return error_set(err, "%s: it is a part of its guest's run (%s), and only the whole can be compared",
				 r->path, by);
	if (!reader_complete(r))
		return error_set(err, "%s: it is not complete, and only the whole run can be compared", r->path);
	if (log && access(log, R_OK) < 0)
		return error_set(err, "%s: its guest cannot run again: %s: %s", r->path, log, strerror(errno));
	if (!argv && run_register_check(&r->meta, r->path, err) < 0)
		return -1;
	if (!argv && access(folder, X_OK) < 0)
		return error_set(err, "%s: its guest cannot run again: %s: %s", r->path, folder, strerror(errno));
	return 0;
}

static void put_word(struct buf *words, const char *word)
{
	buf_put(words, word, strlen(word) + 1);
}

/* What the first recording was told of its guest. */
static void put_known(const struct reader *r, struct buf *words)
{
	static const char *const options[] = { "symbols", "types", "sysroot" };
	char key[32];

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		snprintf(key, sizeof key, "run.%s", options[i]);
		const char *value = meta_get(&r->meta, key);

		if (!value)
			continue;
		buf_printf(words, "--%s", options[i]);
		buf_put_u8(words, 0);
		put_word(words, value);
	}
}

static void put_words(const struct reader *r, char *const *given, const char *path, const struct buf *options,
		      struct buf *ret)
{
	char **kept = given ? NULL : run_inputs_argv(&r->meta);
	char *const *argv = given ? given : kept;

	if (!meta_get(&r->meta, "run.log"))
		put_word(ret, "--deterministic");
	put_word(ret, "--force");
	put_word(ret, "--quiet");
	put_word(ret, "--output");
	put_word(ret, path);
	if (!reader_lacks(r, "thunks"))
		put_word(ret, "--thunks");
	put_known(r, ret);
	buf_put(ret, options->data, options->len);
	put_word(ret, "--");
	for (size_t i = 0; argv && argv[i]; i++)
		put_word(ret, argv[i]);
	free(kept);
}

static char **split(const struct buf *words)
{
	size_t n = 0;
	char **ret;

	for (size_t i = 0; i < words->len; i++)
		n += !words->data[i];
	ret = xcalloc(n + 1, sizeof *ret);
	n = 0;
	for (size_t i = 0; i < words->len; i += strlen((char *)words->data + i) + 1)
		ret[n++] = (char *)words->data + i;
	return ret;
}

int rerun_init(struct rerun *run, const struct reader *r, char *const *argv, const char *path,
	       const struct buf *options, struct error *err)
{
	const char *folder = meta_get(&r->meta, "run.directory");

	*run = (struct rerun){ .here = getcwd(NULL, 0), .log = meta_get(&r->meta, "run.log") };
	put_words(r, argv, path, options, &run->words);
	run->argv = split(&run->words);
	if (args_parse(&cmd_record, run->argv, &run->args, err) < 0)
		return -1;
	return !argv && chdir(folder) < 0 ? error_set(err, "%s: %s: %s", r->path, folder, strerror(errno)) : 0;
}

void rerun_deinit(struct rerun *run)
{
	if (run->here && chdir(run->here) < 0)
		perror(run->here);
	args_deinit(&run->args);
	buf_free(&run->words);
	free(run->argv);
	free(run->here);
}

int rerun_definitions(const struct rerun *run, struct buf *lines, struct error *err)
{
	struct kernel_files kernel = { 0 };
	int r = kernel_files_init(&run->args, qemu_option(run->args.rest, "kernel"), &kernel, err);

	if (r == 0)
		r = recording_probes_put(&run->args, kernel.sources.image, lines, err);
	kernel_files_deinit(&kernel);
	return r < 0 ? -1 : 0;
}

int rerun_record(const struct rerun *run, struct error *err)
{
	struct recording rec;

	recording_args(&run->args, &rec);
	rec.again = true;
	rec.log = run->log;
	rec.replays = true;
	*err = (struct error){ .text = "" };
	recording_run(&rec, err);
	/* QEMU's exit status, which the guest may choose, does not count */
	return err->text[0] ? -1 : 0;
}
