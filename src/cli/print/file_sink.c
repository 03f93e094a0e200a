/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file_sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output_file.h"
#include "terminal.h"

struct target {
	FILE *file;
	const char *name; /* for messages */
};

static int failed(const struct target *to, struct error *err)
{
	return error_set(err, "%s: %s", to->name, strerror(errno));
}

static int write_to(void *context, const void *data, size_t n, struct error *err)
{
	const struct target *to = context;

	return fwrite(data, 1, n, to->file) == n ? 0 : failed(to, err);
}

static int write_all_of(struct target *to, file_sink_put put, void *context, struct error *err)
{
	const struct sink sink = { .write = write_to, .context = to };
	int r = put(context, &sink, err);

	terminal_end_progress();
	return r < 0 || fflush(to->file) == 0 ? r : failed(to, err);
}

int file_sink_write(const char *path, bool force, file_sink_put put, void *context, struct error *err)
{
	struct target to = { .file = stdout, .name = path ? path : "standard output" };
	struct output_file file;
	int r;

	if (!path)
		return write_all_of(&to, put, context, err);
	if (output_file_open(&file, path, OUTPUT_TEXT, force, err) < 0)
		return -1;
	to.file = fdopen(file.fd, "w");
	if (!to.file)
		return output_file_close(&file, failed(&to, err), err);
	file.fd = -1;
	r = write_all_of(&to, put, context, err);
	if (fclose(to.file) != 0 && r >= 0)
		r = failed(&to, err);
	return output_file_close(&file, r, err);
}
