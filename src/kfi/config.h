/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configurations of KFI and KFT:
 *
 *   new                                    (may be left out)
 *   begin
 *       trigger start entry start_kernel   (or exit FUNC, time USECS; from boot on)
 *       trigger stop time 500000           (from the start on)
 *       filter mintime 500                 (maxtime N, noints, onlyints)
 *       filter funclist do_fork 0xc0012345 fend
 *       watch stack 1024                   (or worst-stack N)
 *       logentries 2000
 *       autorepeat                         (overwrite, untimed)
 *   end
 *
 * Words are separated by blanks and line ends, # begins a comment. There can be several runs. A list of functions
 * without `fend` ends where a line begins with another entry's word. Each entry, but filters of
 * different kinds, stands once in a run.
 */
#ifndef UPTO_KFI_CONFIG_H
#define UPTO_KFI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	KFI_NAME_MAX = 512,               /* letters of a function's name */
	KFI_FUNCTIONS_MAX = 1 << 20,      /* in a configuration */
	KFI_LOG_ENTRIES = 20000,          /* if the configuration does not say */
};

struct kfi_function {
	char *name;                       /* or an address, with 0x */
	size_t at;                        /* byte of the text that it begins at */
	unsigned line;
};

enum kfi_trigger_kind { KFI_TRIGGER_NONE, KFI_TRIGGER_ENTRY, KFI_TRIGGER_EXIT, KFI_TRIGGER_TIME };

struct kfi_trigger {
	enum kfi_trigger_kind kind;
	unsigned line;
	struct kfi_function function;     /* ENTRY, EXIT */
	uint64_t usecs;                   /* TIME */
};

/* Entries that a run has once, or not at all. */
enum kfi_entry { KFI_LOGENTRIES, KFI_AUTOREPEAT, KFI_OVERWRITE, KFI_UNTIMED, KFI_STACK, KFI_WORST_STACK, KFI_ENTRIES };

struct kfi_run {
	unsigned line;                    /* of its begin */
	unsigned lines[KFI_ENTRIES];      /* 0: it does not have that entry */
	struct kfi_trigger start, stop;
	uint64_t min_us, max_us;          /* 0: none */
	bool no_interrupts, only_interrupts;
	struct kfi_function *functions;   /* only these; none: all */
	size_t n_functions, functions_cap;
	uint64_t stack, worst_stack;      /* keep the call stack when less than this is left; 0: do not */
	uint64_t log_entries;
	bool autorepeat, overwrite, untimed;
};

struct kfi_config {
	struct kfi_run *runs;             /* at least one */
	size_t count, cap;
};

/* `path` is for messages: "FILE:LINE: what was expected". The caller deinitialises *ret also after an error. */
int kfi_config_parse(const char *path, const char *text, size_t len, struct kfi_config *ret, struct error *err);
void kfi_config_deinit(struct kfi_config *config);

#endif
