/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of types_find() have in common. Each function that finds gives the node its type. */
#ifndef UPTO_HANDLERS_TYPING_H
#define UPTO_HANDLERS_TYPING_H

#include "types.h"

struct typing {
	struct script *p;
	const struct field_types *known;
	struct types *t;
	size_t handler;
	bool settled; /* maps are known as far as they are without what they lead to */
	bool last;    /* what is not known by now is an error */
	bool guesses; /* not even all types of fields are known: what does not fit may yet do so */
	bool changed;
	struct error *err;
};

int typing_find(struct typing *t, struct node *node);
/* A call of one of the language's functions (types_calls.c). */
int typing_call(struct typing *t, struct node *node);
/* An expression that must be a number. */
int typing_number(struct typing *t, struct node *node);
/* A map with its key, if it has one. `sets`: it gets a value. */
int typing_map_used(struct typing *t, struct node *node, bool sets);
/* What is known of the map by now. Valid until the next one is asked for. */
struct map_asked *typing_map(struct typing *t, const struct node *node);
/* … of the handler's variable. Likewise. */
struct variable_asked *typing_variable(struct typing *t, const char *name);
/* What a place gets of a value: of count() and the like in another map, the number. An error: it is none to keep. */
int typing_kept(struct typing *t, const struct node *of, struct type *ret);

/*
 * Is it a value that the probe reads, with `more` behind it in a probe's words? 1: the node is that value; 0: it is no
 * such thing.
 */
int typing_field(struct typing *t, struct node *node, const struct node *what, const char *more);
/* The same, as the bytes that it has in memory. */
int typing_bytes(struct typing *t, struct node *node, const struct node *what, const char *more);

/* types_reads.c, as the two above: */

/* The handler's first place: others are of its kind. */
const struct place_asked *typing_place(const struct typing *t);
/* Is it what an address leads to that a map keeps? … and the error where that cannot be read. */
bool typing_leads(const struct typing *t, const struct node *node);
int typing_wrong_lead(const struct typing *t, const struct node *node);
/* A map gets an address of that type: it is handed to probes that read more by it. */
int typing_keep(struct typing *t, const struct node *map, const struct node *value, const struct type *type);
/* An error: a map whose addresses lead on, and that no probe puts any into. */
int typing_check_maps(const struct typing *t);
/* types_used.c: values that only lead to others are not read. The last step: nothing is found behind it. */
void typing_drop_unused(struct typing *t);
/* Handlers at tracepoints of system calls that read memory go to the calls' functions (syscall_places.h). */
int typing_move_places(struct typing *t);

/* types_unify.c: is all of it known, are two of one kind, and what is it called in messages? */
bool typing_is_known(const struct type *type);
bool typing_is_same(const struct type *a, const struct type *b);
const char *typing_kind_name(const struct type *type);
/* Text is kept as text where both kinds of it meet: NAME is one that is known by its number. */
void typing_as_text(struct type *type);

/* What is known of a place that holds a value, with one that it gets. `what`: for the message, "the key". */
int typing_unify(struct typing *t, struct type *place, const struct type *value, const struct node *at,
		 const char *what);

/*
 * A part of a tuple gets a type: an error if that has the tuple itself in it, or if there are too many parts in parts.
 */
int typing_set_part(const struct typing *t, const struct node *at, const struct type *tuple, size_t part,
		    const struct type *type);

/* Errors at a node; -1. */
int typing_wrong(const struct typing *t, const struct node *node, const char *what);
int typing_expected(const struct typing *t, const struct node *node, const char *kind);
/* An error if it is a map's histogram, or what has several numbers: print(@map) alone takes these. */
int typing_single(const struct typing *t, const struct node *node);
/* An error if a part of it is what a loop over histograms has: that has no value. */
int typing_parts(const struct typing *t, const struct node *node);
/* An error if the node, whose type was found, is nothing that can be kept. */
int typing_value(const struct typing *t, const struct node *node);

#endif
