/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a SYMBOLS chunk. What is accepted must survive being written again. */
#include "fuzz.h"

#include "symbols/symtab_codec.h"

static void look(const struct symtab *tab)
{
	struct symtab again;
	struct buf out = { 0 };
	struct cursor in;
	struct error err;

	for (size_t i = 0; i < tab->count; i++) {
		const struct symbol *s = &tab->symbols[i];
		long found = symtab_lookup(tab, s->addr);

		must(found == (s->end > s->addr ? (long)i : SYMTAB_NONE));
		must(strlen(symtab_name(tab, (long)i)) < tab->names_len);
		must(strlen(symtab_section_name(tab, (long)i)) < sizeof tab->sections->name);
	}
	symtab_lookup(tab, 0);
	symtab_lookup(tab, UINT64_MAX);
	symtab_encode(tab, &out);
	in = cursor_over(out.data, out.len);
	must(symtab_decode(&in, &again, &err) == 0);
	must(again.count == tab->count && again.n_sections == tab->n_sections);
	symtab_deinit(&again);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct cursor in = cursor_over(g.data, size);
	struct symtab tab;
	struct error err;

	if (symtab_decode(&in, &tab, &err) == 0) {
		look(&tab);
		symtab_deinit(&tab);
	}
	guarded_free(&g);
	return 0;
}
