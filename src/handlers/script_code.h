/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program as steps for a machine with a stack of values (machine.h). */
#ifndef UPTO_HANDLERS_SCRIPT_CODE_H
#define UPTO_HANDLERS_SCRIPT_CODE_H

#include "text_format.h"
#include "types.h"

enum step_op {
	STEP_NUMBER,  /* push n */
	STEP_TEXT,    /* push texts[a] */
	STEP_BUILTIN, /* push enum builtin a */
	STEP_FIELD,   /* push what the probe has read: field a */
	STEP_LED,     /* pop a value, the address that it was read by, the program's: push the value if both are one;
			 flag: a text */
	STEP_LOAD,    /* push variable a */
	STEP_STORE,   /* pop into variable a */
	STEP_POP,
	STEP_ARITHMETIC, /* of the two last: operator a; flag: signed */
	STEP_TEXTS,      /* compare the two last, which are texts: operator a */
	STEP_NEGATE,
	STEP_NOT,
	STEP_COMPLEMENT,
	STEP_CAST,       /* to a bytes; flag: signed */
	STEP_TRUTH,      /* 0 or 1 */
	STEP_NAME_TEXT,  /* of a NAME, its text */
	STEP_JUMP,       /* to step n */
	STEP_JUMP_FALSE, /* pop; if it is 0 */
	STEP_BACK,       /* likewise backwards, which is counted */
	STEP_TUPLE,      /* of the last ones: types[a] */
	STEP_PART,       /* n of a tuple: types[a] */
	/* of map a; those with a key pop it */
	STEP_GET,
	STEP_SET,
	STEP_HAS,
	STEP_FIND, /* push the key's value in its place, and whether it is there */
	STEP_DELETE,
	STEP_GIVE_BACK, /* get what the key that stays has: for @x[key] += 1 */
	STEP_SET_UNDER, /* set to the last value, and leave that in the key's place */
	STEP_ADD,       /* to count(), hist() …: pop a value, then the key */
	STEP_COUNT,     /* to count(): pop the key */
	STEP_CLEAR,
	STEP_ZERO,
	STEP_LEN,
	STEP_PRINT_MAP,   /* pop div and top */
	STEP_PRINT_ENTRY, /* pop the key */
	STEP_MARK,
	STEP_RELEASE,  /* push what texts take; pop that, and forget those made since */
	STEP_FOR,      /* push a place in map a */
	STEP_NEXT,     /* put the next key and value into variable flag; none: jump to step n */
	STEP_PRINT,    /* the last value, of types[a] */
	STEP_PRINTF,   /* formats[a]: pop what it prints */
	STEP_FORMAT,   /* likewise: push the text */
	STEP_JOIN,     /* pop a text of several, with a NUL behind each: texts[a] between them */
	STEP_TIME,     /* by format texts[a] */
	STEP_STRFTIME, /* pop ns; texts[a] */
	STEP_STACK,    /* push a stack of up to n frames; flag: the user's */
	STEP_CALL,     /* of function a: pop n values, push one; flag: the size of the first, or CALL_OF_BYTES */
	STEP_EXIT, /* pop its code */
	STEP_END, /* of the handler */
};

enum { CALL_OF_BYTES = 255 }; /* a value is the bytes of a field */

struct step {
	uint8_t op, flag;
	uint16_t a;
	uint32_t line; /* NEXT: texts of the round before are forgotten */
	uint64_t n;
};

struct code_text {
	char *text;
	size_t len;
};

struct script_code {
	struct types types; /* maps, variables and fields have the numbers that they have there */
	struct step *steps;
	size_t n_steps, steps_cap;
	struct code_text *texts;
	size_t n_texts, texts_cap;
	struct type *list; /* types of tuples, and of values that are printed */
	size_t n_list, list_cap;
	struct text_format *formats;
	size_t n_formats, formats_cap;
	size_t *begins; /* by handler: its first step */
	bool keeps_maps;    /* they are not printed at the end */
	unsigned depth; /* so many values are on the stack at most */
};

/* Call script_code_deinit() also after an error. The program must live as long. */
int script_compile(struct script *p, const struct field_types *known, struct script_code *ret, struct error *err);
void script_code_deinit(struct script_code *c);

#endif
