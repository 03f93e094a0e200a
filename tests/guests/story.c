/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that knows what must be seen of it: functions of its own and of a
 * library, in numbers that tests/test_code.py knows. Each prints its address.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/*
 * A BPF program of the name, or a classic filter that the kernel cannot foresee, on one of two sockets; so many
 * messages to it.
 */
static void filtered(int program, int messages)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 100),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog filter = { .len = sizeof code / sizeof *code, .filter = code };
	int pair[2];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	if (program < 0)
		setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
	else
		setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program);
	for (int i = 0; i < messages; i++)
		if (write(pair[0], "message", 7) != 7)
			abort();
	close(pair[0]);
	close(pair[1]);
}

static int bpf_program(void)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 100 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uintptr_t)code, .insn_cnt = 2,
		.license = (uintptr_t)"GPL", .prog_name = "story",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
}

/* Its filter is asked about every system call; what it looks at, arguments, cannot be decided beforehand. */
APART void confined(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x12345678, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof code / sizeof *code, .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	for (int i = 0; i < 6; i++)
		getppid();
	_exit(0);
}

APART void filters(void)
{
	fflush(stdout);
	filtered(-1, 5);
	filtered(bpf_program(), 3);
	if (fork() == 0)
		confined();
	wait(NULL);
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
	filters();
	forks("/proc/self/exe");
	return 0;
}
