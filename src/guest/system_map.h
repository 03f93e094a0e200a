/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads System.map or the output of nm: lines like "ffffffff81000000 T _text". The caller frees *ret. */
#ifndef UPTO_GUEST_SYSTEM_MAP_H
#define UPTO_GUEST_SYSTEM_MAP_H

#include "base/error.h"
#include "symbol_list.h"

int system_map_read(const void *data, size_t len, struct symbol_list *ret, struct error *err);

#endif
