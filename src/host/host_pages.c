/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <traceevent/kbuffer.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "host_tracing.h"
#include "import/graph_events.h"

enum { AT_ONCE = 1024, PAGE_MAX = 1 << 16, KALLSYMS_MAX = 256 << 20 };

struct cpu {
	struct host_pages *of;
	unsigned number;
	int in, out; /* trace_pipe_raw; what was taken */
	pthread_t thread;
	bool has_thread;
	int failed; /* errno */
};

struct host_pages {
	char *folder;
	struct cpu *cpus;
	size_t n_cpus;
	size_t page; /* bytes */
	const struct buf *tasks;
	_Atomic bool stops, is_full;
};

/*
 * All that is there now, but for more than so many pages: taking them away may be recorded itself. Returns how many it
 * were.
 */
static size_t take(struct cpu *c, size_t most)
{
	uint8_t page[PAGE_MAX];
	size_t i = 0;
	ssize_t n;

	for (; i < most && !c->failed && (n = read(c->in, page, c->of->page)) > 0; i++) {
		c->failed = -write_all(c->out, page, (size_t)n);
		if (c->failed)
			c->of->is_full = true;
	}
	return i;
}

/* While little comes, one looks less often: each look is recorded itself. */
static long next_pause(long pause, size_t pages)
{
	enum { FEW = 4, MANY = 32, SHORT = 2000000, LONG = 32000000 }; /* pages; ns */

	if (pages >= MANY)
		return SHORT;
	return pages <= FEW && pause < LONG ? pause * 2 : pause;
}

static void *take_in_thread(void *arg)
{
	struct timespec pause = { .tv_nsec = 4000000 };
	struct cpu *c = arg;

	pthread_setname_np(pthread_self(), HOST_READERS);
	/* what comes behind a gap on one CPU is of no use on the others */
	while (!c->of->stops && !c->of->is_full) {
		pause.tv_nsec = next_pause(pause.tv_nsec, take(c, AT_ONCE));
		nanosleep(&pause, NULL);
	}
	if (!c->of->is_full)
		take(c, SIZE_MAX);
	return NULL;
}

static int open_cpu(struct host_pages *p, unsigned number, struct error *err)
{
	cleanup_free char *path = xasprintf("%s/per_cpu/cpu%u/trace_pipe_raw", p->folder, number);
	struct cpu *c = &p->cpus[p->n_cpus];

	*c = (struct cpu){ .of = p, .number = number, .out = -1 };
	c->in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->in < 0)
		return errno == ENOENT ? 0 : error_set(err, "%s: %s", path, strerror(errno));
	p->n_cpus++;
	c->out = file_open_temporary();
	if (c->out < 0)
		return error_set(err, "a temporary file for what is recorded: %s", strerror(errno));
	return 0;
}

/* What a page has, its head included, as the kernel says; else a page of memory. */
static size_t page_size(const char *folder)
{
	cleanup_free char *path = xasprintf("%s/buffer_subbuf_size_kb", folder);
	struct buf text = { 0 };
	struct error ignored;
	size_t kb = 0;

	if (file_read(path, 64, &text, &ignored) == 0) {
		buf_put_u8(&text, 0);
		kb = strtoul((char *)text.data, NULL, 10);
	}
	buf_free(&text);
	return kb && kb <= PAGE_MAX >> 10 ? kb << 10 : (size_t)sysconf(_SC_PAGESIZE);
}

struct host_pages *host_pages_start(const char *folder, const struct buf *tasks, struct error *err)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct host_pages *p = xcalloc(1, sizeof *p);

	p->folder = xstrdup(folder);
	p->tasks = tasks;
	p->page = page_size(folder);
	p->cpus = xcalloc((size_t)n, sizeof *p->cpus);
	for (unsigned i = 0; i < n; i++)
		if (open_cpu(p, i, err) < 0) {
			host_pages_free(p);
			return NULL;
		}
	for (size_t i = 0; i < p->n_cpus; i++)
		p->cpus[i].has_thread = !pthread_create(&p->cpus[i].thread, NULL, take_in_thread, &p->cpus[i]);
	return p;
}

int host_pages_stop(struct host_pages *p, struct error *err)
{
	int r = 0;

	p->stops = true;
	for (size_t i = 0; i < p->n_cpus; i++) {
		struct cpu *c = &p->cpus[i];

		if (c->has_thread)
			pthread_join(c->thread, NULL);
		else if (c->in >= 0 && !p->is_full)
			take(c, SIZE_MAX);
		c->has_thread = false;
		/* while it is open, its instance cannot go */
		if (c->in >= 0)
			close(c->in);
		c->in = -1;
		if (c->failed)
			r = error_set(err,
				      "a temporary file for what is recorded (TMPDIR): %s: the recording ended there",
				      strerror(c->failed));
	}
	return r;
}

bool host_pages_are_full(const struct host_pages *p)
{
	return p->is_full;
}

void host_pages_free(struct host_pages *p)
{
	struct error ignored;

	host_pages_stop(p, &ignored);
	for (size_t i = 0; i < p->n_cpus; i++) {
		if (p->cpus[i].out >= 0)
			close(p->cpus[i].out);
	}
	free(p->cpus);
	free(p->folder);
	free(p);
}

/* In the process apart: the pages of a CPU, one event after the other. */
struct stream {
	const struct cpu *cpu;
	struct kbuffer *kbuffer;
	uint8_t page[PAGE_MAX];
	uint64_t at;            /* of the next page in the file */
	struct tep_record next; /* data NULL: there is none */
};

static bool load_page(struct stream *s)
{
	size_t size = s->cpu->of->page;

	if (file_transfer(s->cpu->out, false, s->page, size, s->at))
		return false;
	s->at += size;
	return kbuffer_load_subbuffer(s->kbuffer, s->page) == 0;
}

static void advance(struct stream *s)
{
	unsigned long long ts = 0;
	void *data = s->next.data ? kbuffer_next_event(s->kbuffer, &ts) : NULL;

	s->next.missed_events = 0;
	while (!data) {
		if (!load_page(s)) {
			s->next.data = NULL;
			return;
		}
		s->next.missed_events = kbuffer_missed_events(s->kbuffer);
		data = kbuffer_read_event(s->kbuffer, &ts);
	}
	s->next.data = data;
	s->next.ts = ts;
	s->next.size = s->next.record_size = kbuffer_event_size(s->kbuffer);
	s->next.cpu = (int)s->cpu->number;
}

static struct stream *earliest(struct stream *streams, size_t n)
{
	struct stream *first = NULL;

	for (size_t i = 0; i < n; i++)
		if (streams[i].next.data && (!first || streams[i].next.ts < first->next.ts))
			first = &streams[i];
	return first;
}

static void put_all(const struct host_pages *p, struct graph_events *events)
{
	struct stream *streams = xcalloc(p->n_cpus, sizeof *streams), *s;

	for (size_t i = 0; i < p->n_cpus; i++) {
		streams[i].cpu = &p->cpus[i];
		streams[i].kbuffer = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
		if (streams[i].kbuffer)
			advance(&streams[i]);
	}
	while ((s = earliest(streams, p->n_cpus))) {
		graph_events_take(events, &s->next, s->next.cpu);
		advance(s);
	}
}

static void parse_kallsyms(struct tep_handle *tep)
{
	struct buf text = { 0 };
	FILE *f = fopen("/proc/kallsyms", "re");
	char piece[4096];
	size_t n;

	while (f && text.len < KALLSYMS_MAX && (n = fread(piece, 1, sizeof piece, f)) > 0)
		buf_put(&text, piece, n);
	if (f)
		fclose(f);
	buf_put_u8(&text, 0);
	tep_parse_kallsyms(tep, (char *)text.data);
	buf_free(&text);
}

/* Names of those that the kernel has kept. */
static void parse_comms(const char *folder, struct tep_handle *tep)
{
	cleanup_free char *path = xasprintf("%s/saved_cmdlines", folder);
	FILE *f = fopen(path, "re");
	char line[256];
	int pid, at;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%d %n", &pid, &at) == 1) {
			line[strcspn(line, "\n")] = 0;
			tep_register_comm(tep, line + at, pid);
		}
	if (f)
		fclose(f);
}

static const struct host_pages *reading; /* the process apart has one */

static void read_pages(struct graph_writer *w, int fd)
{
	static const char *const systems[] = { "ftrace", "sched", "printk", "task", "raw_syscalls", "irq", NULL };
	struct graph_events events;
	struct tep_handle *tep = tracefs_local_events_system(NULL, systems);

	(void)fd;
	if (!tep) {
		graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_FAILED },
				 "tracefs' formats of events cannot be read");
		return;
	}
	tep_set_loglevel(TEP_LOG_NONE);
	parse_kallsyms(tep);
	parse_comms(tracefs_tracing_dir(), tep);
	graph_events_init(&events, tep, false, w);
	graph_events_put_comms(&events);
	buf_put(&w->out, reading->tasks->data, reading->tasks->len);
	graph_writer_flush(w);
	put_all(reading, &events);
	graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_END }, NULL);
}

struct graph_reader *host_pages_read(struct host_pages *p, struct error *err)
{
	reading = p;
	return graph_reader_start(read_pages, -1, p->folder, err);
}
