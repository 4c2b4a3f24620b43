/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuts LIBRARY FUNCTION: call it for a second and a half, close the library, and then cut the file
 * short and write it anew for ever. Its tables of symbols and strings, which lie at its end, are
 * there at one moment and gone at the next.
 */
#include "keep_frame.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) int call(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW);
	double end_s = now_s() + 1.5;
	void (*function)(void);

	KEEP_FRAME();
	if (!library)
		return 1;
	*(void **)&function = dlsym(library, name);
	while (function && now_s() < end_s)
		function();
	return dlclose(library) || !function;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	const struct timespec pause = {.tv_nsec = 2000000};
	off_t keep;
	struct stat st;
	char *tail;

	if (fd < 0 || fstat(fd, &st) || call(argv[1], argv[2]))
		return 1;
	keep = st.st_size / 8;
	tail = malloc((size_t)(st.st_size - keep));
	if (!tail || pread(fd, tail, (size_t)(st.st_size - keep), keep) != st.st_size - keep)
		return 1;
	for (;;) {
		nanosleep(&pause, NULL);
		if (ftruncate(fd, keep) ||
		    pwrite(fd, tail, (size_t)(st.st_size - keep), keep) != st.st_size - keep)
			return 1;
	}
}
