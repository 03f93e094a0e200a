/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "words.h"

struct reading {
	const char *path, *text, *p, *end;
	struct word word;      /* the last one; of length 0: there is no more */
	unsigned line;         /* where it is */
	unsigned next_line;
	bool first;            /* it begins a line */
	bool again;            /* next() is to return it once more */
	size_t functions;
	struct kfi_config *config;
	struct error *err;
};

static void skip_blanks(struct reading *r)
{
	bool comment = false;

	for (; r->p < r->end && (comment || is_blank(*r->p) || *r->p == '#'); r->p++) {
		comment = comment || *r->p == '#';
		if (*r->p != '\n')
			continue;
		comment = false;
		r->first = true;
		r->next_line++;
	}
}

/* Go to the next word. Returns false if there is none. */
static bool next(struct reading *r)
{
	const char *start;

	if (r->again) {
		r->again = false;
		return r->word.len;
	}
	r->first = r->p == r->text;
	skip_blanks(r);
	r->line = r->next_line;
	for (start = r->p; r->p < r->end && !is_blank(*r->p); r->p++)
		;
	r->word = (struct word){ start, (size_t)(r->p - start) };
	return r->word.len;
}

static int expected(const struct reading *r, const char *what)
{
	if (!r->word.len)
		return error_set(r->err, "%s:%u: expected %s before the end of the file", r->path, r->line, what);
	return error_set(r->err, "%s:%u: '%.*s': expected %s", r->path, r->line, WORD_SHOWN(r->word), what);
}

static int twice(const struct reading *r)
{
	return error_set(r->err, "%s:%u: '%.*s' is given twice: expected it once in a run", r->path, r->line,
			 WORD_SHOWN(r->word));
}

static int read_number(struct reading *r, uint64_t min, uint64_t *ret, const char *what)
{
	uint64_t value;

	if (!next(r) || !word_number(r->word, INT64_MAX / 1000, &value) || value < min)
		return expected(r, what);
	*ret = value;
	return 0;
}

/* The word as a function's name. */
static int take_function(struct reading *r, struct kfi_function *ret)
{
	uint64_t addr;

	if (r->word.len > KFI_NAME_MAX || memchr(r->word.p, '\0', r->word.len) ||
	    (r->word.p[0] >= '0' && r->word.p[0] <= '9' && !word_hex(r->word, &addr)) ||
	    ++r->functions > KFI_FUNCTIONS_MAX)
		return expected(r, "a function's name, or its address with 0x");
	*ret = (struct kfi_function){
		.name = xstrndup(r->word.p, r->word.len), .at = (size_t)(r->word.p - r->text), .line = r->line,
	};
	return 0;
}

static int read_trigger(struct reading *r, struct kfi_run *run)
{
	struct kfi_trigger *t;

	if (!next(r) || (!word_is(r->word, "start") && !word_is(r->word, "stop")))
		return expected(r, "start or stop");
	t = word_is(r->word, "start") ? &run->start : &run->stop;
	if (t->kind)
		return twice(r);
	t->line = r->line;
	if (!next(r) || (!word_is(r->word, "entry") && !word_is(r->word, "exit") && !word_is(r->word, "time")))
		return expected(r, "entry, exit or time");
	t->kind = word_is(r->word, "time")   ? KFI_TRIGGER_TIME
		  : word_is(r->word, "exit") ? KFI_TRIGGER_EXIT
					     : KFI_TRIGGER_ENTRY;
	if (t->kind == KFI_TRIGGER_TIME)
		return read_number(r, 0, &t->usecs, "a number of microseconds");
	return next(r) ? take_function(r, &t->function) : expected(r, "a function");
}

/* Words that an entry begins with, or that stand between runs. */
static bool is_entry(struct word w)
{
	static const char *const words[] = {
		"trigger", "filter", "watch", "logentries", "autorepeat", "overwrite", "untimed", "begin", "end", "new",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (word_is(w, words[i]))
			return true;
	return false;
}

static int read_list(struct reading *r, struct kfi_run *run)
{
	if (run->n_functions)
		return twice(r);
	while (next(r) && !word_is(r->word, "fend")) {
		if (r->first && is_entry(r->word)) {
			r->again = true;
			break;
		}
		run->functions =
			array_grow(run->functions, run->n_functions, &run->functions_cap, sizeof *run->functions);
		if (take_function(r, &run->functions[run->n_functions]) < 0)
			return -1;
		run->n_functions++;
	}
	return run->n_functions ? 0 : expected(r, "functions, then fend");
}

static int set_once(struct reading *r, bool *flag)
{
	if (*flag)
		return twice(r);
	*flag = true;
	return 0;
}

static int check_filters(const struct reading *r, const struct kfi_run *run)
{
	if (run->no_interrupts && run->only_interrupts)
		return expected(r, "only one of noints and onlyints in a run");
	if (run->max_us && run->min_us > run->max_us)
		return expected(r, "a maxtime that is not below mintime");
	return 0;
}

static int read_filter(struct reading *r, struct kfi_run *run)
{
	int result;

	if (!next(r))
		return expected(r, "mintime, maxtime, noints, onlyints or funclist");
	if (word_is(r->word, "funclist"))
		return read_list(r, run);
	if (word_is(r->word, "mintime"))
		result = run->min_us ? twice(r) : read_number(r, 0, &run->min_us, "a number of microseconds");
	else if (word_is(r->word, "maxtime"))
		result = run->max_us ? twice(r) : read_number(r, 0, &run->max_us, "a number of microseconds");
	else if (word_is(r->word, "noints"))
		result = set_once(r, &run->no_interrupts);
	else if (word_is(r->word, "onlyints"))
		result = set_once(r, &run->only_interrupts);
	else
		return expected(r, "mintime, maxtime, noints, onlyints or funclist");
	return result < 0 ? -1 : check_filters(r, run);
}

static int read_watch(struct reading *r, struct kfi_run *run)
{
	uint64_t *to;

	if (!next(r) || (!word_is(r->word, "stack") && !word_is(r->word, "worst-stack")))
		return expected(r, "stack or worst-stack");
	to = word_is(r->word, "stack") ? &run->stack : &run->worst_stack;
	if (*to)
		return twice(r);
	run->lines[to == &run->stack ? KFI_STACK : KFI_WORST_STACK] = r->line;
	return read_number(r, 1, to, "a number of bytes above 0");
}

static int read_log_entries(struct reading *r, struct kfi_run *run)
{
	if (run->log_entries)
		return twice(r);
	run->lines[KFI_LOGENTRIES] = r->line;
	return read_number(r, 1, &run->log_entries, "a number above 0");
}

static int set_entry(struct reading *r, struct kfi_run *run, enum kfi_entry entry, bool *flag)
{
	run->lines[entry] = r->line;
	return set_once(r, flag);
}

static int read_entry(struct reading *r, struct kfi_run *run)
{
	if (word_is(r->word, "trigger"))
		return read_trigger(r, run);
	if (word_is(r->word, "filter"))
		return read_filter(r, run);
	if (word_is(r->word, "watch"))
		return read_watch(r, run);
	if (word_is(r->word, "logentries"))
		return read_log_entries(r, run);
	if (word_is(r->word, "autorepeat"))
		return set_entry(r, run, KFI_AUTOREPEAT, &run->autorepeat);
	if (word_is(r->word, "overwrite"))
		return set_entry(r, run, KFI_OVERWRITE, &run->overwrite);
	if (word_is(r->word, "untimed"))
		return set_entry(r, run, KFI_UNTIMED, &run->untimed);
	return expected(r, "trigger, filter, watch, logentries, autorepeat, overwrite, untimed or end");
}

/* From behind `begin` to `end`. */
static int read_run(struct reading *r)
{
	struct kfi_config *c = r->config;
	struct kfi_run *run;

	c->runs = array_grow(c->runs, c->count, &c->cap, sizeof *c->runs);
	run = &c->runs[c->count++];
	*run = (struct kfi_run){ .line = r->line };
	for (;;) {
		if (!next(r))
			return expected(r, "end");
		if (word_is(r->word, "end"))
			break;
		if (read_entry(r, run) < 0)
			return -1;
	}
	if (!run->log_entries)
		run->log_entries = KFI_LOG_ENTRIES;
	return 0;
}

int kfi_config_parse(const char *path, const char *text, size_t len, struct kfi_config *ret, struct error *err)
{
	struct reading r = {
		.path = path, .text = text, .p = text, .end = len ? text + len : text, .next_line = 1, .config = ret,
		.err = err,
	};

	*ret = (struct kfi_config){ 0 };
	while (next(&r)) {
		if (word_is(r.word, "new"))
			next(&r);
		if (!word_is(r.word, "begin"))
			return expected(&r, "begin");
		if (read_run(&r) < 0)
			return -1;
	}
	return ret->count ? 0 : expected(&r, "begin");
}

static void run_deinit(struct kfi_run *run)
{
	for (size_t i = 0; i < run->n_functions; i++)
		free(run->functions[i].name);
	free(run->functions);
	free(run->start.function.name);
	free(run->stop.function.name);
}

void kfi_config_deinit(struct kfi_config *config)
{
	for (size_t i = 0; i < config->count; i++)
		run_deinit(&config->runs[i]);
	free(config->runs);
	*config = (struct kfi_config){ 0 };
}
