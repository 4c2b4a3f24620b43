/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does countable things N times: tally N [tree|wait]
 *
 * A getrandom system call, a fault of a fresh page, a call of work(). With "tree" four more tasks
 * do so, too: a second thread, a child, a grandchild, and the child after it has called exec from a
 * thread that is not its first. With "wait" a byte from standard input starts it. Exit status 7.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static long times;
static char **self_argv;

__attribute__((noinline, noclone)) static void work(void)
{
	__asm__ volatile("");
}

static void *do_all(void *unused)
{
	size_t len = (size_t)(times + 1) * PAGE_BYTES;
	char byte, *pages = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				 0);

	madvise(pages, len, MADV_NOHUGEPAGE);
	for (long i = 0; i < times; i++) {
		syscall(SYS_getrandom, &byte, 1, 0);
		pages[i * PAGE_BYTES] = 1;
		work();
	}
	return NULL;
}

static void *exec_again(void *unused)
{
	char *argv[] = {self_argv[0], self_argv[1], NULL};

	execv("/proc/self/exe", argv);
	_exit(1);
}

static void in_thread(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL) || pthread_join(thread, NULL))
		_exit(1);
}

static void tree(void)
{
	in_thread(do_all);
	if (!fork()) {
		do_all(NULL);
		if (!fork()) {
			do_all(NULL);
			_exit(0);
		}
		wait(NULL);
		in_thread(exec_again);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	char byte;

	times = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	self_argv = argv;
	if (argc > 2 && !strcmp(argv[2], "wait") && read(0, &byte, 1) != 1)
		return 1;
	do_all(NULL);
	if (argc > 2)
		tree();
	return 7;
}
