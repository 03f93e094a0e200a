/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found in the tracer's files, noted where the next recording finds it (/run, which a boot empties), should
 * this one be killed. One recording at a time has the note.
 */
#ifndef UPTO_HOST_HOST_NOTE_H
#define UPTO_HOST_HOST_NOTE_H

#include <stdbool.h>

#include "base/error.h"

struct host_note {
	int fd; /* -1: there can be none here */
};

enum host_note_kind {
	HOST_NOTE_VALUE = 'v',
	HOST_NOTE_LIST = 'l',    /* a word a line */
	HOST_NOTE_TRIGGER = 't', /* it was added, and is to be taken away */
};

/* *ret_left: what one that was killed has noted, to be freed; NULL: none was. -1: another one records. */
int host_note_begin(struct host_note *n, char **ret_left, struct error *err);
/* Before the file is changed. */
void host_note_add(const struct host_note *n, enum host_note_kind kind, const char *file, const char *text);
/* The last one that `left` has, which it has not any more. False: there is none. *ret_text has lines. */
bool host_note_take(char *left, enum host_note_kind *ret_kind, const char **ret_file, char **ret_text);
/* What was noted is as it was. */
void host_note_forget(const struct host_note *n);
/* … and nothing more will be noted. */
void host_note_end(struct host_note *n);

#endif
