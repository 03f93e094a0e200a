/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"

enum { TOKEN_BYTES = 16, TOKEN = 2 * TOKEN_BYTES, CONNECTIONS = 32, TIMEOUT_S = 30 };

struct web_server {
	struct web_server_options options;
	struct MHD_Daemon *daemon;
	unsigned port;
	char token[TOKEN + 1];
	char cookie[32];   /* its name */
	char hosts[2][32]; /* what Host may be */
	char *address;
	_Atomic bool ready; /* its port is known, and what follows from that: until then nobody can know its address */
};

struct web_request {
	struct MHD_Connection *connection;
};

bool web_server_is_there(void)
{
	return true;
}

unsigned web_server_port(const struct web_server *s)
{
	return s->port;
}

const char *web_server_address(const struct web_server *s)
{
	return s->address;
}

bool web_request_number(const struct web_request *r, const char *name, uint64_t *ret)
{
	const char *text = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !*end && !errno;
}

bool web_request_is_gone(const struct web_request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd browser = { .fd = info ? info->connect_fd : -1, .events = POLLRDHUP };

	return poll(&browser, 1, 0) > 0 && browser.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* In a time that does not tell how much of it is right. */
static bool is_token(const struct web_server *s, const char *text)
{
	unsigned differs = 0;

	if (!text || strlen(text) != TOKEN)
		return false;
	for (size_t i = 0; i < TOKEN; i++)
		differs |= (unsigned)(text[i] ^ s->token[i]);
	return !differs;
}

/* Has another page made the browser ask, and not one of ours, or the user? */
static bool is_from_elsewhere(struct MHD_Connection *c)
{
	const char *site = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");

	return site && strcmp(site, "same-origin") && strcmp(site, "none");
}

/* Is it asked of this server, and by no script of another page? */
static bool is_ours(const struct web_server *s, struct MHD_Connection *c)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
	bool known = false;

	for (int i = 0; i < 2 && host; i++)
		known |= !strcmp(host, s->hosts[i]) &&
			 (!origin || (!strncmp(origin, "http://", 7) && !strcmp(origin + 7, host)));
	return known;
}

static enum MHD_Result put(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" }, /* the first address has the token */
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Content-Security-Policy", "frame-ancestors 'none'" }, /* the rest is in the page */
	};
	enum MHD_Result result;

	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result put_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	return put(c, status, r);
}

/*
 * The token is right: it becomes a cookie, and goes out of the address. Whoever comes from the file of upto ui --open
 * comes from another site, on whose behalf the browser does not send that cookie, nor where it is led to from here. So
 * a page of ours leads on.
 */
static enum MHD_Result let_in(const struct web_server *s, struct MHD_Connection *c)
{
	static const char on[] =
		"<!doctype html><title>upto</title><meta http-equiv=\"refresh\" content=\"0;url=/\">\n";
	bool elsewhere = is_from_elsewhere(c);
	struct MHD_Response *r = MHD_create_response_from_buffer(elsewhere ? sizeof on - 1 : 0, (void *)on,
								 MHD_RESPMEM_PERSISTENT);
	char cookie[128];

	snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", s->cookie, s->token);
	MHD_add_response_header(r, "Set-Cookie", cookie);
	if (elsewhere)
		MHD_add_response_header(r, "Content-Type", "text/html; charset=utf-8");
	else
		MHD_add_response_header(r, "Location", "/");
	return put(c, elsewhere ? MHD_HTTP_OK : MHD_HTTP_SEE_OTHER, r);
}

static enum MHD_Result put_answer(struct MHD_Connection *c, struct web_answer *a)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(a->body.len, a->body.data, MHD_RESPMEM_MUST_FREE);

	MHD_add_response_header(r, "Content-Type", a->type);
	if (a->gzip)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	return put(c, a->status ? a->status : MHD_HTTP_OK, r);
}

static enum MHD_Result handle(void *server, struct MHD_Connection *c, const char *path, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **begun)
{
	struct web_server *s = server;
	const struct web_request request = { c };
	struct web_answer answer = { .type = "application/json" };

	(void)version, (void)upload, (void)upload_size;
	if (!*begun) {
		/* the headers are there; it is called again when all of the request is */
		*begun = s;
		return MHD_YES;
	}
	if (!s->ready)
		return put_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "not yet\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return put_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	if (!is_ours(s, c))
		return put_text(c, MHD_HTTP_FORBIDDEN, "this is for a browser on the same machine\n");
	if (is_token(s, MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token")) && !strcmp(path, "/"))
		return let_in(s, c);
	if (is_from_elsewhere(c))
		return put_text(c, MHD_HTTP_FORBIDDEN, "this is for a browser on the same machine\n");
	if (!is_token(s, MHD_lookup_connection_value(c, MHD_COOKIE_KIND, s->cookie)))
		return put_text(c, MHD_HTTP_FORBIDDEN, "open the whole address that upto ui printed\n");
	if (!s->options.answer(s->options.context, path, &request, &answer)) {
		buf_free(&answer.body);
		return put_text(c, MHD_HTTP_NOT_FOUND, "there is nothing of that name\n");
	}
	return put_answer(c, &answer);
}

static int make_token(struct web_server *s, struct error *err)
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return error_set(err, "no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

struct web_server *web_server_start(const struct web_server_options *options, struct error *err)
{
	struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)options->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct web_server *s = xcalloc(1, sizeof *s);

	s->options = *options;
	if (make_token(s, err) == 0) {
		s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL,
					     NULL, handle, s,
					     MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&loopback,
					     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
					     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
					     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
		if (!s->daemon)
			error_set(err, "port %u of 127.0.0.1: %s", options->port, strerror(errno));
	}
	if (!s->daemon) {
		free(s);
		return NULL;
	}
	s->port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	snprintf(s->cookie, sizeof s->cookie, "upto_%u", s->port);
	snprintf(s->hosts[0], sizeof s->hosts[0], "127.0.0.1:%u", s->port);
	snprintf(s->hosts[1], sizeof s->hosts[1], "localhost:%u", s->port);
	s->address = xasprintf("http://127.0.0.1:%u/?token=%s", s->port, s->token);
	s->ready = true;
	return s;
}

void web_server_stop(struct web_server *s)
{
	MHD_stop_daemon(s->daemon);
	free(s->address);
	free(s);
}
