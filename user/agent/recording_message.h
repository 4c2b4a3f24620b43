/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent and the process that records for it (recording_helper.h) write to each other. Both
 * are this program, but the agent has read what others wrote, and whoever has taken it over writes
 * in its name: neither side believes a byte.
 *
 *	request		u64 duration_ns, u32 kind, hz, pid; comm, cgroup and event, each in a field
 *			of its size, with a NUL ("": not given). Always RECORDING_REQUEST_BYTES, so
 *			that nothing is asked for while it is read
 *	answer		i32 error (0 or negative errno), u32 length of the line; the line; pprof
 *
 * Little-endian.
 */
#ifndef BPFPROF_AGENT_RECORDING_MESSAGE_H
#define BPFPROF_AGENT_RECORDING_MESSAGE_H

#include "base/buf.h"
#include "web/web.h"

enum {
	RECORDING_COMM_BYTES = 128,
	RECORDING_CGROUP_BYTES = 4100,
	RECORDING_EVENT_BYTES = 160,
	RECORDING_REQUEST_BYTES =
		8 + 3 * 4 + RECORDING_COMM_BYTES + RECORDING_CGROUP_BYTES + RECORDING_EVENT_BYTES,
	RECORDING_LINE_BYTES_MAX = 8192,
	RECORDING_ANSWER_HEAD_BYTES = 8,
};

/* Append @capture but its client_fd. 0; -EINVAL with a line in @why: a text is empty, or longer
 * than its field; -ENOMEM. */
int recording_request_write(const struct web_capture *capture, struct buf *out, struct buf *why);

/*
 * What the @len bytes at @data ask for. Its strings are borrowed from @data, and not yet known to
 * be sensible; client_fd is -1. 0; -EINVAL: not of that size, a field without its end, or a number
 * beyond what web.h allows.
 */
int recording_request_read(const void *data, size_t len, struct web_capture *out);

/* Append what an answer begins with, up to the profile. @err: 0 or negative errno; @line: at most
 * RECORDING_LINE_BYTES_MAX. */
void recording_answer_write(int err, const struct buf *line, struct buf *out);

/* Append the line of the answer of @len bytes at @data to @line, and, where it says that there is
 * one, the profile to @out. Its error, or that of appending; -EBADMSG: it is none. */
int recording_answer_read(const void *data, size_t len, struct buf *out, struct buf *line);

#endif
