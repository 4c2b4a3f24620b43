/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file does PATH of uprobe:PATH:SYM and usdt:PATH:... mean?
 *
 *	/usr/lib/x.so	in the root of the target process, all symbolic links resolved in there; or
 *			in ours
 *	./x.so, d/x.so	below our current folder
 *	libssl, bash	what the target has mapped under such a name; else what the dynamic linker's
 *			cache of its root has; else what lies in the folders of libraries; else a
 *			program in $PATH
 *
 * Who opens the file for a probe is the kernel, by a path that it looks up in our own mount
 * namespace. So a file of another root gets a path through /proc/TGID/root, with no symbolic link
 * left in it (an absolute one would lead into our root); a file that was deleted or replaced while
 * the target has it mapped gets one through /proc/TGID/map_files. Either is checked to lead to the
 * file that is open here.
 *
 * Who owns that root may put another file there between this check and the kernel's look-up. The
 * probe is then in a file of his choice, as if he had named it.
 */
#ifndef BPFPROF_EVENT_TARGET_FILE_H
#define BPFPROF_EVENT_TARGET_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

struct target_file {
	char *open_path; /* owned: what the kernel is told */
	char *path; /* owned: as it is called in its root, for people */
	int fd; /* owned: a 64-bit program or library for this machine */
	int root_fd; /* owned, O_PATH: where @path and debug files lie; -1: our own root */
};

/*
 * Find the file. @tgid 0: no process is meant. 0 and *@out (target_file_deinit()); -ENOENT,
 * -EACCES, -EINVAL (no program, or more than one file could be meant), -ESRCH, -ENOMEM with one
 * line appended to @why. Reads the maps of the process, and for bare names /etc/ld.so.cache.
 */
int target_file_find(const char *path, pid_t tgid, struct target_file *out, struct buf *why);
void target_file_deinit(struct target_file *file);

#endif
