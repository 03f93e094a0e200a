/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of the kernel at whose entry the recorder reads something from the guest: one table, in hooks.c. To
 * read at another function is a line there, and a reader (facts.h, guest_code.h, tasks.h).
 */
#ifndef UPTO_RECORDER_HOOKS_H
#define UPTO_RECORDER_HOOKS_H

#include <stdbool.h>

#include "recorder/qemu/qemu_interface.h"
#include "trace/facts.h"

enum { HOOK_NAMES = 3 };

struct vcpu;

/* What a kernel may be built without: then nothing is missing where its functions and structures are not there. */
enum feature {
	FEATURE_ALWAYS,
	FEATURE_MODULES,
	FEATURE_MODULE_NAMES,
	FEATURE_BPF_JIT,
	FEATURE_BLOCK,
	FEATURE_CGROUPS,
	FEATURES
};

/* A function that each kernel with the feature has. */
extern const char *const feature_functions[FEATURES];

struct hook {
	const char *functions[HOOK_NAMES]; /* newest first: the first one that a kernel has counts */
	const char *source;                /* where in the kernel's source, and with which arguments */
	qemu_plugin_vcpu_udata_cb_t watch; /* called at the entry; its data is the hook */
	void (*code)(struct vcpu *v, unsigned cpu, uint64_t argument); /* for watch_code */
	bool (*fact)(struct vcpu *v, struct fact *fact); /* for watch_fact: read it; false: there is nothing to tell */
	enum fact_kind kind;
	bool has_result;                   /* its result is a fact, too */
	/* instead, the results of the functions that it calls by a pointer are facts */
	bool calls;
	bool has_clock;                    /* the events around it are to be no earlier and no later than it */
	enum feature feature;              /* that it belongs to */
	bool optional;                     /* many kernels go without */
};

extern const struct hook hooks[];
extern const size_t hooks_count;

#endif
