/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/calls_blocks.h"
#include "import/import.h"
#include "trace/writer.h"

enum { QUICK_LEVEL = 1 };

static void put(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	writer_put(context, header, payload, level ? level : QUICK_LEVEL);
}

static int import(int in, const char *path, int out, struct error *err)
{
	struct imported imported;
	struct writer w;
	int r = writer_init(&w, out);

	if (r == 0)
		r = import_log(in, path, NULL, &(struct builder_sink){ .put = put, .context = &w }, &imported, err);
	else
		error_set(err, "%s: no memory for its calls: %s", path, strerror(-r));
	if (r == 0 && w.failed)
		r = error_set(err, "%s: no memory for its calls: %s", path, strerror(w.failed));
	writer_deinit(&w);
	return r;
}

static bool is_one(int fd)
{
	struct calls_header h;

	return pread(fd, &h, sizeof h, 0) == sizeof h && calls_blocks_are_those(&h, sizeof h);
}

int program_calls_open(const char *path, struct error *err)
{
	int in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out = -1;

	if (in < 0)
		return -1;
	if (is_one(in)) {
		out = memfd_create("upto", MFD_CLOEXEC);
		if (out < 0 || import(in, path, out, err) < 0) {
			if (out < 0)
				error_set(err, "%s: no memory for its calls: %s", path, strerror(errno));
			else
				close(out);
			out = -2;
		}
	}
	close(in);
	return out;
}
