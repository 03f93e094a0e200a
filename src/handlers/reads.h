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
};

/* Append the value in a probe's words, without an end. False: it is none that a probe could read. */
bool reads_put(const struct reads *r, const struct node *node, struct buf *out);

#endif
