/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a folder that `uftrace record` wrote (its doc/ and utils/data-file.c), as records of calls. */
#ifndef UPTO_IMPORT_UFTRACE_FOLDER_H
#define UPTO_IMPORT_UFTRACE_FOLDER_H

#include "graph_records.h"

/* Is the folder one? */
bool uftrace_folder_is_one(int folder);

/* Each thread is on a CPU of its own. The descriptor is used until the reader is freed. NULL: *err is set. */
struct graph_reader *uftrace_folder_open(int folder, const char *path, struct error *err);

#endif
