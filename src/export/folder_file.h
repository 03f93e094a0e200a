/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in a folder that is written, or of which it is only counted how large it would be. */
#ifndef UPTO_EXPORT_FOLDER_FILE_H
#define UPTO_EXPORT_FOLDER_FILE_H

#include "base/buf.h"
#include "base/error.h"

struct folder {
	int fd;              /* -1: nothing is kept, and more than `max_bytes` in all files are an error */
	uint64_t bytes, max_bytes;
};

/* Append the bytes to the file, which is made if it is not there. The text is empty then. */
int folder_file_append(struct folder *folder, const char *name, struct buf *text, struct error *err);

#endif
