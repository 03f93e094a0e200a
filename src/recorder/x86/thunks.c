/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thunks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "recorder/kernel/kernel.h"

void thunks_find(struct thunks *t, const struct kernel *k)
{
	for (uint32_t i = 0; i < k->tab.count; i++) {
		const struct symbol *s = &k->tab.symbols[i];
		enum x86_thunk kind = x86_thunk_kind(symtab_name(&k->tab, i));

		if (kind != X86_THUNK_INDIRECT && kind != X86_THUNK_RETURN)
			continue;
		t->list = array_grow(t->list, t->count, &t->cap, sizeof *t->list);
		t->list[t->count++] = (struct thunk){
			.start = s->addr + k->slide, .end = s->end + k->slide, .kind = kind,
		};
	}
}

void thunks_forget(struct thunks *t)
{
	free(t->list);
	map_free(&t->cut);
	*t = (struct thunks){ 0 };
}

void thunks_forget_cuts(struct thunks *t)
{
	map_free(&t->cut);
	t->n_cut = 0;
}

const struct thunk *thunks_at(const struct thunks *t, uint64_t addr)
{
	size_t low = first_not(i, 0, t->count, t->list[i].end <= addr);

	return low < t->count && t->list[low].start <= addr ? &t->list[low] : NULL;
}
