/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contents.h"

#include <string.h>

#include "arch/address.h"
#include "base/alloc.h"
#include "loaded.h"
#include "recorder/kernel/structures.h"
#include "recorder/limits.h"
#include "recorder/qemu/guest_time.h"
#include "symbols/elf_content.h"

enum {
	MAPPINGS_MAX = 1 << 12, /* that are to be looked at */
	NUMBERS_MAX = 1 << 16,
	/* contents of one inode that are looked through: more, if it is rewritten again and again */
	SAME_FILE_MAX = 8,
	LOOKS_EACH = 16,        /* a mapping is looked at so many times in a row, then at times that double, … */
	LOOKS_MAX = 1 << 12,    /* … up to here */
	LOOKS_FOR_ID = 16,      /* so many times pieces wait for the page that the build-id is in */
	PROBES = 256,           /* pages that one look tries … */
	PROBES_LAST = 2048,     /* … and the last one */
	/* pages that suffice to take a content for a known one for now: when the process exits, all are compared */
	COMPARED = 16,
	HEADER = 64,            /* bytes of an ELF header */
	GUEST_PAGE = 4096,
};

/* A mapping of which not enough is known yet. */
struct unproven {
	uint64_t mm, start, size, offset, file_size;
	uint64_t file;          /* hash of device, inode and size */
	uint64_t next_page;     /* that is tried */
	uint32_t number;        /* of its content, so far; 0: nothing of it was in memory */
	uint32_t looks;
	bool owns;              /* the content was found here first: what more is found can only be the same file's */
};

struct numbered {
	struct content content;
	uint32_t older;         /* number of another content of the same file; 0: none */
};

static struct {
	pthread_mutex_t lock;
	struct unproven list[MAPPINGS_MAX];
	size_t count;
	struct numbered *numbers; /* the first one is number 1 */
	size_t n_numbers, numbers_cap;
	struct map by_file;     /* struct unproven's file → number of its newest content */
} contents = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What one look is about. */
struct look {
	struct vcpu *v;
	struct unproven *m;
	struct content id;      /* the build-id, or only the header's piece; neither: an ELF header is not there */
	bool last;
};

static struct content *content_of(const struct unproven *m)
{
	return &contents.numbers[m->number - 1].content;
}

static bool read_memory(void *state, uint64_t addr, void *data, size_t n)
{
	struct vcpu *v = state;

	return !addr_is_kernel(addr) && guest_read(&v->regs, addr, data, n);
}

/* Read a piece of the file, if it is in memory. */
static bool read_piece(const struct look *l, uint64_t offset, uint32_t len, struct content_piece *ret)
{
	uint8_t bytes[CONTENT_PIECE_MAX];

	if (!len || !read_memory(l->v, l->m->start - l->m->offset + offset, bytes, len))
		return false;
	*ret = (struct content_piece){ .offset = offset, .len = len, .hash = content_hash(bytes, len) };
	return true;
}

static uint64_t pages_of(const struct unproven *m)
{
	return (m->size + GUEST_PAGE - 1) / GUEST_PAGE;
}

/* Add the page of the mapping to the content, if it is in memory: as far as the file reaches. */
static void find_piece(const struct look *l, uint64_t page, struct content *c)
{
	const struct unproven *m = l->m;
	uint64_t offset = m->offset + page * GUEST_PAGE, left = offset < m->file_size ? m->file_size - offset : 0;
	struct content_piece p;

	if (!content_piece_at(c, offset) && read_piece(l, offset, left < GUEST_PAGE ? (uint32_t)left : GUEST_PAGE, &p))
		content_add_piece(c, &p);
}

/* Add what is in memory, up to so many pieces, from the page that runs on, or from where the look before ended. */
static void find_pieces(const struct look *l, struct content *c, size_t max)
{
	struct unproven *m = l->m;
	uint64_t pages = pages_of(m), probes = l->last ? PROBES_LAST : PROBES,
		 rip = registers_read(&l->v->regs, REG_IP);

	if (rip - m->start < m->size)
		find_piece(l, (rip - m->start) / GUEST_PAGE, c);
	for (uint64_t i = 0; i < pages && i < probes && c->count < max; i++) {
		find_piece(l, m->next_page % pages, c);
		m->next_page = (m->next_page + 1) % pages;
	}
}

/*
 * Is what is known of that content the same in this mapping, as far as it is in memory? Of its code there must be some.
 */
static bool agrees(const struct look *l, const struct content *known)
{
	const struct unproven *m = l->m;
	size_t same = 0, enough = l->last ? CONTENT_PIECES : COMPARED;

	for (size_t i = 0; i < known->count && same < enough; i++) {
		const struct content_piece *k = &known->pieces[i];
		struct content_piece p;

		if (k->offset - m->offset >= m->size || !read_piece(l, k->offset, k->len, &p))
			continue;
		if (p.hash != k->hash)
			return false;
		same++;
	}
	return same;
}

/* Who maps only a part of a file, as no linker does, has no build-id in memory, but has the same code. */
static bool is_content(const struct look *l, const struct content *known)
{
	if (l->id.id_len)
		return l->id.id_len == known->id_len && !memcmp(l->id.id, known->id, known->id_len);
	return agrees(l, known);
}

static uint32_t known_number(const struct look *l)
{
	const uint64_t *newest = map_get(&contents.by_file, l->m->file);
	uint32_t n = newest ? (uint32_t)*newest : 0;

	for (int i = 0; n && i < SAME_FILE_MAX; i++, n = contents.numbers[n - 1].older)
		if (is_content(l, &contents.numbers[n - 1].content))
			return n;
	return 0;
}

/* Takes the content over. */
static uint32_t new_number(const struct look *l, struct content *c)
{
	uint64_t *newest;

	if (contents.n_numbers == NUMBERS_MAX) {
		limits_reached(LIMIT_FILES);
		content_deinit(c);
		return 0;
	}
	newest = map_put(&contents.by_file, l->m->file, 0);
	contents.numbers =
		array_grow(contents.numbers, contents.n_numbers, &contents.numbers_cap, sizeof *contents.numbers);
	contents.numbers[contents.n_numbers++] = (struct numbered){ .content = *c, .older = (uint32_t)*newest };
	return (uint32_t)(*newest = contents.n_numbers);
}

/* Tell whose content it is, with those pieces of it that are new. With a build-id they are not needed. */
static void put_content(const struct look *l, bool new, size_t first_piece)
{
	const struct content *c = content_of(l->m);
	struct buf payload = { 0 }, out = { 0 };

	if (new)
		content_put(&payload, c, c->id_len ? c->count : first_piece);
	code_record_put(&out, &(struct code_record){
		.change = CODE_CONTENT, .cpu = l->v->index, .ns = guest_time(l->v), .insns = l->v->live->insns,
		.mm = l->m->mm, .start = l->m->start,
		.size = l->m->number, .name = "", .symbols = payload.data, .symbols_len = payload.len,
	});
	drain_put(CHUNK_CODE, &out);
	buf_free(&payload);
	buf_free(&out);
}

/* What was not seen before, with all of it that is in memory; 0: that is not enough. */
static uint32_t found_number(const struct look *l)
{
	struct content c = { .id_len = l->id.id_len };

	memcpy(c.id, l->id.id, c.id_len);
	for (size_t i = 0; i < l->id.count; i++)
		content_add_piece(&c, &l->id.pieces[i]);
	find_pieces(l, &c, c.id_len ? COMPARED : CONTENT_PIECES);
	/* a header alone is no proof: other programs may have the same */
	if (c.id_len || c.count > l->id.count)
		return new_number(l, &c);
	content_deinit(&c);
	return 0;
}

static void number(const struct look *l)
{
	struct unproven *m = l->m;

	m->number = known_number(l);
	m->owns = !m->number;
	if (!m->number)
		m->number = found_number(l);
	if (!m->number)
		return;
	loaded_content(m->mm, m->start, m->number);
	put_content(l, m->owns, 0);
}

/* More of it may be in memory now. */
static void enrich(const struct look *l)
{
	struct content *c = content_of(l->m);
	size_t before = c->count;

	find_pieces(l, c, c->id_len ? COMPARED : CONTENT_PIECES);
	if (c->count > before && !c->id_len)
		put_content(l, true, before);
}

static bool look_for_id(struct look *l)
{
	const struct unproven *m = l->m;
	const struct elf_mapping mapping = { .start = m->start, .size = m->size, .offset = m->offset };
	struct content_piece header;
	enum elf_id r = m->offset <= m->start ? elf_build_id(m->start - m->offset, &mapping, read_memory, l->v, &l->id)
					      : ELF_ID_NOT_ELF;

	if (r == ELF_ID_NONE && read_piece(l, 0, HEADER, &header))
		content_add_piece(&l->id, &header);
	return r != ELF_ID_ABSENT;
}

/*
 * Look at a mapping that has no number yet, or at the last moment: one that is taken for a known content may turn out
 * to be another one.
 */
static void prove_new(struct look *l)
{
	if (!look_for_id(l) && !l->last && l->m->looks < LOOKS_FOR_ID)
		return;
	if (!l->m->number || !is_content(l, content_of(l->m)))
		number(l);
	else if (l->last && !content_of(l->m)->id_len)
		enrich(l);
	content_deinit(&l->id);
}

/* Is it a content that was found elsewhere? Then nothing is to be done until its process exits. */
static bool is_shared(const struct unproven *m)
{
	return m->number && !m->owns;
}

/* Returns whether nothing more is to be known. */
static bool prove(struct look *l)
{
	struct unproven *m = l->m;

	m->looks++;
	if (!l->last && ((m->looks > LOOKS_EACH && m->looks & (m->looks - 1)) || is_shared(m)))
		return false;
	if (m->number && m->owns)
		enrich(l);
	else
		prove_new(l);
	if (!m->number)
		return false;
	/*
	 * one piece is the header's, if it was found; with a build-id there need be one at all, for mappings that show
	 * only code
	 */
	return l->last || (content_of(m)->id_len && content_of(m)->count) ||
	       (m->owns && (content_of(m)->count > pages_of(m) || content_of(m)->count == CONTENT_PIECES));
}

static void drop(size_t i)
{
	memmove(&contents.list[i], &contents.list[i + 1], (--contents.count - i) * sizeof *contents.list);
}

/* Returns whether there is something to be looked at again before the process exits. */
static bool look(struct vcpu *v, uint64_t mm, bool last)
{
	bool left = false;

	/* from the oldest on: what is known of it may tell what others are */
	for (size_t i = 0; i < contents.count;) {
		struct look l = { .v = v, .m = &contents.list[i], .last = last };

		if (l.m->mm == mm && prove(&l)) {
			drop(i);
			continue;
		}
		left |= l.m->mm == mm && !is_shared(l.m) && l.m->looks < LOOKS_MAX;
		i++;
	}
	return left;
}

void contents_look(struct vcpu *v)
{
	pthread_mutex_lock(&contents.lock);
	if (!look(v, v->unproven, false))
		v->unproven = 0;
	pthread_mutex_unlock(&contents.lock);
}

void contents_switch(struct vcpu *v, uint64_t task)
{
	v->unproven = 0;
	if (!__atomic_load_n(&contents.count, __ATOMIC_RELAXED))
		return;
	v->unproven = structure_pointer(v, task, TASK_MM);
	if (v->unproven)
		contents_look(v);
}

void contents_exit(struct vcpu *v, uint64_t mm)
{
	pthread_mutex_lock(&contents.lock);
	look(v, mm, true);
	pthread_mutex_unlock(&contents.lock);
}

/* Under the lock. With a size, only mappings in that range. */
static void drop_all(uint64_t mm, uint64_t start, uint64_t size)
{
	for (size_t i = contents.count; i-- > 0;) {
		const struct unproven *m = &contents.list[i];

		if (m->mm == mm && (!size || (m->start < start + size && start < m->start + m->size)))
			drop(i);
	}
}

static uint64_t file_of(const struct code_record *r)
{
	return hash64(hash64(hash64(r->device + 1) + r->inode) + r->file_size);
}

/* A kernel has several of the vDSO, one for each kind of program: each is like a file that is mapped whole. */
static uint64_t bytes_of(const struct code_record *r)
{
	return r->file_size || strcmp(r->name, "[vdso]") ? r->file_size : r->size;
}

void contents_mapped(struct vcpu *v, const struct code_record *r)
{
	pthread_mutex_lock(&contents.lock);
	drop_all(r->mm, r->start, r->size);
	if (!bytes_of(r)) {
		/* memory of no file, or of one that has nothing */
	} else if (contents.count == MAPPINGS_MAX) {
		limits_reached(LIMIT_FILES);
	} else {
		contents.list[contents.count++] = (struct unproven){
			.mm = r->mm, .start = r->start, .size = r->size, .offset = r->offset,
			.file_size = bytes_of(r), .file = file_of(r),
		};
		v->unproven = r->mm;
	}
	pthread_mutex_unlock(&contents.lock);
}

void contents_forget(uint64_t mm)
{
	pthread_mutex_lock(&contents.lock);
	drop_all(mm, 0, 0);
	pthread_mutex_unlock(&contents.lock);
}

void contents_forget_all(void)
{
	pthread_mutex_lock(&contents.lock);
	contents.count = 0;
	map_free(&contents.by_file);
	pthread_mutex_unlock(&contents.lock);
}
