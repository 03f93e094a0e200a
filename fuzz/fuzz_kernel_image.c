/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that the user says is a kernel: ELF, bzImage or System.map. What is
 * made of it goes into a trace, so the reader must take it back.
 */
#include "fuzz.h"

#include "guest/kernel_image.h"
#include "symbols/symtab_codec.h"

static void through_trace(const struct kernel_image *image)
{
	struct symtab tab, again;
	struct buf out = { 0 };
	struct cursor in;
	struct error err;

	symtab_from_image(&tab, image);
	symtab_encode(&tab, &out);
	in = cursor_over(out.data, out.len);
	must(symtab_decode(&in, &again, &err) == 0);
	must(again.count == tab.count);
	for (size_t i = 0; i < tab.count; i++) {
		long found = symtab_lookup(&again, tab.symbols[i].addr);

		must(found == (tab.symbols[i].end > tab.symbols[i].addr ? (long)i : SYMTAB_NONE));
		must(!strcmp(symtab_name(&again, (long)i), symtab_name(&tab, (long)i)));
	}
	symtab_deinit(&again);
	symtab_deinit(&tab);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* libelf goes other ways for unaligned images, which files read into memory never are */
	struct guarded g = guarded_copy(data, size, 16);
	struct kernel_image image;
	struct error err;

	if (kernel_image_parse(g.data, size, &image, &err) == 0) {
		through_trace(&image);
		kernel_image_deinit(&image);
	}
	guarded_free(&g);
	return 0;
}
