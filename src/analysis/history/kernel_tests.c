/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cases of KUnit (lib/kunit/test.c). Each runs in calls of kunit_try_run_case(), one for each of its parameters; what
 * they are called, and whether they passed, the kernel's log says behind them, as KTAP
 * (Documentation/dev-tools/ktap.rst):
 *
 *	    # Subtest: example
 *	    ok 1 example_simple_test
 *	        ok 1 a parameter
 *	    not ok 2 example_params_test
 */
#include "making.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending/kernel_log.h"
#include "base/alloc.h"
#include "base/search.h"

enum { SUITE_INDENT = 4 }; /* of a suite's lines, within those of all suites */

struct tap {
	char suite[128];
	uint64_t last_ns; /* when the case before was told of, or the boot began */
	uint32_t *calls;  /* numbers of the spans that are calls of cases, in the order of time */
	size_t n_calls, cap;
};

const char *test_result_name(int64_t result)
{
	static const char *const names[TEST_RESULTS] = { "ok", "not ok", "skipped" };

	return result >= 0 && result < TEST_RESULTS ? names[result] : "";
}

static size_t indent_of(const char *line)
{
	return strspn(line, " ");
}

/* "    # Subtest: example" */
static bool take_suite(struct tap *tap, const char *line)
{
	static const char begin[] = "# Subtest: ";
	const char *text = line + indent_of(line);

	if (indent_of(line) != SUITE_INDENT || strncmp(text, begin, strlen(begin)))
		return false;
	snprintf(tap->suite, sizeof tap->suite, "%s", text + strlen(begin));
	return true;
}

/* "    not ok 3 example_skip_test # SKIP this test should be skipped" */
static bool take_case(const char *line, char *ret_name, size_t size, enum test_result *ret)
{
	return indent_of(line) == SUITE_INDENT && tap_result(line + SUITE_INDENT, ret_name, size, ret) && *ret_name;
}

static int by_start(const void *va, const void *vb, void *spans)
{
	const struct span_of *all = spans;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	if (all[a].start_ns != all[b].start_ns)
		return all[a].start_ns < all[b].start_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void find_calls(struct tap *tap, const struct history *h)
{
	for (uint32_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].kind == SPAN_TEST) {
			tap->calls = array_grow(tap->calls, tap->n_calls, &tap->cap, sizeof *tap->calls);
			tap->calls[tap->n_calls++] = i;
		}
	if (tap->n_calls)
		qsort_r(tap->calls, tap->n_calls, sizeof *tap->calls, by_start, h->spans);
}

/* The first that began since the case before was told of. */
static size_t first_call(const struct tap *tap, const struct history *h)
{
	return first_not(i, 0, tap->n_calls, h->spans[tap->calls[i]].start_ns < tap->last_ns);
}

/*
 * The calls since the case before are the case's: the first one stands for all. Others are parts of it. One that was
 * skipped without a call is there, too, as a moment.
 */
static void name_case(struct making *m, const struct tap *tap, uint64_t ns, const char *name, enum test_result result)
{
	struct history *h = m->history;
	struct span_of *first = NULL;
	char text[300];
	int len = snprintf(text, sizeof text, "%s.%s", tap->suite, name);

	for (size_t i = first_call(tap, h); i < tap->n_calls; i++) {
		struct span_of *x = &h->spans[tap->calls[i]];

		if (x->start_ns >= ns)
			break;
		if (x->has_result)
			continue;
		if (first && x->end_ns > first->end_ns)
			first->end_ns = x->end_ns;
		if (first)
			first->insns += x->insns, first->cpu_ns += x->cpu_ns;
		x->name = first ? first->name : history_keep(h, text, (size_t)len);
		x->has_result = true;
		x->result = result;
		x->parent = first ? (uint32_t)(first - h->spans) : x->parent;
		x->kind = first ? SPAN_TEST_PART : SPAN_TEST;
		first = first ? first : x;
	}
	if (!first)
		spans_put_test(m, SPAN_TEST, history_keep(h, text, (size_t)len), ns, ns, result);
}

void kernel_tests_name(struct making *m, const struct boots *boots)
{
	struct history *h = m->history;
	struct tap tap = { .suite = "" };
	struct kernel_log log;
	size_t boot = 0;

	find_calls(&tap, h);
	if (!tap.n_calls)
		return;
	kernel_log_init(&log, &h->facts, boots);
	for (size_t i = 0; i < log.count; i++) {
		const struct log_line *line = &log.lines[i];
		enum test_result result;
		char name[160];

		/* a case that was under way when the machine began anew will never be told of */
		if (line->boot != boot) {
			boot = line->boot;
			tap.last_ns = boots->list[boot].start_ns;
			*tap.suite = '\0';
		}
		if (take_suite(&tap, line->text) || !*tap.suite || !take_case(line->text, name, sizeof name, &result))
			continue;
		name_case(m, &tap, line->ns, name, result);
		tap.last_ns = line->ns;
	}
	kernel_log_deinit(&log);
	free(tap.calls);
}
