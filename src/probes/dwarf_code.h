/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where DWARF says that something is, as code that a probe runs (probe_code.h). */
#ifndef UPTO_PROBES_DWARF_CODE_H
#define UPTO_PROBES_DWARF_CODE_H

#include "symbols/dwarf_file.h"
#include "probe_code.h"

/* A part of a variable: its value, or where that is, is what the code gives. */
struct dwarf_piece {
	struct probe_code code;
	bool is_place, is_lost; /* lost: the compiler keeps it nowhere */
	uint64_t bytes;         /* 0: all of it */
};

struct dwarf_location {
	struct dwarf_piece *pieces;
	size_t count;
};

/* At an instruction: what its function's variables are found by. */
struct dwarf_context {
	const struct dwarf_file *file;
	Dwarf_Die *body;  /* the subprogram whose frame it is */
	uint64_t address; /* the file's */
	bool begins;      /* it is the body's first instruction */
};

/*
 * Where a variable is at that instruction. An error says why it cannot be had: "optimized out", what is not understood.
 * Call dwarf_location_deinit() in either case.
 */
int dwarf_location_init(struct dwarf_location *ret, const struct dwarf_context *c, Dwarf_Die *variable,
			struct error *err);
void dwarf_location_deinit(struct dwarf_location *l);

#endif
