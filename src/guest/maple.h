/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's maple trees, which have a process's mappings since 6.1: include/linux/maple_tree.h, of 64 bits. Nodes
 * are read from guest memory; what they say may be wrong.
 */
#ifndef UPTO_GUEST_MAPLE_H
#define UPTO_GUEST_MAPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maple_reader {
	bool (*read)(void *state, uint64_t addr, void *data, size_t n);
	bool (*entry)(void *state, uint64_t entry); /* false: that is enough */
	void *state;
	size_t max; /* nodes that are read at most */
};

/* Call entry() for each pointer in the tree, in order. `root`: the value of maple_tree.ma_root. */
void maple_each(const struct maple_reader *r, uint64_t root);

#endif
