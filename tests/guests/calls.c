/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that is not Linux: calls of every kind, in numbers that
 * tests/test_sources.py knows. Each function is entered by what its name tells.
 */
typedef void function(void);

#define APART __attribute__((noipa))
#define STR(x) #x
#define ASM_FUNCTION(name, body) asm(".pushsection .text\n.globl " STR(name) "\n.type " STR(name) ", @function\n" \
				     STR(name) ":\n" body "\n.popsection")

function *volatile pointer;
volatile unsigned sum;

APART void called(void)
{
	sum++;
}

APART void twice(void)
{
	called();
	called();
}

APART void left(void)
{
	sum += 2;
}

APART void middle(void)
{
	sum += 3;
}

APART void right(void)
{
	sum += 4;
}

APART void recursive(unsigned n)
{
	if (n > 1)
		recursive(n - 1);
	sum++;
}

/* a jump to another function is an entry, as a call is */
function jumping, jumped_to;
ASM_FUNCTION(jumping, "jmp jumped_to");
ASM_FUNCTION(jumped_to, "incl sum\nret");

/* so is a conditional one, when it is taken: for each odd number of so many */
void conditional(unsigned n);
ASM_FUNCTION(conditional, "testb $1, 4(%esp)\njnz conditionally\nret");
ASM_FUNCTION(conditionally, "incl sum\nret");

/* and running on, at the end of a block or in the middle of one */
void loop_before(void);
ASM_FUNCTION(loop_before, "mov $3, %eax\n1: dec %eax\njnz 1b");
ASM_FUNCTION(behind_loop, "incl sum\nret");
function running_on;
ASM_FUNCTION(running_on, "incl sum");
ASM_FUNCTION(run_into, "incl sum\nret");

/* a far jump, as into another code segment */
function far_jumping;
ASM_FUNCTION(far_jumping, "mov %cs, %eax\nmov %ax, far_pointer + 4\nljmp *far_pointer");
ASM_FUNCTION(far_jumped_to, "incl sum\nret");
asm(".pushsection .data\nfar_pointer: .long far_jumped_to\n.word 0\n.popsection");

/* Interrupt 0x30, and division by zero, whose handler steps over the instruction and over what stands behind it. */
function on_interrupt, on_fault;
ASM_FUNCTION(on_interrupt, "push %eax\ncall called_by_interrupt\npop %eax\niret");
ASM_FUNCTION(on_fault, "incl sum\naddl $2, (%esp)\niret");

APART void called_by_interrupt(void)
{
	sum++;
}

APART void interrupting(void)
{
	asm volatile("int $0x30");
}

/* div is two bytes long; of what follows in its block, the counter has to take back what did not run */
APART void faulting(void)
{
	asm volatile("xor %%ecx, %%ecx\ndiv %%ecx\n.rept 40\nnop\n.endr" : : : "eax", "ecx", "edx", "cc");
}

static unsigned short idt[256][4];

static void set_gate(unsigned vector, function *handler)
{
	unsigned address = (unsigned)handler;
	unsigned short cs;

	asm("mov %%cs, %0" : "=r"(cs));
	idt[vector][0] = (unsigned short)address;
	idt[vector][1] = cs;
	idt[vector][2] = 0x8e00;
	idt[vector][3] = (unsigned short)(address >> 16);
}

APART void handlers(void)
{
	struct __attribute__((packed)) {
		unsigned short limit;
		void *base;
	} idtr = { sizeof idt - 1, idt };

	set_gate(0, on_fault);
	set_gate(0x30, on_interrupt);
	asm volatile("lidt %0" : : "m"(idtr), "m"(idt));
}

void kernel_main(void)
{
	static function *const table[] = { left, middle, right };

	for (unsigned i = 0; i < 1000; i++)
		twice();
	for (unsigned i = 0; i < 300; i++) {
		pointer = table[i % 3];
		pointer();
	}
	for (unsigned i = 0; i < 20; i++)
		recursive(50);
	for (unsigned i = 0; i < 70; i++)
		jumping();
	for (unsigned i = 0; i < 90; i++)
		conditional(i);
	for (unsigned i = 0; i < 11; i++)
		loop_before();
	for (unsigned i = 0; i < 12; i++)
		running_on();
	for (unsigned i = 0; i < 13; i++)
		far_jumping();
	handlers();
	for (unsigned i = 0; i < 400; i++)
		interrupting();
	for (unsigned i = 0; i < 500; i++)
		faulting();
}
