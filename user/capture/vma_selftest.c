/* SPDX-License-Identifier: Apache-2.0 */
/* Self-test of the lockless VMA walk: each line of our own maps through BPF_PROG_TEST_RUN. */
#include "capture/vma_selftest.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/reader.h"

enum { MAPS_MAX_BYTES = 8 << 20 };

static bool walk_finds(int prog_fd, uint64_t start, uint64_t end)
{
	uint64_t args[2] = {start, end};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	return !bpf_prog_test_run_opts(prog_fd, &opts) && opts.retval == 1;
}

bool vma_selftest(int prog_fd)
{
	_cleanup_(buf_deinit) struct buf maps;
	struct reader rd;
	const char *line;
	size_t len;
	bool ok = true;

	buf_init(&maps, MAPS_MAX_BYTES);
	/* Room first: reading must not change the map that is being read. */
	if (fs_read_file("/proc/self/maps", &maps))
		return false;
	buf_reset(&maps);
	if (fs_read_file("/proc/self/maps", &maps))
		return false;
	reader_init(&rd, maps.data, maps.len);
	while ((line = reader_until(&rd, '\n', &len))) {
		struct reader range;
		uint64_t start, end;

		reader_init(&range, line, len);
		start = reader_number(&range, 16);
		reader_accept(&range, '-');
		end = reader_number(&range, 16);
		/* [vsyscall] is above user space: no VMA. */
		if (range.err || (int64_t)start < 0)
			continue;
		if (!walk_finds(prog_fd, start, end)) {
			log_debug("self-test: the walk does not find '%.*s'", (int)len, line);
			ok = false;
		}
	}
	return ok;
}
