/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/search.h"
#include "shapes.h"

#define INDEX_MAGIC "\x89uptoidx"

enum {
	SPACING_NS = 100000000,  /* guest time between entries, at least */
	SPACING_EVENTS = 1 << 20, /* bytes of the trace between entries, about */
	ENTRIES_MAX = 1 << 20,
	TABLE_MAX = 1 << 30, CHECKPOINT_MAX = 1 << 30,
	LEVEL = 1,
};

/* The file's header. Behind it come the checkpoints, then the table of entries. */
struct index_header {
	char magic[8];
	uint32_t version;
	uint32_t table_stored, table_unpacked;
	uint32_t crc;          /* of the header of the trace's last chunk */
	uint64_t trace_size;
	uint64_t table_offset;
};

static uint32_t fingerprint(const struct reader *r)
{
	return r->n_chunks ? crc32_of(&r->chunks[r->n_chunks - 1].header, sizeof(struct chunk_header)) : 0;
}

static char *path_of(const struct reader *r)
{
	return xasprintf("%s.index", r->path);
}

/* State while the trace is replayed to make the index. */
struct making {
	int fd;
	uint64_t offset;
	struct index_entry *entries;
	size_t count, cap;
	uint8_t *entered;      /* marks by function: entered since the last entry */
	size_t n_functions;
	const uint64_t *times; /* times of the checkpoints */
	size_t n_times, next;
	const struct index_watch *watch; /* NULL: none */
	ZSTD_CCtx *zstd;
	struct buf packed;
	int failed;
};

static void put_packed(struct making *m, const struct buf *data, uint64_t *ret_offset, uint32_t *ret_stored)
{
	size_t n;
	int r;

	m->packed.len = 0;
	buf_reserve(&m->packed, ZSTD_compressBound(data->len));
	ZSTD_CCtx_setParameter(m->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(m->zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(m->zstd, m->packed.data, m->packed.cap, data->data, data->len);
	r = ZSTD_isError(n) ? -EIO : write_all(m->fd, m->packed.data, n);
	if (r < 0)
		m->failed = r;
	*ret_offset = m->offset;
	*ret_stored = (uint32_t)n;
	m->offset += n;
}

static void close_entry(struct making *m)
{
	struct index_entry *e = m->count ? &m->entries[m->count - 1] : NULL;
	size_t n = 0;

	if (!e)
		return;
	for (size_t i = 0; i < m->n_functions; i++)
		n += m->entered[i];
	e->functions = xcalloc(n, sizeof *e->functions);
	for (size_t i = 0; i < m->n_functions; i++)
		if (m->entered[i])
			e->functions[e->n_functions++] = (uint32_t)i;
	memset(m->entered, 0, m->n_functions);
}

static void due(void *state, struct stacks *s)
{
	struct making *m = state;
	struct index_entry *e;
	struct buf stacks = { 0 }, data = { 0 };

	close_entry(m);
	m->entries = array_grow(m->entries, m->count, &m->cap, sizeof *m->entries);
	e = &m->entries[m->count++];
	*e = (struct index_entry){ .ns = s->due_ns };
	stacks_save(s, &stacks);
	if (m->watch)
		m->watch->entry(m->watch->context, &(struct checkpoint){
			.ns = e->ns, .data = stacks.data, .len = stacks.len,
		});
	buf_put_varint(&data, stacks.len);
	buf_put(&data, stacks.data, stacks.len);
	callees_save(s, &data);
	e->unpacked = (uint32_t)data.len;
	put_packed(m, &data, &e->offset, &e->stored);
	buf_free(&stacks);
	buf_free(&data);
	while (m->next < m->n_times && m->times[m->next] <= s->ns)
		m->next++;
	s->due_ns = m->next < m->n_times && !m->failed ? m->times[m->next] : UINT64_MAX;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct making *m = state;

	(void)s;
	m->entered[frame->function] |= frame->at_start;
	callees_enter(stack);
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	(void)state;
	(void)s;
	callees_leave(stack, frame);
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	const struct shape_frame *end = p->shape->frames + p->shape->count;
	struct making *m = state;

	(void)s;
	for (const struct shape_frame *f = p->shape->frames; f < end; f++)
		m->entered[f->function] |= f->at_start & !f->own;
	callees_phrase(stack, &p->spent);
}

static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	(void)state;
	(void)s;
	callees_forget(stack, n);
}

/* A time at which an entry may begin. */
struct moment {
	uint64_t ns;
	bool unit;    /* a unit of chunks begins: nothing of this vCPU before it has to be decoded */
};

static int by_time(const void *va, const void *vb)
{
	const struct moment *a = va, *b = vb;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/*
 * Chunk starts are cheap to resume at. The moment is 1 ns later than the chunk's start, since the clock that ends the
 * chunk before has the same time. A chunk with many events gets moments within it, too.
 */
static struct moment *all_moments(const struct reader *r, size_t *ret_n)
{
	struct moment *list = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;
		uint64_t parts = h->type == CHUNK_EVENTS ? 1 + h->events / SPACING_EVENTS : 0;

		for (uint64_t k = 0; k < parts && h->last_ns >= h->first_ns; k++) {
			list = array_grow(list, n, &cap, sizeof *list);
			list[n++] = (struct moment){
				.ns = h->first_ns + (k ? (h->last_ns - h->first_ns) / parts * k : h->first_ns > 0),
				.unit = k == 0 && !(h->flags & CHUNK_CONTINUES),
			};
		}
	}
	if (n)
		qsort(list, n, sizeof *list, by_time);
	*ret_n = n;
	return list;
}

/* Drop moments that are near each other. Of two, the begin of a unit is kept, or else the first. */
static uint64_t *choose_times(const struct reader *r, size_t *ret_n)
{
	uint64_t spacing = SPACING_NS / (1 + reader_vcpus(r));
	size_t n, kept = 0;
	struct moment *list = all_moments(r, &n);
	uint64_t *times = xcalloc(n, sizeof *times);

	for (size_t i = 0; i < n && kept < ENTRIES_MAX; i++) {
		if (!kept || list[i].ns - list[kept - 1].ns >= spacing)
			list[kept++] = list[i];
		else if (list[i].unit && kept > 1 && !list[kept - 1].unit)
			list[kept - 1] = list[i];
	}
	for (size_t i = 0; i < kept; i++)
		times[i] = list[i].ns;
	free(list);
	*ret_n = kept;
	return times;
}

static void put_table(const struct making *m, struct buf *out)
{
	buf_put_varint(out, m->count);
	for (size_t i = 0; i < m->count; i++) {
		const struct index_entry *e = &m->entries[i];
		uint32_t before = 0;

		buf_put_varint(out, e->ns);
		buf_put_varint(out, e->offset);
		buf_put_varint(out, e->stored);
		buf_put_varint(out, e->unpacked);
		buf_put_varint(out, e->n_functions);
		for (size_t k = 0; k < e->n_functions; k++) {
			buf_put_varint(out, e->functions[k] - before);
			before = e->functions[k];
		}
	}
}

static int replay(struct making *m, const struct session *session, struct error *err)
{
	static const struct stacks_visitor visitor = {
		.enter = enter, .leave = leave, .forget = forget, .due = due, .phrase = phrase,
	};
	struct session all = *session;
	struct stacks stacks;
	int result;

	all.fold = NULL;
	result = stacks_replay(&stacks, &all, NULL, UINT64_MAX, &visitor, m, err);
	callees_free(&stacks);
	stacks_deinit(&stacks);
	close_entry(m);
	return result;
}

static int write_index(struct making *m, const struct reader *r, const char *path, struct error *err)
{
	struct index_header h = {
		.magic = INDEX_MAGIC, .version = INDEX_VERSION, .crc = fingerprint(r), .trace_size = r->size,
	};
	struct buf table = { 0 };

	put_table(m, &table);
	h.table_unpacked = (uint32_t)table.len;
	put_packed(m, &table, &h.table_offset, &h.table_stored);
	buf_free(&table);
	if (!m->failed && lseek(m->fd, 0, SEEK_SET) < 0)
		m->failed = -errno;
	if (!m->failed)
		m->failed = write_all(m->fd, &h, sizeof h);
	return m->failed ? error_set(err, "%s: %s", path, strerror(-m->failed)) : 0;
}

/* Open a file that nobody else writes to. A file that an earlier run left there is used. Returns -1 with errno. */
static int open_part(const char *part)
{
	int fd = open(part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644), saved;
	struct stat ours, there;

	if (fd < 0)
		return -1;
	errno = EEXIST;
	/* before this process had the lock, the file may have become the index, or been removed */
	if (fstat(fd, &ours) == 0 && S_ISREG(ours.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    stat(part, &there) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
	    ftruncate(fd, 0) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int index_make(const struct session *session, const struct index_watch *watch, struct error *err)
{
	cleanup_free char *path = path_of(session->reader), *part = xasprintf("%s.part", path);
	struct making m = {
		.offset = sizeof(struct index_header), .n_functions = names_count(session->names), .watch = watch,
	};
	struct stat st;
	uint64_t *times;
	int result = -1;

	if (!session->names->thunks)
		return error_set(err, "%s: is of stacks without thunks only", path);
	/* check errors now, not only at the end when the file is renamed */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(err, "%s: not a regular file", path);
	m.fd = open_part(part);
	if (m.fd < 0 || lseek(m.fd, (off_t)m.offset, SEEK_SET) < 0) {
		if (m.fd >= 0)
			close(m.fd);
		return error_set(err, "%s: %s", part, strerror(errno));
	}
	m.times = times = choose_times(session->reader, &m.n_times);
	m.entered = xcalloc(m.n_functions, 1);
	m.zstd = ZSTD_createCCtx();
	if (replay(&m, session, err) == 0 && write_index(&m, session->reader, path, err) == 0 &&
	    rename(part, path) == 0)
		result = 0;
	else
		unlink(part);
	close(m.fd);
	for (size_t i = 0; i < m.count; i++)
		free(m.entries[i].functions);
	free(m.entries);
	free(m.entered);
	free(times);
	ZSTD_freeCCtx(m.zstd);
	buf_free(&m.packed);
	return result;
}

/* Read and unpack a piece of the file. */
static int get_packed(struct index *x, uint64_t offset, uint32_t stored, uint32_t unpacked)
{
	x->packed.len = x->data.len = 0;
	buf_reserve(&x->packed, stored);
	buf_reserve(&x->data, (size_t)unpacked + 1);
	if (pread(x->fd, x->packed.data, stored, (off_t)offset) != (ssize_t)stored ||
	    ZSTD_decompressDCtx(x->zstd, x->data.data, x->data.cap, x->packed.data, stored) != unpacked)
		return -1;
	x->data.len = unpacked;
	return 0;
}

static int get_entry(struct cursor *in, const struct names *names, struct index_entry *e)
{
	uint64_t n, function = 0;

	e->ns = cursor_varint(in);
	e->offset = cursor_varint(in);
	e->stored = (uint32_t)cursor_varint(in);
	e->unpacked = (uint32_t)cursor_varint(in);
	n = cursor_varint(in);
	if (in->bad || n > cursor_left(in) || e->stored > CHECKPOINT_MAX || e->unpacked > CHECKPOINT_MAX)
		return -1;
	e->functions = xcalloc(n, sizeof *e->functions);
	for (; e->n_functions < n; e->n_functions++) {
		function += cursor_varint(in);
		if (in->bad || function >= names_count(names))
			return -1;
		e->functions[e->n_functions] = (uint32_t)function;
	}
	return 0;
}

static int get_table(struct index *x, const struct names *names)
{
	struct cursor in = cursor_over(x->data.data, x->data.len);
	uint64_t n = cursor_varint(&in);

	if (!n || n > ENTRIES_MAX || n > cursor_left(&in))
		return -1;
	x->entries = xcalloc(n, sizeof *x->entries);
	for (; x->count < n; x->count++) {
		struct index_entry *e = &x->entries[x->count];

		if (get_entry(&in, names, e) < 0 || (x->count && e->ns < e[-1].ns)) {
			x->count++; /* with what it has */
			return -1;
		}
	}
	return 0;
}

static int load(struct index *x, const struct reader *r, const struct names *names)
{
	struct index_header h;

	if (pread(x->fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.magic, INDEX_MAGIC, sizeof h.magic) ||
	    h.version != INDEX_VERSION || h.trace_size != r->size || h.crc != fingerprint(r) ||
	    h.table_stored > TABLE_MAX || h.table_unpacked > TABLE_MAX)
		return -1;
	if (get_packed(x, h.table_offset, h.table_stored, h.table_unpacked) < 0)
		return -1;
	return get_table(x, names);
}

struct index *index_open(const struct reader *r, const struct names *names)
{
	cleanup_free char *path = path_of(r);
	struct index *x;

	if (!names->thunks)
		return NULL;
	x = xcalloc(1, sizeof *x);

	x->zstd = ZSTD_createDCtx();
	x->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (x->fd >= 0 && load(x, r, names) == 0)
		return x;
	index_free(x);
	return NULL;
}

void index_free(struct index *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->count; i++)
		free(x->entries[i].functions);
	free(x->entries);
	buf_free(&x->packed);
	buf_free(&x->data);
	ZSTD_freeDCtx(x->zstd);
	if (x->fd >= 0)
		close(x->fd);
	free(x);
}

size_t index_at(const struct index *x, uint64_t ns)
{
	size_t low = first_not(i, 0, x->count, x->entries[i].ns <= ns);

	return low ? low - 1 : 0;
}

bool index_checkpoint(struct index *x, size_t entry, struct checkpoint *ret)
{
	const struct index_entry *e = &x->entries[entry];

	if (get_packed(x, e->offset, e->stored, e->unpacked) < 0)
		return false;
	x->callees = cursor_over(x->data.data, x->data.len);
	*ret = (struct checkpoint){ .ns = e->ns, .len = cursor_varint(&x->callees) };
	ret->data = cursor_take(&x->callees, ret->len);
	return ret->data != NULL;
}

bool index_callees(const struct index *x, size_t stack, size_t depth, struct callees *ret)
{
	return callees_find(x->callees, stack, depth, ret);
}

bool index_has(const struct index *x, size_t entry, const bool *functions)
{
	for (size_t i = 0; i < x->entries[entry].n_functions; i++)
		if (functions[x->entries[entry].functions[i]])
			return true;
	return false;
}
