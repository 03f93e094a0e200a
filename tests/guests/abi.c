/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls by other interfaces than x86-64's own, without a C library. As a
 * 32-bit program: int $0x80, and the vDSO's entry, which is sysenter or syscall
 * as the CPU has them. As a 64-bit program: int $0x80, and x32's numbers.
 * tests/test_abi.py knows which calls it makes, and strace says so too.
 */
static long int80(long nr, long a, long b, long c, long d, long e, long f);

#ifdef __i386__

enum {
	EXIT = 1,
	OPEN = 5,
	KILL = 37,
	SIGRETURN = 119,
	LSEEK = 19,
	GETPID = 20,
	RT_SIGACTION = 174,
	MMAP2 = 192,
	WRITE = 4
};

static long entry; /* __kernel_vsyscall */

/* Six arguments, the last one in ebp, which has to be kept. */
static __attribute__((noinline)) long int80(long nr, long a, long b, long c, long d, long e, long f)
{
	long args[2] = { nr, f };

	asm volatile("push %%ebp; mov 4(%%eax), %%ebp; mov (%%eax), %%eax; int $0x80; pop %%ebp"
		     : "=a"(nr) : "a"(args), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return nr;
}

static __attribute__((noinline)) long vsyscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long args[3] = { nr, f, entry };

	asm volatile(
		"push %%ebp; mov 4(%%eax), %%ebp; push 8(%%eax); mov (%%eax), %%eax; call *(%%esp); add $4, %%esp; pop %%ebp"
		: "=a"(nr)
		: "a"(args), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
		: "memory");
	return nr;
}

static volatile int handled;

static __attribute__((noinline)) void nothing(int i)
{
	handled = -i;
}

/*
 * The recorder compares now and then what it reads of registers with what QEMU says: so many jumps that it does here.
 */
static void jump_about(void)
{
	void (*volatile where)(int) = nothing;

	for (int i = 0; i < 100000; i++)
		where(i);
}

static void handler(int signal)
{
	handled = signal;
}

__attribute__((naked)) static void restorer(void)
{
	asm("pop %%eax; mov %0, %%eax; int $0x80" :: "i"(SIGRETURN));
}

static void catch_signal(int signal)
{
	enum { SA_RESTORER = 0x04000000 };
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned mask[2];
	} action = { handler, SA_RESTORER, restorer, { 0 } };

	int80(RT_SIGACTION, signal, (long)&action, 0, 8, 0, 0);
}

__attribute__((used)) static void start(long *stack)
{
	enum { AT_SYSINFO = 32, PROT_READ = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32, SIGUSR1 = 10 };
	static const char text[] = "written by i386\n";
	long *at = stack + 1 + *stack + 1;

	while (*at++)
		;
	for (; *at; at += 2)
		if (*at == AT_SYSINFO)
			entry = at[1];
	jump_about();
	for (int i = 0; i < 3; i++) {
		long (*call)(long, long, long, long, long, long, long) = i == 1 ? vsyscall : int80;

		if (i == 1 && !entry)
			continue;
		call(OPEN, (long)(i ? "/nowhere/fast" : "/nowhere/slow"), 0x80000, 0, 0, 0, 0);
		call(MMAP2, 0, 4096 * (i + 1), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0x1234 + i);
		call(LSEEK, 99, -5, 1, 0, 0, 0);
		call(WRITE, 1, (long)text, sizeof text - 1, 0, 0, 0);
		catch_signal(SIGUSR1);
		call(KILL, call(GETPID, 0, 0, 0, 0, 0, 0), SIGUSR1, 0, 0, 0, 0);
	}
	int80(EXIT, handled == SIGUSR1 ? 0 : 1, 0, 0, 0, 0, 0);
}

asm(".globl _start; _start: xor %ebp, %ebp; mov %esp, %eax; and $-16, %esp; sub $12, %esp; push %eax; call start");

#else

static long int80(long nr, long a, long b, long c, long d, long e, long f)
{
	(void)e;
	(void)f;
	asm volatile("int $0x80" : "+a"(nr) : "b"(a), "c"(b), "d"(c), "S"(d) : "memory", "r8", "r9", "r10", "r11");
	return nr;
}

static long call(long nr, long a, long b, long c)
{
	asm volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "memory", "rcx", "r11");
	return nr;
}

__attribute__((used)) static void start(void)
{
	enum { I386_GETPID = 20, I386_OPEN = 5, X32 = 0x40000000, GETPID = 39, OPEN = 2, X32_IOCTL = 514, EXIT = 60 };

	/* linked at a low address, so that i386 can point to it */
	int80(I386_OPEN, (long)"/nowhere/from64", 0, 0, 0, 0, 0);
	int80(I386_GETPID, 0, 0, 0, 0, 0, 0);
	call(OPEN, (long)"/nowhere/own", 0, 0);
	call(X32 | GETPID, 0, 0, 0);
	call(X32 | OPEN, (long)"/nowhere/x32", 0, 0);
	call(X32 | X32_IOCTL, 1, 0x5401, 0);
	call(EXIT, 0, 0, 0);
}

asm(".globl _start; _start: xor %ebp, %ebp; and $-16, %rsp; call start");

#endif
