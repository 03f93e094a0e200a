/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/print/json_output.h"
#include "cli/print/terminal.h"

const struct kd_column kd_row_columns[] = {
	{ 'e', " Entry", 10, false },
	{ 't', " Duration", 10, false },
	{ 'l', " Local", 10, false },
	{ 'p', "  Pid", 7, false },
	{ 0 },
};

static const struct kd_column calls_column = { 0, " Trace", 33, true };

/* One for each tree, then from the first again. */
static const char signs[] = "|!@[#;($/{%]*)&:\\}";

static void begin(struct kd_rows *rows)
{
	if (rows->begun)
		return;
	rows->begun = true;
	if (!rows->json) {
		kd_put_titles(&rows->line, kd_row_columns, rows->letters, &calls_column);
		return;
	}
	json_output_begin(&rows->out);
	json_object(&rows->out, NULL);
	kd_put_header_json(&rows->out, rows->log);
	json_rows(&rows->out, "calls");
}

static char sign_of(const struct kd_rows *rows, uint64_t tree)
{
	return rows->interlaced ? signs[tree % (sizeof signs - 1)] : '|';
}

static void print_bracket(struct kd_rows *rows, const struct kd_row *row)
{
	const char *what = row->kind == KD_TREE_STARTS ? "start --------------" : "end ----------------";
	char s = sign_of(rows, row->tree);

	buf_printf(&rows->line, "----------- %c%c%c%c %s", s, s, s, s, what);
	kd_print_line(&rows->line);
}

static int64_t value_of(const struct kd_row *row, char letter)
{
	switch (letter) {
	case 'e':
		return (int64_t)row->call.entry_ns / 1000;
	case 't':
		return row->call.no_exit ? -1 : row->call.duration_ns / 1000;
	case 'l':
		return row->call.no_exit ? -1 : row->local_ns / 1000;
	}
	return row->call.pid;
}

static void put_name(struct kd_rows *rows, uint32_t function)
{
	const char *name = kfi_log_name(rows->log, function);

	rows->name.len = 0;
	buf_put(&rows->name, name, strnlen(name, rows->name_length));
	buf_put_u8(&rows->name, 0);
	terminal_escape(&rows->line, (char *)rows->name.data);
}

static void print_row(struct kd_rows *rows, const struct kd_row *row)
{
	for (const char *l = rows->letters; *l; l++)
		kd_put_number(&rows->line, kd_column_find(kd_row_columns, *l), value_of(row, *l));
	for (uint32_t i = 0; i < row->depth; i++)
		buf_printf(&rows->line, "%c  ", sign_of(rows, row->tree));
	put_name(rows, row->call.function);
	kd_print_line(&rows->line);
}

static void put_json(struct json *j, const struct kfi_log *log, const struct kd_row *row)
{
	const struct kfi_call *c = &row->call;

	json_object(j, NULL);
	json_number(j, "start_ns", c->entry_ns);
	if (c->no_exit) {
		json_null(j, "duration_ns");
		json_null(j, "local_ns");
	} else {
		json_signed(j, "duration_ns", c->duration_ns);
		json_signed(j, "local_ns", row->local_ns);
	}
	json_signed(j, "pid", c->pid);
	json_flag(j, "interrupt", c->interrupt);
	json_number(j, "depth", row->depth);
	json_number(j, "tree", row->tree);
	json_flag(j, "cuts_in", row->cuts_in);
	json_text(j, "function", kfi_log_name(log, c->function));
	json_text(j, "caller", kfi_log_name(log, c->caller));
	json_number(j, "caller_offset", c->offset);
	json_close(j);
}

void kd_rows_print(void *data, const struct kd_row *row)
{
	struct kd_rows *rows = data;

	begin(rows);
	if (row->kind != KD_CALL) {
		if (rows->interlaced && !rows->json)
			print_bracket(rows, row);
		return;
	}
	if (row->depth >= rows->depth)
		return;
	if (rows->json)
		put_json(&rows->out, rows->log, row);
	else
		print_row(rows, row);
	rows->shown++;
	if (rows->flush && rows->json)
		json_flush(&rows->out);
	if (rows->flush)
		fflush(stdout);
}

void kd_rows_end(struct kd_rows *rows, bool read)
{
	if (read)
		begin(rows);
	if (rows->json && rows->begun) {
		json_close(&rows->out);
		json_close(&rows->out);
		json_output_end(&rows->out);
	}
	buf_free(&rows->line);
	buf_free(&rows->name);
}
