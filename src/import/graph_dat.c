/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads trace.dat by libtracecmd, in the process apart. */
#include "graph_events.h"

#include <stdlib.h>
#include <string.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#define MAGIC "\x17\x08\x44tracing"

bool graph_dat_is_one(const void *data, size_t len)
{
	return len >= sizeof MAGIC - 1 && !memcmp(data, MAGIC, sizeof MAGIC - 1);
}

static void fail(struct graph_writer *w, const char *why)
{
	graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_FAILED }, why);
}

static int take(struct tracecmd_input *input, struct tep_record *record, int cpu, void *data)
{
	(void)input;
	graph_events_take(data, record, cpu);
	return 0;
}

static void read_dat(struct graph_writer *w, int fd)
{
	struct tracecmd_input *input;
	struct graph_events events;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	input = tracecmd_open_fd(dup(fd), TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!input || !tracecmd_get_tep(input)) {
		fail(w, "is not a trace.dat that libtracecmd reads");
		return;
	}
	graph_events_init(&events, tracecmd_get_tep(input), true, w);
	if (!graph_events_are_there(&events)) {
		fail(w, "has no format of function_graph's events: trace-cmd record -p function_graph writes that");
		return;
	}
	graph_events_put_comms(&events);
	tracecmd_iterate_events(input, NULL, 0, take, &events);
	if (!events.calls && tracecmd_buffer_instances(input))
		fail(w, "has its calls in a buffer instance, which is not read");
	else
		graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_END }, NULL);
}

struct graph_reader *graph_dat_open(int fd, const char *path, struct error *err)
{
	return graph_reader_start_file(read_dat, fd, path, "a trace.dat", err);
}
