/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The boots in a trace: the machine was switched on, was reset, or its kernel started another one (kexec). Each has a
 * kernel of its own, at a place of its own; tasks, modules and mappings of one are not there in the next.
 */
#ifndef UPTO_TRACE_BOOTS_H
#define UPTO_TRACE_BOOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "meta.h"

enum { BOOT_KEY = 64, BOOT_NO_SYMBOLS = -1 };

struct boot {
	size_t number;            /* in the keys of META, which also count boots of mere firmware */
	uint64_t start_ns;        /* its first instruction ran */
	uint64_t kernel_ns;       /* the kernel's first instruction ran; UINT64_MAX: never */
	uint64_t kernel_insns;    /* vCPU 0's counter then; UINT64_MAX likewise */
	uint64_t decompressor_ns; /* the kernel image's loader began; UINT64_MAX: not told */
	uint64_t slide;           /* run-time addresses are those in SYMBOLS and this */
	long symbols;             /* which SYMBOLS chunk has its functions, from 0; or BOOT_NO_SYMBOLS */
	const char *kernel;       /* its banner, the meta data's; NULL: not known */
};

/* The guest had suspended to RAM, and was woken: its kernel and all that it runs goes on. */
struct wake {
	uint64_t sleep_ns;        /* from then on no vCPU ran */
	uint64_t start_ns;        /* firmware's first instruction ran */
	uint64_t kernel_ns;       /* the kernel goes on; UINT64_MAX: that is not here */
};

struct boots {
	struct boot *list; /* by time; at least one */
	size_t count;
	struct wake *wakes; /* of all boots, by time */
	size_t n_wakes;
};

/*
 * Firmware may reset the machine itself before it starts anything: that is part of the same boot. Fails if they, or
 * the wakes, are not in the order of time. The meta data must outlive *ret. Call boots_deinit() only after success.
 */
int boots_init(struct boots *ret, const struct meta *meta, struct error *err);
void boots_deinit(struct boots *b);

/* Number of the boot that is under way at that time. */
size_t boots_at(const struct boots *b, uint64_t ns);

/* That one of the wakes whose firmware runs then; NULL: none of it does. */
const struct wake *boots_wake_at(const struct boots *b, uint64_t ns);

/* Was the guest suspended to RAM for most of that time? */
bool boots_slept(const struct boots *b, uint64_t from_ns, uint64_t to_ns);

/* META's key for what `key` is of a wake: "wake.0.start_ns". */
const char *wake_key(size_t wake, const char *key, char buffer[BOOT_KEY]);

/* META's key for what `key` is of the first boot: "slide", "boot.1.slide". */
const char *boot_key(size_t boot, const char *key, char buffer[BOOT_KEY]);

#endif
