/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a place in what is sorted. */
#ifndef UPTO_BASE_SEARCH_H
#define UPTO_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first i of from … to - 1 for which `before`, an expression of i, does not hold; `to`: it holds for all. Those for
 * which it holds must come before all others. Only `before` is evaluated more than once.
 */
#define first_not(i, from, to, before)                                                                                 \
	({                                                                                                             \
		size_t from_ = (from), to_ = (to);                                                                     \
                                                                                                                       \
		while (from_ < to_) {                                                                                  \
			size_t i = from_ + (to_ - from_) / 2;                                                          \
                                                                                                                       \
			if (before)                                                                                    \
				from_ = i + 1;                                                                         \
			else                                                                                           \
				to_ = i;                                                                               \
		}                                                                                                      \
		from_;                                                                                                 \
	})

#endif
