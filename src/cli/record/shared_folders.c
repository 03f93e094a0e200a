/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shared_folders.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { COMMAND_LINE_MAX = 1 << 20 };

/* The next word of a command line as /proc has it; NULL: no more. */
static const char *next_word(const char **at, const char *end)
{
	const char *word = *at, *zero = word < end ? memchr(word, 0, (size_t)(end - word)) : NULL;

	if (!zero)
		return NULL;
	*at = zero + 1;
	return word;
}

const char *shared_folder_of(const char *words, size_t len, size_t *ret_len)
{
	const char *at = words, *before = "", *word;

	for (; (word = next_word(&at, words + len)); before = word) {
		const char *source = strncmp(word, "source=", 7) ? strstr(word, ",source=") : word - 1;

		if (!strncmp(word, "--shared-dir=", 13) || !strcmp(before, "--shared-dir")) {
			word += strncmp(word, "--shared-dir=", 13) ? 0 : 13;
			*ret_len = strlen(word);
			return word;
		}
		if (source && !strcmp(before, "-o")) {
			*ret_len = strcspn(source + 8, ",");
			return source + 8;
		}
	}
	return NULL;
}

static bool names_socket(const char *words, size_t len, const char *socket, size_t socket_len)
{
	const char *at = words, *word;

	while ((word = next_word(&at, words + len))) {
		size_t n = strlen(word);

		if (n >= socket_len && !memcmp(word + n - socket_len, socket, socket_len) &&
		    (n == socket_len || word[n - socket_len - 1] == '='))
			return true;
	}
	return false;
}

static bool is_virtiofsd(const char *words, size_t len)
{
	const char *slash = len ? memrchr(words, '/', strnlen(words, len)) : NULL, *name = slash ? slash + 1 : words;

	return len && !strncmp(name, "virtiofsd", 9);
}

/* Of one process. */
static void look_at(const char *pid, const char *socket, size_t socket_len, struct buf *ret)
{
	cleanup_free char *path = xasprintf("/proc/%s/cmdline", pid);
	struct buf words = { 0 };
	struct error ignored;
	const char *folder;
	size_t len;

	if (file_read(path, COMMAND_LINE_MAX, &words, &ignored) == 0 &&
	    is_virtiofsd((char *)words.data, words.len) &&
	    names_socket((char *)words.data, words.len, socket, socket_len)) {
		folder = shared_folder_of((char *)words.data, words.len, &len);
		if (folder) {
			buf_put(ret, folder, len);
			buf_put_u8(ret, 0);
		}
	}
	buf_free(&words);
}

static void look_for(const char *socket, size_t socket_len, struct buf *ret)
{
	DIR *processes = opendir("/proc");
	struct dirent *d;

	while (processes && (d = readdir(processes)))
		if (isdigit((unsigned char)d->d_name[0]))
			look_at(d->d_name, socket, socket_len, ret);
	if (processes)
		closedir(processes);
}

void shared_folders_find(char *const *argv, struct buf *ret)
{
	for (; *argv && argv[1]; argv++) {
		const char *path = !strcmp(*argv, "-chardev") && !strncmp(argv[1], "socket,", 7) ?
					   strstr(argv[1], ",path=") : NULL;

		if (path)
			look_for(path + 6, strcspn(path + 6, ","), ret);
	}
}
