/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a target over files, and over the files in folders (not deeper), in the
 * order of their names. Says each one's name first: the last one printed is the
 * one that it died of. For compilers without libFuzzer.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

const bool fuzz_replays = true;

enum { SECONDS_MAX = 20 };

/* Of the CPU, so that a busy host fails no input. 0: no limit. SIGPROF ends the program. */
static void set_limit(int seconds)
{
	must(setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = seconds }, NULL) == 0);
}

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t size;

	if (!f || fstat(fileno(f), &st) < 0) {
		perror(path);
		if (f)
			fclose(f);
		return -1;
	}
	data = malloc((size_t)st.st_size + 1);
	if (!data)
		abort();
	size = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	printf("%s\n", path);
	fflush(stdout);
	set_limit(SECONDS_MAX);
	LLVMFuzzerTestOneInput(data, size);
	set_limit(0);
	free(data);
	return 0;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int replay(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int n, result = 0;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return replay_file(path);
	n = scandir(path, &entries, visible, alphasort);
	if (n < 0) {
		perror(path);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char name[4096];

		snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
		if (stat(name, &st) == 0 && S_ISREG(st.st_mode) && replay_file(name) < 0)
			result = -1;
		free(entries[i]);
	}
	free(entries);
	return result;
}

int main(int argc, char **argv)
{
	int result = 0;

	for (int i = 1; i < argc; i++)
		if (replay(argv[i]) < 0)
			result = 1;
	return result;
}
