/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Letting go of probes so that nothing can interrupt it.
 *
 * The last close of a uprobe's descriptor takes the breakpoint out of the code of each process that
 * has it. For that the kernel looks at their pages, which it refuses in a task that is being
 * killed: "failed to unregister, leaking uprobe", and the breakpoint stays until that process ends
 * (seen on 6.18; __get_user_pages() asks fatal_signal_pending() since 2.6.20). A process that exits
 * closes what it has when signals cannot reach it any more. So copies of this process hold the
 * descriptors while we close ours, and then exit:
 *
 *	releaser_begin(&releaser, fds, cnt);
 *	close each of fds
 *	releaser_end(&releaser);         what they stood for is gone
 *
 * Killed at any moment: we exit, and then they do.
 */
#ifndef BPFPROF_CAPTURE_RELEASER_H
#define BPFPROF_CAPTURE_RELEASER_H

#include <stddef.h>
#include <sys/types.h>

enum { RELEASER_COPIES_MAX = 16 };

struct releaser {
	pid_t copies[RELEASER_COPIES_MAX];
	size_t copy_cnt;
	int go_fd; /* -1: none; they exit when it is closed */
};

/*
 * Hold @fds (@cnt of them, borrowed). The kernel waits some 50 ms for each that is released, and
 * for several at once no longer: so they are spread over some copies. Where no process can be made
 * the caller's close is the last one.
 */
void releaser_begin(struct releaser *releaser, const int *fds, size_t cnt);

/* After the caller's close of each: let go, and wait until that is done. */
void releaser_end(struct releaser *releaser);

#endif
