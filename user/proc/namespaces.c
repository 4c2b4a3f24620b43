/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/namespaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* include/linux/proc_ns.h: PROC_PID_INIT_INO, since "proc: Usable inode numbers for the namespace
 * file descriptors." (3.8) */
static const ino_t first_pid_ino = 0xeffffffc;

uint32_t namespaces_pid(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == first_pid_ino)
		return 0;
	return (uint32_t)st.st_ino;
}

int namespaces_check_proc(struct buf *why)
{
	char target[32];
	ssize_t len = readlink("/proc/self", target, sizeof(target) - 1);

	/* Without /proc other things fail, each with its own words. */
	if (len < 0 && (errno != ENOENT || access("/proc/version", F_OK)))
		return 0;
	target[len > 0 ? len : 0] = '\0';
	if (len > 0 && strtol(target, NULL, 10) == getpid())
		return 0;
	buf_add_str(why, "/proc is that of another pid namespace, where other processes have these "
			 "numbers: mount our own (mount -t proc proc /proc; unshare --mount-proc)");
	return -ESRCH;
}
