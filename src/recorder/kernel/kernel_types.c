/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_types.h"

#include "structures.h"

static struct btf_prototypes *known;

void kernel_types_want(void)
{
	recorder.kernel.keeps_types = true;
}

void kernel_types_found(void)
{
	struct kernel *k = &recorder.kernel;

	if (!k->keeps_types)
		return;
	btf_prototypes_free(known);
	known = k->types.len ? btf_prototypes_new(k->types.data, k->types.len) : NULL;
	buf_free(&k->types);
}

const struct btf_prototypes *kernel_types(void)
{
	return known;
}

/* Append the module's types, which the kernel keeps in a list: kernel/bpf/btf.c. It may have none. */
static void read_types(struct vcpu *v, uint64_t module, struct buf *out)
{
	enum { ENTRIES = 4096, SIZE_MAX_BYTES = 64 << 20 };
	uint64_t head = recorder.kernel.data[DATA_BTF_MODULES], at = head ? structure_pointer_at(v, head) : 0;

	if (!STRUCTURES_KNOWN(BTF_MODULE_LIST, BTF_MODULE_MODULE, BTF_MODULE_TYPES, TYPES_DATA, TYPES_SIZE))
		return;
	for (int i = 0; at && at != head && i < ENTRIES; i++, at = structure_pointer_at(v, at)) {
		uint64_t entry = at - (uint64_t)structure_at(BTF_MODULE_LIST), types, size;

		if (structure_pointer(v, entry, BTF_MODULE_MODULE) != module)
			continue;
		types = structure_pointer(v, entry, BTF_MODULE_TYPES);
		size = structure_read(v, types, TYPES_SIZE, 4);
		if (size && size <= SIZE_MAX_BYTES)
			structure_block(v, structure_pointer(v, types, TYPES_DATA), size, out);
		if (out->len != size)
			out->len = 0;
		return;
	}
}

struct btf_prototypes *kernel_types_of_module(struct vcpu *v, uint64_t module)
{
	struct btf_prototypes *ret = NULL;
	struct buf raw = { 0 };

	if (known)
		read_types(v, module, &raw);
	if (raw.len)
		ret = btf_prototypes_of_module(known, raw.data, raw.len);
	buf_free(&raw);
	return ret;
}
