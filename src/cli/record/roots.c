/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

void roots_add(struct roots *r, const char *path, size_t len, bool named)
{
	r->list = xreallocarray(r->list, r->count + 1, sizeof *r->list);
	r->list[r->count++] = xstrndup(path, len);
	r->named += named;
}

void roots_add_list(struct roots *r, const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ":");

		if (len)
			roots_add(r, list, len, true);
		list += len + (list[len] == ':');
	}
}

int roots_check(const struct roots *r, struct error *err)
{
	for (size_t i = 0; i < r->named; i++)
		if (access(r->list[i], R_OK) < 0)
			return error_set(err, "%s: %s", r->list[i], strerror(errno));
	return 0;
}

/* "if=virtio,file=root.img,format=raw" */
static void add_drive(struct roots *r, const char *drive)
{
	const char *file = strncmp(drive, "file=", 5) ? strstr(drive, ",file=") : drive - 1;

	if (file)
		roots_add(r, file + 6, strcspn(file + 6, ","), false);
}

/* A folder of the host's that the guest mounts: -fsdev local,id=root,path=/ */
static void add_folder(struct roots *r, const char *options)
{
	const char *path = strstr(options, ",path=");

	if (path)
		roots_add(r, path + 6, strcspn(path + 6, ","), false);
}

void roots_add_guest(struct roots *r, char *const *argv)
{
	for (; *argv && argv[1]; argv++) {
		const char *word = *argv + (**argv == '-') + !strncmp(*argv, "--", 2);

		if (**argv != '-')
			continue;
		if (!strcmp(word, "initrd"))
			roots_add(r, argv[1], strcspn(argv[1], ","), false);
		else if (!strcmp(word, "drive"))
			add_drive(r, argv[1]);
		else if (!strcmp(word, "fsdev") || !strcmp(word, "virtfs"))
			add_folder(r, argv[1]);
		else if (strlen(word) == 3 && !strncmp(word, "hd", 2) && word[2] >= 'a' && word[2] <= 'd')
			roots_add(r, argv[1], strlen(argv[1]), false);
	}
}

void roots_deinit(struct roots *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i]);
	free(r->list);
	*r = (struct roots){ 0 };
}
