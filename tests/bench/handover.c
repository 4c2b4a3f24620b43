/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover FILE CPU DEPTH WARM_UP_S SECONDS: two processes on one CPU hand a byte to and fro
 * through two pipes, so that every hand-over is a wake-up and a context switch. Either waits DEPTH
 * functions deep (2 to DEPTH_MAX) whose names begin with "pp_", besides main() and the C library.
 * After WARM_UP_S it counts, and writes to FILE
 *
 *	HAND_OVERS CPU_NS WALL_NS SWITCHES
 *
 * CPU_NS is both processes' CPU time, which the CPU spends on nobody else: the switches' own cost
 * is in it, as is what is attached to them, but not what other programs do meanwhile. SWITCHES is
 * how often the kernel says that the first left the CPU, times two.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 30, TURNS_PER_LOOK = 64 };

struct side {
	int read_fd, write_fd;
	clockid_t clocks[2]; /* CPU time of both processes */
	const char *path;
	double warm_up_s, seconds;
};

struct marks {
	long long cpu_ns, wall_ns, switches;
};

static long long read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct marks take_marks(const struct side *side)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (struct marks){
		.cpu_ns = read_ns(side->clocks[0]) + read_ns(side->clocks[1]),
		.wall_ns = read_ns(CLOCK_MONOTONIC),
		.switches = 2 * (usage.ru_nvcsw + usage.ru_nivcsw),
	};
}

/* A byte there and a byte back; false when the other side has gone. */
static inline int turn(const struct side *side)
{
	char byte = 0;

	return write(side->write_fd, &byte, 1) == 1 && read(side->read_fd, &byte, 1) == 1;
}

/* How many turns were made until @end_ns. */
static __attribute__((noinline)) long long pp_turns(const struct side *side, long long end_ns)
{
	long long turns = 0;

	do {
		for (int i = 0; i < TURNS_PER_LOOK; i++)
			if (!turn(side))
				exit(1);
		turns += TURNS_PER_LOOK;
	} while (read_ns(CLOCK_MONOTONIC) < end_ns);
	return turns;
}

static long long after(double seconds)
{
	return read_ns(CLOCK_MONOTONIC) + (long long)(seconds * 1e9);
}

static int measure(const struct side *side)
{
	struct marks begin, end;
	long long turns;
	FILE *file;

	pp_turns(side, after(side->warm_up_s));
	begin = take_marks(side);
	turns = pp_turns(side, after(side->seconds));
	end = take_marks(side);
	file = fopen(side->path, "we");
	if (!file)
		return 1;
	fprintf(file, "%lld %lld %lld %lld\n", 2 * turns, end.cpu_ns - begin.cpu_ns,
		end.wall_ns - begin.wall_ns, end.switches - begin.switches);
	return fclose(file);
}

/* The other side: a byte back for every byte. */
static __attribute__((noinline)) int pp_answer(const struct side *side)
{
	char byte = 0;

	while (read(side->read_fd, &byte, 1) == 1)
		if (write(side->write_fd, &byte, 1) != 1)
			break;
	return 0;
}

/* Function pp_N calls @below, from a frame of a size of its own, and not by a jump. */
#define LEVEL(n, below, words)                                               \
	static __attribute__((noinline)) int pp_##n(const struct side *side) \
	{                                                                    \
		volatile long room[words] = {n};                             \
		int status = below(side);                                    \
                                                                             \
		return status + (int)room[0] - n;                            \
	}

/* The side that measures, or the other. */
static __attribute__((always_inline)) inline int either(const struct side *side)
{
	return side->path ? measure(side) : pp_answer(side);
}

/* clang-format off */
LEVEL(0, either, 3) LEVEL(1, pp_0, 2) LEVEL(2, pp_1, 5) LEVEL(3, pp_2, 1) LEVEL(4, pp_3, 9)
LEVEL(5, pp_4, 3) LEVEL(6, pp_5, 16) LEVEL(7, pp_6, 2) LEVEL(8, pp_7, 7) LEVEL(9, pp_8, 1)
LEVEL(10, pp_9, 4) LEVEL(11, pp_10, 12) LEVEL(12, pp_11, 2) LEVEL(13, pp_12, 6)
LEVEL(14, pp_13, 3) LEVEL(15, pp_14, 24) LEVEL(16, pp_15, 1) LEVEL(17, pp_16, 8)
LEVEL(18, pp_17, 5) LEVEL(19, pp_18, 2) LEVEL(20, pp_19, 10) LEVEL(21, pp_20, 3)
LEVEL(22, pp_21, 14) LEVEL(23, pp_22, 1) LEVEL(24, pp_23, 6) LEVEL(25, pp_24, 4)
LEVEL(26, pp_25, 18) LEVEL(27, pp_26, 2) LEVEL(28, pp_27, 7)

typedef int level_fn(const struct side *side);
/* clang-format on */

/* By how many more functions there are below. */
static level_fn *const levels[DEPTH_MAX - 1] = {
	pp_0,  pp_1,  pp_2,  pp_3,  pp_4,  pp_5,  pp_6,	 pp_7,	pp_8,  pp_9,
	pp_10, pp_11, pp_12, pp_13, pp_14, pp_15, pp_16, pp_17, pp_18, pp_19,
	pp_20, pp_21, pp_22, pp_23, pp_24, pp_25, pp_26, pp_27, pp_28,
};

static int pin_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus);
}

static int play(int depth, struct side *side)
{
	int there[2], back[2], status;
	pid_t child;

	if (pipe(there) || pipe(back))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		struct side other = {.read_fd = there[0], .write_fd = back[1]};

		close(there[1]);
		close(back[0]);
		_exit(levels[depth - 2](&other));
	}
	close(there[0]);
	close(back[1]);
	side->write_fd = there[1];
	side->read_fd = back[0];
	side->clocks[0] = CLOCK_PROCESS_CPUTIME_ID;
	if (clock_getcpuclockid(child, &side->clocks[1]))
		return 1;
	status = levels[depth - 2](side);
	close(there[1]);
	waitpid(child, NULL, 0);
	return status;
}

int main(int argc, char **argv)
{
	struct side side = {0};
	int depth;

	if (argc != 6 || (depth = (int)strtol(argv[3], NULL, 10)) < 2 || depth > DEPTH_MAX) {
		fprintf(stderr, "usage: handover FILE CPU DEPTH WARM_UP_S SECONDS\n");
		return 2;
	}
	side.path = argv[1];
	side.warm_up_s = strtod(argv[4], NULL);
	side.seconds = strtod(argv[5], NULL);
	signal(SIGPIPE, SIG_IGN);
	if (pin_to((int)strtol(argv[2], NULL, 10)) || play(depth, &side)) {
		perror("handover");
		return 1;
	}
	return 0;
}
