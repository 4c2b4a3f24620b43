/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opens CPU_SECONDS LIBRARY FUNCTION...: open each library, call its function for that long, and
 * close it. Says where each function was.
 */
#include "cpu_time.h"
#include "keep_frame.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void call(void (*function)(void), double until_s)
{
	KEEP_FRAME();
	while (cpu_s() < until_s)
		function();
}

int main(int argc, char **argv)
{
	double share_s = argc > 1 ? strtod(argv[1], NULL) : 1;

	for (int i = 2; i + 1 < argc; i += 2) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void (*function)(void);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&function = dlsym(library, argv[i + 1]);
		if (!function)
			return 1;
		printf("%s %p\n", argv[i + 1], *(void **)&function);
		call(function, cpu_s() + share_s);
		if (dlclose(library))
			return 1;
	}
	return 0;
}
