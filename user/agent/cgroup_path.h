/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the path of a control group says about who runs in it. Container runtimes, the kubelet and
 * systemd name groups each in their way, but with few shapes:
 *
 * container: 64 hexadecimal digits at the end of a component, behind nothing or a prefix (docker-,
 * cri-containerd-, crio-, libpod-), before nothing or ".scope"; or the last part of
 * "kubepods-...slice:cri-containerd:ID".
 *
 * pod: pod<uid> in a component of its own or at the end of "kubepods-besteffort-pod<uid>", its
 * dashes as '_' where systemd has the group.
 *
 * unit: the innermost *.service or *.scope that is no container's; in a container, its own.
 *
 * Everything is hostile: whoever may make a control group chooses its name.
 */
#ifndef BPFPROF_AGENT_CGROUP_PATH_H
#define BPFPROF_AGENT_CGROUP_PATH_H

#include <stddef.h>

enum {
	CGROUP_CONTAINER_DIGITS = 64,
	CGROUP_POD_MAX = 37, /* a UUID and NUL */
	CGROUP_UNIT_MAX = 96,
};

struct cgroup_names { /* "" where the path does not say */
	char container[CGROUP_CONTAINER_DIGITS + 1];
	char pod[CGROUP_POD_MAX];
	char unit[CGROUP_UNIT_MAX]; /* "nginx.service" */
};

/* What the path of @len bytes says. O(len). */
void cgroup_path_parse(const char *path, size_t len, struct cgroup_names *out);

/*
 * The line of @text, what /proc/PID/cgroup holds, whose path says most: of those that say as much,
 * the unified hierarchy's, then systemd's, then the longest. Borrowed from @text, *@len_out bytes;
 * NULL: there is no line.
 */
const char *cgroup_file_pick(const char *text, size_t len, size_t *len_out);

#endif
