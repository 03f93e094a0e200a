/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static probes of a program (USDT): places that its source has marked, with what is of interest there. Notes of the
 * file tell of them (systemtap's sys/sdt.h: name "stapsdt", type 3).
 */
#ifndef UPTO_PROBES_STATIC_PROBES_H
#define UPTO_PROBES_STATIC_PROBES_H

#include "symbols/dwarf_file.h"
#include "probe_definition.h"

struct static_probe {
	const char *provider, *name;
	const char *arguments; /* "8@%rdi -4@-36(%rbp)": as an assembler has them */
	uint64_t address;      /* the file's */
	bool guarded;          /* it may be passed over while nobody in the guest has asked for it */
};

/* Call `each` for all of a file's. What it is given lives until it returns. */
void static_probes_each(const struct dwarf_file *f, void (*each)(void *context, const struct static_probe *probe),
			void *context);

/*
 * Append a definition in the kernel's language for each place of a static probe that is meant, with all its arguments,
 * or with the values that the definition asks for. An error: there is none.
 */
int static_probes_put(const struct dwarf_file *f, const struct probe_definition *d, struct buf *out, struct error *err);

#endif
