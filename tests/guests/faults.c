/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that access memory twice and fault at the second time: they are
 * begun, and begun again. Each is the last one of its page, and a function's
 * first: QEMU makes a block of it alone.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 64, PAGE = 4096, TIMES = 4 }; /* as in tests/test_faults.py */

/* read, then written: the page is the parent's until then */
void add_to(uint64_t *at);
asm(".text; .balign 4096; .skip 4096 - 4; .globl add_to; .type add_to, @function\n"
    "add_to: addq $1, (%rdi); ret; .size add_to, . - add_to");

/* read from one page, written to another */
void move(uint64_t *to, const uint64_t *from);
asm(".balign 4096; .skip 4096 - 2; .globl move; .type move, @function\n"
    "move: movsq; ret; .size move, . - move");

int main(void)
{
	int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *shared = mmap(NULL, PAGES * PAGE, prot, flags, -1, 0);

	for (int i = 0; i < PAGES; i++)
		shared[i * PAGE] = 1;
	for (int t = 0; t < TIMES; t++) {
		if (fork()) {
			wait(NULL);
			continue;
		}
		char *fresh = mmap(NULL, PAGES * PAGE, prot, flags, -1, 0);

		for (int i = 0; i < PAGES; i++) {
			add_to((uint64_t *)(shared + i * PAGE));
			move((uint64_t *)(fresh + i * PAGE), (uint64_t *)(shared + i * PAGE));
		}
		_exit(0);
	}
	return 0;
}
