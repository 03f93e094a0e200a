/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where there is no libmicrohttpd to build with. */
#include "web_server.h"

bool web_request_number(const struct web_request *r, const char *name, uint64_t *ret)
{
	(void)r, (void)name, (void)ret;
	return false;
}

bool web_request_is_gone(const struct web_request *r)
{
	(void)r;
	return true;
}

bool web_server_is_there(void)
{
	return false;
}

struct web_server *web_server_start(const struct web_server_options *options, struct error *err)
{
	(void)options;
	error_set(err, "upto was built without libmicrohttpd");
	return NULL;
}

void web_server_stop(struct web_server *s)
{
	(void)s;
}

unsigned web_server_port(const struct web_server *s)
{
	(void)s;
	return 0;
}

const char *web_server_address(const struct web_server *s)
{
	(void)s;
	return "";
}
