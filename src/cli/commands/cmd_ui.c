/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/instruments_arg.h"
#include "cli/args/recorded_facts.h"
#include "cli/commands.h"
#include "cli/end_signals.h"
#include "cli/page/browser.h"
#include "cli/page/page_versions.h"
#include "report/report_page.h"
#include "serve/web_server.h"

static void say_address(const struct web_server *server)
{
	printf("%s\n", web_server_address(server));
	if (getenv("SSH_CONNECTION"))
		printf("# from where you came by ssh: ssh -L %u:127.0.0.1:%u HOST, then the same address\n",
		       web_server_port(server), web_server_port(server));
	printf("# for your browser on this machine; Ctrl-C ends it\n");
	fflush(stdout);
}

static void open_browser(struct browser *b, const struct web_server *server)
{
	struct error err = { 0 };

	if (browser_open(b, web_server_address(server), &err) < 0)
		fprintf(stderr, "upto: --open: %s; open the address yourself\n", err.text);
}

struct serving {
	struct page_versions *versions;
	struct error err;
	_Atomic bool failed, over;
	pthread_t thread;
};

static bool is_over(void *serving)
{
	const struct serving *s = serving;

	return s->over;
}

/* The server's other threads wait for this one, and a failure ends the command as a signal does. */
static void *read_in_thread(void *arg)
{
	struct serving *s = arg;

	if (page_versions_read(s->versions, is_over, s, &s->err) < 0) {
		s->failed = true;
		kill(getpid(), SIGTERM);
	}
	return NULL;
}

/*
 * Up to a signal that ends commands. Threads must not take it, so that it is blocked before they are made. While the
 * trace is still read, the signal does what it does to a command that only reads.
 */
static int serve(const struct args *args, struct serving *s, unsigned port, struct error *err)
{
	const struct web_server_options options = {
		.port = port, .answer = page_versions_answer, .context = s->versions,
	};
	struct browser browser = { 0 };
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
	if (pthread_create(&s->thread, NULL, read_in_thread, s)) {
		web_server_stop(server);
		return error_set(err, "no thread: %s", strerror(errno));
	}
	say_address(server);
	if (arg(args, "open"))
		open_browser(&browser, server);
	sigwait(&ends, &sig);
	browser_end(&browser);
	if (!s->failed && !page_versions_are_there(s->versions)) {
		sigprocmask(SIG_UNBLOCK, &ends, NULL);
		raise(sig);
	}
	web_server_stop(server);
	s->over = true;
	pthread_join(s->thread, NULL);
	if (s->failed)
		*err = s->err;
	return s->failed ? -1 : 0;
}

static int run(const struct args *args, struct error *err)
{
	struct serving serving = { 0 };
	uint64_t port = 0;
	int r;

	if (arg_u64(args, "port", &port, err) < 0)
		return EXIT_USAGE;
	if (port > UINT16_MAX)
		return error_set(err, "--port %s: at most %d", arg(args, "port"), UINT16_MAX), EXIT_USAGE;
	if (!report_page_is_there() || !web_server_is_there())
		return error_set(err, "ui: this upto was built without %s. Install that, and build again",
				 report_page_is_there() ? "libmicrohttpd" : "the page: Node.js and npm were not there"),
		       EXIT_FAILED;
	serving.versions = page_versions_open(args, err);
	if (!serving.versions)
		return EXIT_FAILED;
	r = serve(args, &serving, (unsigned)port, err);
	page_versions_free(serving.versions);
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
		"The page is there at once, and says how far the trace is read. Of a trace that is still being recorded it shows what has come so far, and "
		"goes on by itself as more comes.\n"
		"It is for one user's browser: on 127.0.0.1 only, with a token in the address, which becomes a cookie. Others on the same machine, and other "
		"pages in the same browser, get nothing. So --open gives the browser a file that only this user can read, in XDG_RUNTIME_DIR or TMPDIR, "
		"which leads to the address; at the end it is removed.\n" "For flame graphs of much of a long trace, it keeps sums in TRACE.sums, once they are made; meanwhile these take longer. It may be removed at any "
		"time.\n" INDEX_NOTE HISTORY_NOTE,
	.examples = "  upto ui --open trace.upto\n      look at it\n"
		    "  upto ui --port 8000 trace.upto\n      the same on a host that one comes to by ssh -L 8000:127.0.0.1:8000\n",
	.options = options,
	.reads_all = true,
	.needs = "stacks",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
