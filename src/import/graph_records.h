/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's function_graph tracer recorded, with switches of tasks and the like, from whichever file: one
 * record after the other, as `import` makes traces of them (graph_trace.h).
 *
 * The files are read by libraries that trust them, in a process of its own: if that dies, it is an error like others.
 */
#ifndef UPTO_IMPORT_GRAPH_RECORDS_H
#define UPTO_IMPORT_GRAPH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum graph_kind {
	GRAPH_ENTER,  /* a call of `function` begins, with `depth` others around it */
	GRAPH_EXIT,   /* one ends, which began at `begin_ns` */
	GRAPH_SWITCH, /* from `pid` to `other`, whose name is the text */
	GRAPH_WAKE,   /* `other` is woken up */
	GRAPH_COMM,   /* `other` has that name */
	/*
	 * `other` was there before, in process `pid`, whose parent is `count`; `depth`: it has memory of its own. The
	 * text is its name, a NUL, and the path of its program, if that is known
	 */
	GRAPH_THERE,
	/* `pid`, which need not run there now, made `other`, whose name is the text; `depth`: GRAPH_IS_… */
	GRAPH_FORK,
	GRAPH_EXEC,   /* `pid` executes another program: the text is its path */
	GRAPH_GONE,   /* `pid`, whose name is the text, exits */
	GRAPH_LOG,    /* a line of the kernel's log, or of the trace's marks: the text */
	/*
	 * `count` records of the CPU are missing before the next one; 0: how many is not known. `other`: only what
	 * `pid` was in the middle of, which runs now, is not known any more; 0: nor is that of any other thread. Of
	 * GRAPH_NO_CPU: they are counted, and nothing is known of where they would be
	 */
	GRAPH_LOST,
	GRAPH_NAME,   /* `function` has the text as its name; it comes before any other that has the function */
	/*
	 * `count` is the number of an event from then on: "system:name", a line's end, its format as tracefs has it.
	 * `other`: are the kernel's system calls those of x86-64?
	 */
	GRAPH_FORMAT,
	GRAPH_EVENT,  /* one of number `count` happened: its record, from common_type on */
	GRAPH_END,    /* all was read */
	GRAPH_FAILED, /* why not: the text */
};

enum { GRAPH_TEXT_MAX = 1 << 16 };
#define GRAPH_NO_CPU UINT32_MAX

/* Of FORK: of the same process; a process of its own; 0: not known, or told by another FORK before. */
enum { GRAPH_IS_THREAD = 1, GRAPH_IS_PROCESS = 2 };

/* By the flags that the task was made with. */
static inline uint16_t graph_made_as(uint64_t clone_flags)
{
	enum { OF_SAME_PROCESS = 0x00010000 }; /* CLONE_THREAD, include/uapi/linux/sched.h */

	return clone_flags & OF_SAME_PROCESS ? GRAPH_IS_THREAD : GRAPH_IS_PROCESS;
}

struct graph_record {
	uint64_t ns;
	union {
		uint64_t function; /* its address */
		uint64_t count;    /* LOST, FORMAT, EVENT */
	};
	uint64_t begin_ns; /* EXIT; 0: not known */
	uint32_t cpu;
	int32_t pid, other; /* pid: who runs. 0: the CPU's idle thread */
	uint16_t kind, depth;
	uint32_t text_bytes;
	uint32_t interrupts; /* ENTER: 1: in an interrupt's handler; 0: not, or not known */
};

/* The text is NUL-terminated, and lives until the next record. */
struct graph_reader;

/* Does the file that begins so look like one of trace-cmd's? */
bool graph_dat_is_one(const void *data, size_t len);

/* Read a trace.dat, whose descriptor can seek. NULL: *err is set. */
struct graph_reader *graph_dat_open(int fd, const char *path, struct error *err);
void graph_reader_free(struct graph_reader *r);

/* 1; 0: there are no more; -1: *err is set. */
int graph_reader_next(struct graph_reader *r, struct graph_record *ret, const char **ret_text, struct error *err);

/* Append a record, with bytes of any value as its text; none if these are more than GRAPH_TEXT_MAX. */
void graph_record_put(struct buf *out, const struct graph_record *record, const void *bytes, size_t n);

/* For who reads a file in the process apart: where records go. */
struct graph_writer {
	int fd;
	struct buf out;
	int failed; /* errno of the first write that failed: nothing more is written; 0: none has */
};

void graph_writer_put(struct graph_writer *w, const struct graph_record *record, const char *text);
/* The same of bytes of any value, as graph_record_put() does. */
void graph_writer_put_bytes(struct graph_writer *w, const struct graph_record *record, const void *bytes, size_t n);
/* What is still kept. */
void graph_writer_flush(struct graph_writer *w);

/* Records that are in a file already. The descriptor is taken. */
struct graph_reader *graph_reader_of(int fd, const char *path);

/* Start it: `read` is called in the process apart, and puts GRAPH_END or GRAPH_FAILED last. */
struct graph_reader *graph_reader_start(void (*read)(struct graph_writer *w, int fd), int fd, const char *path,
					struct error *err);
/* The same of a file, from its begin on. `what`: for the message, if it is none that can seek. */
struct graph_reader *graph_reader_start_file(void (*read)(struct graph_writer *w, int fd), int fd, const char *path,
					     const char *what, struct error *err);

#endif
