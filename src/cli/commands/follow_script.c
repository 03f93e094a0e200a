/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "follow_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/print/file_sink.h"
#include "replay/settled.h"

/* The trace as it was at one time. */
struct reading {
	struct script_trace t;
	struct script_run_options options;
	bool ended;
};

struct following {
	struct scripting *s;
	const char *path;
	bool (*guest_has_ended)(void);
	struct script_runner *runner; /* NULL: it has not begun */
	struct reading *now;          /* that it has come to the end of; NULL: none */
	struct settled settled;
	uint64_t began_ms;
	uint64_t size;    /* of the trace, when it was looked at last */
	bool is_readable; /* it was */
	bool late;        /* events came behind what had been told */
};

static void reading_free(struct reading *r)
{
	if (!r)
		return;
	script_trace_close(&r->t);
	free(r);
}

/* NULL without a message: what is there cannot be read yet, since the recorder is just beginning it. */
static struct reading *reading_open(struct following *f, struct error *err)
{
	enum { BEGINS_MS = 3000 };
	struct reading *r = xcalloc(1, sizeof *r);
	bool ended = f->guest_has_ended && f->guest_has_ended();

	err->text[0] = 0;
	if (open_trace(f->path, &r->t.trace, err) < 0) {
		if (!ended && !f->is_readable && clock_ms() - f->began_ms < BEGINS_MS)
			err->text[0] = 0;
		free(r);
		return NULL;
	}
	f->is_readable = true;
	r->ended = ended || r->t.trace.reader->ended;
	if (script_trace_begin(&r->t, err) == 0)
		return r;
	reading_free(r);
	return NULL;
}

/* Are the kernel's names there, and what the program asks to be recorded? Calls from before have names later. */
static bool is_ready(const struct following *f, const struct reading *r)
{
	const struct event_formats *formats = &r->t.formats;

	if (r->ended || f->runner)
		return true;
	return r->t.trace.names.n_own && scripting_lacks_nothing(f->s, formats);
}

static int find_late(struct following *f, const struct reading *r, struct error *err)
{
	int late = f->runner ? settled_is_late(&f->settled, r->t.trace.reader, err) : 0;

	f->late |= late > 0;
	return late < 0 ? -1 : 0;
}

/* Tell what is new. The reading is kept, until the next one has taken its place. */
static int go_on(struct following *f, struct reading *r, uint64_t until_ns, const struct sink *to, struct error *err)
{
	struct scripting *s = f->s;
	int result;

	if ((!f->runner && scripting_compile(s, &r->t, err) < 0) || script_trace_read(&r->t, s, err) < 0) {
		reading_free(r);
		return -1;
	}
	r->options = scripting_options(s, &r->t, to);
	r->options.grows = !r->ended;
	r->options.until_ns = until_ns;
	r->options.make_index = false;
	if (!f->runner)
		f->runner = script_begin(&r->options);
	result = script_go_on(f->runner, &r->options, err);
	reading_free(f->now);
	f->now = r;
	if (fflush(stdout) && result == 0)
		result = error_set(err, "standard output: %s", strerror(errno));
	return result;
}

/* Look once more. Returns 1 if that was the end. */
static int look(struct following *f, const struct sink *to, struct error *err)
{
	uint64_t until = UINT64_MAX, before = f->settled.ns;
	struct reading *r = reading_open(f, err);

	if (!r)
		return err->text[0] ? -1 : 0;
	if (find_late(f, r, err) < 0) {
		reading_free(r);
		return -1;
	}
	if (!r->ended)
		until = settled_ns(&f->settled, r->t.trace.reader, clock_ms());
	if (!is_ready(f, r) || until <= before || !until) {
		reading_free(r);
		return 0;
	}
	if (go_on(f, r, until, to, err) < 0)
		return -1;
	return r->ended || script_is_over(f->runner);
}

static bool has_grown(struct following *f)
{
	struct stat st;

	if (stat(f->path, &st) < 0 || (uint64_t)st.st_size == f->size)
		return false;
	f->size = (uint64_t)st.st_size;
	return true;
}

/* Reading takes at most half of the time, so that most of the machine is the guest's. */
static void wait_ms(const struct following *f, uint64_t ms)
{
	enum { STEP_MS = 50, LEAST_MS = 300 };
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };

	for (uint64_t waited = 0; waited < (ms > LEAST_MS ? ms : LEAST_MS); waited += STEP_MS) {
		if (scripting_is_enough() || (f->guest_has_ended && f->guest_has_ended()))
			return;
		nanosleep(&step, NULL);
	}
}

static int put_answer(void *state, const struct sink *to, struct error *err)
{
	struct following *f = state;
	int over = 0;

	while (over == 0 && !scripting_is_enough()) {
		uint64_t began = clock_ms();

		if (has_grown(f) || !f->is_readable || (f->guest_has_ended && f->guest_has_ended()))
			over = look(f, to, err);
		if (over == 0)
			wait_ms(f, clock_ms() - began);
	}
	if (over < 0)
		return -1;
	return f->runner ? script_end(f->runner, &f->s->outcome, err) : 0;
}

int follow_script(struct scripting *s, const char *path, bool (*guest_has_ended)(void), struct error *err)
{
	struct following f = { .s = s, .path = path, .guest_has_ended = guest_has_ended, .began_ms = clock_ms() };
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return error_set(err, "%s: %s", path, strerror(errno));
	r = file_sink_write(NULL, false, put_answer, &f, err);
	if (r == 0 && f.now)
		scripting_say_losses(s, &f.now->t);
	if (r == 0 && f.late)
		fprintf(stderr,
			"upto: %s: the host was too slow: not all events came in time for the program; 'upto run' on the trace has all\n",
			path);
	if (f.runner)
		script_free_runner(f.runner);
	reading_free(f.now);
	settled_deinit(&f.settled);
	return r;
}
