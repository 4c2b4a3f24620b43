/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_lookups SECONDS: a load that blinds its CPU. While bpf() touches a map the kernel runs no
 * program of a perf event there (bpf_disable_instrumentation(), commit b6e5dae15a61 "bpf: Replace
 * open coded recursion prevention in sys_bpf()", Linux 5.7), so a CPU that does little else loses
 * ticks.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Copying a large value out makes the blind part of the call the longer one. */
enum { VALUE_BYTES = 1 << 20 };

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int create_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = VALUE_BYTES;
	attr.max_entries = 1;
	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int look_up(int map_fd, void *value)
{
	union bpf_attr attr;
	uint32_t key = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map_fd;
	attr.key = (uint64_t)(uintptr_t)&key;
	attr.value = (uint64_t)(uintptr_t)value;
	return (int)syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	double until_s = now_s() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	void *value = malloc(VALUE_BYTES);
	int map_fd = create_map();

	if (map_fd < 0 || !value) {
		perror("bpf_lookups: BPF_MAP_CREATE");
		return 1;
	}
	while (now_s() < until_s)
		if (look_up(map_fd, value)) {
			perror("bpf_lookups: BPF_MAP_LOOKUP_ELEM");
			return 1;
		}
	free(value);
	return 0;
}
