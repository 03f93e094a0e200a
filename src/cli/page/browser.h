/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user's browser, opened at an address that nobody else may see. Command lines can be read by all users of a
 * machine: so the browser is given the path of a file which only this user can read, and which leads to the address.
 */
#ifndef UPTO_CLI_PAGE_BROWSER_H
#define UPTO_CLI_PAGE_BROWSER_H

#include "base/error.h"

struct browser {
	char *folder, *file; /* that leads to the address; NULL: there is none */
};

/* Open it; it goes on by itself. Call browser_end() also after an error. */
int browser_open(struct browser *b, const char *address, struct error *err);

/* The file is removed. */
void browser_end(struct browser *b);

#endif
