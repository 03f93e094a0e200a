/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's file and libraries, as they lay in memory: what its functions' addresses are called. */
#ifndef UPTO_IMPORT_CALLS_MODULES_H
#define UPTO_IMPORT_CALLS_MODULES_H

#include "base/cursor.h"
#include "made_calls.h"

struct calls_modules;

/* Functions and their sections, the modules' names, go into the trace. */
struct calls_modules *calls_modules_new(struct made_trace *m);
void calls_modules_free(struct calls_modules *c);

/* The payload of a block of kind CALLS_MODULE, CALLS_UNLOADED. False: it is damaged. */
bool calls_modules_add(struct calls_modules *c, struct cursor payload);
bool calls_modules_unload(struct calls_modules *c, struct cursor payload);

/* The function that begins at that address now. Each has a place of its own in the trace. */
struct made_function calls_modules_function(struct calls_modules *c, uint64_t address);

/*
 * Before the trace ends: name all functions, by the files that the host has, or their debug files, if they are the same
 * ones by their build-id. A function without a name is "module+0x1234". Returns how many have none. The names live as
 * long as this.
 */
size_t calls_modules_name(struct calls_modules *c);

#endif
