/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace may take of the host's memory. Counts in a trace are checked before memory is asked for; this is for
 * what such a check forgot. Whoever asks for far more at once than all that the trace says could need has read damage,
 * and the command says so and ends.
 */
#ifndef UPTO_CLI_MEMORY_LIMIT_H
#define UPTO_CLI_MEMORY_LIMIT_H

#include "trace/reader.h"

/* From now on. Of several traces the largest counts. UPTO_MEMORY=BYTES says otherwise. */
void memory_limit(const struct reader *r);

/* For upto(1). */
#define MEMORY_LIMIT_MAN \
	".TP\n.B UPTO_MEMORY\nbytes that a command may ask for at once (64M, 40G). It is told when a damaged trace makes it ask for more than " \
	"what is in the trace could need\n"

#endif
