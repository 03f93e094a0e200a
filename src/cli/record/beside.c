/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "beside.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/command.h"
#include "cli/end_signals.h"

static volatile sig_atomic_t guest_ended;

static void on_guest_end(int sig)
{
	(void)sig;
	guest_ended = 1;
}

static bool guest_has_ended(void)
{
	return guest_ended;
}

/*
 * In the new process. What upto does at signals that end it is not for this one: Ctrl-C ends the guest, and what runs
 * beside that says then what it has. SIGUSR1, which tells it, waits until it can be heard.
 */
static void run(const struct beside *b, const char *trace, const sigset_t *before)
{
	enum { STEP_BACK = 3 }; /* where CPUs are few, the guest goes first, but only by a little */
	const struct sigaction end = { .sa_handler = on_guest_end };
	int status;

	for (int i = 0; i < END_SIGNALS; i++)
		signal(end_signals[i], end_signals[i] == SIGINT ? SIG_IGN : SIG_DFL);
	sigaction(SIGUSR1, &end, NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
	thread_step_back(STEP_BACK);
	status = b->run(b->context, trace, guest_has_ended);
	fflush(NULL);
	*b->done = status >= 0;
	_exit(status < 0 ? EXIT_FAILED : status);
}

void beside_start(struct beside *b, const char *trace)
{
	sigset_t heard, before;
	pid_t parent = getpid();

	if (b->started)
		return;
	b->started = true;
	b->done = mmap(NULL, sizeof *b->done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->done == MAP_FAILED) {
		fprintf(stderr, "upto: the program cannot run beside the guest: %s\n", strerror(errno));
		return;
	}
	sigemptyset(&heard);
	sigaddset(&heard, SIGUSR1);
	sigprocmask(SIG_BLOCK, &heard, &before);
	fflush(NULL);
	b->pid = fork();
	if (b->pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() != parent)
			_exit(EXIT_FAILED);
		run(b, trace, &before);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (b->pid > 0)
		return;
	fprintf(stderr, "upto: the program cannot run beside the guest: %s\n", strerror(errno));
	b->pid = 0;
}

static void take_status(struct beside *b, int status)
{
	b->pid = 0;
	b->ended = true;
	b->status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
	b->failed = !WIFEXITED(status) || !*b->done;
	munmap(b->done, sizeof *b->done);
	if (WIFSIGNALED(status))
		fprintf(stderr, "upto: %s; the guest is recorded all the same\n",
			WTERMSIG(status) == SIGPIPE ? "nobody reads what the program prints"
						    : "the program was killed");
}

bool beside_has_ended(struct beside *b)
{
	int status;

	if (!b->pid || waitpid(b->pid, &status, WNOHANG) != b->pid)
		return false;
	take_status(b, status);
	return true;
}

void beside_finish(struct beside *b)
{
	int status;

	if (!b->pid)
		return;
	kill(b->pid, SIGUSR1);
	while (waitpid(b->pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	take_status(b, status);
}
