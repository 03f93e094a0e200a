/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t command;

static void pass_on(int sig)
{
	if (command > 0)
		kill(command, sig);
}

/* Signals that are the command's while it runs. */
static const int its_own[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

enum { ITS_OWN = sizeof its_own / sizeof *its_own, TYPED = 2 /* the first of these reach it by the terminal */ };

static int run_command(char *const *argv, const struct sigaction *before, struct error *err)
{
	const struct sigaction pass = { .sa_handler = pass_on };
	int status;

	command = fork();
	if (command == 0) {
		for (size_t i = 0; i < TYPED; i++)
			sigaction(its_own[i], &before[i], NULL);
		execvp(argv[0], argv);
		fprintf(stderr, "upto: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (command < 0)
		return error_set(err, "cannot start %s: %s", argv[0], strerror(errno));
	for (size_t i = TYPED; i < ITS_OWN; i++)
		sigaction(its_own[i], &pass, NULL);
	while (waitpid(command, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(err, "%s: %s", argv[0], strerror(errno));
	return status;
}

int child_run(char *const *argv, struct error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before[ITS_OWN];
	int status;

	for (size_t i = 0; i < ITS_OWN; i++)
		sigaction(its_own[i], i < TYPED ? &ignore : NULL, &before[i]);
	status = run_command(argv, before, err);
	command = 0;
	for (size_t i = 0; i < ITS_OWN; i++)
		sigaction(its_own[i], &before[i], NULL);
	return status;
}

int child_pass_status(int status)
{
	const struct rlimit no_core = { 0 };

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
