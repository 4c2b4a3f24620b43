/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers, to be single-stepped: on an alternate stack and on the same one, nested,
 * returned from and jumped out of. SIGUSR1 may also be sent from outside at any instruction.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

enum { STACK_BYTES = 64 * 1024 };

static volatile sig_atomic_t taken, nested;
static sigjmp_buf target;
static volatile long sink;

static NOINLINE long work(long cnt)
{
	char text[64];
	long sum = 0;

	memset(text, (int)cnt, sizeof(text));
	for (long i = 0; i < cnt; i++)
		sum += text[i & 63] * i;
	return sum;
}

static void on_usr1(int nr)
{
	taken++;
	sink += work(5);
}

/* On the stack it interrupted, with another signal inside. */
static void on_usr2(int nr)
{
	nested++;
	sink += work(3);
	raise(SIGUSR1);
	sink += work(3);
}

static void on_segv(int nr, siginfo_t *info, void *context)
{
	sink += work(4);
	siglongjmp(target, 3);
}

static void handle(int nr, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	sigaction(nr, &action, NULL);
}

static NOINLINE long fault(int depth)
{
	volatile long local = depth;

	if (depth)
		return fault(depth - 1) + local;
	return *(volatile long *)8 + local;
}

static NOINLINE int faults(void)
{
	struct sigaction action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	int value;

	sigaction(SIGSEGV, &action, NULL);
	value = sigsetjmp(target, 1);
	if (!value)
		sink += fault(4);
	return value;
}

int main(void)
{
	static char memory[STACK_BYTES] __attribute__((aligned(16)));
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	if (sigaltstack(&stack, NULL))
		return 2;
	handle(SIGUSR1, on_usr1, SA_ONSTACK);
	handle(SIGUSR2, on_usr2, 0);
	for (int i = 0; i < 3; i++) {
		sink += work(20);
		raise(SIGUSR1);
		raise(SIGUSR2);
		if (faults() != 3)
			return 3;
	}
	return taken < 6 || nested != 3;
}
