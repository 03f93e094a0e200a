/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions of the C library take and give back: its debug information is seldom there. */
#ifndef UPTO_PROBES_LIBC_PROTOTYPES_H
#define UPTO_PROBES_LIBC_PROTOTYPES_H

#include <stdbool.h>

#include "trace/prototypes.h"

/* False: the file is no C library by its name, or the function is not known here. */
bool libc_prototype_find(const char *file, const char *function, struct prototype *ret);

#endif
