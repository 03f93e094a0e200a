/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run_inputs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"

enum {
	WORDS_MAX = 4096,
	/* of a file that is larger, the rest is known by its time alone: a disk of many gigabytes takes too long */
	HASHED_MAX = 256 << 20,
};

/* What tells one content of a file from another. */
struct file_state {
	uint64_t size, hash;
	int64_t changed; /* in ns since 1970 */
};

static uint64_t hash_words(const uint64_t *words, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash = hash64(hash ^ words[i]);
	return hash;
}

/* False: there is no regular file, or it cannot be read. */
static bool look_at(const char *path, struct file_state *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t n, mapped;
	void *data;
	bool found = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (!found)
		goto out;
	n = st.st_size < HASHED_MAX ? (size_t)st.st_size : HASHED_MAX;
	*ret = (struct file_state){
		.size = (uint64_t)st.st_size,
		.changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
	};
	/* whole words: behind the file's end the page has zeros */
	mapped = (n + 7) / 8 * 8;
	data = n ? mmap(NULL, mapped, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	found = data != MAP_FAILED;
	if (found && data) {
		ret->hash = hash_words(data, mapped / 8);
		munmap(data, mapped);
	}
out:
	if (fd >= 0)
		close(fd);
	return found;
}

/* The files of a command line. */
struct inputs {
	struct map seen;
	size_t count;
	struct buf *lines;
};

static void put_file(struct inputs *in, const char *path)
{
	uint64_t *seen = map_put(&in->seen, hash_text(0, path), 0);
	struct file_state state;
	char key[40];

	if ((*seen)++ || !look_at(path, &state))
		return;
	cleanup_free char *text =
		xasprintf("%" PRIu64 " %016" PRIx64 " %" PRId64 " %s", state.size, state.hash, state.changed, path);

	snprintf(key, sizeof key, "meta.run.file.%zu", in->count++);
	meta_put(in->lines, key, text);
}

/* "file=disk.img,if=virtio": any part that names a file. */
static void put_files_of(struct inputs *in, const char *word)
{
	cleanup_free char *copy = xstrdup(word);
	char *rest = copy, *part;

	put_file(in, word);
	while ((part = strsep(&rest, ","))) {
		char *value = strchr(part, '=');

		put_file(in, part);
		/* that one is written while the guest runs */
		if (value && strncmp(part, "rrfile=", 7))
			put_file(in, value + 1);
	}
}

/* As execvp(3) finds it. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/') || !path)
		return xstrdup(name);
	for (size_t n; *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, path, name);

		if (access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return xstrdup(name);
}

void run_inputs_put(char *const *argv, struct buf *lines)
{
	struct inputs in = { .lines = lines };
	cleanup_free char *program = find_program(argv[0]), *folder = getcwd(NULL, 0);
	char key[40];

	meta_put(lines, "meta.run.directory", folder ? folder : "/");
	put_file(&in, program);
	for (size_t i = 0; argv[i] && i < WORDS_MAX; i++) {
		snprintf(key, sizeof key, "meta.run.argv.%zu", i);
		meta_put(lines, key, argv[i]);
		/* the kernel's command line names the guest's files */
		if (i && strcmp(argv[i - 1], "-append") && strcmp(argv[i - 1], "--append"))
			put_files_of(&in, argv[i]);
	}
	map_free(&in.seen);
}

char **run_inputs_argv(const struct meta *meta)
{
	size_t n = 0, bytes = 0, at = 0;
	const char *word;
	char key[40], **argv, *texts;

	for (; n < WORDS_MAX; n++) {
		snprintf(key, sizeof key, "run.argv.%zu", n);
		word = meta_get(meta, key);
		if (!word)
			break;
		bytes += strlen(word) + 1;
	}
	if (!n)
		return NULL;
	argv = xcalloc(1, (n + 1) * sizeof *argv + bytes);
	texts = (char *)(argv + n + 1);
	for (size_t i = 0; i < n; i++) {
		snprintf(key, sizeof key, "run.argv.%zu", i);
		word = meta_get(meta, key);
		argv[i] = strcpy(texts + at, word);
		at += strlen(word) + 1;
	}
	return argv;
}

static int check_file(const char *key, const char *text, const char *path, struct error *err)
{
	struct file_state was, is;
	int n = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNx64 " %" SCNd64 " %n", &was.size, &was.hash, &was.changed, &n) < 3 || !n)
		return error_set(err, "%s: %s: no file's state", path, key);
	if (!look_at(text + n, &is))
		return error_set(err, "%s: it cannot run again: %s is not there any more", path, text + n);
	if (is.size == was.size && is.hash == was.hash && (is.size <= HASHED_MAX || is.changed == was.changed))
		return 0;
	return error_set(err, "%s: it cannot run again: %s has changed since", path, text + n);
}

int run_inputs_check(const struct meta *meta, const char *path, struct error *err)
{
	char key[40];

	for (size_t i = 0;; i++) {
		snprintf(key, sizeof key, "run.file.%zu", i);
		const char *text = meta_get(meta, key);

		if (!text)
			return 0;
		if (check_file(key, text, path, err) < 0)
			return -1;
	}
}
