/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that is not Linux: ROUNDS times two calls and returns between functions that nothing foretells. */
typedef void function(unsigned random);

#define EACH4(f, n) f(n##0) f(n##1) f(n##2) f(n##3)
#define EACH16(f, n) EACH4(f, n##0) EACH4(f, n##1) EACH4(f, n##2) EACH4(f, n##3)
#define EACH64(f, n) EACH16(f, n##0) EACH16(f, n##1) EACH16(f, n##2) EACH16(f, n##3)

static volatile unsigned sum;

#define LEAF(n) static __attribute__((noipa)) void leaf_##n(unsigned random) { sum += random; }
#define NAME_LEAF(n) leaf_##n,
EACH64(LEAF, 1)
static function *const leaves[] = { EACH64(NAME_LEAF, 1) };

#define NODE(n)                                                      \
	static __attribute__((noipa)) void node_##n(unsigned random) \
	{                                                            \
		sum++;                                               \
		leaves[random >> 20 & 63](random);                   \
	}
#define NAME_NODE(n) node_##n,
EACH64(NODE, 1)
static function *const nodes[] = { EACH64(NAME_NODE, 1) };

void kernel_main(void)
{
	unsigned random = 1;

	for (unsigned i = 0; i < ROUNDS; i++) {
		random = random * 1664525 + 1013904223;
		nodes[random >> 26](random);
	}
}
