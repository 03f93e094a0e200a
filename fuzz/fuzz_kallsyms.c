/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes in which to look for the kernel's own symbol table. */
#include "fuzz.h"

#include "guest/kallsyms.h"

/* where make_corpus.py's images begin */
#define IMAGE 0xffffffff81000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);

	/* of a kernel of 64 bits, and of 32 */
	for (int narrow = 0; narrow < 2; narrow++) {
		struct symbol_list list = { 0 };
		struct error err;

		if (kallsyms_read(g.data, size, IMAGE, narrow, &list, &err) == 0)
			must(!list.count || strlen(symbol_list_name(&list, list.count - 1)) < list.names_len);
		symbol_list_free(&list);
	}
	guarded_free(&g);
	return 0;
}
