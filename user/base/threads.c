/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/task, and the CPU clock of each thread. */
#include "base/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/parse.h"

/* A thread's CPU clock by its number, as the kernel makes them of it (CPUCLOCK_PERTHREAD_MASK and
 * CPUCLOCK_SCHED of its posix-timers.h). */
enum { CLOCK_ID_SHIFT = 3, CLOCK_OF_THREAD = 4, CLOCK_SCHED = 2 };

static int by_tid(const void *left, const void *right)
{
	const pid_t *one = left, *other = right;

	return (*one > *other) - (*one < *other);
}

static int add(struct threads *threads, const char *name)
{
	uint64_t tid;
	int err;

	if (parse_u64(name, &tid)) /* "." and ".." */
		return 0;
	err = array_reserve(&threads->tids, &threads->cap, threads->cnt + 1,
			    sizeof(*threads->tids));
	if (!err)
		threads->tids[threads->cnt++] = (pid_t)tid;
	return err;
}

int threads_list(struct threads *out)
{
	const struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");
	int err = 0;

	*out = (struct threads){.tids = NULL};
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir)) != NULL)
		err = add(out, entry->d_name);
	closedir(dir);
	if (out->cnt)
		qsort(out->tids, out->cnt, sizeof(*out->tids), by_tid);
	return err;
}

void threads_deinit(struct threads *threads)
{
	free(threads->tids);
	*threads = (struct threads){.tids = NULL};
}

void threads_subtract(struct threads *threads, const struct threads *others)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < threads->cnt; i++) {
		while (at < others->cnt && others->tids[at] < threads->tids[i])
			at++;
		if (at == others->cnt || others->tids[at] != threads->tids[i])
			threads->tids[kept++] = threads->tids[i];
	}
	threads->cnt = kept;
}

uint64_t threads_cpu_ns(const struct threads *threads)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < threads->cnt; i++) {
		unsigned int id = ~(unsigned int)threads->tids[i] << CLOCK_ID_SHIFT;
		struct timespec ts;

		if (clock_gettime((clockid_t)(id | CLOCK_OF_THREAD | CLOCK_SCHED), &ts))
			continue;
		sum_ns += (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
	}
	return sum_ns;
}
