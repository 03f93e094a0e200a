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

int child_run(char *const *argv, struct error *err)
{
	struct sigaction pass = { .sa_handler = pass_on }, ignore = { .sa_handler = SIG_IGN }, before[2];
	int status;

	sigaction(SIGINT, &ignore, &before[0]);
	sigaction(SIGQUIT, &ignore, &before[1]);
	command = fork();
	if (command == 0) {
		sigaction(SIGINT, &before[0], NULL);
		sigaction(SIGQUIT, &before[1], NULL);
		execvp(argv[0], argv);
		fprintf(stderr, "upto: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (command < 0)
		return error_set(err, "cannot start %s: %s", argv[0], strerror(errno));
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	while (waitpid(command, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(err, "%s: %s", argv[0], strerror(errno));
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
