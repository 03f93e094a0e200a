/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that libupto/upto_instrument.c keeps in memory, as they are found in a dump of that: of the buffer alone,
 * or of all memory. Whose machine it was says the buffer's head: its order of bytes, and the size of its addresses.
 */
#ifndef UPTO_IMPORT_INSTRUMENT_DUMP_H
#define UPTO_IMPORT_INSTRUMENT_DUMP_H

#include "kfi/log.h"
#include "kfi/symbol_map.h"

/* The first that is whole. False: there is none. */
bool instrument_dump_find(const void *data, size_t len, size_t *ret_at);

/*
 * Read the one that was found there, as a log whose times are exact. `map`: names of functions; NULL: addresses are
 * their names. `path` is for messages. The caller deinitialises *ret also after an error.
 */
int instrument_dump_read(const char *path, const void *data, size_t len, size_t at, const struct symbol_map *map,
			 struct kfi_log *ret, struct error *err);

#endif
