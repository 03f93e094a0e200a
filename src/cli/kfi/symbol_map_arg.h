/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_CLI_KFI_SYMBOL_MAP_ARG_H
#define UPTO_CLI_KFI_SYMBOL_MAP_ARG_H

#include "kfi/symbol_map.h"

/* Read a System.map. The caller deinitialises *ret also after an error. */
int symbol_map_open(const char *path, struct symbol_map *ret, struct error *err);

#endif
