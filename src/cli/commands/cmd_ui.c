/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/page_arg.h"
#include "cli/args/recorded_facts.h"
#include "cli/args/trace_has.h"
#include "cli/commands.h"
#include "cli/end_signals.h"
#include "cli/print/ending_note.h"
#include "replay/index.h"
#include "report/report_page.h"
#include "serve/page_answers.h"

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

struct reading {
	struct trace_arg *trace;
	struct page_answers *answers;
	struct recorded_facts beside;
	struct report report;
	struct error err;
	_Atomic bool failed, over;
	pthread_t thread;
};

static int read_trace(struct reading *r)
{
	struct buf ended = { 0 };
	int result;

	trace_arg_index(r->trace);
	result = report_analyse(&r->trace->session, is_worth_index(r->trace), &r->report, &r->err);
	if (result == 0) {
		ending_note(r->trace, &r->report.history.facts, &ended);
		buf_put_u8(&ended, 0);
		r->report.ended = (char *)ended.data;
		result = page_answers_give(r->answers, &r->report, &r->err);
		r->report.ended = "";
	}
	report_forget_sums(&r->report);
	buf_free(&ended);
	return result;
}

static bool is_over(void *reading)
{
	const struct reading *r = reading;

	return r->over;
}

/* For flame graphs of much of the trace. The page is used meanwhile; without them, its answers take longer. */
static void make_sums(struct reading *r)
{
	struct session session = r->trace->session;
	struct path_sums *sums;
	struct error ignored;

	session.index = index_open(session.reader, session.names);
	session.is_given_up = is_over;
	session.given_up_context = r;
	if (session.index && flame_sums_make(&session, &sums, &ignored) == 0)
		page_answers_give_sums(r->answers, sums);
	index_free(session.index);
}

/* The server's other threads wait for this one, and a failure ends the command as a signal does. */
static void *read_in_thread(void *arg)
{
	struct reading *r = arg;

	if (read_trace(r) < 0) {
		r->failed = true;
		page_answers_fail(r->answers, r->err.text);
		kill(getpid(), SIGTERM);
	} else {
		make_sums(r);
	}
	return NULL;
}

/*
 * Up to a signal that ends commands. Threads must not take it, so that it is blocked before they are made. While the
 * trace is still read, the signal does what it does to a command that only reads.
 */
static int serve(const struct args *args, struct reading *r, unsigned port, struct error *err)
{
	const struct web_server_options options = {
		.port = port, .answer = page_answers_answer, .context = r->answers,
	};
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
	if (pthread_create(&r->thread, NULL, read_in_thread, r)) {
		web_server_stop(server);
		return error_set(err, "no thread: %s", strerror(errno));
	}
	say_address(server, arg(args, "open"));
	sigwait(&ends, &sig);
	if (!r->failed && !page_answers_are_there(r->answers)) {
		sigprocmask(SIG_UNBLOCK, &ends, NULL);
		raise(sig);
	}
	web_server_stop(server);
	r->over = true;
	pthread_join(r->thread, NULL);
	if (r->failed)
		*err = r->err;
	return r->failed ? -1 : 0;
}

static int run_on(const struct args *args, struct trace_arg *t, unsigned port, struct error *err)
{
	struct reading reading = { .trace = t };
	int r = recorded_facts_read(args, t, false, &reading.beside, err);

	reading.report.records = reading.beside.events ? &reading.beside.facts : NULL;
	reading.report.records_of = &reading.beside.of;
	reading.answers = page_answers_new(&t->session, trace_end_ns(t));
	t->reader->progress = page_answers_progress;
	t->reader->progress_context = reading.answers;
	if (r == 0)
		r = serve(args, &reading, port, err);
	page_answers_free(reading.answers);
	report_deinit(&reading.report);
	recorded_facts_deinit(&reading.beside);
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
	r = run_on(args, &t, (unsigned)port, err);
	trace_arg_close(&t);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{ 0, "port", "N", "the port on 127.0.0.1 (default: any that is free)" },
	{ 0, "open", NULL, "open the browser" },
	NO_EVENTS_OPTION,
	INSTRUMENTS_OPTION,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_ui = {
	.name = "ui",
	.operands = "TRACE",
	.summary = "look at a trace in a browser, down to single calls",
	.description =
		"Serves the page of upto-report(1) on this machine, and what it asks for while it is looked at: the closer one comes, the more of what ran "
		"and waited is told apart, down to the single calls of the threads that run there; the flame graph can be of what the timeline shows. "
		"The page is there at once, and says how far the trace is read.\n"
		"It is for one user's browser: on 127.0.0.1 only, with a token in the address, which becomes a cookie. Others on the same machine, and other "
		"pages in the same browser, get nothing.\n" "For flame graphs of much of a long trace, it keeps sums in TRACE.sums, once they are made; meanwhile these take longer. It may be removed at any "
		"time.\n" INDEX_NOTE HISTORY_NOTE,
	.examples = "  upto ui --open trace.upto\n      look at it\n"
		    "  upto ui --port 8000 trace.upto\n      the same on a host that one comes to by ssh -L 8000:127.0.0.1:8000\n",
	.options = options,
	.reads_all = true,
	.needs = "facts",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
