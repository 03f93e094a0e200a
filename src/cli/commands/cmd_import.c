/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/kfi/symbol_map_arg.h"
#include "cli/print/output_file.h"
#include "cli/print/quantity.h"
#include "cli/print/trace_output.h"
#include "import/import.h"
#include "import/merge.h"

enum { QUICK_LEVEL = 1 };

/* A file of another tool's. */
struct log_input {
	int fd;
	const char *path;
	const struct symbol_map *map;
	struct imported *ret;
};

static int fill_of_log(void *context, const struct builder_sink *sink, struct error *err)
{
	const struct log_input *in = context;

	return import_log(in->fd, in->path, in->map, sink, in->ret, err);
}

static int write_log(const struct args *args, struct log_input *in, struct error *err)
{
	struct symbol_map map = { 0 };
	int r = 0;

	if (arg(args, "map")) {
		r = symbol_map_open(arg(args, "map"), &map, err);
		in->map = &map;
	}
	if (r == 0)
		r = trace_output_write(arg(args, "output"), arg(args, "force"), QUICK_LEVEL, fill_of_log, in, err);
	if (in->map)
		symbol_map_deinit(&map);
	return r;
}

/* A kernel's trace, and programs'. */
struct parts {
	struct trace_arg list[OPERANDS_MAX];
	const struct session *sessions[OPERANDS_MAX];
	size_t count;
	const char *output;
	struct graph_trace_counts *ret;
};

static int open_parts(const struct args *args, struct parts *p, struct error *err)
{
	size_t kernels = 0;

	for (; p->count < args->n_operands; p->count++) {
		struct trace_arg *t = &p->list[p->count];

		if (open_trace(args->operands[p->count], t, err) < 0)
			return -1;
		p->sessions[p->count] = &t->session;
		if (meta_get(&t->reader->meta, MERGE_KERNEL)) {
			kernels++;
		} else if (!meta_get(&t->reader->meta, MERGE_PROGRAM)) {
			p->count++;
			return error_set(err,
					 "%s: its clock is none that others have: 'upto host record' and programs with libupto have the same",
					 t->reader->path);
		}
	}
	return kernels == 1 ? 0
			    : error_set(err, "expected one trace of 'upto host record', and programs': here are %zu of the first",
					kernels);
}

static int fill_of_parts(void *context, const struct builder_sink *sink, struct error *err)
{
	const struct parts *p = context;

	return merge_write(p->sessions, p->count, p->output, sink, p->ret, err);
}

static int write_merged(const struct args *args, struct imported *ret, struct error *err)
{
	struct parts *p = xcalloc(1, sizeof *p);
	int r = open_parts(args, p, err);

	ret->format = IMPORT_GRAPH;
	p->ret = &ret->graph;
	p->output = arg(args, "output");
	if (r == 0)
		r = trace_output_write(p->output, arg(args, "force"), QUICK_LEVEL, fill_of_parts, p, err);
	for (size_t i = 0; i < p->count; i++)
		trace_arg_close(&p->list[i]);
	free(p);
	return r;
}

static void put_amount_of(struct buf *out, uint64_t n, const char *what)
{
	put_amount(out, n, false);
	buf_printf(out, " %s", what);
}

static void put_if_any(struct buf *out, uint64_t n, const char *what)
{
	if (!n)
		return;
	buf_printf(out, ", ");
	put_amount_of(out, n, what);
}

static void put_calls_said(struct buf *out, const struct calls_trace_counts *c)
{
	put_amount_of(out, c->calls, "calls of ");
	put_amount_of(out, c->threads, c->threads == 1 ? "thread" : "threads");
	put_if_any(out, c->left, "left without an end of their own");
	put_if_any(out, c->ends_only, "ends of calls that began before");
	put_if_any(out, c->lost, "events lost");
	put_if_any(out, c->nameless, "functions without names");
	if (c->why_cut)
		buf_printf(out, "; %s", c->why_cut);
}

static void put_graph_said(struct buf *out, const struct graph_trace_counts *c)
{
	put_amount_of(out, c->calls, "calls of ");
	put_amount_of(out, c->threads, c->threads == 1 ? "thread" : "threads");
	if (c->by_ends)
		buf_printf(out, ", by their ends");
	put_if_any(out, c->ends_only, "ends of calls that began before");
	put_if_any(out, c->mended, "calls whose ends are not there");
	if (c->gaps) {
		put_if_any(out, c->gaps, c->gaps == 1 ? "gap with " : "gaps with ");
		put_amount_of(out, c->lost, "events lost");
	}
}

static void say(const struct imported *i, const char *path)
{
	struct buf line = { 0 };

	buf_printf(&line, "%s: ", path);
	if (i->format == IMPORT_BLOCKS) {
		put_amount_of(&line, i->blocks.blocks, "blocks of ");
		put_amount_of(&line, i->blocks.functions, "functions");
	} else if (i->format == IMPORT_CALLS) {
		put_calls_said(&line, &i->calls);
	} else if (i->format == IMPORT_GRAPH) {
		put_graph_said(&line, &i->graph);
	} else {
		put_amount_of(&line, i->kfi.calls, "calls");
		if (i->kfi.no_exit) {
			buf_printf(&line, ", ");
			put_amount_of(&line, i->kfi.no_exit, "without an exit");
		}
		if (i->kfi.shortened) {
			buf_printf(&line, ", ");
			put_amount_of(&line, i->kfi.shortened, "cut short where others overlap them");
		}
	}
	buf_put_u8(&line, 0);
	puts((char *)line.data);
	buf_free(&line);
}

static int read_log(const struct args *args, struct imported *ret, struct error *err)
{
	struct log_input in = { .path = args->operands[0], .ret = ret };
	int r;

	in.fd = strcmp(in.path, "-") ? open(in.path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (in.fd < 0)
		return error_set(err, "%s: %s", in.path, strerror(errno));
	r = write_log(args, &in, err);
	if (in.fd != STDIN_FILENO)
		close(in.fd);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct imported imported;
	const char *log = args->n_operands == 1 ? args->operands[0] : NULL;

	if (!arg(args, "output")) {
		error_set(err, "-o is missing: where is the trace to go?");
		return EXIT_USAGE;
	}
	if (!log && arg(args, "map")) {
		error_set(err, "--map: is for one log, or memory");
		return EXIT_USAGE;
	}
	if (output_file_check(arg(args, "output"), OUTPUT_TRACE, arg(args, "force"), log, err) < 0 ||
	    (log ? read_log(args, &imported, err) : write_merged(args, &imported, err)) < 0)
		return EXIT_FAILED;
	say(&imported, arg(args, "output"));
	return EXIT_OK;
}

static const struct option options[] = {
	{ 'o', "output", "TRACE", "the trace" },
	{ 'm', "map", "FILE", "names of the functions whose addresses a log of KFI, or memory, has: a System.map, nm's output, a trace" },
	FORCE_OPTION("file"),
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_import = {
	.name = "import",
	.operands = "LOG | KERNEL PROGRAM…",
	.summary = "make a trace of a trace.dat, of a log of KFI or KFT, of a text trace",
	.description =
		"Reads what another tool recorded, and writes a trace that all commands read. Which format it is shows "
		"by its content:\n"
		"- a log of Kernel Function Instrumentation (KFI) or Kernel Function Trace (KFT), resolved by addr2sym or not: "
		"its calls, in each other by thread, time and caller; a call from elsewhere than the one that is open has a thread of its own, of the same PID, "
		"and interrupts lie in what they cut into. Time outside of calls is that of [not logged]. info shows what the log's header said.\n"
		"- a text trace, a line a block of instructions: the time in microseconds, then 'FUNCTION in section SECTION', "
		"'FUNCTION + OFFSET in section SECTION', or an address. The time up to the next line is that function's.\n"
		"- a trace.dat of 'trace-cmd record -p function_graph', on any CPU that trace-cmd runs on: calls of each thread on the CPU that it ran on, losses as gaps; "
		"with -e sched, who runs and who woke whom (ps, waits); with -e printk, and trace_marker, lines of the log. Where only ends were recorded "
		"(tracing_thresh), calls begin where these say. What was called while nothing was traced is [not traced].\n"
		"- the text of 'trace' or 'trace_pipe' of function_graph, with the options funcgraph-abstime and funcgraph-tail (and funcgraph-proc): to the microsecond.\n"
		"- the text of 'perf script --itrace=cr -F +flags,+addr' of what Intel PT traced (--itrace=bcr: jumps to other functions, too), or of its "
		"--call-ret-trace, which has names only: calls of each thread, to the nanosecond with --ns. What was not traced is a call of [syscall], [interrupt], "
		"[guest] or [untraced]; where the decoder lost its way is a gap. Without jumps, what a function goes on to by one is that function's.\n"
		"- a folder that 'uftrace record' wrote, without arguments (-A, -R): each thread on a CPU of its own.\n"
		"- what a program with libupto wrote (upto-exec(1)), which commands also read as it is: the trace has its functions' names, and is smaller.\n"
		"- a dump of memory, of the buffer alone or of all there is, of a machine whose functions were instrumented (libupto/upto_instrument.h): also of one "
		"that hangs. It may be of the other order of bytes, and of 32 bits.\n"
		"With several, KERNEL is a trace of 'upto host record', and PROGRAM what a program with libupto wrote meanwhile: one trace of both, in which each "
		"thread has the kernel's calls above its own, which have the program's name behind theirs.\n"
		"LOG can be - for standard input, but for a trace.dat. What a format does not have (instructions; stacks; …) is not in the trace "
		"either: commands that need it say so, and times take the place of instructions.\n",
	.examples = "  upto import boot.lst -o boot.upto\n      a log of KFI\n"
		    "  trace-cmd record -p function_graph -e sched -e irq -e raw_syscalls sleep 1\n  upto import trace.dat -o sleep.upto\n      what a kernel on hardware did\n"
		    "  upto host record -o kernel.upto -F 'vfs_*' -- upto exec -q -o app.upto -- ./app\n  upto import kernel.upto app.upto -o both.upto\n      a program, and the kernel under it\n"
		    "  upto import -m System.map memory.bin -o board.upto\n      what a board was at, out of its memory\n"
		    "  zcat trace.txt.gz | upto import - -o trace.upto\n      a text trace that is packed\n",
	.options = options,
	.min_operands = 1,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
