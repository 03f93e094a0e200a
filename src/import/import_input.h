/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is imported, read piece by piece. */
#ifndef UPTO_IMPORT_IMPORT_INPUT_H
#define UPTO_IMPORT_IMPORT_INPUT_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "kfi/symbol_map.h"

struct import_input {
	int fd;            /* -1: all of it is in `data` */
	const char *path;  /* for messages */
	const struct symbol_map *map; /* names of addresses; NULL: none */
	struct buf data;   /* was read and is not used yet */
};

/* Read more behind what there is. Returns how many bytes; 0 at the end. */
ssize_t import_read(struct import_input *in, struct error *err);

#endif
