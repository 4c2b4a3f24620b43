/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children COUNT [LIBRARY]: so many children, one after the other, that live a tenth of a second:
 * each runs itself by exec, or calls dlopen(LIBRARY), waits three seconds and allocates by its
 * own_malloc(). 100 blocks of 1,000 bytes each.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) void work(void *(*take)(size_t))
{
	for (int i = 0; i < 100; i++) {
		void *volatile block = take(1000);

		(void)block;
		usleep(1000);
	}
}

static int load(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	void *(*take)(size_t) = handle ? (void *(*)(size_t))dlsym(handle, "own_malloc") : NULL;

	if (!take) {
		fprintf(stderr, "children: %s\n", dlerror());
		return 1;
	}
	sleep(3);
	work(take);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc > 1 && !strcmp(argv[1], "child")) {
		work(malloc);
		return 0;
	}
	for (int i = 0; argc > 1 && i < strtol(argv[1], NULL, 10); i++) {
		pid_t pid = fork();
		int status;

		if (!pid && argc > 2)
			_exit(load(argv[2]));
		if (!pid)
			_exit(execl("/proc/self/exe", argv[0], "child", (char *)NULL));
		failed |= waitpid(pid, &status, 0) != pid || status;
	}
	return failed;
}
