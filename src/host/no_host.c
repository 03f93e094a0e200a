/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where there is no libtracefs to build with. */
#include "host_pages.h"
#include "host_tracing.h"

struct host_tracing *host_tracing_new(const struct host_options *options, bool on, struct error *err)
{
	(void)options, (void)on;
	error_set(err, "this upto was built without libtracefs. Install that, and build again");
	return NULL;
}

struct host_tracing *host_tracing_found(struct error *err)
{
	return host_tracing_new(NULL, false, err);
}

void host_tracing_go(struct host_tracing *t)
{
	(void)t;
}

void host_tracing_stop(struct host_tracing *t)
{
	(void)t;
}

bool host_tracing_ended_itself(const struct host_tracing *t)
{
	(void)t;
	return false;
}

void host_tracing_free(struct host_tracing *t)
{
	(void)t;
}

bool host_tracing_was_left(const struct host_tracing *t)
{
	(void)t;
	return false;
}

bool host_tracing_is_monotonic(const struct host_tracing *t)
{
	(void)t;
	return false;
}

const char *host_tracing_folder(const struct host_tracing *t)
{
	(void)t;
	return "";
}

struct host_pages *host_pages_start(const char *folder, const struct buf *tasks, struct error *err)
{
	(void)folder, (void)tasks;
	error_set(err, "this upto was built without libtracefs");
	return NULL;
}

bool host_pages_are_full(const struct host_pages *p)
{
	(void)p;
	return false;
}

int host_pages_stop(struct host_pages *p, struct error *err)
{
	(void)p, (void)err;
	return 0;
}

void host_pages_free(struct host_pages *p)
{
	(void)p;
}

struct graph_reader *host_pages_read(struct host_pages *p, struct error *err)
{
	(void)p, (void)err;
	return NULL;
}
