/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a process's perf map, and whether it is one that the process may have written. */
#include "proc/perf_map_file.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "elf/root_file.h"
#include "proc/jit_owner.h"

static int open_map(const struct jit_owner *owner)
{
	_cleanup_close_ int root_fd = jit_owner_root(owner);
	char path[64];

	if (root_fd < 0)
		return root_fd;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu64 ".map", owner->own_pid);
	return root_file_open_nofollow(root_fd, path);
}

int perf_map_file_open(pid_t tgid)
{
	return jit_owner_open_file(tgid, open_map);
}
