/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints maps and values as bpftrace prints them: for people, or each as a line of JSON. */
#ifndef UPTO_HANDLERS_PRINTER_H
#define UPTO_HANDLERS_PRINTER_H

#include "machine.h"

struct printer {
	const struct machine_host *host;
	bool json;
	bool is_key; /* bpftrace prints keys' stacks nearer, their numbers with a sign, and 0x before their addresses */
	struct buf *out;
	void (*pass_on)(void *context); /* what is in `out`, if that is enough for a write: called after each entry */
	void *context;
};

/* Append a value as text. */
void printer_put_value(const struct printer *p, const struct type *type, const struct value *v, struct buf *out);
/* top: only so many, those that are printed last; 0: all. div: numbers are divided by it. */
void printer_put_map(const struct printer *p, const struct script_map *m, uint64_t top, uint64_t div);
void printer_put_entry(const struct printer *p, const struct script_map *m, const struct map_entry *e);
/* print(value) */
void printer_put_line(const struct printer *p, const struct type *type, const struct value *v);
/* What printf(), time() have made. */
void printer_put_text(const struct printer *p, const char *kind, const void *text, size_t len);

#endif
