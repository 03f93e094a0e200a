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

struct reads {
	const struct script *p;
	const struct types *types;
	size_t handler;
	bool maps; /* what a map keeps may lead to more: its probe can ask what others have kept */
};

/* Append the value in a probe's words, without an end. False: it is none that a probe could read. */
bool reads_put(const struct reads *r, const struct node *node, struct buf *out);

/* What the expression begins with: $sk, of ((struct sock *)$sk)->sk_family. */
const struct node *reads_begin(const struct node *node);
/* The map that it begins with, where variables that are set once are what they stand for; NULL: none. */
const struct node *reads_map(const struct reads *r, const struct node *node);
/* Is it memory that something leads to, and not that itself? */
bool reads_leads_on(const struct reads *r, const struct node *node);

/*
 * What was kept for the map by that key, and the value that keeps it: likewise. False: the key or the value is none
 * that a probe could read.
 */
bool reads_put_kept(const struct reads *r, const struct node *map, struct buf *out);
bool reads_put_keep(const struct reads *r, const struct node *map, const struct node *value, struct buf *out);

#endif
