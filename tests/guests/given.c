/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls functions of its own and of the C library's, and says what it gave them and what it got. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct pair {
	long first, second;
};

enum colour { RED = -1, GREEN = 5 };

__attribute__((noinline)) int plain(int a, unsigned char b, bool c, const char *text)
{
	asm volatile("");
	return a - b + c + text[0];
}

__attribute__((noinline)) long mixed(struct pair p, double x, enum colour colour, struct pair *at)
{
	asm volatile("");
	return p.first + p.second + (long)x + colour + at->first;
}

/* Nothing near it is touched before. */
static const char distant[1 << 18] = { [1 << 17] = 'f', 'a', 'r' };

__attribute__((noinline)) int unseen(const char *text, const char *other)
{
	asm volatile("");
	return text[2] + other[0];
}

__attribute__((noinline)) float scaled(float by, long double more, double x, int n)
{
	asm volatile("");
	return by * (float)x + (float)more + (float)n;
}

/* The last four have no register. */
__attribute__((noinline)) long stacked(int a, int b, int c, int d, int e, int f, signed char g,
				       const char *text, bool yes, unsigned long h)
{
	asm volatile("");
	return a + b + c + d + e + f + g + text[0] + yes + (long)h;
}

/* Eight have, of which six are recorded. */
__attribute__((noinline)) double nine(double a, double b, double c, double d, double e, double f, double g, double h,
				      double i, float j)
{
	asm volatile("");
	return a + b + c + d + e + f + g + h + i + (double)j;
}

/* What is behind a value that may begin at a multiple of 16 alone is where no type tells: not shown. */
__attribute__((noinline)) long wide(int a, int b, int c, int d, int e, int f, int g, long double x, int h)
{
	asm volatile("");
	return a + b + c + d + e + f + g + (long)x + h;
}

__attribute__((noinline)) char *none(void)
{
	asm volatile("");
	return NULL;
}

int main(void)
{
	struct pair pair = { 3, -4 };
	void *memory, *mapped;
	int fd, wrong, own;

	printf("plain(a=-7, b=250, c=true, text=\"given\") = %d\n", plain(-7, 250, true, "given"));
	printf("mixed(p=?, x=2.5, colour=-1, at=%p) = %ld\n", (void *)&pair, mixed(pair, 2.5, RED, &pair));
	printf("unseen(text=\"far\", other=\"near\") = %d\n", unseen(distant + (1 << 17), "near"));
	printf("scaled(by=0.1, more=?, x=-1e+300, n=7) = %g\n", (double)scaled(0.1f, 2.0L, -1e300, 7));
	printf("scaled(by=1.5, more=?, x=0.30000000000000004, n=-1) = %.8g\n", (double)scaled(1.5f, 0.25L, 0.1 + 0.2, -1));
	printf("stacked(a=1, b=2, c=3, d=4, e=5, f=6, g=-100, text=\"on the stack\", yes=true, h=18446744073709551615) = %ld\n",
	       stacked(1, 2, 3, 4, 5, 6, -100, "on the stack", true, ~0ul));
	printf("nine(a=1.5, b=2, c=3, d=4, e=5, f=6, g=?, h=?, i=-9.25, j=0.1) = %.17g\n", nine(1.5, 2, 3, 4, 5, 6, 7, 8, -9.25, 0.1f));
	printf("wide(a=1, b=2, c=3, d=4, e=5, f=6, g=7, x=?, h=?) = %ld\n", wide(1, 2, 3, 4, 5, 6, 7, 8.5L, 9));
	printf("none() = %s\n", none() ? "?" : "NULL");
	fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
	printf("open(path=\"/proc/version\", flags=O_RDONLY|O_CLOEXEC) = %d\n", fd);
	wrong = openat(AT_FDCWD, "/no/such/file", O_WRONLY | O_CREAT | O_TRUNC, 0640);
	printf("openat(dirfd=AT_FDCWD, path=\"/no/such/file\", flags=O_WRONLY|O_CREAT|O_TRUNC, mode=0640) = %d\n", wrong);
	memory = malloc(12345);
	printf("malloc(size=12345) = %p\n", memory);
	mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("mmap(addr=NULL, length=8192, prot=PROT_READ|PROT_WRITE, flags=MAP_PRIVATE|MAP_ANONYMOUS, fd=-1, offset=0) = %p\n", mapped);
	own = open("/proc/self/exe", O_RDONLY);
	printf("open(path=\"/proc/self/exe\", flags=O_RDONLY) = %d\n", own);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, own, 4096);
	printf("mmap(addr=NULL, length=4096, prot=PROT_READ, flags=MAP_PRIVATE, fd=%d, offset=4096) = %p\n", own, mapped);
	signal(SIGUSR1, SIG_IGN);
	printf("kill(pid=%d, sig=SIGUSR1) = %d\n", getpid(), kill(getpid(), SIGUSR1));
	printf("lseek(fd=%d, offset=7, whence=SEEK_SET) = %ld\n", fd, (long)lseek(fd, 7, SEEK_SET));
	return 0;
}
