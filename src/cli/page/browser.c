/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

extern char **environ;

/* A folder that nobody else can look into. */
static const char *place(void)
{
	static const char *const names[] = { "XDG_RUNTIME_DIR", "TMPDIR" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *folder = getenv(names[i]);

		if (folder && *folder == '/' && access(folder, W_OK | X_OK) == 0)
			return folder;
	}
	return "/tmp";
}

static int make_file(struct browser *b, const char *address, struct error *err)
{
	char *page = xasprintf("<!doctype html><meta charset=\"utf-8\"><title>upto</title>"
			       "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
			       address);
	char *folder = xasprintf("%s/upto-ui-XXXXXX", place());
	int fd = -1, r = mkdtemp(folder) ? 0 : -errno;

	if (r < 0) {
		free(folder);
	} else {
		b->folder = folder;
		b->file = xasprintf("%s/upto.html", folder);
		fd = open(b->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		r = fd < 0 ? -errno : write_all(fd, page, strlen(page));
	}
	if (fd >= 0 && close(fd) < 0 && r == 0)
		r = -errno;
	free(page);
	return r < 0 ? error_set(err, "a file for the browser: %s", strerror(-r)) : 0;
}

int browser_open(struct browser *b, const char *address, struct error *err)
{
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int failed;

	*b = (struct browser){ 0 };
	if (make_file(b, address, err) < 0)
		return -1;
	/* signals that are blocked here are not to be blocked in the browser */
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawnp(&pid, "xdg-open", NULL, &attributes, (char *[]){ "xdg-open", b->file, NULL }, environ);
	posix_spawnattr_destroy(&attributes);
	return failed ? error_set(err, "xdg-open: %s", strerror(failed)) : 0;
}

void browser_end(struct browser *b)
{
	if (b->file)
		unlink(b->file);
	if (b->folder)
		rmdir(b->folder);
	free(b->file);
	free(b->folder);
	*b = (struct browser){ 0 };
}
