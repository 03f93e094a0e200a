/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both of kd's tables are made of. */
#ifndef UPTO_CLI_KFI_KD_TEXT_H
#define UPTO_CLI_KFI_KD_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"
#include "kfi/log.h"

struct kd_column {
	char letter;      /* for -f; 0 ends the list */
	const char *title;
	int width;
	bool left;        /* set left */
};

const struct kd_column *kd_column_find(const struct kd_column *columns, char letter);

/* The titles of the columns of these letters, and the dashes below; the same for `last`, if it is not NULL. */
void kd_put_titles(struct buf *out, const struct kd_column *columns, const char *letters, const struct kd_column *last);

/* Append a cell, and a blank. Texts lose what terminals obey. */
void kd_put_number(struct buf *out, const struct kd_column *column, int64_t number);
void kd_put_text(struct buf *out, const struct kd_column *column, const char *text);

/* Remove blanks at the end, end the line, print it and empty the buffer. */
void kd_print_line(struct buf *line);

/* The header of a log as JSON: "run":{…}. */
void kd_put_header_json(struct json *j, const struct kfi_log *log);

#endif
