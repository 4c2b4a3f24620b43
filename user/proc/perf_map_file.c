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
	_cleanup_close_ int fd = -1;
	char path[64];
	int err;

	if (root_fd < 0)
		return root_fd;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu64 ".map", owner->own_pid);
	fd = root_file_open_nofollow(root_fd, path);
	if (fd < 0)
		return fd;
	err = jit_owner_check(owner, fd);
	return err ? err : take_fd(&fd);
}

int perf_map_file_open(pid_t tgid)
{
	struct jit_owner owner;
	int fd = jit_owner_open(tgid, &owner);

	if (fd)
		return fd;
	fd = open_map(&owner);
	jit_owner_close(&owner);
	return fd;
}
