/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/decimal.h"

/* 0, or -1 when there are not n bytes there or they cannot be read. */
static int read_at(const struct reader *r, void *data, size_t n, uint64_t offset)
{
	char *p = data;

	while (n) {
		ssize_t got = pread(r->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

static int read_file_header(struct reader *r, struct error *err)
{
	enum { FIRST_WITH_CRC = 9 };
	struct file_header h;

	if (r->size < sizeof h)
		return error_set(err, "%s: %" PRIu64 " bytes: too short for a trace", r->path, r->size);
	if (read_at(r, &h, sizeof h, 0) < 0)
		return error_set(err, "%s: %s", r->path, strerror(errno));
	if (memcmp(h.magic, FORMAT_MAGIC, sizeof h.magic))
		return error_set(err, "%s: not a trace of upto", r->path);
	if (h.version < FORMAT_OLDEST || h.version > FORMAT_VERSION)
		return error_set(
			err,
			"%s: format version %u; this upto reads versions %d to %d: record anew, or read it with the "
			"upto that wrote it",
			r->path, h.version, FORMAT_OLDEST, FORMAT_VERSION);
	/* a version that was damaged may be one that is read */
	if (h.crc != (h.version < FIRST_WITH_CRC ? 0 : crc32_of(&h, offsetof(struct file_header, crc))))
		return error_set(err, "%s: the file's header is damaged at byte 8, where its version stands", r->path);
	r->version = h.version;
	return 0;
}

static const char *header_fault(const struct reader *r, const struct chunk_header *h, uint64_t offset)
{
	if (h->magic != CHUNK_MAGIC || h->crc != crc32_of(h, offsetof(struct chunk_header, crc)))
		return "a chunk header is damaged";
	if (h->number != r->next_number)
		return "a chunk is missing";
	if (h->unpacked > CHUNK_UNPACKED_MAX || h->stored > CHUNK_STORED_MAX || h->cpu >= CPUS_MAX)
		return "a chunk header is damaged";
	if (h->stored > r->size - offset - sizeof *h)
		return "cut short within a chunk";
	return NULL;
}

struct damage *reader_add_damage(struct reader *r, enum chunk_type type, uint64_t offset)
{
	struct damage *d;

	r->damages = array_grow(r->damages, r->n_damages, &r->damages_cap, sizeof *r->damages);
	d = &r->damages[r->n_damages++];
	*d = (struct damage){ .type = type, .chunks = 1, .offset = offset };
	return d;
}

/* Is it the header of a later chunk, which may be behind some that cannot be found? */
static bool is_later_header(struct reader *r, const struct chunk_header *h, uint64_t offset)
{
	uint64_t expected = r->next_number;
	bool later;

	if (h->magic != CHUNK_MAGIC || h->number < expected)
		return false;
	r->next_number = h->number;
	later = !header_fault(r, h, offset);
	r->next_number = expected;
	return later;
}

/* Find the next such header from an offset on. Returns its offset; 0: there is none. */
static uint64_t find_header(struct reader *r, uint64_t offset, struct chunk_header *ret)
{
	static const char magic[] = { 'C', 'H', 'N', 'K' };
	enum { BLOCK = 1 << 20 };
	uint8_t *block = xmalloc(BLOCK);
	uint64_t found = 0;

	while (!found && r->size - offset >= sizeof *ret) {
		size_t n = r->size - offset < BLOCK ? (size_t)(r->size - offset) : BLOCK;
		const uint8_t *p = block, *last = block + n - sizeof *ret;

		if (read_at(r, block, n, offset) < 0)
			break;
		while (!found && (p = memmem(p, (size_t)(last - p) + sizeof magic, magic, sizeof magic))) {
			memcpy(ret, p, sizeof *ret);
			if (is_later_header(r, ret, offset + (uint64_t)(p - block)))
				found = offset + (uint64_t)(p - block);
			if (p++ == last)
				break;
		}
		offset += (uint64_t)(last - block) + 1;
	}
	free(block);
	return found;
}

/* A header is damaged there: go on with the next chunk that can be found. False: there is none. */
static bool leave_hole(struct reader *r, struct chunk *c)
{
	uint64_t offset = c->offset, found = find_header(r, offset, &c->header);
	struct damage *hole;

	if (!found)
		return false;
	hole = reader_add_damage(r, DAMAGE_HOLE, offset);
	hole->chunks = c->header.number - r->next_number;
	hole->bytes = found - offset;
	r->next_number = c->header.number;
	r->sites_lost = true;
	c->offset = found;
	c->behind_hole = true;
	return true;
}

/* From where the whole chunks end so far; `beyond`: also what is behind a damaged header. */
static void walk(struct reader *r, bool beyond)
{
	uint64_t offset = r->cut_at;

	r->cut_why = NULL;
	while (offset < r->size && !r->ended) {
		struct chunk c = { .offset = offset };

		if (r->size - offset < sizeof c.header) {
			r->cut_why = "cut short within a chunk";
			break;
		}
		if (read_at(r, &c.header, sizeof c.header, offset) < 0) {
			r->cut_why = "cannot be read further";
			break;
		}
		r->cut_why = header_fault(r, &c.header, offset);
		if (r->cut_why && !(beyond && leave_hole(r, &c)))
			break;
		r->cut_why = NULL;
		r->next_number++;
		c.header.number = r->n_chunks;
		r->chunks = array_grow(r->chunks, r->n_chunks, &r->chunks_cap, sizeof *r->chunks);
		r->chunks[r->n_chunks++] = c;
		offset = c.offset + sizeof c.header + c.header.stored;
		r->ended = c.header.type == CHUNK_END;
		r->n_event_chunks += c.header.type == CHUNK_EVENTS;
	}
	if (r->ended && offset < r->size)
		r->cut_why = "something follows the end";
	r->cut_at = offset;
}

int reader_chunk(const struct reader *r, size_t i, ZSTD_DCtx *zstd, struct buf *packed, struct buf *out,
		 struct error *err)
{
	const struct chunk *c = &r->chunks[i];
	size_t n;

	packed->len = out->len = 0;
	buf_reserve(packed, c->header.stored);
	buf_reserve(out, c->header.unpacked + 1);
	if (read_at(r, packed->data, c->header.stored, c->offset + sizeof c->header) < 0)
		return error_set(err, "%s: chunk %zu at byte %" PRIu64 ": cannot be read", r->path, i, c->offset);
	packed->len = c->header.stored;
	n = ZSTD_decompressDCtx(zstd, out->data, out->cap, packed->data, packed->len);
	if (ZSTD_isError(n) || n != c->header.unpacked) {
		error_set(err, "%s: chunk %zu at byte %" PRIu64 " is damaged (%s); %s in it cannot be had", r->path, i,
			  c->offset, ZSTD_isError(n) ? ZSTD_getErrorName(n) : "wrong size",
			  c->header.type == CHUNK_EVENTS ? "the events" : "what is");
		err->damaged = true;
		return -1;
	}
	out->len = n;
	return 0;
}

int reader_chunks_since(const struct reader *r, size_t first, enum chunk_type type, reader_take *take, void *state,
			struct error *err)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct buf packed = { 0 }, data = { 0 };
	int result = 0;

	for (size_t i = first; i < r->n_chunks && result == 0; i++) {
		struct cursor in;

		if (r->chunks[i].header.type != type)
			continue;
		result = reader_chunk(r, i, zstd, &packed, &data, err);
		in = cursor_over(data.data, data.len);
		if (result == 0 && take(state, &in, err) < 0)
			result = error_prefix(err, "%s: chunk %zu at byte %" PRIu64, r->path, i, r->chunks[i].offset);
	}
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&data);
	return result;
}

int reader_chunks_of(const struct reader *r, enum chunk_type type, reader_take *take, void *state, struct error *err)
{
	return reader_chunks_since(r, 0, type, take, state, err);
}

bool reader_has(const struct reader *r, enum chunk_type type)
{
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].header.type == type)
			return true;
	return false;
}

static int take_symbols(struct reader *r, const struct buf *data, struct error *err)
{
	/* from version 7 on a table begins with a 0 */
	if (r->version < 7 && data->len && !data->data[0])
		return error_set(
			err, "the header says format %u, but symbols are as from format 7 on: the header is damaged",
			r->version);
	r->symbols = array_grow(r->symbols, r->n_symbols, &r->symbols_cap, sizeof *r->symbols);
	r->symbols[r->n_symbols] = (struct buf){ 0 };
	buf_put(&r->symbols[r->n_symbols++], data->data, data->len);
	return 0;
}

/* Some sites may be missing: what is here has its numbers nevertheless. */
static int take_sites(struct reader *r, struct cursor *in, struct error *err)
{
	struct cursor first = *in;

	if (r->sites_lost)
		sites_leave_out(&r->sites, cursor_varint(&first));
	return sites_decode(in, &r->sites, err);
}

static int take_chunk(struct reader *r, size_t i, struct buf *data, struct error *err)
{
	struct cursor in = cursor_over(data->data, data->len);
	/* a record has a time or a path of its own, which takes a byte of the file however well it was packed */
	size_t records_max = r->chunks[i].header.stored;
	int ret = 0;

	switch (r->chunks[i].header.type) {
	case CHUNK_META:
	case CHUNK_END:
		ret = meta_parse(&r->meta, data->data, data->len, err);
		break;
	case CHUNK_SITES:
		ret = take_sites(r, &in, err);
		break;
	case CHUNK_TASKS:
		ret = task_records_decode(&in, records_max, &r->tasks, err);
		break;
	case CHUNK_STACKS:
		ret = stack_records_decode(&in, &r->stacks, err);
		break;
	case CHUNK_CODE:
		ret = code_records_decode(&in, records_max, &r->code, err);
		break;
	case CHUNK_FILES:
		ret = code_files_decode(&in, records_max, &r->files, err);
		break;
	case CHUNK_SYMBOLS:
		ret = take_symbols(r, data, err);
		break;
	default:
		break;
	}
	return ret < 0 ? error_prefix(err, "%s: chunk %zu at byte %" PRIu64, r->path, i, r->chunks[i].offset) : 0;
}

/* Only what is in such a chunk is missing, and events at sites that are. */
static void take_damaged(struct reader *r, const struct chunk *c)
{
	reader_add_damage(r, (enum chunk_type)c->header.type, c->offset);
	r->sites_lost |= c->header.type == CHUNK_SITES;
	if (c->header.type == CHUNK_SYMBOLS) /* those behind it keep their numbers */
		take_symbols(r, &(struct buf){ 0 }, NULL);
}

/* Strings, facts, and what stands for calls that were left out are for those who ask. */
static bool is_for_everybody(enum chunk_type type)
{
	return type != CHUNK_EVENTS && type != CHUNK_TEXTS && type != CHUNK_FACTS && type != CHUNK_SUMS &&
	       type != CHUNK_HELD;
}

/* Which kernel's names are behind a hole is not known if some may be in it. */
static void check_symbols(struct reader *r, size_t before_hole)
{
	char buffer[BOOT_KEY];
	uint64_t last = 0;

	for (size_t n = 1; meta_get(&r->meta, boot_key(n, "start_ns", buffer)); n++) {
		uint64_t number = meta_get_u64(&r->meta, boot_key(n, "symbols", buffer), 0);

		last = number > last ? number : last;
	}
	if (r->n_symbols == last + 1)
		return;
	for (; r->n_symbols > before_hole; r->n_symbols--)
		buf_free(&r->symbols[r->n_symbols - 1]);
}

/* What was missing in the trace of which this one is a part (docs/format.md: damaged). */
static void add_earlier_damages(struct reader *r)
{
	const char *types = meta_get(&r->meta, "damaged");

	for (uint64_t type; types && decimal_parse(&types, 0, &type); types += *types == ',')
		reader_add_damage(r, (enum chunk_type)(type < CHUNK_TYPES ? type : CHUNK_TYPES), 0);
}

/* What chunks from that one on have for everybody. */
static int load(struct reader *r, size_t first, struct error *err)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct buf packed = { 0 }, data = { 0 };
	size_t before_hole = SIZE_MAX;
	int ret = 0;

	for (size_t i = first; i < r->n_chunks && ret == 0; i++) {
		if (r->chunks[i].behind_hole && before_hole == SIZE_MAX)
			before_hole = r->n_symbols;
		if (!is_for_everybody(r->chunks[i].header.type))
			continue;
		ret = reader_chunk(r, i, zstd, &packed, &data, err);
		if (ret == 0)
			ret = take_chunk(r, i, &data, err);
		if (ret < 0 && err->damaged) {
			take_damaged(r, &r->chunks[i]);
			*err = (struct error){ .text = "" };
			ret = 0;
		}
	}
	if (ret == 0 && before_hole != SIZE_MAX)
		check_symbols(r, before_hole);
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&data);
	return ret;
}

static int find_arch(struct reader *r, struct error *err)
{
	const char *name = meta_get(&r->meta, "arch");

	/* one that was cut short before META came has nothing that depends on it */
	r->arch = arch_find(name ? name : "x86_64");
	if (r->arch)
		r->kernel_stack = meta_get_u64(&r->meta, "kernel_stack", r->arch->kernel_stack);
	if (r->arch && (r->kernel_stack < r->arch->kernel_stack || r->kernel_stack & (r->kernel_stack - 1)))
		r->kernel_stack = r->arch->kernel_stack;
	return r->arch ? 0 : error_set(err, "%s: its guest's CPU, %s, is none that this upto knows", r->path, name);
}

static int find_boots(struct reader *r, struct error *err)
{
	return boots_init(&r->boots, &r->meta, err) < 0 ? error_prefix(err, "%s", r->path) : 0;
}

int reader_open(const char *path, struct reader **ret, struct error *err)
{
	struct reader *r = xcalloc(1, sizeof *r);
	struct stat st;

	sites_init(&r->sites);
	r->path = xstrdup(path);
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st) < 0) {
		error_set(err, "%s: %s", path, strerror(errno));
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(err, "%s: not a regular file", path);
		goto fail;
	}
	r->size = (uint64_t)st.st_size;
	if (read_file_header(r, err) < 0)
		goto fail;
	r->cut_at = sizeof(struct file_header);
	walk(r, true);
	if (load(r, 0, err) < 0)
		goto fail;
	add_earlier_damages(r);
	if (find_arch(r, err) < 0 || find_boots(r, err) < 0)
		goto fail;
	*ret = r;
	return 0;
fail:
	reader_free(r);
	return -1;
}

int reader_go_on(struct reader *r, struct error *err)
{
	size_t before = r->n_chunks;
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return error_set(err, "%s: %s", r->path, strerror(errno));
	if (r->ended || (uint64_t)st.st_size <= r->size)
		return 0;
	r->size = (uint64_t)st.st_size;
	walk(r, false); /* a header may have been written in part */
	if (load(r, before, err) < 0)
		return -1;
	boots_deinit(&r->boots);
	return find_boots(r, err);
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	free(r->chunks);
	free(r->damages);
	meta_deinit(&r->meta);
	sites_deinit(&r->sites);
	task_records_deinit(&r->tasks);
	stack_records_deinit(&r->stacks);
	code_records_deinit(&r->code);
	code_files_deinit(&r->files);
	for (size_t i = 0; i < r->n_symbols; i++)
		buf_free(&r->symbols[i]);
	free(r->symbols);
	boots_deinit(&r->boots);
	free(r);
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len == n && !memcmp(list, word, n))
			return true;
	}
	return false;
}

bool reader_lacks(const struct reader *r, const char *what)
{
	return has_word(meta_get(&r->meta, "absent"), what);
}

uint64_t reader_lost(const struct reader *r)
{
	return meta_get_u64(&r->meta, "lost", 0);
}

bool reader_complete(const struct reader *r)
{
	return r->ended && !r->cut_why && !r->n_damages && !reader_lost(r) && !meta_get(&r->meta, "stopped");
}

unsigned reader_vcpus(const struct reader *r)
{
	uint64_t n = meta_get_u64(&r->meta, "vcpus", 1);

	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].header.type == CHUNK_EVENTS && r->chunks[i].header.cpu >= n)
			n = r->chunks[i].header.cpu + 1u;
	return n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : (unsigned)n;
}

uint64_t reader_events_before(const struct reader *r, uint64_t ns)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS || h->first_ns >= ns)
			continue;
		n += h->last_ns < ns ? h->events
				     : (uint64_t)((double)h->events * (double)(ns - h->first_ns) /
						  (double)(h->last_ns - h->first_ns + 1));
	}
	return n;
}
