/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A value of a probe, as its definition asks for it, in either language (probe_definition.h): "name=file->f_mode:u32".
 * Beyond both, what leads on from a number may be told: "((path*)$arg1)->dentry"; "$current" is the running thread's
 * task_struct: "$current->cred->uid.val"; and one probe keeps a number by keys, under a name, for another:
 * "$keep(file,$current->pid,$arg1)", "((file*)$kept(file,$current->pid))->f_mode".
 */
#ifndef UPTO_PROBES_PROBE_ARG_H
#define UPTO_PROBES_PROBE_ARG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "probe_code.h"

enum { PROBE_ARGS = 128, PROBE_ARRAY = 64 }; /* as kernel/trace/trace_probe.h has them */

/* What a value is printed as. */
struct probe_type {
	enum probe_format {
		PROBE_UNSAID,
		PROBE_UNSIGNED = 'u',
		PROBE_SIGNED = 'd',
		PROBE_HEX = 'x',
		PROBE_CHAR = 'c',
		PROBE_STRING = 's', /* the value is where it begins */
		PROBE_SYMBOL = 'S',
	} format;
	unsigned bytes;       /* of a number: 1, 2, 4 or 8; 0: not said */
	unsigned bits, shift; /* of a bit field, within a number of `bytes`; bits 0: it is none */
	/* elements of an array, whose begin the value is; 0: it is none. Of strings, pointers to them are there */
	unsigned count;
	/* ":auto": what the kernel's types say that it is, of a structure where it is; without them, 64 bits */
	bool is_auto;
	bool up_to;           /* of an array, what is behind the memory that is there is 0: "x8[..16]" */
};

struct probe_step {
	enum probe_step_kind {
		STEP_MEMBER, /* .name, or ->name */
		STEP_INDEX,  /* [number] */
		STEP_READ,   /* +number(…): what is so many bytes behind that */
		STEP_CAST,   /* ((name*)…): it points to such a structure */
	} kind;
	char *name;
	int64_t number;
};

struct probe_arg {
	enum probe_base {
		PROBE_VARIABLE,
		PROBE_VARIABLES,  /* $vars: all that there are */
		PROBE_PARAMETERS, /* $params, $arg* */
		PROBE_REGISTER,   /* number: as instructions have it */
		PROBE_ARGUMENT,   /* $argN: number from 1 on */
		PROBE_RESULT,     /* $retval */
		PROBE_STACK,      /* $stackN: word number of the stack */
		PROBE_STACK_AT,   /* $stack: where it is */
		PROBE_COMM,       /* $comm */
		PROBE_CURRENT,    /* $current: the running thread's task_struct */
		PROBE_AT,         /* @text+number: what is there */
		PROBE_CONSTANT,   /* \number */
		PROBE_CODE,       /* {…}: see probe_code.h */
		PROBE_KEEP,       /* $keep(text, of …): the last one by the others */
		PROBE_KEPT,       /* $kept(text, of …) */
	} base;
	char *name; /* "": none was given */
	char *word; /* all of it but the name; NULL: it is within another */
	char *text; /* VARIABLE: its name; AT: a symbol's, or NULL; KEEP, KEPT: that of what is kept */
	int64_t number;
	struct probe_code code; /* CODE */
	struct probe_arg *of;   /* KEEP, KEPT */
	size_t n_of;
	unsigned inside; /* so many KEEPs and KEPTs are around it */
	struct probe_step *steps;
	size_t n_steps;
	unsigned casts;
	struct probe_type type;
};

/* Call probe_arg_deinit() in either case. */
int probe_arg_parse(const char *word, struct probe_arg *ret, struct error *err);
void probe_arg_deinit(struct probe_arg *a);

/* What a value is called in records, if nothing else was said: "count", "f_mode", "arg3". The caller frees it. */
char *probe_arg_name(const struct probe_arg *a, size_t number);

/* Append " name=word", or " word", as it was given. */
void probe_arg_put(const struct probe_arg *a, struct buf *out);

/* Does it ask for $argN, or do those that it keeps a number by? */
bool probe_arg_asks_argument(const struct probe_arg *a);

/* Append ":u32", ":b4@2/8", ":string", ":x8[16]", ":auto"; nothing, if nothing is said. */
void probe_type_put(const struct probe_type *t, struct buf *out);

#endif
