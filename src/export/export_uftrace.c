/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder as uftrace records it (its doc/ and utils/data-file.c): a file for each thread with 16 bytes for each begin
 * and end of a call, and one with names. All functions are in one file that is mapped, where each has an address of its
 * own, since theirs are different ones in each process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "export.h"
#include "folder_file.h"
#include "plain_text.h"

enum { BASE = 0x400000, STEP = 16, DEEPEST = 1000 /* uftrace keeps depths in ten bits */ };
enum { ENTRY = 0, EXIT = 1, MAGIC = 5 };
enum { FLUSH = 1 << 16 };
/* Features and kinds of information in its header. */
enum { TASK_SESSION = 2, SYM_REL_ADDR = 32, MAX_STACK = 64 };
enum { EXE_NAME = 1, CMDLINE = 8, TASKINFO = 128 };

static const char session_id[] = "0123456789abcdef";
static const char program[] = "guest";

struct uftrace {
	const struct session *session;
	struct folder *folder;
	struct buf *threads; /* what is not written yet of each */
	uint32_t *ids;       /* 0: nothing came of it yet */
	size_t cap, cap_ids;
	bool *called;     /* by function */
	struct buf tasks; /* task.txt */
	struct buf tids;  /* "1,2,3" */
	size_t n_tids;
	uint32_t first; /* the first thread's */
};

static void put_u16(struct buf *out, uint16_t v)
{
	buf_put_u8(out, v & 0xff);
	buf_put_u8(out, v >> 8);
}

static void put_u64(struct buf *out, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		buf_put_u8(out, (uint8_t)(v >> 8 * i));
}

static void put_time(struct buf *out, uint64_t ns)
{
	buf_printf(out, "timestamp=%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static int write_thread(struct uftrace *u, uint32_t thread, struct error *err)
{
	char name[32];

	snprintf(name, sizeof name, "%" PRIu32 ".dat", u->ids[thread]);
	return folder_file_append(u->folder, name, &u->threads[thread], err);
}

/* The first thread begins the session; for uftrace, others are its children, since names come with a session. */
static void meet(struct uftrace *u, struct call_stream *stream, const struct stream_item *item)
{
	const struct stream_thread *t = call_stream_thread(stream, item->thread);
	uint32_t id = u->ids[item->thread] = t->id ? t->id : STREAM_OWN_IDS;

	if (!u->n_tids) {
		u->first = id;
		buf_printf(&u->tasks, "SESS timestamp=0.000000000 pid=%" PRIu32 " sid=%s exename=\"/%s\"\n", id,
			   session_id, program);
		buf_printf(&u->tasks, "TASK timestamp=0.000000000 tid=%" PRIu32 " pid=%" PRIu32 "\n", id, id);
	} else {
		buf_printf(&u->tasks, "FORK ");
		put_time(&u->tasks, item->ns);
		buf_printf(&u->tasks, " pid=%" PRIu32 " ppid=%" PRIu32 "\n", id, u->first);
	}
	buf_printf(&u->tids, "%s%" PRIu32, u->n_tids++ ? "," : "", id);
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct uftrace *u = state;
	struct buf *out;

	if (item->kind != STREAM_BEGIN && item->kind != STREAM_END)
		return 0;
	u->threads = array_reach(u->threads, item->thread, &u->cap, sizeof *u->threads);
	u->ids = array_reach(u->ids, item->thread, &u->cap_ids, sizeof *u->ids);
	if (!u->ids[item->thread])
		meet(u, stream, item);
	u->called[item->function] = true;
	out = &u->threads[item->thread];
	put_u64(out, item->ns);
	put_u64(out, (uint64_t)(BASE + (uint64_t)item->function * STEP) << 16 | (uint64_t)item->depth << 6 |
			     MAGIC << 3 | (item->kind == STREAM_BEGIN ? ENTRY : EXIT));
	return out->len < FLUSH ? 0 : write_thread(u, item->thread, err);
}

static int write_info(struct uftrace *u, const char *title, struct error *err)
{
	struct buf out = { 0 };
	int r;

	buf_put(&out, "Ftrace!", 8);
	put_u16(&out, 4); /* version, as 32 bits */
	put_u16(&out, 0);
	put_u16(&out, 40);
	buf_put_u8(&out, 1); /* little-endian */
	buf_put_u8(&out, 2); /* 64 bits */
	put_u64(&out, TASK_SESSION | SYM_REL_ADDR | MAX_STACK);
	put_u64(&out, EXE_NAME | CMDLINE | TASKINFO);
	put_u16(&out, DEEPEST);
	while (out.len < 40)
		buf_put_u8(&out, 0);
	buf_printf(&out, "exename:/%s\ncmdline:upto export ", program);
	plain_word_put(&out, title);
	buf_printf(&out, "\ntaskinfo:lines=2\ntaskinfo:nr_tid=%zu\ntaskinfo:tids=%.*s\n", u->n_tids, (int)u->tids.len,
		   (char *)u->tids.data);
	r = folder_file_append(u->folder, "info", &out, err);
	buf_free(&out);
	return r;
}

static int write_map(struct uftrace *u, uint64_t end, struct error *err)
{
	struct buf out = { 0 };
	char name[64];
	int r;

	snprintf(name, sizeof name, "sid-%s.map", session_id);
	buf_printf(&out, "%08x-%08" PRIx64 " r-xp 00000000 00:00 0                          /%s\n", BASE,
		   (end + 0xfff) & ~UINT64_C(0xfff), program);
	buf_printf(&out, "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n");
	r = folder_file_append(u->folder, name, &out, err);
	buf_free(&out);
	return r;
}

static int write_names(struct uftrace *u, struct error *err)
{
	struct buf out = { 0 };
	uint32_t n = (uint32_t)names_count(u->session->names);
	char name[32];
	int r;

	snprintf(name, sizeof name, "%s.sym", program);
	for (uint32_t i = 0; i < n; i++) {
		if (!u->called[i])
			continue;
		buf_printf(&out, "%016" PRIx64 " T ", (uint64_t)i * STEP);
		plain_word_put(&out, names_function(u->session->names, i));
		buf_put_u8(&out, '\n');
	}
	buf_printf(&out, "%016" PRIx64 " ? __sym_end\n", (uint64_t)n * STEP);
	r = folder_file_append(u->folder, name, &out, err);
	buf_free(&out);
	return r;
}

static int write_rest(struct uftrace *u, const char *title, struct error *err)
{
	for (uint32_t i = 0; i < u->cap_ids; i++)
		if (u->ids[i] && write_thread(u, i, err) < 0)
			return -1;
	if (folder_file_append(u->folder, "task.txt", &u->tasks, err) < 0 || write_info(u, title, err) < 0 ||
	    write_names(u, err) < 0)
		return -1;
	return write_map(u, BASE + (names_count(u->session->names) + 1) * STEP, err);
}

static int put_folder(const struct session *session, const struct export_options *options, struct folder *folder,
		      struct error *err)
{
	struct uftrace u = {
		.session = session,
		.folder = folder,
		.called = xcalloc(names_count(session->names), sizeof *u.called),
	};
	const struct stream_listener to = { take, &u };
	struct stream_options part = options->part;
	int r;

	part.calls_only = true;
	if (!part.max_depth || part.max_depth > DEEPEST)
		part.max_depth = DEEPEST;
	r = call_stream_tell(session, &part, &to, options->left, err);
	if (r == 0)
		r = write_rest(&u, options->title, err);
	for (size_t i = 0; i < u.cap; i++)
		buf_free(&u.threads[i]);
	free(u.threads);
	free(u.ids);
	free(u.called);
	buf_free(&u.tasks);
	buf_free(&u.tids);
	return r;
}

const struct exporter export_uftrace = {
	.name = "uftrace",
	.help = "a folder for uftrace report, replay and tui",
	.kind = EXPORTS_STREAM,
	.call_bytes = 33,
	.put_folder = put_folder,
};
