/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that is not Linux, with two threads on stacks of their own besides the first one: switch_to() stores the
 * stack pointer of who runs, and loads the other's. Who calls whom in what thread, and how often, tests/test_objects.py
 * knows.
 */
#define APART __attribute__((noipa))

enum { WORDS = 1024, ROUNDS = 200 };

struct thread {
	unsigned long *stack; /* its stack pointer, while it does not run */
};

static unsigned long memory[2][WORDS];
static struct thread threads[3];
static unsigned now;
volatile unsigned sum;

void switch_to(struct thread *from, const struct thread *to);
#ifdef __x86_64__
enum { SAVED = 6 };
asm(".pushsection .text\n.globl switch_to\n.type switch_to, @function\nswitch_to:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp, (%rdi)\n"
    "mov (%rsi), %rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size switch_to, . - switch_to\n.popsection");
#else
enum { SAVED = 4 };
asm(".pushsection .text\n.globl switch_to\n.type switch_to, @function\nswitch_to:\n"
    "mov 4(%esp), %eax\nmov 8(%esp), %edx\npush %ebp\npush %ebx\npush %esi\npush %edi\nmov %esp, (%eax)\n"
    "mov (%edx), %esp\npop %edi\npop %esi\npop %ebx\npop %ebp\nret\n.size switch_to, . - switch_to\n.popsection");
#endif

APART void yield(void)
{
	unsigned before = now;

	now = (now + 1) % 3;
	switch_to(&threads[before], &threads[now]);
}

APART void leaf(void)
{
	sum++;
}

APART void first_inner(unsigned n)
{
	leaf();
	if (n)
		first_inner(n - 1);
	else
		yield();
	leaf();
}

APART void first_thread(void)
{
	for (;;)
		first_inner(3);
}

APART void second_inner(void)
{
	yield();
	leaf();
	leaf();
}

APART void second_thread(void)
{
	for (;;)
		second_inner();
}

/* As if it had called switch_to(), which then returns to its first function. */
APART void make_thread(unsigned n, void (*function)(void))
{
	unsigned long *top = &memory[n - 1][WORDS - 4];

	*--top = (unsigned long)function;
	threads[n].stack = top - SAVED;
}

APART void waiting(void)
{
	yield();
}

void kernel_main(void)
{
	make_thread(1, first_thread);
	make_thread(2, second_thread);
	for (unsigned i = 0; i < ROUNDS; i++)
		waiting();
}
