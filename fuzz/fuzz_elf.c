/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's or library's file, and the same as what a process has in memory; and as code that is no Linux's.
 * Its functions lie in their sections, in order, and decode again as they were.
 */
#include "fuzz.h"

#include "symbols/debug_file.h"
#include "symbols/elf_content.h"
#include "symbols/elf_loaded.h"
#include "symbols/elf_symbols.h"
#include "symbols/object_code.h"
#include "symbols/symtab_codec.h"

enum { BASE = 0x10000 };

static void check(struct symtab *tab)
{
	struct symtab again;
	struct buf coded = { 0 };
	struct cursor in;
	struct error err;

	for (size_t i = 0; i < tab->count; i++) {
		const struct symtab_section *s = &tab->sections[tab->symbols[i].section];

		must(tab->symbols[i].addr >= s->addr && tab->symbols[i].end <= s->end);
		must(!i || tab->symbols[i].addr >= tab->symbols[i - 1].end);
	}
	symtab_encode(tab, &coded);
	in = cursor_over(coded.data, coded.len);
	must(symtab_decode(&in, &again, &err) == 0 && again.count == tab->count);
	symtab_deinit(&again);
	symtab_deinit(tab);
	buf_free(&coded);
}

struct image {
	const uint8_t *data;
	size_t size;
};

static bool read_image(void *state, uint64_t addr, void *data, size_t n)
{
	const struct image *image = state;

	if (addr < BASE || addr - BASE > image->size || n > image->size - (addr - BASE))
		return false;
	memcpy(data, image->data + (addr - BASE), n);
	return true;
}

/* What is read of a file in memory fits the file, and is the same after it was in a trace. */
static void check_content(struct image *image)
{
	static const struct elf_mapping mapping = { .start = BASE, .size = 0x4000 };
	struct content id = { 0 }, again = { 0 };
	struct buf coded = { 0 };
	struct cursor in;
	size_t len = image->size < CONTENT_PIECE_MAX ? image->size : CONTENT_PIECE_MAX;

	elf_build_id(BASE, &mapping, read_image, image, &id);
	must(id.id_len <= CONTENT_ID_MAX);
	id.id_len = 0;
	if (elf_build_id(BASE, NULL, read_image, image, &id) == ELF_ID_READ)
		must(id.id_len && elf_content_fits(&id, image->data, image->size));
	else
		must(!id.id_len && !elf_content_fits(&id, image->data, image->size));
	if (len)
		content_add_piece(&id, &(struct content_piece){
			.hash = content_hash(image->data, len), .len = (uint32_t)len,
		});
	content_put(&coded, &id, 0);
	in = cursor_over(coded.data, coded.len);
	must(content_add(&again, &in) && again.id_len == id.id_len && again.count == id.count);
	again.id_len = 0;
	must(elf_content_fits(&again, image->data, image->size) == (len > 0));
	content_deinit(&id);
	content_deinit(&again);
	buf_free(&coded);
}

/* Each function has bytes, which are what they are, and are not what they are not. */
static void check_object(const uint8_t *data, size_t size)
{
	struct object_code o;
	struct error err;

	if (object_code_parse(data, size, &o, &err) < 0)
		return;
	must(o.tab.count > 0);
	for (size_t i = 0; i < o.tab.count; i++) {
		size_t n = 0;
		const uint8_t *bytes = object_code_bytes(&o, o.tab.symbols[i].addr, &n);

		must(bytes && n > 0 && code_is_moved(bytes, bytes, n, i));
		if (n < 64 && i < 64) { /* what is compared is no longer */
			uint8_t other[64];

			memcpy(other, bytes, n);
			other[0] ^= 0x80;
			must(!code_is_moved(bytes, other, n, 0));
			code_is_moved(bytes, data, n < size ? n : size, i * 0x1000);
		}
	}
	check(&o.labels);
	o.labels = (struct symtab){ 0 };
	check(&o.tab);
	o.tab = (struct symtab){ 0 };
	object_code_deinit(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct image image = { g.data, size };
	struct symtab tab;
	struct build_id id;
	struct error err;

	check_object(g.data, size);
	build_id_of(g.data, size, &id);
	must(id.len <= BUILD_ID_MAX);
	elf_is_stripped(g.data, size);
	/* its own symbols, or, by its last byte's last bit, those of its second half */
	if (elf_symbols(g.data, size, g.data + (size && ((const uint8_t *)g.data)[size - 1] & 1 ? size / 2 : 0),
			size && ((const uint8_t *)g.data)[size - 1] & 1 ? size - size / 2 : size, &tab, &err) == 0)
		check(&tab);
	check_content(&image);
	if (elf_loaded_symbols(BASE, read_image, &image, &tab)) {
		must(tab.count > 0);
		check(&tab);
	}
	guarded_free(&g);
	return 0;
}
