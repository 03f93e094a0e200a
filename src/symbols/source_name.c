/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source_name.h"

#include <stdlib.h>
#include <string.h>

/* Declares allocators of the same names as ours: base/alloc.h must not be included here. */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

static char *demangle(const char *name)
{
	char *source = strlen(name) < SOURCE_NAME_MAX ? cplus_demangle(name, DMGL_AUTO) : NULL;

	if (source && (!*source || strlen(source) >= SOURCE_NAME_MAX)) {
		free(source);
		return NULL;
	}
	return source;
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
