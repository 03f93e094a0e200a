/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of one trace for several requests at the same time: all have its names and threads, and each has an index of
 * its own to read from.
 */
#ifndef UPTO_SERVE_VIEW_SESSIONS_H
#define UPTO_SERVE_VIEW_SESSIONS_H

#include "replay/session.h"

struct view_sessions;

/* `session` must live as long. */
struct view_sessions *view_sessions_new(const struct session *session);
/* All must have been given back. */
void view_sessions_free(struct view_sessions *v);

/* A session that is this request's alone. It waits while there are as many as are good for the machine. */
struct session view_sessions_take(struct view_sessions *v);
void view_sessions_give_back(struct view_sessions *v, const struct session *session);

#endif
