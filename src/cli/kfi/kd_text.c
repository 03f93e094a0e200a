/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/print/terminal.h"

const struct kd_column *kd_column_find(const struct kd_column *columns, char letter)
{
	for (; columns->letter; columns++)
		if (columns->letter == letter)
			return columns;
	return NULL;
}

static void put_dashes(struct buf *out, const struct kd_column *c)
{
	for (int i = 0; i < c->width; i++)
		buf_put_u8(out, '-');
	buf_put_u8(out, ' ');
}

void kd_put_titles(struct buf *out, const struct kd_column *columns, const char *letters, const struct kd_column *last)
{
	for (const char *l = letters; *l; l++) {
		const struct kd_column *c = kd_column_find(columns, *l);

		buf_printf(out, "%-*s ", c->width, c->title);
	}
	if (last)
		buf_printf(out, "%s", last->title);
	kd_print_line(out);
	for (const char *l = letters; *l; l++)
		put_dashes(out, kd_column_find(columns, *l));
	if (last)
		put_dashes(out, last);
	kd_print_line(out);
}

void kd_put_number(struct buf *out, const struct kd_column *column, int64_t number)
{
	buf_printf(out, "%*" PRId64 " ", column->width, number);
}

void kd_put_text(struct buf *out, const struct kd_column *column, const char *text)
{
	size_t start = out->len, width = (size_t)column->width;
	struct buf safe = { 0 };

	terminal_escape(&safe, text);
	if (!column->left)
		for (size_t i = safe.len; i < width; i++)
			buf_put_u8(out, ' ');
	buf_put(out, safe.data, safe.len);
	while (out->len - start < width)
		buf_put_u8(out, ' ');
	buf_put_u8(out, ' ');
	buf_free(&safe);
}

void kd_print_line(struct buf *line)
{
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	buf_put_u8(line, '\n');
	fwrite(line->data, 1, line->len, stdout);
	line->len = 0;
}

static void put_moment_json(struct json *j, const struct kfi_log *log, const char *key, const struct kfi_moment *m)
{
	static const char *const words[] = {
		[KFI_BY_ENTRY] = "entry",
		[KFI_BY_EXIT] = "exit",
		[KFI_BY_TIME_FROM_BOOT] = "time from boot",
		[KFI_BY_TIME_FROM_START] = "time from start",
		[KFI_BY_SYSTEM_CALL] = "system call",
		[KFI_BY_LOG_FULL] = "log full",
	};

	if (m->by == KFI_BY_NOTHING) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_number(j, "ns", m->at_us * 1000);
	json_text(j, "by", words[m->by]);
	if (m->by == KFI_BY_ENTRY || m->by == KFI_BY_EXIT)
		json_text(j, "function", kfi_log_name(log, m->function));
	if (m->by == KFI_BY_TIME_FROM_BOOT || m->by == KFI_BY_TIME_FROM_START)
		json_number(j, "usecs", m->usecs);
	json_close(j);
}

/* Those that the log has. */
static void put_numbers_json(struct json *j, const char *key, const char *const *names, const struct kfi_number *list,
			     size_t n)
{
	json_object(j, key);
	for (size_t i = 0; i < n; i++)
		if (list[i].has)
			json_number(j, names[i], list[i].value);
	json_close(j);
}

void kd_put_header_json(struct json *j, const struct kfi_log *log)
{
	static const char *const filters[KFI_FILTERS] = {
		[KFI_MIN_TIME] = "mintime",     [KFI_MAX_TIME] = "maxtime",         [KFI_LIST] = "funclist",
		[KFI_NO_INTERRUPTS] = "noints", [KFI_ONLY_INTERRUPTS] = "onlyints",
	};
	static const char *const counters[KFI_COUNTERS] = {
		[KFI_TIME_FILTERED] = "time",
		[KFI_NO_INTERRUPT_FILTERED] = "noints",
		[KFI_ONLY_INTERRUPT_FILTERED] = "onlyints",
		[KFI_LIST_FILTERED] = "funclist",
		[KFI_ALL_FILTERED] = "filtered",
		[KFI_NOT_FOUND] = "not_found",
		[KFI_LEFT] = "left",
	};
	const struct kfi_header *h = &log->header;

	json_object(j, "run");
	json_known(j, "id", h->run_id.has, h->run_id.value);
	put_moment_json(j, log, "start", &h->start);
	put_moment_json(j, log, "stop", &h->stop);
	put_numbers_json(j, "filters", filters, h->filters, KFI_FILTERS);
	put_numbers_json(j, "counters", counters, h->counters, KFI_COUNTERS);
	json_close(j);
}
