/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source_name.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Declares allocators of the same names as ours: base/alloc.h must not be included here. */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

struct bounded {
	jmp_buf too_long;
	size_t len;
	char text[SOURCE_NAME_MAX];
};

/* Parts of a name may stand for others: written out, a short one may be of any length, and take any time. */
static void take(const char *part, size_t n, void *state)
{
	struct bounded *b = state;

	if (n >= sizeof b->text - b->len)
		longjmp(b->too_long, 1);
	memcpy(b->text + b->len, part, n);
	b->len += n;
}

/* NULL: it is a name already, or too long for one. */
static char *demangle(const char *name)
{
	struct bounded b = { .len = 0 };

	/* these have no memory of their own that would be lost */
	if (strlen(name) >= SOURCE_NAME_MAX || setjmp(b.too_long))
		return NULL;
	if (!rust_demangle_callback(name, DMGL_AUTO, take, &b)) {
		b.len = 0;
		if (!cplus_demangle_v3_callback(name, DMGL_AUTO, take, &b))
			return NULL;
	}
	return b.len ? xstrndup(b.text, b.len) : NULL;
}

char *source_name(const char *name)
{
	size_t len = strnlen(name, SOURCE_NAME_MAX), version = *name ? 1 + strcspn(name + 1, "@") : 0;
	char *own = xmalloc((len < version ? len : version) + 1), *source;

	len = len < version ? len : version;
	memcpy(own, name, len);
	own[len] = '\0';
	source = demangle(own);
	if (!source)
		return own;
	free(own);
	return source;
}
