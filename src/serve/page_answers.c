/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_answers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/gzip.h"
#include "report/report_page.h"
#include "view_answers.h"
#include "view_sessions.h"

struct page_answers {
	const struct session *session;
	uint64_t end_ns;
	unsigned version;
	struct buf page;
	_Atomic size_t chunks;     /* that were read, in all passes */
	_Atomic size_t chunks_all; /* in one */
	pthread_mutex_t lock;
	pthread_cond_t settled;
	pthread_mutex_t decoding; /* records of events are decoded by one thread at a time */
	/* set once, with the lock: */
	enum { READING, READ, FAILED } state;
	char *why; /* FAILED */
	const struct report *report;
	struct view_sessions *sessions;
	struct path_sums *_Atomic sums; /* later; NULL: they are not there yet */
	struct buf data;                /* packed by gzip */
};

struct page_answers *page_answers_new(const struct session *session, uint64_t end_ns, unsigned version)
{
	struct page_answers *a = xcalloc(1, sizeof *a);

	a->session = session;
	a->end_ns = end_ns;
	a->version = version;
	report_page_put_empty(&a->page);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->settled, NULL);
	pthread_mutex_init(&a->decoding, NULL);
	return a;
}

void page_answers_free(struct page_answers *a)
{
	if (a->sessions)
		view_sessions_free(a->sessions);
	path_sums_free(a->sums);
	buf_free(&a->page);
	buf_free(&a->data);
	free(a->why);
	pthread_cond_destroy(&a->settled);
	pthread_mutex_destroy(&a->decoding);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void page_answers_progress(void *answers, size_t chunks)
{
	struct page_answers *a = answers;

	a->chunks++;
	a->chunks_all = chunks;
}

static void settle(struct page_answers *a, int state)
{
	pthread_mutex_lock(&a->lock);
	if (a->state == READING)
		a->state = state;
	pthread_cond_broadcast(&a->settled);
	pthread_mutex_unlock(&a->lock);
}

int page_answers_give(struct page_answers *a, const struct report *report, struct error *err)
{
	const struct sink to = sink_into(&a->data);
	struct report numbered = *report;
	struct gzip gzip;
	struct json json;

	if (gzip_init(&gzip, &to, err) < 0)
		return -1;
	json_init(&json, &gzip.sink);
	numbered.reading = a->version;
	report_put(&numbered, &json);
	if (gzip_end(&gzip, json_end(&json, err), err) < 0)
		return -1;
	a->report = report;
	a->sessions = view_sessions_new(a->session);
	settle(a, READ);
	return 0;
}

void page_answers_give_sums(struct page_answers *a, struct path_sums *sums)
{
	a->sums = sums;
}

bool page_answers_are_there(struct page_answers *a)
{
	bool read;

	pthread_mutex_lock(&a->lock);
	read = a->state == READ;
	pthread_mutex_unlock(&a->lock);
	return read;
}

void page_answers_fail(struct page_answers *a, const char *why)
{
	pthread_mutex_lock(&a->lock);
	if (!a->why)
		a->why = xstrdup(why);
	pthread_mutex_unlock(&a->lock);
	settle(a, FAILED);
}

/* Waits until the trace is read. False: it cannot be. */
static bool wait_for(struct page_answers *a)
{
	bool read;

	pthread_mutex_lock(&a->lock);
	while (a->state == READING)
		pthread_cond_wait(&a->settled, &a->lock);
	read = a->state == READ;
	pthread_mutex_unlock(&a->lock);
	return read;
}

static void copy_answer(const struct buf *from, const char *type, bool gzip, struct web_answer *ret)
{
	buf_put(&ret->body, from->data, from->len);
	ret->type = type;
	ret->gzip = gzip;
}

/* A request that cannot be answered gets the reason. */
static void put_error(const char *why, unsigned status, struct web_answer *ret)
{
	ret->body.len = 0;
	buf_printf(&ret->body, "%s\n", why);
	ret->type = "text/plain; charset=utf-8";
	ret->status = status;
}

/* A part of the time that is asked for. */
struct part_asked {
	uint64_t from_ns, to_ns;
	uint64_t min_ns; /* calls that took less are left out */
	uint64_t fine;   /* 1: a flame graph as fine as the page's own, however long that takes */
};

typedef int part_put(struct page_answers *a, const struct session *session, const struct part_asked *part,
		     struct json *j, struct error *err);

static int put_calls(struct page_answers *a, const struct session *session, const struct part_asked *part,
		     struct json *j, struct error *err)
{
	(void)a;
	return view_calls_put(session, part->from_ns, part->to_ns, part->min_ns, j, err);
}

static int put_flame(struct page_answers *a, const struct session *session, const struct part_asked *part,
		     struct json *j, struct error *err)
{
	return view_flame_put(session, part->fine ? NULL : a->sums, part->from_ns, part->to_ns, j, err);
}

static int put_lanes(struct page_answers *a, const struct session *session, const struct part_asked *part,
		     struct json *j, struct error *err)
{
	const struct span span = { .from_ns = part->from_ns, .to_ns = part->to_ns, .cpu = -1 };

	(void)session, (void)err;
	pthread_mutex_lock(&a->decoding);
	report_put_part(a->report, &span, j);
	pthread_mutex_unlock(&a->decoding);
	return 0;
}

static bool is_gone(void *request)
{
	return web_request_is_gone(request);
}

enum { BAD_REQUEST = 400, OTHER_READING = 409, CANNOT = 500 };

static void answer_part(struct page_answers *a, const struct web_request *r, part_put *put, struct web_answer *ret)
{
	const struct sink to = sink_into(&ret->body);
	struct part_asked part = { 0 };
	struct session session;
	uint64_t version;
	struct error err;
	struct json json;

	if (!web_request_number(r, "from", &part.from_ns) || !web_request_number(r, "to", &part.to_ns) ||
	    part.from_ns >= part.to_ns) {
		put_error("?from=NS&to=NS[&min=NS][&fine=1]", BAD_REQUEST, ret);
		return;
	}
	/* numbers of spans and threads are others in another reading of a trace that grows */
	if (web_request_number(r, "version", &version) && version != a->version) {
		put_error("the trace has been read again since", OTHER_READING, ret);
		return;
	}
	web_request_number(r, "min", &part.min_ns);
	web_request_number(r, "fine", &part.fine);
	if (part.to_ns > a->end_ns)
		part.to_ns = UINT64_MAX;
	if (!wait_for(a)) {
		put_error(a->why, CANNOT, ret);
		return;
	}
	session = view_sessions_take(a->sessions);
	session.is_given_up = is_gone;
	session.given_up_context = (void *)r;
	json_init(&json, &to);
	if (put(a, &session, &part, &json, &err) < 0 || json_end(&json, &err) < 0)
		put_error(err.text, CANNOT, ret);
	view_sessions_give_back(a->sessions, &session);
}

static void answer_data(struct page_answers *a, struct web_answer *ret)
{
	if (wait_for(a))
		copy_answer(&a->data, "application/json", true, ret);
	else
		put_error(a->why, CANNOT, ret);
}

/* The trace is read several times: the part is of the time that it is read now. One without an end may grow. */
static void answer_progress(struct page_answers *a, struct web_answer *ret)
{
	size_t chunks = a->chunks, all = a->chunks_all + 1;

	buf_printf(&ret->body, "{\"pass\":%zu,\"part\":%.3f,\"sums\":%s,\"version\":%u,\"grows\":%s}",
		   chunks / all + 1, (double)(chunks % all) / (double)all, a->sums ? "true" : "false", a->version,
		   a->session->reader->ended ? "false" : "true");
	ret->type = "application/json";
}

bool page_answers_answer(void *answers, const char *path, const struct web_request *r, struct web_answer *ret)
{
	static const struct {
		const char *path;
		part_put *put;
	} parts[] = { { "/calls", put_calls }, { "/flame", put_flame }, { "/lanes", put_lanes } };
	struct page_answers *a = answers;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(path, parts[i].path)) {
			answer_part(a, r, parts[i].put, ret);
			return true;
		}
	if (!strcmp(path, "/"))
		copy_answer(&a->page, "text/html; charset=utf-8", false, ret);
	else if (!strcmp(path, "/progress"))
		answer_progress(a, ret);
	else if (!strcmp(path, "/data"))
		answer_data(a, ret);
	else
		return false;
	return true;
}
