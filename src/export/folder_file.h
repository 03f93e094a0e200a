/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file in a folder that is written. */
#ifndef UPTO_EXPORT_FOLDER_FILE_H
#define UPTO_EXPORT_FOLDER_FILE_H

#include "base/buf.h"
#include "base/error.h"

/* Append the bytes to the file, which is made if it is not there. The text is empty then. */
int folder_file_append(int folder, const char *name, struct buf *text, struct error *err);

#endif
