/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves one user's browser on this machine, and nobody else: on 127.0.0.1, with a token that is in the address which
 * that user is given, and in a cookie from then on. Other users of the machine lack it; other pages in the same browser
 * have another Host or Origin. No path of a request is a path of the file system.
 */
#ifndef UPTO_SERVE_WEB_SERVER_H
#define UPTO_SERVE_WEB_SERVER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

struct web_request;

/* A number of the address's query. False: it is not there, or is no number. */
bool web_request_number(const struct web_request *r, const char *name, uint64_t *ret);

/* Does nobody wait for the answer any more? May be called from any thread until it is given. */
bool web_request_is_gone(const struct web_request *r);

struct web_answer {
	struct buf body;  /* taken */
	const char *type; /* "application/json" */
	bool gzip;        /* the body is packed so */
	unsigned status;  /* 200, unless it is set */
};

struct web_server_options {
	unsigned port; /* 0: any that is free */
	/* Fill in *ret. False: there is nothing of that path. Several at the same time, each in a thread of its own. */
	bool (*answer)(void *context, const char *path, const struct web_request *r, struct web_answer *ret);
	void *context;
};

struct web_server;

/* Was upto built with libmicrohttpd? */
bool web_server_is_there(void);

/* NULL: *err is set. */
struct web_server *web_server_start(const struct web_server_options *options, struct error *err);
void web_server_stop(struct web_server *s);

unsigned web_server_port(const struct web_server *s);
/* "http://127.0.0.1:4711/?token=…" */
const char *web_server_address(const struct web_server *s);

#endif
