/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of trace events and probes is not in a trace, as it was recorded: on standard error. */
#ifndef UPTO_CLI_PRINT_EVENT_LOSSES_H
#define UPTO_CLI_PRINT_EVENT_LOSSES_H

#include "trace/event_formats.h"

/* `marks`: the events that are asked for, by number. `path`: the trace's. */
void event_losses_warn(const char *path, const struct event_formats *formats, const bool *marks);

#endif
