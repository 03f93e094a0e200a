/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's BTF. Offsets are unknown, or lie in the largest structure that there can be. */
#include "fuzz.h"

#include "guest/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct layout layout;
	struct error err;

	layout_from_btf(g.data, size, &layout, &err);
	for (int i = 0; i < MEMBERS; i++)
		must(layout.offset[i] == MEMBER_UNKNOWN || layout.offset[i] >= 0);
	guarded_free(&g);
	return 0;
}
