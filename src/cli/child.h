/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that is run on the user's behalf: as if they had run it. */
#ifndef UPTO_CLI_CHILD_H
#define UPTO_CLI_CHILD_H

#include "base/error.h"

/*
 * Run it to its end, found by PATH. Returns what waitpid(2) says of it, or -1. What is typed at the terminal reaches it
 * by itself; SIGTERM and SIGHUP are passed on.
 */
int child_run(char *const *argv, struct error *err);

/* An exit status that says how it ended; where a signal ended it, that signal ends upto, too. */
int child_pass_status(int status);

#endif
