/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle.h"

/* A file of its own: the header declares allocators of the same names as ours. */
#include <libiberty/demangle.h>

char *demangle(const char *name)
{
	return cplus_demangle(name, DMGL_AUTO);
}
