/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program in handlers, as it was written: probes, what is asked before they fire, and what is done then. The language
 * is bpftrace's (its 0.17 reference, and what later versions added), since that is the one that people know, with
 * probes of upto's own.
 */
#ifndef UPTO_HANDLERS_SCRIPT_H
#define UPTO_HANDLERS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a value is. Of each expression it is known before anything runs. */
enum type_kind {
	TYPE_NONE,   /* of statements, and of what is not known yet */
	TYPE_NUMBER, /* 64 bits */
	TYPE_TEXT,
	TYPE_NAME, /* a number that has a text: of a probe, a function (struct handlers_host) */
	TYPE_KSTACK,
	TYPE_USTACK, /* numbers of stacks */
	TYPE_TUPLE,
	TYPE_RECORD,    /* `args` */
	TYPE_POINTER,   /* an address, of what `structure` says, or of any */
	TYPE_AGGREGATE, /* of maps: count(), hist() … */
};

enum aggregate { AGGREGATE_NONE, COUNT, SUM, AVG, MIN, MAX, STATS, HIST, LHIST, TSERIES };

struct type {
	enum type_kind kind;
	bool is_signed;
	bool unsure;           /* NUMBER: what the probe has recorded will tell whether it is that, or a text */
	bool is_bytes;         /* TEXT: bytes as they are in memory */
	bool is_bool;          /* NUMBER of a cast: 0 or 1 */
	unsigned size;         /* NUMBER: its bytes, if it was cast; 0: 8 */
	const char *structure; /* POINTER: "sock"; NULL: none */
	unsigned stars;        /* POINTER of a cast: 2 of "uint64 **"; `size` and to_signed: of what it leads to in the end */
	bool to_signed;
	struct type *fields;   /* TUPLE */
	size_t n_fields;
	const char *const *names; /* TUPLE: of its parts; NULL: they have none */
	enum aggregate aggregate; /* AGGREGATE … */
	int64_t min, max, step;   /* … LHIST; TSERIES: max intervals of step ns */
	enum aggregate of;        /* … TSERIES: what each interval keeps; NONE: the last value */
	unsigned bits;            /* … HIST: each power of two has 2^bits buckets */
};

static inline bool type_is_number(const struct type *type)
{
	return type->kind == TYPE_NUMBER || type->kind == TYPE_POINTER;
}

/* Has it one number: is it one, or what count(), sum() and the like have come to? */
static inline bool type_has_number(const struct type *type)
{
	return type_is_number(type) || (type->kind == TYPE_AGGREGATE && type->aggregate <= MAX);
}

static inline bool type_has_text(const struct type *type)
{
	return type->kind == TYPE_TEXT || type->kind == TYPE_NAME;
}

enum node_kind {
	/* expressions */
	NODE_NUMBER,
	NODE_TEXT,
	NODE_BUILTIN,   /* `number`: enum builtin */
	NODE_VARIABLE,  /* $text */
	NODE_MAP,       /* @text; list[0]: its key, or none */
	NODE_PARAMETER, /* $1: `number`; $#: 0 */
	NODE_CALL,      /* text(list …) */
	NODE_UNARY,     /* op, list[0] */
	NODE_BINARY,    /* op, list[0], list[1] */
	NODE_TERNARY,   /* list[0] ? list[1] : list[2] */
	NODE_CAST,      /* to `type`, list[0] */
	NODE_MEMBER,    /* list[0], text: a member, or of a tuple `number` */
	NODE_INDEX,     /* list[0][list[1]] */
	NODE_TUPLE,     /* (list …) */
	NODE_VALUE,     /* list …, and the last one is its value */
	NODE_STEP,      /* ++ or -- of list[0]; `number`: 1 if in front of it */
	/* statements */
	NODE_ASSIGN,    /* list[0] = list[1], with op before the =, or 0 */
	NODE_DO,        /* list[0], for what it does */
	NODE_IF,        /* list[0], list[1], else list[2] if there is one */
	NODE_WHILE,     /* list[0], list[1] */
	NODE_FOR_MAP,   /* $text, the map list[0], list[1] */
	NODE_FOR_RANGE, /* $text from list[0] up to list[1], list[2] */
	NODE_UNROLL,    /* `number` times list[0] */
	NODE_BLOCK,     /* list … */
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_RETURN,
};

/* Operators of more than one character; others are their character. */
enum {
	OP_OR = 256,
	OP_AND,
	OP_EQUAL,
	OP_UNEQUAL,
	OP_LESS_EQUAL,
	OP_MORE_EQUAL,
	OP_SHIFT_LEFT,
	OP_SHIFT_RIGHT,
	OP_PLUS_PLUS,
	OP_MINUS_MINUS,
	OP_ARROW,
	OP_RANGE
};

/* Has what an operator makes of two numbers a sign? As with bpftrace: if both have one; of a shift, if the first has.
 */
static inline bool type_signs(int op, const struct type *a, const struct type *b)
{
	return a->is_signed && (b->is_signed || op == OP_SHIFT_LEFT || op == OP_SHIFT_RIGHT);
}

enum builtin {
	BUILTIN_PID,
	BUILTIN_TID,
	BUILTIN_PPID,
	BUILTIN_COMM,
	BUILTIN_PCOMM,
	BUILTIN_CPU,
	BUILTIN_NSECS,
	BUILTIN_ELAPSED,
	BUILTIN_CURTASK,
	BUILTIN_UID,
	BUILTIN_GID,
	BUILTIN_RAND,
	BUILTIN_KSTACK,
	BUILTIN_USTACK,
	BUILTIN_FUNC,
	BUILTIN_PROBE,
	BUILTIN_PROBE_TYPE,
	BUILTIN_USER_MODE,
	BUILTIN_RETVAL,
	BUILTIN_ARGS,
	BUILTIN_ARG0,
	BUILTIN_ARG1,
	BUILTIN_ARG2,
	BUILTIN_ARG3,
	BUILTIN_ARG4,
	BUILTIN_ARG5,
	BUILTIN_SARG0, /* arguments on the stack */
	BUILTIN_SARG1,
	BUILTIN_SARG2,
	BUILTIN_SARG3,
	BUILTIN_SARG4,
	BUILTIN_SARG5,
	BUILTIN_NCPUS,
	BUILTIN_INSNS,
	BUILTIN_SELF_NS,
	BUILTIN_SELF_INSNS,
	BUILTIN_DURATION,
	BUILTIN_DEPTH,
	BUILTINS,
};

struct node {
	enum node_kind kind;
	int op;
	const char *at; /* where it stands in the program's text, and how long */
	size_t len;
	char *text;
	size_t text_len; /* TEXT may have NULs */
	uint64_t number;
	const char *const *names; /* TUPLE: of its parts; NULL: none. FOR_RANGE: of the variable that has its end */
	struct node **list;
	size_t n;
	struct type type;
	unsigned height;   /* so many nodes are below it, one in the other */
	long field;        /* of the hit's record: the value is there; -1: it is not */
	long kept;         /* likewise: the address, kept by another probe, that the value was found by; -1: none */
	struct node *next; /* all nodes of a program, to be freed */
};

enum place_kind {
	PLACE_BEGIN,
	PLACE_END,
	PLACE_ENTRY,    /* kprobe, fentry: a kernel's function is called */
	PLACE_RETURN,   /* kretprobe, fexit: it returns */
	PLACE_CALL,     /* call: any function, the kernel's or a program's */
	PLACE_CALL_END, /* return: likewise */
	PLACE_UPROBE,
	PLACE_URETPROBE,
	PLACE_STATIC,     /* usdt: a static probe of a program */
	PLACE_TRACEPOINT, /* also rawtracepoint, without a system */
	PLACE_PROFILE,    /* each vCPU, so often */
	PLACE_INTERVAL,   /* once, so often */
	PLACE_SOFTWARE,   /* page-faults, context-switches … */
	PLACE_SPAN,       /* span:KIND of the timeline ends */
	PLACE_WAIT,       /* a thread has waited, and goes on */
	PLACE_LOG,        /* a line of the kernel's log */
};

/* Where a probe is: "kprobe:vfs_*". */
struct place_asked {
	enum place_kind kind;
	const char *at; /* as in struct node */
	size_t len;
	char *text;      /* all of it, with the kind's full name */
	char *object;    /* a path, a module, a tracepoint's system; NULL: none */
	char *name;      /* a pattern of names; NULL: none */
	char *call;      /* ENTRY, RETURN: of that system call, whose tracepoint was meant; else NULL */
	char *provider;  /* STATIC: whose probe it is */
	uint64_t offset; /* kprobe:f+OFFSET */
	uint64_t ns;     /* PROFILE, INTERVAL: the time between two */
	uint64_t count;  /* SOFTWARE: every so many */
	bool by_types;   /* fentry, fexit: `args` are by the kernel's types */
};

struct handler {
	struct place_asked *places;
	size_t n_places;
	struct node *predicate; /* NULL: none */
	struct node *body;
};

struct script {
	const char *name; /* "-e", or the file's: for messages */
	char *source;
	struct handler *handlers;
	size_t n_handlers, cap;
	struct node *nodes;
	size_t n_nodes;
	struct macro {
		char *name, **parameters; /* with $ or @, if they have it */
		size_t n;
		const char *body; /* its { */
		size_t len;
	} * macros;
	size_t n_macros, macros_cap;
	struct map_bound {
		const char *map; /* without its @ */
		uint64_t keys;
		bool forgets; /* lruhash: the key that was not used for longest goes */
	} * bounds; /* let @map = hash(KEYS) */
	size_t n_bounds, bounds_cap;
	bool keeps_maps; /* config = { print_maps_on_exit = false } */
	/* $1 …: whoever gives them keeps them */
	char *const *parameters;
	size_t n_parameters;
	struct define {
		char *name;
		uint64_t value;
		bool loose; /* several words, without parentheses around them: only their preprocessor has its value */
	} * defines; /* #define NAME NUMBER */
	size_t n_defines;
	const char *odd_condition; /* the line of an #if that is no calculation which is known; NULL: there is none */
	void **owned; /* script_alloc() */
	size_t n_owned, owned_cap;
};

enum { SCRIPT_BYTES_MAX = 1 << 20, SCRIPT_DEPTH_MAX = 200, SCRIPT_HEIGHT_MAX = 500 };

/* Parse it. The error names file, line and column, and marks the word. Call script_free() also after an error. */
int script_parse(const char *name, const char *source, size_t len, char *const *parameters, size_t n_parameters,
		 struct script *ret, struct error *err);
void script_free(struct script *p);

/* What was found out of its expressions is forgotten, to be found anew. */
void script_forget(struct script *p);

/* Zeroed memory that lives as long as the program. */
void *script_alloc(struct script *p, size_t n, size_t size);

/* A number that the program, or a header of the kernel's, has a name for. False: it is none that is known. */
bool script_constant(const struct script *p, const char *name, uint64_t *ret);

/* Is it a #define of several words without parentheses, whose value depends on what stands beside it? */
bool script_loose(const struct script *p, const char *name);

/* What $1 is as a number: 0 where it was not given. An error: it is none. */
int script_parameter(const struct script *p, const struct node *node, uint64_t *ret, struct error *err);

/* A new node of the program, with room for n others. */
struct node *script_node(struct script *p, enum node_kind kind, const char *at, size_t len, size_t n);

/*
 * An error at a place in the program: "FILE:3:14: message", the line, and a mark below the word. Returns -1.
 */
int script_error(const struct script *p, const char *at, size_t len, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Number of the builtin of that name; -1: it is none. */
int builtin_find(const char *name, size_t len);
extern const char *const builtin_names[BUILTINS + 1]; /* NULL behind the last */

#endif
