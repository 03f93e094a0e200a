/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of this kernel's calls `upto host record` is to have: by options, or by a configuration of KFI. */
#ifndef UPTO_CLI_COMMANDS_HOST_CHOICE_H
#define UPTO_CLI_COMMANDS_HOST_CHOICE_H

#include "cli/command.h"
#include "host/host_tracing.h"
#include "import/graph_trace.h"
#include "kfi/config.h"
#include "select/condition.h"

struct host_choice {
	struct host_options options; /* what the kernel does by itself */
	struct graph_part part;      /* … and what is done where it is read */
	/* since the recording began; UINT64_MAX: never */
	uint64_t start_ns, stop_ns;
	uint64_t before_ns; /* only so long before the end; 0: all */
	/* what the above points to: */
	struct condition start, stop;
	struct kfi_config config;
	char *functions;
};

/* Call host_choice_deinit() also after an error. */
int host_choice_arg(const struct args *args, struct host_choice *ret, struct error *err);
void host_choice_deinit(struct host_choice *c);

/* Does it wait for something before it begins? */
static inline bool host_choice_waits(const struct host_choice *c)
{
	return c->start_ns || c->options.start_entry;
}

#endif
