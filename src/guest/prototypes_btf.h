/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel's functions take and give back, by its BTF. */
#ifndef UPTO_GUEST_PROTOTYPES_BTF_H
#define UPTO_GUEST_PROTOTYPES_BTF_H

#include <stddef.h>

#include "trace/prototypes.h"

struct btf;
struct btf_prototypes;

/* The BTF is copied. NULL: it is damaged. */
struct btf_prototypes *btf_prototypes_new(const void *btf, size_t len);
/* Those of a module, whose types go on behind the kernel's, which have to outlive them. NULL: likewise. */
struct btf_prototypes *btf_prototypes_of_module(const struct btf_prototypes *kernel, const void *btf, size_t len);
void btf_prototypes_free(struct btf_prototypes *b);

/*
 * Fill in all but the address. `symbol`: the function's name in the symbol table. A body that a compiler has made of
 * the function (.isra.0, .constprop.0) may take something else than what the types say; of that, as of a function that
 * they do not have, or have twice, the registers are told.
 */
void btf_prototypes_find(const struct btf_prototypes *b, const char *symbol, struct prototype *ret);

/* The type (BTF_KIND_FUNC_PROTO) of a function in these types; 0: they do not have it, or have it twice. */
uint32_t btf_prototypes_type(const struct btf_prototypes *b, const char *symbol);
/* As long as `b`. */
const struct btf *btf_prototypes_types(const struct btf_prototypes *b);

#endif
