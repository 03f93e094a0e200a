/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/end_signals.h"
#include "terminal.h"

static volatile sig_atomic_t ended_by; /* for the handler: a command writes one folder at a time */
static struct sigaction before[END_SIGNALS];

static void note(int sig)
{
	ended_by = sig;
}

static void begin_noting(void)
{
	const struct sigaction sa = { .sa_handler = note };

	for (int i = 0; i < END_SIGNALS; i++)
		if (sigaction(end_signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(end_signals[i], &sa, NULL);
}

static void end_noting(void)
{
	for (int i = 0; i < END_SIGNALS; i++)
		sigaction(end_signals[i], &before[i], NULL);
	if (ended_by)
		raise(ended_by);
}

static bool is_ended(void *context)
{
	(void)context;
	return ended_by;
}

/* A folder of its own, which nothing is in yet. */
static int open_folder(const char *path, struct error *err)
{
	int folder;

	if (mkdir(path, 0777) < 0 && (errno != EEXIST || rmdir(path) < 0 || mkdir(path, 0777) < 0))
		return error_set(err, "%s: %s; -o must name a folder that is not there, or empty", path,
				 strerror(errno));
	folder = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	return folder < 0 ? error_set(err, "%s: %s", path, strerror(errno)) : folder;
}

static void remove_folder(const char *path, int folder)
{
	DIR *dir = fdopendir(dup(folder));
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		unlinkat(folder, entry->d_name, 0); /* the folder itself, and the one above, are none */
	if (dir)
		closedir(dir);
	rmdir(path);
}

int output_folder_write(const char *path, struct session *session, output_folder_put *put, void *context,
			struct error *err)
{
	int folder = open_folder(path, err), r;

	if (folder < 0)
		return -1;
	begin_noting();
	session->is_given_up = is_ended;
	r = put(context, folder, err);
	session->is_given_up = NULL;
	terminal_end_progress();
	if (r < 0 || ended_by)
		remove_folder(path, folder);
	close(folder);
	end_noting();
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}
