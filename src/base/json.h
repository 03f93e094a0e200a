/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON (RFC 8259) into a sink, piece by piece, so that an answer may be longer than memory. Values in an object
 * have keys, those in an array, and outermost, have none: NULL. Outermost values are lines of their own, as in JSON
 * lines. Keys and texts may be of any origin: bytes that are no UTF-8 come out as U+FFFD.
 */
#ifndef UPTO_BASE_JSON_H
#define UPTO_BASE_JSON_H

#include <stdbool.h>

#include "sink.h"

enum { JSON_DEPTH_MAX = 16 };

struct json {
	const struct sink *sink;
	struct buf text;     /* that the sink has not got yet */
	struct error err;    /* why the sink took no more, if `failed`: what is written then goes nowhere */
	bool failed;
	unsigned depth;
	struct {
		char end;
		bool any;    /* it has values already */
		bool rows;   /* each of its values is a line */
	} open[JSON_DEPTH_MAX];
};

void json_init(struct json *j, const struct sink *sink);
/* Pass on what there is, for who waits for it. */
void json_flush(struct json *j);
/* Pass on the rest, and free what is kept. 0, or -1 with a message. */
int json_end(struct json *j, struct error *err);

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
/* An array of which each value is a line. */
void json_rows(struct json *j, const char *key);
/* The innermost object or array is complete. */
void json_close(struct json *j);

void json_number(struct json *j, const char *key, uint64_t n);
/* The same where it is known, else null. */
void json_known(struct json *j, const char *key, bool known, uint64_t n);
void json_signed(struct json *j, const char *key, int64_t n);
/* With so many decimal places. */
void json_real(struct json *j, const char *key, double n, int places);
/* With as many digits as tell it from its neighbours; what is no number is null. */
void json_float(struct json *j, const char *key, double n);
void json_flag(struct json *j, const char *key, bool yes);
/* NULL: null */
void json_text(struct json *j, const char *key, const char *text);
/* "0xffff…": a string, since many programs keep numbers as doubles, which are exact up to 2^53 only. */
void json_address(struct json *j, const char *key, uint64_t addr);
void json_null(struct json *j, const char *key);

#endif
