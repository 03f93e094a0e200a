/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "terminal.h"

static void warn(struct buf *line)
{
	struct buf shown = { 0 };

	buf_put_u8(line, 0);
	terminal_escape(&shown, (char *)line->data);
	buf_put_u8(&shown, 0);
	fprintf(stderr, "upto: %s\n", (char *)shown.data);
	buf_free(line);
	buf_free(&shown);
}

void event_losses_warn(const char *path, const struct event_formats *formats, const bool *marks)
{
	for (size_t i = 0; i < formats->count; i++) {
		const struct event_format *f = &formats->list[i];
		struct buf line = { 0 };

		if (marks[i] && f->missing) {
			buf_printf(&line, "%s: %" PRIu64 " records of %s:%s are missing: %s", path, f->missing,
				   f->system, f->name, f->why ? f->why : "they could not be computed");
			warn(&line);
		}
		if (marks[i] && f->faults) {
			buf_printf(&line, "%s: %" PRIu64 " values of %s:%s could not be read: numbers are 0 there, texts (fault)",
				   path, f->faults, f->system, f->name);
			warn(&line);
		}
	}
}
