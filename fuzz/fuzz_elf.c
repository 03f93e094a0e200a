/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program's or library's file. Its functions lie in their sections, in order, and decode again as they were. */
#include "fuzz.h"

#include "symbols/debug_file.h"
#include "symbols/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct symtab tab, again;
	struct build_id id;
	struct buf coded = { 0 };
	struct cursor in;
	struct error err;

	build_id_of(g.data, size, &id);
	must(id.len <= BUILD_ID_MAX);
	elf_is_stripped(g.data, size);
	/* its own symbols, or, by its last byte's last bit, those of its second half */
	if (elf_symbols(g.data, size, g.data + (size && ((const uint8_t *)g.data)[size - 1] & 1 ? size / 2 : 0),
			size && ((const uint8_t *)g.data)[size - 1] & 1 ? size - size / 2 : size, &tab, &err) == 0) {
		for (size_t i = 0; i < tab.count; i++) {
			const struct symtab_section *s = &tab.sections[tab.symbols[i].section];

			must(tab.symbols[i].addr >= s->addr && tab.symbols[i].end <= s->end);
			must(!i || tab.symbols[i].addr >= tab.symbols[i - 1].end);
		}
		symtab_encode(&tab, &coded);
		in = cursor_over(coded.data, coded.len);
		must(symtab_decode(&in, &again, &err) == 0 && again.count == tab.count);
		symtab_deinit(&again);
		symtab_deinit(&tab);
		buf_free(&coded);
	}
	guarded_free(&g);
	return 0;
}
