/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that outlive their process: links keep them attached, a map lets them be read. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/pin_dir.h"
#include "capture/pins.h"

static void counter_name(uint32_t nr, uint32_t cpu, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "link_e%u_c%u", nr, cpu);
}

static uint32_t counter_index(const struct pins *pins, uint32_t nr, uint32_t cpu)
{
	return nr * pins->possible_cnt + cpu;
}

int pins_keep_counter(struct pins *pins, uint32_t nr, uint32_t cpu, int prog_fd, int perf_fd)
{
	_cleanup_close_ int link_fd = bpf_link_create(prog_fd, perf_fd, BPF_PERF_EVENT, NULL);
	uint32_t index = counter_index(pins, nr, cpu);
	char name[32];

	/* Of an attach type that it does not know a kernel says that it is invalid. */
	if (link_fd < 0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	if (bpf_map_update_elem(pins->counters_fd, &index, &perf_fd, BPF_ANY))
		return -errno;
	counter_name(nr, cpu, name, sizeof(name));
	return pin_put(pins->dir_fd, name, link_fd);
}

bool pins_has_counter(const struct pins *pins, uint32_t nr, uint32_t cpu)
{
	char name[32];

	counter_name(nr, cpu, name, sizeof(name));
	return pin_is_there(pins->dir_fd, name);
}

void pins_drop_counter(struct pins *pins, uint32_t nr, uint32_t cpu)
{
	uint32_t index = counter_index(pins, nr, cpu);
	char name[32];

	counter_name(nr, cpu, name, sizeof(name));
	pin_drop(pins->dir_fd, name);
	bpf_map_delete_elem(pins->counters_fd, &index);
}

static int read_counter(struct pins *pins, uint32_t nr, uint32_t cpu)
{
	uint64_t args[1] = {counter_index(pins, nr, cpu)};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

	*pins->read = (struct bp_tick_read){.err = -ENODEV};
	if (bpf_prog_test_run_opts(pins->ticks_fd, &opts))
		return -errno;
	return (int)*(volatile __s64 *)&pins->read->err;
}

int pins_read_counter(struct pins *pins, uint32_t nr, uint32_t cpu, uint64_t *out)
{
	int err = read_counter(pins, nr, cpu);

	if (!err)
		*out = pins->read->count;
	return err;
}

bool pins_counter_is_alive(struct pins *pins, uint32_t nr, uint32_t cpu)
{
	uint64_t enabled_ns;

	if (read_counter(pins, nr, cpu))
		return false;
	enabled_ns = pins->read->enabled_ns;
	return !read_counter(pins, nr, cpu) && pins->read->enabled_ns != enabled_ns;
}
