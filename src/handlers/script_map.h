/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of a program in handlers: what it has kept, by key. */
#ifndef UPTO_HANDLERS_SCRIPT_MAP_H
#define UPTO_HANDLERS_SCRIPT_MAP_H

#include "series.h"
#include "value.h"

struct map_sums {
	uint64_t count;
	int64_t sum, min, max;
};

struct map_entry {
	uint64_t hash;
	struct value key; /* its bytes are the entry's; of a number, n alone */
	bool live;        /* false: it was deleted */
	union {
		struct value value;   /* its bytes are the entry's */
		struct map_sums sums; /* of count() … stats() */
		uint64_t *buckets;    /* of hist() and lhist() */
		struct series_slot *series; /* of tseries() */
	};
};

struct script_map {
	const char *name;
	struct type key, value;
	bool has_key;
	struct map_entry *entries; /* in the order in which they came */
	size_t count, cap, live;
	uint32_t *slots; /* number + 1 */
	size_t mask;
	size_t keys_max;   /* 0: as many as there is room for */
	/* where there is no room, the key that was not used for longest goes … */
	bool forgets;
	struct map_use {
		uint32_t older, newer; /* number + 1 of an entry; 0: there is none */
	} * uses;                      /* … by entry */
	uint32_t oldest, newest;       /* likewise */
	size_t bytes;      /* that all of it takes */
	uint64_t left_out; /* so often there was no room for another key */
};

/* All maps of a program together take no more; what is above that is left out, and counted. */
enum { SCRIPT_MAPS_BYTES = 128 << 20 };

/* NULL: there is none. Whoever finds a key has used it. */
struct map_entry *script_map_find(struct script_map *m, const struct value *key);
/* Likewise, and made if it is not there. *all: bytes of all maps. NULL: no room. Valid until the next is made. */
struct map_entry *script_map_reach(struct script_map *m, const struct value *key, size_t *all);
void script_map_remove(struct script_map *m, const struct value *key, size_t *all);
void script_map_clear(struct script_map *m, size_t *all);
/* All values become 0, and keys stay. */
void script_map_zero(struct script_map *m, size_t *all);
/* Its bytes are copied. False: there is no room, and nothing is changed. */
bool script_map_set(struct script_map *m, struct map_entry *e, const struct value *value, size_t *all);
/* To count() … tseries(); ns: when, for the latter. */
void script_map_add(struct script_map *m, struct map_entry *e, int64_t value, uint64_t ns);
void script_map_deinit(struct script_map *m);

/* The entry's own number: of an aggregate, what it counts to. */
int64_t script_map_number(const struct script_map *m, const struct map_entry *e);

/* Entries as they are printed: the smallest number first, or by key. The caller frees the list. */
struct map_entry **script_map_sorted(const struct script_map *m);

/* Buckets of hist() and lhist(), and the first value of each; bucket 0 is for what is below all. */
size_t map_buckets(const struct type *value);
size_t map_bucket(const struct type *value, int64_t n);
int64_t map_bucket_from(const struct type *value, size_t bucket);

#endif
