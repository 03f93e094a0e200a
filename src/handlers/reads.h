/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which expressions of a program are values that its probe reads of the guest: arguments, results, and what they lead
 * to. A recorded trace has no memory, so that these are found before anything runs, and asked for as values of probes
 * are.
 */
#ifndef UPTO_HANDLERS_READS_H
#define UPTO_HANDLERS_READS_H

#include "base/buf.h"
#include "types.h"

/* So many maps may be in one value, and so many parts in a map's key. */
enum { READS_MAPS = 16, READS_KEYS = 7 };

struct reads {
	const struct script *p;
	const struct types *types;
	size_t handler;
	bool maps; /* what a map keeps may lead to more: its probe can ask what others have kept */
	const struct node *touched[READS_MAPS]; /* the maps of which it does so */
	size_t n_touched;
	char type[8]; /* what the value is, if the program says so by a cast: ":u32"; "": it does not */
};

/* Append the value in a probe's words, without its type. False: it is none that a probe could read. */
bool reads_put(struct reads *r, const struct node *node, struct buf *out);
/* The same of an address, for the text, or the bytes, that are there. `out` is empty. */
bool reads_put_place(struct reads *r, const struct node *node, struct buf *out);

/* Is it a call of what reads bytes by an argument of the handler's: buf(args.buf, 4)? */
bool reads_call_takes_bytes(const struct node *call);

/* What the expression begins with: $sk, of ((struct sock *)$sk)->sk_family. */
const struct node *reads_begin(const struct node *node);
/* The map that it begins with, where variables that are set once are what they stand for; NULL: none. */
const struct node *reads_map(struct reads *r, const struct node *node);
/* Is it memory that something leads to, and not that itself? */
bool reads_leads_on(struct reads *r, const struct node *node);

/*
 * The address that the program itself has of what the expression begins with, a map or a variable: likewise. And the
 * value that keeps an address for a map. False: the key or the value is none that a probe could read.
 */
bool reads_put_address(struct reads *r, const struct node *node, struct buf *out);
bool reads_put_keep(struct reads *r, const struct node *map, const struct node *value, struct buf *out);

#endif
