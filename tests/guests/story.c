/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that knows what must be seen of it: functions of its own and of a
 * library, in numbers that tests/test_code.py knows. Each prints its address.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noipa))
#define WITHIN static inline __attribute__((always_inline))

volatile unsigned sum;
static jmp_buf out;

APART void leaf(void)
{
	sum++;
}

APART void recursive(unsigned n)
{
	if (n > 1)
		recursive(n - 1);
	sum++;
}

APART void tail_target(void)
{
	sum += 2;
}

/* its last instruction is a jump */
APART __attribute__((optimize("optimize-sibling-calls"))) void tail(void)
{
	sum++;
	tail_target();
}

APART void deepest(void)
{
	for (int i = 0; i < 100000; i++)
		sum++; /* long enough to be seen at it */
	leaf();
	longjmp(out, 1);
}

/* These two become part of deeper(). */
WITHIN void inner(void)
{
	deepest();
	sum++;
}

WITHIN void outer(void)
{
	sum += 2;
	inner();
}

APART void deeper(void)
{
	outer();
	sum++;
}

APART void jumper(void)
{
	if (!setjmp(out))
		deeper();
	leaf();
}

APART void on_signal(int number)
{
	sum += (unsigned)number;
	leaf();
}

APART void signals(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 4; i++)
		raise(SIGUSR1);
}

/* on a stack of its own */
APART void on_other_stack(int number)
{
	sum += (unsigned)number;
}

APART void other_stack(void)
{
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	struct sigaction action = { .sa_handler = on_other_stack, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
	raise(SIGUSR2);
}

APART void thread_work(void)
{
	sum++;
}

APART void *thread(void *arg)
{
	for (int i = 0; i < 10; i++)
		thread_work();
	return arg;
}

APART void threads(void)
{
	pthread_t list[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&list[i], NULL, thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(list[i], NULL);
}

APART void child_work(void)
{
	sum++;
}

/* What the kernel says that this process has mapped to be run. */
APART void mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof line, f))
		if (strstr(line, " r-xp "))
			printf("map %d %s", (int)getpid(), line);
	if (f)
		fclose(f);
}

APART void forks(const char *self)
{
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		pid_t pid = i == 2 ? vfork() : fork();

		if (pid == 0) {
			child_work();
			if (i)
				execl(self, self, "again", NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

typedef void function(void);

static void use(void *library, int times)
{
	function *plug = (function *)dlsym(library, "plug");

	printf("at %p plug\n", (void *)plug);
	for (int i = 0; i < times; i++)
		plug();
}

/* The page with the library's code once more, at another address. */
APART void mapped_twice(void *library, const char *path)
{
	char *plug = dlsym(library, "plug"), *again;
	struct link_map *map;
	long page = sysconf(_SC_PAGESIZE);
	int fd = open(path, O_RDONLY);
	size_t offset;

	dlinfo(library, RTLD_DI_LINKMAP, &map);
	offset = (size_t)(plug - (char *)map->l_addr) & ~(size_t)(page - 1);
	again = mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)offset);
	again += (size_t)plug & (size_t)(page - 1);
	printf("at %p plug\n", (void *)again);
	((function *)again)();
	((function *)again)();
	close(fd);
}

APART void libraries(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	use(library, 3);
	mapped_twice(library, path);
	dlclose(library);
	/* somewhere else */
	mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	library = dlopen(path, RTLD_NOW);
	use(library, 2);
}

int main(int argc, char **argv)
{
	printf("pid %d\nat %p leaf\nat %p main\n", getpid(), (void *)leaf, (void *)main);
	leaf();
	libraries("/lib/libplug.so");
	mappings();
	if (argc > 1 && argv[1])
		return 0;
	recursive(6);
	for (int i = 0; i < 5; i++)
		tail();
	jumper();
	signals();
	other_stack();
	threads();
	forks("/proc/self/exe");
	return 0;
}
