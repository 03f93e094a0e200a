/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program in handlers on a trace that is being recorded: what it prints comes as the guest goes on. */
#ifndef UPTO_CLI_COMMANDS_FOLLOW_SCRIPT_H
#define UPTO_CLI_COMMANDS_FOLLOW_SCRIPT_H

#include "scripting.h"

/*
 * The program is read. `guest_has_ended`: nothing more will come, whatever the trace says; NULL: the trace tells.
 * Returns when the recording has ended, or the program.
 */
int follow_script(struct scripting *s, const char *path, bool (*guest_has_ended)(void), struct error *err);

#endif
