/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_output.h"

#include <string.h>

#include "output_file.h"
#include "trace/writer.h"

struct leveled {
	struct writer writer;
	int level;
};

/* Where writing fails, the writer keeps in mind why. */
static void put(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	struct leveled *to = context;

	writer_put(&to->writer, header, payload, level ? level : to->level);
}

int trace_output_write(const char *path, bool force, int level,
		       int (*fill)(void *context, const struct builder_sink *sink, struct error *err), void *context,
		       struct error *err)
{
	struct leveled to = { .level = level };
	struct output_file out;
	int r, failed;

	if (output_file_open(&out, path, OUTPUT_TRACE, force, err) < 0)
		return -1;
	r = writer_init(&to.writer, out.fd);
	if (r == 0)
		r = fill(context, &(struct builder_sink){ .put = put, .context = &to }, err);
	else
		error_set(err, "%s: %s", path, strerror(-r));
	failed = to.writer.failed;
	writer_deinit(&to.writer);
	if (r == 0 && failed)
		r = error_set(err, "%s: %s", path, strerror(failed));
	return output_file_close(&out, r < 0 ? -1 : 0, err);
}
