/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter FILE COMMAND ARG...: run COMMAND and write to FILE what it and its waited-for children
 * used, in one line:
 *
 *	USER_S SYSTEM_S PEAK_RSS_KB WALL_S
 *
 * A program of its own because a process starts with the peak memory of the one that forked it:
 * beside an interpreter nothing below 10 MB could be measured. Exits like COMMAND.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static int write_usage(const char *path, const struct rusage *usage, double wall_s)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return -1;
	fprintf(file, "%.6f %.6f %ld %.6f\n", seconds(&usage->ru_utime), seconds(&usage->ru_stime),
		usage->ru_maxrss, wall_s);
	return fclose(file);
}

int main(int argc, char **argv)
{
	double start_s = now_s();
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: meter FILE COMMAND ARG...\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid ||
	    write_usage(argv[1], &usage, now_s() - start_s)) {
		perror("meter");
		return 125;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
