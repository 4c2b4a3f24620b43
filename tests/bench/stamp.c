/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp OBJECT [--no-wakeup] COMMAND ARG...: run COMMAND while the time of every thread that it
 * starts is kept, and nothing else: what any profiler of waits has to do at the least. OBJECT is
 * stamp.bpf.c, compiled; without wake-ups there is no runnable time. Exits like COMMAND.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static bool attach(struct bpf_object *object, bool is_wakeup_wanted)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		if (!is_wakeup_wanted && !strcmp(bpf_program__name(program), "stamp_wakeup"))
			continue;
		if (!bpf_program__attach(program))
			return false;
	}
	return true;
}

/* Its exit status; -1: it could not be started. */
static int run(char **command)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	bool is_wakeup_wanted = argc < 3 || strcmp(argv[2], "--no-wakeup");
	char **command = argv + (is_wakeup_wanted ? 2 : 3);
	struct bpf_object *object;
	int status = -1;

	if (argc < 3 || !*command) {
		fprintf(stderr, "usage: stamp OBJECT [--no-wakeup] COMMAND ARG...\n");
		return 2;
	}
	libbpf_set_print(quiet);
	object = bpf_object__open_file(argv[1], NULL);
	if (object && !bpf_object__load(object) && attach(object, is_wakeup_wanted))
		status = run(command);
	if (status < 0) {
		fprintf(stderr, "stamp: %s\n", strerror(errno));
		return 1;
	}
	return status;
}
