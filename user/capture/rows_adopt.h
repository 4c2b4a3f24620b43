/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows that the process before us has put into the kernel: they stay, and are used. */
#ifndef BPFPROF_CAPTURE_ROWS_ADOPT_H
#define BPFPROF_CAPTURE_ROWS_ADOPT_H

#include "capture/rows_feed.h"

/*
 * Take over what the kernel side has of rows, before anything is asked for. What is not as it
 * should be is withdrawn, and built again. 0 or -ENOMEM. Looks at every row once.
 */
int rows_adopt(struct rows_feed *feed);

#endif
