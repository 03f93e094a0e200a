/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What definitions of probes are made of: names, as in C, and numbers. */
#ifndef UPTO_PROBES_PROBE_WORDS_H
#define UPTO_PROBES_PROBE_WORDS_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static inline size_t name_length(const char *text)
{
	size_t n = 0;

	if (isdigit((unsigned char)*text))
		return 0;
	while (is_name_char(text[n]))
		n++;
	return n;
}

static inline bool number_at(const char *text, const char **ret_end, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*ret = strtoull(text, &end, 0);
	*ret_end = end;
	return true;
}

#endif
