/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kgen_load OBJECT PROGRAM SECONDS: load that one program, run it over and over, unload it. Prints
 * the name and the address that /proc/kallsyms had for it: "bpf_prog_..._kgen_first ffffffffc0..".
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "kgen_load: %s '%s': %s\n", what, name, strerror(errno));
	return 1;
}

static int print_address(const char *program)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024], address[32], name[512];

	if (!file)
		return fail("open", "/proc/kallsyms");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %*c %511s", address, name) != 2 ||
		    strncmp(name, "bpf_prog_", strlen("bpf_prog_")) || !strstr(name, program))
			continue;
		printf("%s %s\n", name, address);
		break;
	}
	fclose(file);
	return 0;
}

static int run(int prog_fd, const char *name, double until_s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	while (now_s() < until_s)
		if (bpf_prog_test_run_opts(prog_fd, &opts))
			return fail("run", name);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 4 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program, *wanted = NULL;
	int status;

	if (!object)
		return fail("open", argc > 1 ? argv[1] : "");
	bpf_object__for_each_program(program, object)
	{
		bool is_wanted = !strcmp(bpf_program__name(program), argv[2]);

		bpf_program__set_autoload(program, is_wanted);
		if (is_wanted)
			wanted = program;
	}
	if (!wanted || bpf_object__load(object))
		return fail("load", argv[2]);
	status = run(bpf_program__fd(wanted), argv[2], now_s() + strtod(argv[3], NULL));
	if (!status)
		status = print_address(argv[2]);
	bpf_object__close(object);
	return status;
}
