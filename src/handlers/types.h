/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each expression of a program is, and what its variables and maps hold. */
#ifndef UPTO_HANDLERS_TYPES_H
#define UPTO_HANDLERS_TYPES_H

#include "script.h"

struct map_asked {
	const char *name;      /* without its @ */
	const struct node *at; /* where it is set first, or used */
	bool has_key, key_known;
	struct type key, value; /* value.kind NONE: it is not set anywhere */
	uint64_t keys_max;      /* let @map = hash(KEYS); 0: none was said */
	bool forgets;           /* … lruhash(KEYS): the key that was not used for longest makes room */
	bool holds_text;        /* what is kept is read as a text later: it is read where it is kept */
	/* memory is read by what is kept: the address goes from one probe to the other while the guest runs */
	const struct node *leads;
	bool kept; /* a probe does so */
};

struct variable_asked {
	const char *name; /* without its $ */
	size_t handler;
	struct type type;
	struct node *value; /* what it is, if it is set once; else NULL */
	unsigned sets;
};

/*
 * What a probe reads of the guest, in the words of a probe's value (probes/probe_arg.h): "$arg1", "file->f_mode",
 * "$arg2:string"; of a tracepoint, the name of its field, and that with ":string".
 */
struct field_asked {
	size_t handler;
	char *text;
	const struct node *at;
	struct type type;
};

/* An address that a handler puts into a map, and that others read memory by: "$keep(sk,$current->pid,$arg1)". */
struct keep_asked {
	size_t handler;
	char *text;
	const struct node *at;
};

struct types {
	struct map_asked *maps;
	size_t n_maps, maps_cap;
	struct variable_asked *variables;
	size_t n_variables, variables_cap;
	struct field_asked *fields; /* nodes have their numbers */
	size_t n_fields, fields_cap;
	struct keep_asked *keeps;
	size_t n_keeps, keeps_cap;
};

/*
 * What is known of a field besides its name. `place`: of the handler, the first. False: it is not there; the error says
 * what is. NULL: all are numbers, or texts where they are read as such.
 */
struct field_types {
	bool (*find)(void *context, const struct place_asked *place, const char *text, struct type *ret,
		     struct error *err);
	void *context;
	bool guesses;  /* types of tracepoints' fields are not known: nothing is refused for its type */
	bool no_sizes; /* how many bytes a field has is not known either */
};

/* Call types_deinit() also after an error. */
int types_find(struct script *p, const struct field_types *known, struct types *ret, struct error *err);
void types_deinit(struct types *t);

size_t types_map(const struct types *t, const char *name);
size_t types_variable(const struct types *t, size_t handler, const char *name);

/* A function of the language. */
struct function {
	const char *name;
	enum function_id {
		FUNCTION_COUNT,
		FUNCTION_SUM,
		FUNCTION_AVG,
		FUNCTION_MIN,
		FUNCTION_MAX,
		FUNCTION_STATS,
		FUNCTION_HIST,
		FUNCTION_LHIST,
		FUNCTION_TSERIES,
		FUNCTION_PRINTF,
		FUNCTION_PRINT,
		FUNCTION_CLEAR,
		FUNCTION_ZERO,
		FUNCTION_DELETE,
		FUNCTION_EXIT,
		FUNCTION_TIME,
		FUNCTION_STR,
		FUNCTION_KSYM,
		FUNCTION_USYM,
		FUNCTION_KSTACK,
		FUNCTION_USTACK,
		FUNCTION_STRFTIME,
		FUNCTION_STRNCMP,
		FUNCTION_STRLEN,
		FUNCTION_STRCONTAINS,
		FUNCTION_HAS_KEY,
		FUNCTION_FIND,
		FUNCTION_LEN,
		FUNCTION_NTOP,
		FUNCTION_BUF,
		FUNCTION_MACADDR,
		FUNCTION_BSWAP,
		FUNCTION_STRERROR,
		FUNCTION_SIGNAL_NAME,
		FUNCTION_SYSCALL_NAME,
		FUNCTION_POINTER,
		FUNCTION_KADDR,
		FUNCTION_NSECS,
		FUNCTION_JOIN,
		FUNCTION_REG,
		FUNCTION_REFUSED,
	} id;
	unsigned least, most; /* arguments */
	enum type_kind gives;
	enum aggregate aggregate;
	const char *why;   /* REFUSED */
	const char *takes; /* a letter for each argument: t text, n number, else anything; NULL: anything */
};

/* NULL: there is none of that name. */
const struct function *function_find(const char *name);
/* The one whose name is nearest; NULL: none is near. */
const char *function_nearest(const char *name);

#endif
