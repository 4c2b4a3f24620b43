/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/iterate.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

int iterate_tasks(struct bpf_program *prog, iterate_fn *fn, void *arg, size_t record_bytes)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	_cleanup_close_ int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;
	_cleanup_free_ char *record = calloc(1, record_bytes + 1);
	int err = !record ? -ENOMEM : fd < 0 ? fd : 0;
	size_t have = 0;

	while (!err) {
		/* Without records too the programs run while it is read. */
		ssize_t got = read(fd, record + have, record_bytes ? record_bytes - have : 1);

		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0) {
			err = got < 0 ? -errno : 0;
			break;
		}
		have += (size_t)got;
		if (have < record_bytes)
			continue;
		err = fn ? fn(arg, record) : 0;
		have = 0;
	}
	bpf_link__destroy(link);
	return err;
}
