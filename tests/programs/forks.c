// SPDX-License-Identifier: GPL-2.0-or-later
/* Forks; its children look at what is loaded, which takes a lock of the C library, here for long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 200, LONG_US = 300 };

typedef int callback(struct dl_phdr_info *info, size_t size, void *data);
struct look {
	callback *each;
	void *data;
};

static int slowly(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct look *l = data;

	if (!*info->dlpi_name)
		usleep(LONG_US);
	return l->each(info, size, l->data);
}

/* libupto calls this one. */
__attribute__((no_instrument_function)) int dl_iterate_phdr(callback *each, void *data)
{
	int (*real)(callback *, void *) = (int (*)(callback *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");

	return real(slowly, &(struct look){ each, data });
}

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)info, (void)size;
	return ++*(int *)n, 0;
}

int main(void)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int n = 0, status = 1;

		if (!child) {
			dl_iterate_phdr(count, &n);
			exit(n < 1);
		}
		if (waitpid(child, &status, 0) != child || status)
			return 8;
	}
	return 0;
}
