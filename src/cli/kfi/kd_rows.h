/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kd's trace of calls, row by row as kd_trace tells them. */
#ifndef UPTO_CLI_KFI_KD_ROWS_H
#define UPTO_CLI_KFI_KD_ROWS_H

#include "analysis/kd/kd_trace.h"
#include "kd_text.h"

extern const struct kd_column kd_row_columns[];
#define KD_ROW_LETTERS "et"
#define KD_ROW_LETTERS_LONG "etlp"

struct kd_rows {
	/* set by the caller: */
	const char *letters;  /* of kd_row_columns */
	const struct kfi_log *log;
	bool interlaced;      /* each tree has its sign, and its brackets if it cuts in */
	uint32_t depth;       /* levels that are shown */
	size_t name_length;   /* bytes */
	bool json;
	bool flush;           /* each row at once, for who waits for it */
	/* zero at first: */
	struct buf line, name;
	struct json out;      /* if `json` */
	/* titles, or JSON's beginning, are printed: with the first row, when the log's header is known */
	bool begun;
	uint64_t shown;
};

/* The form of kd_trace_options.row; `data` is the struct kd_rows. */
void kd_rows_print(void *data, const struct kd_row *row);
/* After the last row. If there was none, print the titles only if the log was read without a fault. */
void kd_rows_end(struct kd_rows *rows, bool read);

#endif
