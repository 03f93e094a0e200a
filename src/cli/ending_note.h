/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the guest ended, for headings and closing lines. */
#ifndef UPTO_CLI_ENDING_NOTE_H
#define UPTO_CLI_ENDING_NOTE_H

#include "analysis/ending.h"
#include "trace_arg.h"

/* "powered off by poweroff (55), at 3.057000 s; on the way 1 oops". Nothing if nothing tells. Names in it are escaped. */
void ending_note(const struct trace_arg *t, const struct facts *facts, struct buf *out);

/* "how":"power-off",…: see ending_terms. */
void ending_note_json(const struct trace_arg *t, const struct facts *facts);

extern const struct term ending_terms[];

#endif
