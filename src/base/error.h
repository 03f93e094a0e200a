/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors as values.  A function that can fail takes a struct error, fills it in
 * on failure and returns a negative number (or NULL). The text names the thing
 * first, then says what is wrong with it, then what to do.  Only cli/ prints.
 */
#ifndef UPTO_BASE_ERROR_H
#define UPTO_BASE_ERROR_H

#include <stdbool.h>

struct error {
	char text[512];
	bool has_lines;  /* behind the message, its text shows a place in a program, by lines of their own */
	bool damaged;    /* events of a trace cannot be unpacked: it can be read without them (trace/damage.h) */
};

/* Replace the text. Returns -1, so that callers can return error_set(...). */
int error_set(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "fmt: " before the text. Returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
