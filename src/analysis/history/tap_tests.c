/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests that say in TAP how they ended, by what they write: the kernel's selftests
 * (tools/testing/selftests/kselftest/runner.sh), and any program that does so.
 *
 *	# selftests: timers: nanosleep            a test of that folder begins
 *	ok 1 CLOCK_REALTIME                       it tells of a part
 *	ok 3 selftests: timers: nanosleep # SKIP  it has ended
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "making.h"

#define SELFTESTS "selftests: "
#define BEGINS "# selftests: "

enum { NAME = 192, ARGS = 6 };

/* A line of TAP. */
struct tap_line {
	uint64_t ns;
	const char *name;      /* what the test is called; of a beginning its whole name */
	const char *comm;      /* of who wrote it */
	enum test_result result;
	bool begins, selftest; /* "# selftests: …"; "ok 1 selftests: …" */
};

static bool is_wanted(void *state, const struct text *text)
{
	(void)state;
	return text->arg < TEXT_ALLOCATED && text_is_tap(text->bytes, text->len);
}

int tap_read(const struct reader *r, struct texts *ret, struct error *err)
{
	int result = texts_read_some(r, is_wanted, NULL, ret, err);

	if (result < 0)
		texts_deinit(ret);
	return result;
}

bool tap_result(const char *line, char *ret_name, size_t size, enum test_result *ret)
{
	bool passed = strncmp(line, "not ", 4);
	const char *text = line + (passed ? 0 : 4);
	size_t len;

	if (strncmp(text, "ok ", 3) || !isdigit((unsigned char)text[3]))
		return false;
	text += 3 + strspn(text + 3, "0123456789");
	text += strspn(text, " -");
	len = strcspn(text, "#");
	*ret = !strncasecmp(text + len, "# skip", 6) ? TEST_SKIPPED : passed ? TEST_PASSED : TEST_FAILED;
	/* kselftest.h has names of tests behind that, too: "ok 5 # SKIP name" */
	if (!len && *text) {
		text += 1 + strspn(text + 1, " ");
		text += strcspn(text, " ");
		text += strspn(text, " ");
		len = strlen(text);
	}
	while (len && text[len - 1] == ' ')
		len--;
	snprintf(ret_name, size, "%.*s", (int)len, text);
	return true;
}

/* "timers: nanosleep" is timers.nanosleep, as a case of KUnit's has its suite before a dot. */
static void put_selftest_name(const char *text, struct buf *out)
{
	const char *colon = strstr(text, ": ");

	if (colon)
		buf_printf(out, "%.*s.%s", (int)(colon - text), text, colon + 2);
	else
		buf_printf(out, "%s", text);
}

static void take_line(struct making *m, const char *text, uint64_t ns, const char *comm)
{
	struct tap_line line = { .ns = ns };
	char name[NAME] = "";
	struct buf whole = { 0 };

	line.begins = !strncmp(text, BEGINS, strlen(BEGINS));
	if (!line.begins && !tap_result(text, name, sizeof name, &line.result))
		return;
	line.selftest = line.begins || !strncmp(name, SELFTESTS, strlen(SELFTESTS));
	if (line.begins)
		put_selftest_name(text + strlen(BEGINS), &whole);
	else if (line.selftest)
		put_selftest_name(name + strlen(SELFTESTS), &whole);
	else
		buf_printf(&whole, "%s", name);
	line.name = history_keep(m->history, (char *)whole.data, whole.len);
	line.comm = history_keep(m->history, comm, strlen(comm));
	m->tap = array_grow(m->tap, m->n_tap, &m->tap_cap, sizeof *m->tap);
	m->tap[m->n_tap++] = line;
	buf_free(&whole);
}

/* A text that a system call writes; it may have several lines, of which the last may be cut off. */
static void take_text(struct making *m, const struct text *text, uint64_t ns, const char *comm)
{
	const char *at = text->bytes, *end = at + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);
		char line[NAME * 2];

		if (newline || !text->cut) {
			snprintf(line, sizeof line, "%.*s", (int)len, at);
			take_line(m, line, ns, comm);
		}
		at += len + 1;
	}
}

void tap_written(struct making *m, const struct stacks *s, const struct stack *stack)
{
	const struct thread *thread =
		stack->thread < (long)s->threads->count && stack->thread >= 0 ? &s->threads->list[stack->thread] : NULL;

	for (unsigned arg = 0; arg < ARGS; arg++) {
		const struct text *text = texts_find(&m->texts, (uint32_t)stack->cpu, s->insns, arg);

		if (text && text_is_tap(text->bytes, text->len))
			take_text(m, text, s->ns, thread ? threads_comm(s->threads, thread, s->ns) : "?");
	}
}

void spans_put_test(struct making *m, enum span_kind kind, const char *name, uint64_t from, uint64_t to,
		    enum test_result result)
{
	struct span_of span = {
		.kind = kind, .parent = HISTORY_NONE, .thread = HISTORY_NONE, .function = HISTORY_NONE, .name = name,
		.start_ns = from, .end_ns = to, .has_result = true, .result = result,
	};

	spans_add_all(m->history, &span);
	spans_add(m, &span);
}

static void put_test(struct making *m, enum span_kind kind, const char *name, uint64_t from,
		     const struct tap_line *line)
{
	spans_put_test(m, kind, name, from, line->ns, line->result);
}

/* "name: part", or "comm.name" of a program that no runner of selftests has begun. */
static const char *join(struct making *m, const char *a, const char *between, const char *b)
{
	char text[2 * NAME + 2];
	int n = snprintf(text, sizeof text, "%s%s%s", a, between, b);

	return history_keep(m->history, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* It writes what others have written, to a file and on: run_kselftest.sh | tee log */
static bool is_copier(const char *comm)
{
	static const char *const programs[] = { "tee", "cat", "sed", "ts" };

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (!strcmp(comm, programs[i]))
			return true;
	return false;
}

/* A line that was told of before, and is only passed on. */
static bool is_copy(struct map *seen, const struct tap_line *line)
{
	uint64_t kind = (uint64_t)line->result << 2 | (uint64_t)line->begins << 1 | line->selftest;
	uint64_t *known = map_put(seen, hash_text(kind + 1, line->name), 0);
	bool copy = *known && is_copier(line->comm);

	*known = 1;
	return copy;
}

void spans_put_tap(struct making *m)
{
	const struct tap_line *open = NULL;
	struct map seen = { 0 };
	uint64_t last_ns = 0;
	size_t boot = 0;

	for (size_t i = 0; i < m->n_tap; i++) {
		const struct tap_line *line = &m->tap[i];

		if (boots_at(&m->reader->boots, line->ns) != boot) {
			boot = boots_at(&m->reader->boots, line->ns);
			open = NULL;
			last_ns = 0;
		}
		if (is_copy(&seen, line))
			continue;
		/* a test whose beginning was not told of began, at the earliest, behind the line before it */
		if (!last_ns)
			last_ns = line->ns;
		if (line->begins) {
			open = line;
		} else if (line->selftest) {
			bool same = open && !strcmp(open->name, line->name);

			put_test(m, SPAN_TEST, line->name, same ? open->ns : last_ns, line);
			open = NULL;
		} else if (open) {
			put_test(m, SPAN_TEST_PART, join(m, open->name, ": ", line->name), last_ns, line);
		} else {
			put_test(m, SPAN_TEST, join(m, line->comm, ".", line->name), last_ns, line);
		}
		last_ns = line->ns;
	}
	map_free(&seen);
}
