/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a trace's index, which commands use if it is there, but make of long traces only. */
#include <stdio.h>

#include "replay/index.h"

int main(int argc, char **argv)
{
	struct session session = { 0 };
	struct threads threads;
	struct reader *reader;
	struct names names;
	struct error err;
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: make_index TRACE\n");
		return 2;
	}
	if (reader_open(argv[1], &reader, &err) < 0 || names_init(&names, reader, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	names_fold_thunks(&names);
	threads_init(&threads, reader);
	session = (struct session){ .reader = reader, .names = &names, .threads = &threads };
	r = index_make(&session, NULL, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	threads_deinit(&threads);
	names_deinit(&names);
	reader_free(reader);
	return r < 0;
}
