/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that is not Linux, whose timer's interrupt switches between two threads, wherever they are. */
#define APART __attribute__((noipa))

enum { WORDS = 1024, TICKS = 60 };

static unsigned memory[2][WORDS];
static unsigned *stacks[3]; /* their stack pointers, while they do not run */
static unsigned now;
volatile unsigned ticks, sum;

static void out(unsigned short port, unsigned char value)
{
	asm volatile("out %0, %1" : : "a"(value), "Nd"(port));
}

void on_timer(void);
asm(".pushsection .text\n.globl on_timer\n.type on_timer, @function\non_timer:\npusha\nmov %esp, %eax\npush %eax\ncall next_stack\n"
    "mov %eax, %esp\npopa\niret\n.size on_timer, . - on_timer\n.popsection");

/*
 * Gets the stack pointer of who was interrupted, and returns that of who is to go on: the first one again, when it is
 * enough.
 */
APART unsigned *next_stack(unsigned *stack)
{
	stacks[now] = stack;
	out(0x20, 0x20);
	now = ++ticks < TICKS ? 1 + ticks % 2 : 0;
	return stacks[now];
}

APART void leaf_of_one(void)
{
	sum++;
}

APART void leaf_of_two(void)
{
	sum += 2;
}

APART void inner_of_two(void)
{
	leaf_of_two();
	leaf_of_two();
}

void one(void)
{
	for (;;)
		leaf_of_one();
}

void two(void)
{
	for (;;)
		inner_of_two();
}

/* As if it had been interrupted at its first instruction. */
APART void make_thread(unsigned n, void (*function)(void))
{
	unsigned *top = &memory[n - 1][WORDS - 4];
	unsigned short cs;

	asm("mov %%cs, %0" : "=r"(cs));
	*--top = 0x202;
	*--top = cs;
	*--top = (unsigned)function;
	stacks[n] = top - 8;
}

static unsigned short idt[256][4];

APART void start_timer(void)
{
	struct __attribute__((packed)) {
		unsigned short limit;
		void *base;
	} idtr = { sizeof idt - 1, idt };
	static const unsigned char setup[][2] = {
		{ 0x20, 0x11 }, { 0x21, 0x20 }, { 0x21, 4 }, { 0x21, 1 }, { 0x21, 0xfe },
		{ 0xa0, 0x11 }, { 0xa1, 0x28 }, { 0xa1, 2 }, { 0xa1, 1 }, { 0xa1, 0xff },
		{ 0x43, 0x34 }, { 0x40, 0 }, { 0x40, 8 },
	};
	unsigned address = (unsigned)on_timer;
	unsigned short cs;

	asm("mov %%cs, %0" : "=r"(cs));
	idt[0x20][0] = (unsigned short)address;
	idt[0x20][1] = cs;
	idt[0x20][2] = 0x8e00;
	idt[0x20][3] = (unsigned short)(address >> 16);
	asm volatile("lidt %0" : : "m"(idtr), "m"(idt));
	/* the interrupt controllers, of which only the timer's line is on; then the timer: each 2048 / 1193182 s */
	for (unsigned i = 0; i < sizeof setup / sizeof *setup; i++)
		out(setup[i][0], setup[i][1]);
}

APART void waiting(void)
{
	asm volatile("sti\nhlt\ncli");
}

void kernel_main(void)
{
	make_thread(1, one);
	make_thread(2, two);
	start_timer();
	waiting();
}
