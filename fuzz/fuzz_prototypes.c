/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions take: as a trace tells of it, or, behind a byte 0, as a kernel's BTF does of the function "f". */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "guest/prototypes_btf.h"

/* Registers and texts that a reader takes are those that there are; and what is written is read again as it was. */
static void look_at(const struct prototype *p)
{
	struct buf text = { 0 }, again = { 0 };
	struct prototype read;
	struct error err;

	for (unsigned i = 0; i < p->count; i++) {
		must(prototype_register(p, i) < PROTOTYPE_REGISTERS);
		must(prototype_text(p, i) < PROTOTYPE_TEXTS);
	}
	prototype_put(p, &text);
	buf_put_u8(&text, 0);
	must(prototype_parse((char *)text.data, &read, &err) == 0);
	prototype_put(&read, &again);
	buf_put_u8(&again, 0);
	must(!strcmp((char *)text.data, (char *)again.data));
	prototype_deinit(&read);
	buf_free(&text);
	buf_free(&again);
}

static void from_text(const char *text)
{
	struct prototype p;
	struct error err;

	if (prototype_parse(text, &p, &err) < 0)
		return;
	look_at(&p);
	prototype_deinit(&p);
}

static void from_types(const void *btf, size_t size)
{
	struct btf_prototypes *types = btf_prototypes_new(btf, size);
	struct prototype p;

	btf_prototypes_find(types, "f", &p);
	p.addr = 1;
	look_at(&p);
	prototype_deinit(&p);
	btf_prototypes_free(types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	cleanup_free char *text = xstrndup((const char *)data, size);

	if (size && !*data)
		from_types((const uint8_t *)g.data + 1, size - 1);
	else
		from_text(text);
	guarded_free(&g);
	return 0;
}
