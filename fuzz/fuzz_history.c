/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A history as TRACE.history keeps it, of a trace of one vCPU and two tasks, and what is made of it. */
#include "fuzz.h"

#include <unistd.h>

#include "analysis/history/history_file.h"
#include "analysis/history/why.h"
#include "trace/task_records.h"
#include "trace/writer.h"

enum { TASK = 0x1000 };

static void put_tasks(struct writer *w)
{
	struct chunk_header h = { .type = CHUNK_TASKS };
	struct buf tasks = { 0 };

	for (int pid = 1; pid < 3; pid++)
		task_record_put(&tasks, &(struct task_record){
			.change = TASK_NEW, .ns = (uint64_t)pid * 10, .insns = 5, .task = TASK * (uint64_t)pid,
			.maker = pid == 2 ? TASK : 0,
			.pid = pid, .tgid = pid, .ppid = pid - 1, .comm = "task", .exe = "",
		});
	must(writer_put(w, &h, &tasks, 1) == 0);
	buf_free(&tasks);
}

static struct reader *open_trace(char *path)
{
	struct chunk_header meta = { .type = CHUNK_META }, tail = { .type = CHUNK_END };
	struct buf text = { 0 };
	struct reader *r;
	struct writer w;
	struct error err;
	int fd = mkstemp(path);

	must(fd >= 0 && writer_init(&w, fd) == 0);
	buf_printf(&text, "vcpus=1\n");
	must(writer_put(&w, &meta, &text, 1) == 0);
	put_tasks(&w);
	must(writer_put(&w, &tail, &text, 1) == 0);
	writer_deinit(&w);
	buf_free(&text);
	close(fd);
	must(reader_open(path, &r, &err) == 0);
	return r;
}

/* Whatever the history says, its chains tile the time. */
static void use(const struct history *h, const struct names *names, const struct threads *threads)
{
	struct milestone m;
	struct buf again = { 0 };

	for (uint32_t t = 0; t < h->n_threads; t++) {
		uint64_t at = 3, sum = 0;
		struct why why;

		m = (struct milestone){ .thread = t, .ns = h->end_ns > at ? h->end_ns : at };
		why_make(h, names, threads, at, &m, &why);
		for (size_t i = 0; i < why.n_links; at = why.links[i++].end_ns)
			must(why.links[i].start_ns == at && why.links[i].end_ns > at);
		must(at == m.ns);
		for (size_t i = 0; i < why.n_causes; i++)
			sum += why.causes[i].ns;
		must(sum == m.ns - 3);
		why_deinit(&why);
	}
	milestone_default(h, names, threads, &(struct meta){ 0 }, &SPAN_ALL, &m);
	milestone_find(h, names, threads, "name", &SPAN_ALL, &m);
	milestone_at(h, threads, h->end_ns / 2, &m);
	history_encode(h, &again);
	buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct cursor in = cursor_over(g.data, size);
	char path[] = "/tmp/fuzz-history-XXXXXX";
	struct reader *r = open_trace(path);
	struct threads threads;
	struct history history;
	struct names names;
	struct error err;

	must(names_init(&names, r, &err) == 0);
	threads_init(&threads, r);
	if (history_decode(&in, &(struct session){ .reader = r, .names = &names, .threads = &threads }, &history,
			   &err) == 0)
		use(&history, &names, &threads);
	history_deinit(&history);
	threads_deinit(&threads);
	names_deinit(&names);
	reader_free(r);
	unlink(path);
	guarded_free(&g);
	return 0;
}
