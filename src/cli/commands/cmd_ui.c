/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "cli/args/page_arg.h"
#include "cli/args/trace_has.h"
#include "cli/commands.h"
#include "cli/end_signals.h"
#include "cli/print/ending_note.h"
#include "cli/print/terminal.h"
#include "report/report_page.h"
#include "serve/view_answers.h"
#include "serve/view_sessions.h"
#include "serve/web_server.h"

struct served {
	struct trace_arg *trace;
	struct report report;
	struct view_sessions *sessions; /* for what is asked at the same time */
	struct buf page, data; /* data: packed by gzip */
	uint64_t end_ns;
};

static int into_buf(void *context, const void *data, size_t n, struct error *err)
{
	(void)err;
	buf_put(context, data, n);
	return 0;
}

/* What the page shows at once is made once. */
static int make_data(struct served *s, struct error *err)
{
	const struct sink to = { into_buf, &s->data };
	struct buf ended = { 0 };
	struct gzip gzip;
	struct json json;
	int r = report_analyse(&s->trace->session, is_worth_index(s->trace), &s->report, err);

	if (r == 0 && (r = gzip_init(&gzip, &to, err)) == 0) {
		ending_note(s->trace, &s->report.history.facts, &ended);
		buf_put_u8(&ended, 0);
		s->report.ended = (char *)ended.data;
		json_init(&json, &gzip.sink);
		report_put(&s->report, &json);
		r = gzip_end(&gzip, json_end(&json, err), err);
		s->report.ended = "";
	}
	report_forget_sums(&s->report);
	buf_free(&ended);
	return r;
}

static void copy_answer(const struct buf *from, const char *type, bool gzip, struct web_answer *ret)
{
	buf_put(&ret->body, from->data, from->len);
	ret->type = type;
	ret->gzip = gzip;
}

/* A request that cannot be answered gets the reason. */
static void put_error(const struct error *err, unsigned status, struct web_answer *ret)
{
	ret->body.len = 0;
	buf_printf(&ret->body, "%s\n", err->text);
	ret->type = "text/plain; charset=utf-8";
	ret->status = status;
}

/* A part of the time that is asked for. */
struct part_asked {
	uint64_t from_ns, to_ns, min_ns;
};

typedef int part_put(struct served *s, const struct session *session, const struct part_asked *part, struct json *j,
		     struct error *err);

static int put_calls(struct served *s, const struct session *session, const struct part_asked *part, struct json *j,
		     struct error *err)
{
	(void)s;
	return view_calls_put(session, part->from_ns, part->to_ns, part->min_ns, j, err);
}

static int put_flame(struct served *s, const struct session *session, const struct part_asked *part, struct json *j,
		     struct error *err)
{
	(void)s;
	return view_flame_put(session, part->from_ns, part->to_ns, j, err);
}

static int put_lanes(struct served *s, const struct session *session, const struct part_asked *part, struct json *j,
		     struct error *err)
{
	const struct span span = { .from_ns = part->from_ns, .to_ns = part->to_ns, .cpu = -1 };

	(void)session, (void)err;
	report_put_part(&s->report, &span, j);
	return 0;
}

static bool is_gone(void *request)
{
	return web_request_is_gone(request);
}

static void answer_part(struct served *s, const struct web_request *r, part_put *put, struct web_answer *ret)
{
	enum { BAD_REQUEST = 400, FAILED = 500 };
	const struct sink to = { into_buf, &ret->body };
	struct part_asked part = { 0 };
	struct session session;
	struct error err;
	struct json json;

	if (!web_request_number(r, "from", &part.from_ns) || !web_request_number(r, "to", &part.to_ns) ||
	    part.from_ns >= part.to_ns) {
		error_set(&err, "?from=NS&to=NS[&min=NS]");
		put_error(&err, BAD_REQUEST, ret);
		return;
	}
	web_request_number(r, "min", &part.min_ns);
	if (part.to_ns > s->end_ns)
		part.to_ns = UINT64_MAX;
	session = view_sessions_take(s->sessions);
	session.is_given_up = is_gone;
	session.given_up_context = (void *)r;
	json_init(&json, &to);
	if (put(s, &session, &part, &json, &err) < 0 || json_end(&json, &err) < 0)
		put_error(&err, FAILED, ret);
	view_sessions_give_back(s->sessions, &session);
}

static bool answer(void *context, const char *path, const struct web_request *r, struct web_answer *ret)
{
	static const struct {
		const char *path;
		part_put *put;
	} parts[] = { { "/calls", put_calls }, { "/flame", put_flame }, { "/lanes", put_lanes } };
	struct served *s = context;

	if (!strcmp(path, "/")) {
		copy_answer(&s->page, "text/html; charset=utf-8", false, ret);
		return true;
	}
	if (!strcmp(path, "/data")) {
		copy_answer(&s->data, "application/json", true, ret);
		return true;
	}
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(path, parts[i].path)) {
			answer_part(s, r, parts[i].put, ret);
			return true;
		}
	return false;
}

extern char **environ;

static void open_browser(const char *address)
{
	char *const words[] = { "xdg-open", (char *)address, NULL };
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int failed;

	/* signals that are blocked here are not to be blocked in the browser */
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawnp(&pid, words[0], NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	if (failed)
		fprintf(stderr, "upto: --open: xdg-open: %s; open the address yourself\n", strerror(failed));
}

static void say_address(const struct web_server *server, bool open)
{
	printf("%s\n", web_server_address(server));
	if (getenv("SSH_CONNECTION"))
		printf("# from where you came by ssh: ssh -L %u:127.0.0.1:%u HOST, then the same address\n",
		       web_server_port(server), web_server_port(server));
	printf("# for your browser on this machine; Ctrl-C ends it\n");
	fflush(stdout);
	if (open)
		open_browser(web_server_address(server));
}

/*
 * Up to a signal that ends commands. Threads of the server must not take it, so that it is blocked before they are
 * made.
 */
static int serve(const struct args *args, struct served *s, unsigned port, struct error *err)
{
	const struct web_server_options options = { .port = port, .answer = answer, .context = s };
	struct web_server *server;
	sigset_t ends;
	int sig;

	sigemptyset(&ends);
	for (int i = 0; i < END_SIGNALS; i++)
		sigaddset(&ends, end_signals[i]);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	server = web_server_start(&options, err);
	if (!server)
		return -1;
	say_address(server, arg(args, "open"));
	sigwait(&ends, &sig);
	web_server_stop(server);
	return 0;
}

static int run_on(const struct args *args, struct trace_arg *t, unsigned port, struct error *err)
{
	struct served s = { .trace = t, .end_ns = trace_end_ns(t) };
	int r;

	report_page_put_empty(&s.page);
	r = make_data(&s, err);
	terminal_end_progress();
	t->reader->progress = NULL; /* what is asked for from now on is the browser's */
	if (r == 0) {
		s.sessions = view_sessions_new(&t->session);
		r = serve(args, &s, port, err);
		view_sessions_free(s.sessions);
	}
	report_deinit(&s.report);
	buf_free(&s.page);
	buf_free(&s.data);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	uint64_t port = 0;
	struct trace_arg t;
	int r;

	if (arg_u64(args, "port", &port, err) < 0)
		return EXIT_USAGE;
	if (port > UINT16_MAX)
		return error_set(err, "--port %s: at most %d", arg(args, "port"), UINT16_MAX), EXIT_USAGE;
	if (!report_page_is_there() || !web_server_is_there())
		return error_set(err, "ui: this upto was built without %s. Install that, and build again",
				 report_page_is_there() ? "libmicrohttpd" : "the page: Node.js and npm were not there"),
		       EXIT_FAILED;
	if (page_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	trace_arg_index(&t);
	r = run_on(args, &t, (unsigned)port, err);
	trace_arg_close(&t);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{ 0, "port", "N", "the port on 127.0.0.1 (default: any that is free)" },
	{ 0, "open", NULL, "open the browser" },
	INSTRUMENTS_OPTION,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_ui = {
	.name = "ui",
	.operands = "TRACE",
	.summary = "look at a trace in a browser, down to single calls",
	.description =
		"Serves the page of upto-report(1) on this machine, and what it asks for while it is looked at: zoomed in far enough, the timeline has "
		"the single calls of the threads that run there.\n"
		"It is for one user's browser: on 127.0.0.1 only, with a token in the address, which becomes a cookie. Others on the same machine, and other "
		"pages in the same browser, get nothing.\n" INDEX_NOTE HISTORY_NOTE,
	.examples = "  upto ui --open trace.upto\n      look at it\n"
		    "  upto ui --port 8000 trace.upto\n      the same on a host that one comes to by ssh -L 8000:127.0.0.1:8000\n",
	.options = options,
	.reads_all = true,
	.needs = "facts",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
