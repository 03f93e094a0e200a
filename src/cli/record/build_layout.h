/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Learns a kernel's layout from its build tree, by compiling one object in it with debug information. */
#ifndef UPTO_CLI_RECORD_BUILD_LAYOUT_H
#define UPTO_CLI_RECORD_BUILD_LAYOUT_H

#include "guest/layout.h"

/*
 * `folder`: a build tree, or an unpacked package of headers. Takes some seconds; what make says goes to standard error
 * if it fails.
 */
int build_layout(const char *folder, struct layout *ret, struct error *err);

#endif
