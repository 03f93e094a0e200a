// SPDX-License-Identifier: GPL-2.0-or-later
/* What makes calls and returns not balance, or not be one thread's: nasty MODE [PLUGIN]. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20000 };

static jmp_buf back;
static sigjmp_buf out_of_handler;
static __thread volatile int sink;
static const char *self, *plugin;

__attribute__((noinline)) static void leaf(int n) { sink += n; }
__attribute__((noinline)) static void branch(int n) { leaf(n); leaf(n + 1); }
__attribute__((noinline)) static int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
__attribute__((noinline)) static void jumps(int n)
{
	if (!n)
		longjmp(back, 1);
	jumps(n - 1);
	leaf(n);
}

__attribute__((noinline)) static void catches(int n)
{
	if (!setjmp(back))
		jumps(n);
	branch(n);
}

static int by_value(const void *a, const void *b) { leaf(1); return *(const int *)a - *(const int *)b; }
static void on_signal(int sig) { (void)sig; branch(1); }
static void leaves(int sig) { (void)sig; leaf(2); siglongjmp(out_of_handler, 1); }

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		branch(i);
	if (arg)
		pthread_exit(NULL);
	return arg;
}

static void *forks(void *arg)
{
	pid_t child = fork();

	branch(3);
	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	return arg;
}

static void threads(void *(*what)(void *))
{
	pthread_t thread[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, what, (void *)(i & 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void signals(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t other = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < 200; i++) {
		raise(SIGUSR1);
		branch(i);
	}
	act = (struct sigaction){ .sa_handler = leaves };
	sigaction(SIGUSR2, &act, NULL);
	for (volatile int i = 0; i < 50; i++)
		if (!sigsetjmp(out_of_handler, 1))
			raise(SIGUSR2);
	branch(7);
}

/* A timer's signals come anywhere, also within what records. */
static volatile int ticks;
static void on_tick(int sig) { (void)sig; leaf(3); ticks++; }
static void storm(void)
{
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimerspec each = { { 0, 50000 }, { 0, 50000 } };
	timer_t timer;

	sigaction(SIGALRM, &act, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &each, NULL);
	for (int i = 0; i < 400000; i++)
		branch(i);
	each = (struct itimerspec){ 0 };
	timer_settime(timer, 0, &each, NULL);
	signal(SIGALRM, SIG_IGN);
	/* how often is not known beforehand: it is said */
	printf("ticks %d\n", ticks);
}

/* … and its handler may never come back. */
static __thread volatile long rounds, leaps_;
static __thread sigjmp_buf leap_to;
static void on_leap(int sig) { (void)sig; leaf(4); leaps_++; siglongjmp(leap_to, 1); }
static void on_end(int sig) { (void)sig; leaf(5); pthread_exit(NULL); }
static timer_t leap_timer(int sig, void (*handler)(int), long each_ns)
{
	struct sigaction act = { .sa_handler = handler };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	struct itimerspec each = { { 0, each_ns }, { 0, each_ns } };
	timer_t timer;

	event._sigev_un._tid = gettid();
	sigaction(sig, &act, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &each, NULL);
	return timer;
}

__attribute__((noinline)) static void last(void) { sink++; }
static void leaps(long how_many)
{
	sigset_t alarm;
	timer_t timer;

	/* none comes before there is a place to leap to */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	timer = leap_timer(SIGALRM, on_leap, 30000);
	sigsetjmp(leap_to, 0);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	while (leaps_ < how_many) {
		branch(1);
		rounds++;
	}
	timer_delete(timer);
	last();
	printf("rounds %ld leaps %ld\n", rounds, leaps_);
}

/* Threads that end in the midst of what they do, one after the other. */
static void *ends(void *arg)
{
	leap_timer(SIGUSR1, on_end, 100000);
	for (;;)
		branch(2);
	return arg;
}

static void ended(int how_many)
{
	pthread_t thread;

	for (int i = 0; i < how_many; i++) {
		pthread_create(&thread, NULL, ends, NULL);
		pthread_join(thread, NULL);
	}
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	last();
}

/* The program ends in a handler, too. */
static void on_exit_(int sig) { (void)sig; leaf(6); last(); exit(0); }
static void ended_within(void)
{
	leap_timer(SIGALRM, on_exit_, 2000000);
	for (;;)
		branch(3);
}

/* A handler forks, and the child goes on where that came. */
static volatile int in_child_, forked;
__attribute__((no_instrument_function)) static void on_fork(int sig)
{
	int status = 1;
	pid_t child;

	(void)sig;
	if (in_child_ || forked >= 300)
		return;
	child = fork();
	in_child_ = !child;
	if (child && (waitpid(child, &status, 0) != child || status))
		_exit(9);
	forked += child != 0;
}

static void forks_within(void)
{
	leap_timer(SIGALRM, on_fork, 100000);
	while (forked < 300 && !in_child_)
		branch(1);
	branch(2);
}

static void plugins(void)
{
	for (int i = 0; i < 20; i++) {
		void *handle = dlopen(plugin, RTLD_NOW);
		void (*plug)(int) = handle ? (void (*)(int))dlsym(handle, "plug") : NULL;

		if (!plug) {
			puts(dlerror());
			exit(3);
		}
		plug(i);
		dlclose(handle);
	}
}

static ucontext_t main_context, other_context;
static void in_other(void)
{
	branch(1);
	swapcontext(&other_context, &main_context);
	branch(2);
}

static void contexts(void)
{
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = malloc(1 << 16);
	other_context.uc_stack.ss_size = 1 << 16;
	other_context.uc_link = &main_context;
	makecontext(&other_context, in_other, 0);
	swapcontext(&main_context, &other_context);
	leaf(1);
	swapcontext(&main_context, &other_context);
	leaf(2);
}

static void sorts(void)
{
	int list[200];

	for (int i = 0; i < 200; i++)
		list[i] = i * 7919 % 200;
	qsort(list, 200, sizeof *list, by_value);
}

static void at_exit(void) { branch(9); }

static void *exits(void *arg)
{
	branch(4);
	exit(0);
	return arg;
}

static void children(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();

		if (!child) {
			branch(5);
			if (i == 1)
				execl(self, self, "leaf", (char *)NULL);
			if (i == 2)
				_exit(0);
			if (i == 3)
				abort();
			if (i == 4)
				kill(getpid(), SIGKILL);
			exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "leaf";
	pthread_t thread;

	self = argv[0];
	plugin = argc > 2 ? argv[2] : "";
	if (!strcmp(mode, "leaf"))
		leaf(1);
	else if (!strcmp(mode, "deep"))
		sink += deep(60000);
	else if (!strcmp(mode, "longjmp"))
		for (volatile int i = 0; i < 100; i++)
			catches(i);
	else if (!strcmp(mode, "threads"))
		threads(work);
	else if (!strcmp(mode, "forks"))
		threads(forks);
	else if (!strcmp(mode, "signals"))
		signals();
	else if (!strcmp(mode, "storm"))
		storm();
	else if (!strcmp(mode, "leaps"))
		leaps(5000);
	else if (!strcmp(mode, "ended"))
		ended(300);
	else if (!strcmp(mode, "ended-within"))
		ended_within();
	else if (!strcmp(mode, "forks-within"))
		forks_within();
	else if (!strcmp(mode, "plugins"))
		plugins();
	else if (!strcmp(mode, "contexts"))
		contexts();
	else if (!strcmp(mode, "sorts"))
		sorts();
	else if (!strcmp(mode, "children"))
		children();
	else if (!strcmp(mode, "exit")) {
		atexit(at_exit);
		pthread_create(&thread, NULL, exits, NULL);
		pause();
	}
	return 0;
}
