/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debuginfod.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * elfutils' client is loaded only if it is wanted and installed: it depends on libraries that fetch from the web, which
 * upto does not need otherwise. Functions as in elfutils/debuginfod.h.
 */
struct client {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *id, int len, char **ret_path);
	void (*end)(void *client);
};

static bool load(struct client *c)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *library = urls && *urls ? dlopen("libdebuginfod.so.1", RTLD_NOW) : NULL;

	if (!library)
		return false;
	c->begin = (void *(*)(void))dlsym(library, "debuginfod_begin");
	c->find = (int (*)(void *, const unsigned char *, int, char **))dlsym(library, "debuginfod_find_debuginfo");
	c->end = (void (*)(void *))dlsym(library, "debuginfod_end");
	return c->begin && c->find && c->end;
}

char *debuginfod_fetch(const struct build_id *id)
{
	struct client c;
	void *client = id->len && load(&c) ? c.begin() : NULL;
	char *path = NULL;
	int fd;

	if (!client)
		return NULL;
	fd = c.find(client, id->bytes, (int)id->len, &path);
	c.end(client);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	free(path);
	return NULL;
}
