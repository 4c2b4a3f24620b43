/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_updates SECONDS: writes into BPF maps, one bpf() call after the other: while one is under
 * way, the kernel runs no program of a perf event on that CPU.
 */
#include "cpu_time.h"
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VALUE_BYTES = 1 << 20 };

static long call_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int main(int argc, char **argv)
{
	double enough_s = argc > 1 ? strtod(argv[1], NULL) : 1;
	union bpf_attr make = {0}, update = {0};
	char *value = calloc(1, VALUE_BYTES);
	uint32_t key = 0;
	long fd;

	make.map_type = BPF_MAP_TYPE_ARRAY;
	make.key_size = sizeof(key);
	make.value_size = VALUE_BYTES;
	make.max_entries = 1;
	fd = call_bpf(BPF_MAP_CREATE, &make);
	if (fd < 0 || !value) {
		perror("map_updates: a map");
		return 1;
	}
	update.map_fd = (uint32_t)fd;
	update.key = (uintptr_t)&key;
	update.value = (uintptr_t)value;
	while (cpu_s() < enough_s) {
		if (call_bpf(BPF_MAP_UPDATE_ELEM, &update)) {
			perror("map_updates: an update");
			return 1;
		}
	}
	free(value);
	return 0;
}
