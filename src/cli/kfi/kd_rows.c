/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/print/json.h"
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
	putchar('{');
	kd_print_header_json(rows->log);
	printf(",\"calls\":[");
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

static void print_json(struct kd_rows *rows, const struct kd_row *row)
{
	const struct kfi_call *c = &row->call;

	printf("%s{\"start_ns\":%" PRIu64, rows->shown ? ",\n" : "\n", c->entry_ns);
	if (c->no_exit)
		printf(",\"duration_ns\":null,\"local_ns\":null");
	else
		printf(",\"duration_ns\":%" PRId64 ",\"local_ns\":%" PRId64, c->duration_ns, row->local_ns);
	printf(",\"pid\":%d,\"interrupt\":%s,\"depth\":%u,\"tree\":%" PRIu64 ",\"cuts_in\":%s,\"function\":", c->pid,
	       c->interrupt ? "true" : "false", row->depth, row->tree, row->cuts_in ? "true" : "false");
	json_string(stdout, kfi_log_name(rows->log, c->function));
	printf(",\"caller\":");
	json_string(stdout, kfi_log_name(rows->log, c->caller));
	printf(",\"caller_offset\":%" PRIu64 "}", c->offset);
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
		print_json(rows, row);
	else
		print_row(rows, row);
	rows->shown++;
	if (rows->flush)
		fflush(stdout);
}

void kd_rows_end(struct kd_rows *rows, bool read)
{
	if (read)
		begin(rows);
	if (rows->json && rows->begun)
		puts("\n]}");
	buf_free(&rows->line);
	buf_free(&rows->name);
}
