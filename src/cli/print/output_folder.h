/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder that a command writes: whole, or not there, also if a signal ends the command meanwhile. */
#ifndef UPTO_CLI_PRINT_OUTPUT_FOLDER_H
#define UPTO_CLI_PRINT_OUTPUT_FOLDER_H

#include "base/error.h"
#include "replay/session.h"

typedef int output_folder_put(void *context, int folder, struct error *err);

/*
 * Make the folder, which must not be there or be empty, and let `put` fill it. A signal ends the session's replays, and
 * then, when what is there was removed, does what it does.
 */
int output_folder_write(const char *path, struct session *session, output_folder_put *put, void *context,
			struct error *err);

#endif
