/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf_content.h"

#include <elf.h>
#include <string.h>

enum {
	SEGMENTS_MAX = 64,
	NOTES_MAX = 4096,      /* bytes of a segment of notes */
	GUEST_PAGE = 4096,
};

struct headers {
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t count;
};

static enum elf_id read_headers(uint64_t base, memory_reader read, void *state, struct headers *ret)
{
	Elf64_Ehdr h;

	if (!read(state, base, &h, sizeof h))
		return ELF_ID_ABSENT;
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_phentsize != sizeof *ret->segments || !h.e_phnum ||
	    h.e_phnum > SEGMENTS_MAX)
		return ELF_ID_NOT_ELF;
	ret->count = h.e_phnum;
	return read(state, base + h.e_phoff, ret->segments, ret->count * sizeof *ret->segments) ? ELF_ID_NONE
												: ELF_ID_ABSENT;
}

/* The segment that is loaded from the file's first byte on, or NULL. */
static const Elf64_Phdr *first_loaded(const struct headers *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->segments[i].p_type == PT_LOAD && h->segments[i].p_offset < GUEST_PAGE)
			return &h->segments[i];
	return NULL;
}

/* Would the file be mapped so? All of a file is moved by the same distance. */
static bool has_mapping(const struct headers *h, uint64_t base, const struct elf_mapping *m)
{
	const Elf64_Phdr *first = first_loaded(h);

	for (size_t i = 0; first && i < h->count; i++) {
		const Elf64_Phdr *s = &h->segments[i];
		uint64_t from = s->p_offset & ~(uint64_t)(GUEST_PAGE - 1);

		if (s->p_type == PT_LOAD && s->p_flags & PF_X &&
		    m->offset - from < s->p_filesz + (s->p_offset - from) &&
		    s->p_vaddr - first->p_vaddr + base + (m->offset - s->p_offset) + first->p_offset == m->start)
			return true;
	}
	return false;
}

static bool take_note(struct cursor *in, uint64_t align, struct content *ret)
{
	uint32_t name_len = cursor_u32(in), len = cursor_u32(in), type = cursor_u32(in);
	const void *name = cursor_take(in, ((uint64_t)name_len + 3) & ~UINT64_C(3)), *id = cursor_take(in, len);

	if (!in->bad)
		cursor_take(in, -(uint64_t)len & (align - 1));
	if (!name || !id || type != NT_GNU_BUILD_ID || name_len != 4 || memcmp(name, "GNU", 4) || !len ||
	    len > CONTENT_ID_MAX)
		return false;
	memcpy(ret->id, id, len);
	ret->id_len = len;
	return true;
}

static enum elf_id read_notes(uint64_t base, const Elf64_Phdr *notes, memory_reader read, void *state,
			      struct content *ret)
{
	uint8_t bytes[NOTES_MAX];
	size_t n = notes->p_filesz < sizeof bytes ? notes->p_filesz : sizeof bytes;
	struct cursor in = cursor_over(bytes, n);

	if (!read(state, base + notes->p_offset, bytes, n))
		return ELF_ID_ABSENT;
	while (cursor_left(&in) && !in.bad)
		if (take_note(&in, notes->p_align == 8 ? 8 : 4, ret))
			return ELF_ID_READ;
	return ELF_ID_NONE;
}

enum elf_id elf_build_id(uint64_t base, const struct elf_mapping *mapping, memory_reader read, void *state,
			 struct content *ret)
{
	struct headers h;
	const Elf64_Phdr *first;
	enum elf_id r = read_headers(base, read, state, &h);

	if (r != ELF_ID_NONE)
		return r;
	if (mapping && !has_mapping(&h, base, mapping))
		return ELF_ID_NOT_ELF;
	first = first_loaded(&h);
	for (size_t i = 0; first && i < h.count && r == ELF_ID_NONE; i++) {
		const Elf64_Phdr *s = &h.segments[i];

		if (s->p_type == PT_NOTE && s->p_filesz && s->p_offset >= first->p_offset &&
		    s->p_filesz <= first->p_filesz && s->p_offset - first->p_offset <= first->p_filesz - s->p_filesz)
			r = read_notes(base, s, read, state, ret);
	}
	return r;
}

static bool read_file(void *state, uint64_t addr, void *data, size_t n)
{
	const struct cursor *file = state;

	if (addr > cursor_left(file) || n > cursor_left(file) - addr)
		return false;
	memcpy(data, file->p + addr, n);
	return true;
}

static bool piece_fits(const struct content_piece *p, const void *data, size_t len)
{
	return p->offset <= len && p->len <= len - p->offset &&
	       content_hash((const char *)data + p->offset, p->len) == p->hash;
}

bool elf_content_fits(const struct content *c, const void *data, size_t len)
{
	struct cursor file = cursor_over(data, len);
	struct content own = { 0 };

	if (c->id_len)
		return elf_build_id(0, NULL, read_file, &file, &own) == ELF_ID_READ && own.id_len == c->id_len &&
		       !memcmp(own.id, c->id, c->id_len);
	for (size_t i = 0; i < c->count; i++)
		if (!piece_fits(&c->pieces[i], data, len))
			return false;
	return c->count;
}
