/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const char *const levels[LOG_LEVELS] = { "emerg", "alert", "crit", "err", "warn", "notice", "info", "debug" };

static const char *const facilities[] = {
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
};

const char *log_level_name(unsigned level)
{
	return level < LOG_LEVELS ? levels[level] : "?";
}

int log_level_find(const char *name)
{
	for (int i = 0; i < LOG_LEVELS; i++)
		if (!strcmp(name, levels[i]) || (name[0] == '0' + i && !name[1]))
			return i;
	return -1;
}

const char *log_facility_name(unsigned facility)
{
	return facility < sizeof facilities / sizeof *facilities ? facilities[facility] : NULL;
}

static void set_text(struct log_line *line, const struct fact *f)
{
	line->level = (unsigned)f->numbers[1] % LOG_LEVELS;
	line->facility = (unsigned)f->numbers[2];
	line->text = fact_text(f, 0);
}

/* A line's number within all boots: each boot counts from 0. */
static uint64_t key_of(size_t boot, uint64_t number)
{
	return hash64(number + 1) + boot;
}

/* By boot and number: lines of several vCPUs may be stored in another order than they were numbered. */
static int by_number(const void *va, const void *vb)
{
	const struct log_line *a = va, *b = vb;

	if (a->boot != b->boot)
		return a->boot < b->boot ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static struct log_line line_of(const struct fact *f, size_t boot)
{
	struct log_line line = { .boot = boot, .number = f->numbers[0], .ns = f->ns };

	line.caller = f->n_numbers > 3 ? (uint32_t)f->numbers[3] : 0;
	line.earlier = f->kind == FACT_LOG_EARLIER;
	if (line.earlier) {
		line.ns = f->n_numbers > 4 ? f->numbers[4] : 0;
		return line;
	}
	line.insns = f->insns;
	line.cpu = f->cpu;
	line.task = f->task;
	return line;
}

static void read_lines(struct kernel_log *ret, const struct facts *facts, const struct boots *boots,
		       enum fact_kind kind)
{
	struct log_line *list = xcalloc(facts->count + 1, sizeof *list);
	struct map known = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *f = &facts->list[i];
		size_t boot = boots_at(boots, f->ns);
		uint64_t *at;

		if (f->kind != kind || f->n_numbers < 3)
			continue;
		at = map_put(&known, key_of(boot, f->numbers[0]), 0);
		if (!*at) {
			list[n] = line_of(f, boot);
			*at = ++n;
		}
		set_text(&list[*at - 1], f);
	}
	if (n)
		qsort(list, n, sizeof *list, by_number);
	*ret = (struct kernel_log){ .lines = list, .count = n };
	map_free(&known);
}

void kernel_log_init(struct kernel_log *ret, const struct facts *facts, const struct boots *boots)
{
	read_lines(ret, facts, boots, FACT_LOG);
}

void kernel_log_init_earlier(struct kernel_log *ret, const struct facts *facts, const struct boots *boots)
{
	read_lines(ret, facts, boots, FACT_LOG_EARLIER);
}

void kernel_log_deinit(struct kernel_log *log)
{
	free(log->lines);
	*log = (struct kernel_log){ 0 };
}
