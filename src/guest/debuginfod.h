/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files by their build-id, from the servers that the user has set in DEBUGINFOD_URLS. */
#ifndef UPTO_GUEST_DEBUGINFOD_H
#define UPTO_GUEST_DEBUGINFOD_H

#include "build_id.h"

/*
 * Fetch the file with the symbols and types of what has that build-id. Returns where it is kept, which the caller
 * frees; NULL: no server is set, or none has it, or elfutils' client is not installed.
 */
char *debuginfod_fetch(const struct build_id *id);

#endif
