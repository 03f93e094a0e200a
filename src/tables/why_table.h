/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What decided when something was done: its causes, what holds most first; and the links of the chain in the order of
 * time.
 */
#ifndef UPTO_TABLES_WHY_TABLE_H
#define UPTO_TABLES_WHY_TABLE_H

#include "analysis/history/why.h"
#include "replay/session.h"
#include "table.h"

extern const struct column causes_columns[];
extern const struct column chain_columns[];

void causes_table_init(struct table *ret, const struct why *why);
void chain_table_init(struct table *ret, const struct session *session, const struct history *h, const struct why *why);

/* Put what a link was busy with: of a wait its stack, innermost first, of what ran its functions. */
void link_put_what(const struct link *l, const struct names *names, const struct history *h, struct buf *out);

#endif
