/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function_graph tracer of the kernel that runs here, set up for a recording, and left as it was found. It is an
 * instance of its own where the kernel has function_graph there (since 6.11), else the one that all share.
 */
#ifndef UPTO_HOST_HOST_TRACING_H
#define UPTO_HOST_HOST_TRACING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* What is asked for; NULL and 0: it is not. Lists have commas; names may be patterns, as the kernel takes them. */
struct host_options {
	const char *functions, *not, *below;
	uint64_t depth, min_us, buffer_kb; /* buffer_kb: of each CPU */
	int32_t pid;                       /* and its children */
	/* The kernel itself begins where the one is called, and ends where the other is; NULL: neither. */
	const char *start_entry, *stop_entry;
};

struct host_tracing;

/* The name of threads that take its pages away, whose system calls are not recorded. */
#define HOST_READERS "upto-pages"

/*
 * Set it up, and begin if `on`; where a function begins it, it is not to be on. NULL: *err is set, and all is as it
 * was.
 */
struct host_tracing *host_tracing_new(const struct host_options *options, bool on, struct error *err);
/* The ring buffers that are there, as they are: for a tracer that the kernel's command line started. */
struct host_tracing *host_tracing_found(struct error *err);

/* Begin, or go on. */
void host_tracing_go(struct host_tracing *t);
/* Nothing more is recorded. */
void host_tracing_stop(struct host_tracing *t);
/* Has the function been called that ends it? */
bool host_tracing_ended_itself(const struct host_tracing *t);
/* All is as it was found. */
void host_tracing_free(struct host_tracing *t);

/* Had a recording that was killed left it set? It was put back first. */
bool host_tracing_was_left(const struct host_tracing *t);

/* Are its times those of CLOCK_MONOTONIC? */
bool host_tracing_is_monotonic(const struct host_tracing *t);

/* The folder of its buffers: "/sys/kernel/tracing/instances/upto". */
const char *host_tracing_folder(const struct host_tracing *t);

#endif
