/* SPDX-License-Identifier: MIT */
/*
 * Programs that are compiled with -pg: mcount() is called behind each function's prologue, or, with -mfentry,
 * __fentry__() before it. Neither is called at a function's end. So the return address on the stack is replaced by
 * returned_to, which goes on where the function was to return to. These places are kept by where on the stack they
 * were: so it does not matter in which order calls end, on which stack they are, or in which thread by then.
 *
 *   stack                          a table's bucket: 128 bytes of a stack, 8 calls
 *   slot:  returned_to     ─────▶  { slot, where it returns to, function }
 *
 * What reads return addresses finds returned_to there, and no more. So exceptions.c has all put back before one is
 * thrown, and what is left replaced again where it is caught. libupto.a cannot have that: there, returns of C++ are not
 * seen, and a call ends where the next one begins that is not in it.
 *
 * x86-64 with the frame pointer that -pg asks for, or -mfentry. On other machines there is none of this: a program that
 * was compiled with -pg calls the C library's mcount(), and nothing is recorded.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#if !defined(__x86_64__) || defined(__ILP32__)
void profile_begin(void)
{
}

void profile_pass(uint64_t from)
{
	(void)from;
}

int profile_caught(uint64_t to)
{
	(void)to;
	return 0;
}
#else

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BUCKETS = 1 << 16,
	BUCKET = 8,         /* calls */
	BUCKET_BYTES = 128, /* of a stack: no frame has less than 16 */
	PLACES = 1 << 12,
	LOOK_BACK = 200, /* bytes of a prologue */
	SCAN_MAX = 64 << 20,
	OTHER_STACK = 256 << 10, /* bytes that are looked through of a stack that is not the thread's first */
};

struct call {
	uint64_t slot; /* 0: free */
	uint64_t to;   /* where it returns to */
	uint64_t function;
	uint64_t put_back; /* … is in its slot again, as an exception passes */
};

static struct call *table; /* NULL: return addresses stay as they are */
static int replaces;       /* one was replaced: programs that were not compiled with -pg have none */
static uint64_t places[PLACES];
static __thread uint64_t highest __attribute__((tls_model("initial-exec")));     /* slot of this thread */
static __thread uint64_t thrown_from __attribute__((tls_model("initial-exec"))); /* stack pointer */
/* A call from here on is not in the one that has this slot, whose end is not seen; less one. */
static __thread uint64_t unseen __attribute__((tls_model("initial-exec")));

HIDDEN int profile_has_xsave;

HIDDEN void profile_returned_to(void);

#define RETURNED_TO ((uint64_t)(uintptr_t)profile_returned_to)
#define AT(address) (*(volatile uint64_t *)(uintptr_t)(address))

static struct call *bucket_of(uint64_t slot)
{
	uint64_t n = slot / BUCKET_BYTES;

	return &table[((n ^ (n >> 16) * 0x9e37) % BUCKETS) * BUCKET];
}

static struct call *find(uint64_t slot)
{
	struct call *c = bucket_of(slot);

	for (int i = 0; i < BUCKET; i++, c++)
		if (__atomic_load_n(&c->slot, __ATOMIC_RELAXED) == slot)
			return c;
	return NULL;
}

/* One with that slot is there if longjmp() or the like left it. */
static struct call *claim(uint64_t slot)
{
	struct call *c = find(slot);

	if (c)
		return c;
	c = bucket_of(slot);
	for (int i = 0; i < BUCKET; i++, c++) {
		uint64_t none = 0;

		if (!__atomic_load_n(&c->slot, __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&c->slot, &none, slot, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return c;
	}
	return NULL;
}

/* The call that lies there is not seen to end. */
static void note_unseen(uint64_t slot)
{
	if (!unseen || slot - 1 < unseen)
		unseen = slot - 1;
}

static void replace(uint64_t slot, uint64_t function)
{
	struct call *c = table ? claim(slot) : NULL;

	if (!c) {
		note_unseen(slot);
		return;
	}
	c->to = AT(slot);
	c->function = function;
	c->put_back = 0;
	if (slot > highest)
		highest = slot;
	if (!__atomic_load_n(&replaces, __ATOMIC_RELAXED))
		__atomic_store_n(&replaces, 1, __ATOMIC_RELAXED);
	AT(slot) = RETURNED_TO;
}

static int is_drap(const uint8_t *at)
{
	/* lea 8(%rsp),%r10; and $-ALIGN,%rsp; push -8(%r10) */
	return !memcmp(at, "\x4c\x8d\x54\x24\x08\x48\x83\xe4", 8) && !memcmp(at + 9, "\x41\xff\x72\xf8", 4);
}

static int is_endbr(const uint8_t *at)
{
	return at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa;
}

static uint64_t before_endbr(const uint8_t *at)
{
	return (uintptr_t)at - (is_endbr(at - 4) ? 4 : 0);
}

static const uint8_t *behind_endbr(uint64_t function)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)function;

	return at + (is_endbr(at) ? 4 : 0);
}

/* Where a function begins that has called mcount(): its prologue has push %rbp; mov %rsp,%rbp. */
static uint64_t begin_of(uint64_t place)
{
	static const uint8_t frame[] = { 0x55, 0x48, 0x89, 0xe5 };
	enum { DRAP = 13 };
	uint64_t *known = &places[place * 0x9e3779b97f4a7c15 >> 52], was = __atomic_load_n(known, __ATOMIC_RELAXED);
	const uint8_t *at = (const uint8_t *)(uintptr_t)place;
	uint64_t begin;

	/* the address, and above it how far before that it begins */
	if ((was & 0xffffffffffff) == place)
		return place - (was >> 48);
	for (int i = 0; i < LOOK_BACK; i++, at--)
		if (at[0] == frame[0] && at[1] == frame[1] && at[2] == frame[2] && at[3] == frame[3])
			break;
	if (at == (const uint8_t *)(uintptr_t)place - LOOK_BACK)
		begin = place;
	else
		begin = before_endbr(is_drap(at - DRAP) ? at - DRAP : at);
	__atomic_store_n(known, place | (place - begin) << 48, __ATOMIC_RELAXED);
	return begin;
}

/* … and one that has called __fentry__(): call rel32, or six bytes: through a pointer, or what the linker made of it */
static uint64_t begin_before(uint64_t place)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)place;

	return before_endbr(at - (at[-5] == 0xe8 && at[-6] != 0x67 ? 5 : 6));
}

static uint64_t stack_of(uint64_t slot)
{
	return slot - CALLS_HOOK;
}

/* What the stubs are to call profile_enter_slowly() with, once all registers are kept; function 0: nothing. */
struct entry {
	uint64_t function, slot;
};

static struct entry enter(uint64_t function, uint64_t slot)
{
	const struct entry slowly = { function, slot }, nothing = { 0, 0 };
	int done;

	if (AT(slot) == RETURNED_TO || (unseen && slot > unseen))
		return slowly;
	done = event_quick(function, stack_of(slot));
	if (done == EVENT_DONE)
		replace(slot, function);
	return done == EVENT_SLOW ? slowly : nothing;
}

/* `frame`: the function's frame pointer; `r10`: where a frame that is aligned anew has kept where its arguments are. */
HIDDEN struct entry profile_mcount(uint64_t place, uint64_t frame, uint64_t r10);
HIDDEN struct entry profile_mcount(uint64_t place, uint64_t frame, uint64_t r10)
{
	uint64_t function, slot = frame + 8;

	if (!shared.armed)
		return (struct entry){ 0, 0 };
	function = begin_of(place);
	/* such a frame has a copy of the address that it returns to */
	if (is_drap(behind_endbr(function)) && AT(r10 - 8) == AT(slot))
		slot = r10 - 8;
	return enter(function, slot);
}

HIDDEN struct entry profile_fentry(uint64_t place, uint64_t slot);
HIDDEN struct entry profile_fentry(uint64_t place, uint64_t slot)
{
	return shared.armed ? enter(begin_before(place), slot) : (struct entry){ 0, 0 };
}

HIDDEN void profile_enter_slowly(uint64_t function, uint64_t slot);
HIDDEN void profile_enter_slowly(uint64_t function, uint64_t slot)
{
	struct call *before = AT(slot) == RETURNED_TO ? find(slot) : NULL;

	if (unseen && slot > unseen) {
		event(CALLS_RECORD_EXIT, (slot + 1) | CALLS_RECORD_FRAME);
		unseen = 0;
	}
	/* a function that was left by a jump to this one, which returns in its stead */
	if (before) {
		event(before->function | CALLS_RECORD_EXIT, stack_of(slot));
		before->function = function;
		event(function, stack_of(slot));
	} else if (event(function, stack_of(slot))) {
		replace(slot, function);
	}
}

struct way_back {
	uint64_t to;
	uint64_t function; /* not 0: profile_leave_slowly() is to be called with it */
};

HIDDEN struct way_back profile_leave(uint64_t slot);
HIDDEN struct way_back profile_leave(uint64_t slot)
{
	struct call *c = find(slot);
	struct way_back back;

	if (!c)
		abort();
	back = (struct way_back){ .to = c->to, .function = c->function };
	__atomic_store_n(&c->slot, 0, __ATOMIC_RELEASE);
	if (event_quick(back.function | CALLS_RECORD_EXIT, stack_of(slot)) != EVENT_SLOW)
		back.function = 0;
	return back;
}

HIDDEN void profile_leave_slowly(uint64_t function, uint64_t slot);
HIDDEN void profile_leave_slowly(uint64_t function, uint64_t slot)
{
	event(function | CALLS_RECORD_EXIT, stack_of(slot));
}

/* Calls of this stack from there on that were replaced, or put back. */
static void each_call(uint64_t from, uint64_t to, void (*each)(struct call *c))
{
	if (!table)
		return;
	for (uint64_t at = from / BUCKET_BYTES * BUCKET_BYTES; at < to; at += BUCKET_BYTES) {
		struct call *c = bucket_of(at);

		for (int i = 0; i < BUCKET; i++)
			if (c[i].slot >= from && c[i].slot < to && c[i].slot / BUCKET_BYTES == at / BUCKET_BYTES)
				each(&c[i]);
	}
}

static uint64_t end_of_stack(uint64_t from)
{
	return highest > from && highest - from < SCAN_MAX ? highest + 1 : from + OTHER_STACK;
}

static void put_back(struct call *c)
{
	if (AT(c->slot) != RETURNED_TO)
		return;
	c->put_back = 1;
	AT(c->slot) = c->to;
}

static void replace_again(struct call *c)
{
	if (!c->put_back || AT(c->slot) != c->to)
		return;
	c->put_back = 0;
	AT(c->slot) = RETURNED_TO;
}

static void forget(struct call *c)
{
	if (c->put_back)
		__atomic_store_n(&c->slot, 0, __ATOMIC_RELEASE);
}

void profile_pass(uint64_t from)
{
	if (!__atomic_load_n(&replaces, __ATOMIC_RELAXED))
		return;
	if (!thrown_from || from < thrown_from)
		thrown_from = from;
	each_call(from, end_of_stack(from), put_back);
}

int profile_caught(uint64_t to)
{
	if (!thrown_from)
		return 0;
	each_call(thrown_from, to, forget);
	each_call(to, end_of_stack(to), replace_again);
	thrown_from = 0;
	return 1;
}

#ifdef UPTO_STATIC
extern char __gxx_personality_v0[] __attribute__((weak));

static int may_replace(void)
{
	return !__gxx_personality_v0;
}
#else
/* With the unwinder within, as by -static-libgcc, the program does not call those of exceptions.c. */
static int may_replace(void)
{
	return !symbols_program_has("_Unwind_RaiseException");
}
#endif

/* A shadow stack (CET) would not have what replaces a return address. */
static int has_shadow_stack(void)
{
	uint64_t pointer = 0;

	/* rdsspq %rax, which does nothing where there is none */
	__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer));
	return pointer != 0;
}

void profile_begin(void)
{
	unsigned a, b, c, d;
	void *place = MAP_FAILED;

	profile_has_xsave = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
	if (may_replace() && !has_shadow_stack())
		place = mmap(NULL, (size_t)BUCKETS * BUCKET * sizeof(struct call), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	table = place == MAP_FAILED ? NULL : place;
}

/*
 * The stubs. Functions' arguments are in registers when they are called, and results when they return: the functions
 * above use none but those that are kept here (-mgeneral-regs-only); what is slow may use any.
 */
#define KEEP                    \
	"pushq %rbp\n"          \
	"movq %rsp, %rbp\n"     \
	"subq $80, %rsp\n"      \
	"andq $-16, %rsp\n"     \
	"movq %rax, (%rsp)\n"   \
	"movq %rcx, 8(%rsp)\n"  \
	"movq %rdx, 16(%rsp)\n" \
	"movq %rsi, 24(%rsp)\n" \
	"movq %rdi, 32(%rsp)\n" \
	"movq %r8, 40(%rsp)\n"  \
	"movq %r9, 48(%rsp)\n"  \
	"movq %r10, 56(%rsp)\n" \
	"movq %r11, 64(%rsp)\n"

#define GO_ON                   \
	"movq (%rsp), %rax\n"   \
	"movq 8(%rsp), %rcx\n"  \
	"movq 16(%rsp), %rdx\n" \
	"movq 24(%rsp), %rsi\n" \
	"movq 32(%rsp), %rdi\n" \
	"movq 40(%rsp), %r8\n"  \
	"movq 48(%rsp), %r9\n"  \
	"movq 56(%rsp), %r10\n" \
	"movq 64(%rsp), %r11\n" \
	"leave\n"               \
	"ret\n"

__asm__(".text\n"
	".globl mcount, _mcount, __fentry__\n"
	".type mcount, @function\n"
	".type _mcount, @function\n"
	".type __fentry__, @function\n"
	".p2align 4\n"
	"mcount:\n"
	"_mcount:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n" KEEP "movq 8(%rbp), %rdi\n"
	"movq (%rbp), %rsi\n"
	"movq %r10, %rdx\n"
	"call profile_mcount\n"
	"testq %rax, %rax\n"
	"jnz 2f\n"
	"1:\n" GO_ON "2: movq %rax, %rdi\n"
	"movq %rdx, %rsi\n"
	"leaq profile_enter_slowly(%rip), %rax\n"
	"call profile_slowly\n"
	"jmp 1b\n"
	".cfi_endproc\n"
	".size mcount, .-mcount\n"
	".size _mcount, .-_mcount\n"
	".p2align 4\n"
	"__fentry__:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n" KEEP "movq 8(%rbp), %rdi\n"
	"leaq 16(%rbp), %rsi\n"
	"call profile_fentry\n"
	"testq %rax, %rax\n"
	"jnz 2b\n"
	"jmp 1b\n"
	".cfi_endproc\n"
	".size __fentry__, .-__fentry__\n"
	/* it is found by who reads the stack, at the instruction before where it returns to: there it ends */
	".hidden profile_returned_to\n"
	".globl profile_returned_to\n"
	".type profile_returned_to, @function\n"
	".p2align 4\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"nop\n"
	"profile_returned_to:\n"
	"subq $8, %rsp\n" KEEP "leaq 8(%rbp), %rdi\n"
	"call profile_leave\n"
	"movq %rax, 8(%rbp)\n"
	"testq %rdx, %rdx\n"
	"jz 1b\n"
	"movq %rdx, %rdi\n"
	"leaq 8(%rbp), %rsi\n"
	"leaq profile_leave_slowly(%rip), %rax\n"
	"call profile_slowly\n"
	"jmp 1b\n"
	".cfi_endproc\n"
	".size profile_returned_to, .-profile_returned_to\n"
	/* call *%rax, and keep vectors: 0xe7 is x87, SSE, AVX and AVX-512's three parts, which need 2688 bytes */
	".p2align 4\n"
	"profile_slowly:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"pushq %rbx\n"
	"movq %rsp, %rbx\n"
	"subq $2752, %rsp\n"
	"andq $-64, %rsp\n"
	"movq %rax, %r11\n"
	"cmpl $0, profile_has_xsave(%rip)\n"
	"je 1f\n"
	"movq $0, 512(%rsp)\n"
	"movq $0, 520(%rsp)\n"
	"movq $0, 528(%rsp)\n"
	"movq $0, 536(%rsp)\n"
	"movq $0, 544(%rsp)\n"
	"movq $0, 552(%rsp)\n"
	"movq $0, 560(%rsp)\n"
	"movq $0, 568(%rsp)\n"
	"movl $0xe7, %eax\n"
	"xorl %edx, %edx\n"
	"xsave64 (%rsp)\n"
	"call *%r11\n"
	"movl $0xe7, %eax\n"
	"xorl %edx, %edx\n"
	"xrstor64 (%rsp)\n"
	"jmp 2f\n"
	"1: fxsave64 (%rsp)\n"
	"call *%r11\n"
	"fxrstor64 (%rsp)\n"
	"2: movq %rbx, %rsp\n"
	"popq %rbx\n"
	"ret\n"
	".cfi_endproc\n");
#endif
