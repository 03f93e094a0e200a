// SPDX-License-Identifier: GPL-2.0-or-later
// What a hook at a function's begin, and a return address that it replaced, could spoil. It says what went wrong, and
// its functions are called as often as its source says.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <ucontext.h>

typedef double vector __attribute__((vector_size(32)));
struct wide { long a, b, c, d; };
struct pair { long a; double b; };
static int failed, cleaned;
static volatile int sink;
#define F extern "C" __attribute__((noinline))
#define EXPECT(condition) do { if (!(condition)) { std::printf("%s:%d: %s\n", __func__, __LINE__, #condition); failed++; } } while (0)

F double floats(double a, float b, long double c) { return a + b + (double)c; }
F long double longest(int n) { return n / 3.0L; }
F wide wides(long n) { return { n, n + 1, n + 2, n + 3 }; }
F pair pairs(long n) { return { n, n / 2.0 }; }
F vector vectors(vector a, vector b) { return a * b; }
F double sums(int n, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, n);
	while (n--)
		sum += va_arg(list, double);
	va_end(list);
	return sum;
}
// its frame is aligned anew, and has its arguments and its return address elsewhere
F long aligned(long a, long b, long c, long d, long e, long f, long g, long h)
{
	vector *room = (vector *)__builtin_alloca_with_align(64 * (1 + a % 3), 512);

	room[0] = (vector){ 1, 2, 3, 4 };
	sink = (int)(*room)[3];
	return a + b + c + d + e + f + g + h + sink;
}
F int last(int n) { return sink = n + 1; }
F int middle(int n) { sink = n; return last(n + 1); }
F int first(int n) { sink = n; return middle(n + 1); }
F void nothing(void) { sink = sink + 1; }

struct cleaner {
	__attribute__((noinline)) ~cleaner();
};
F void throws(int n) { if (n) throw n; nothing(); }
F void catches(int n) { try { throws(n); } catch (int) { nothing(); } }
// another exception while the first one passes
cleaner::~cleaner() { cleaned++; catches(2); }
F void passes(int n) { cleaner c; throws(n); nothing(); }
F void deep(int n) { cleaner c; if (n) deep(n - 1); else throw std::runtime_error("deep"); nothing(); }
F int tries(int n)
{
	try { passes(n); } catch (int) { return 1; }
	return 0;
}

F void leaves(void) { cleaner c; pthread_exit((void *)5); }
F void *thread(void *p) { cleaner c; leaves(); return p; }

static ucontext_t one, other;
F void switches(void) { nothing(); swapcontext(&other, &one); nothing(); }
F void runs(void) { nothing(); switches(); nothing(); }
// what one thread began, another one ends
F void *resumes(void *p) { swapcontext(&one, &other); return p; }
F void moves(void)
{
	static char stack[1 << 16];
	pthread_t t;

	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof stack;
	other.uc_link = &one;
	makecontext(&other, runs, 0);
	swapcontext(&one, &other);
	pthread_create(&t, nullptr, resumes, nullptr);
	pthread_join(t, nullptr);
}

F void values(int round)
{
	vector v = vectors((vector){ 1, 2, 3, 4 }, (vector){ 5, 6, 7, 8 }), w = { 5, 12, 21, 32 };
	wide x = wides(round);
	pair y = pairs(round);

	EXPECT(floats(1, 2, 3) == 6);
	EXPECT(longest(round) == round / 3.0L);
	EXPECT(!std::memcmp(&v, &w, sizeof v));
	EXPECT(x.a == round && x.d == round + 3);
	EXPECT(y.a == round && y.b == round / 2.0);
	EXPECT(sums(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.) == 45);
	EXPECT(aligned(1, 2, 3, 4, 5, 6, 7, 8) == 40);
	EXPECT(first(1) == 4);
}

F void run(int rounds)
{
	pthread_t t;
	void *result;

	for (int i = 0; i < rounds; i++)
		values(i);
	for (int i = 0; i < 10; i++)
		EXPECT(tries(i % 2) == i % 2);
	EXPECT(cleaned == 10);
	try { deep(9); } catch (const std::exception &e) { EXPECT(!std::strcmp(e.what(), "deep")); }
	EXPECT(cleaned == 20);
	pthread_create(&t, nullptr, thread, nullptr);
	pthread_join(t, &result);
	EXPECT(result == (void *)5 && cleaned == 22);
	moves();
	catches(0);
	nothing();
}

int main(int argc, char **argv)
{
	run(argc > 1 ? std::atoi(argv[1]) : 1000);
	return failed != 0;
}
