/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of count_only share. */
#ifndef BPFPROF_COUNT_ONLY_H
#define BPFPROF_COUNT_ONLY_H

struct counts {
	unsigned long long ran; /* all of them */
	unsigned long long idle; /* ... in the idle task */
	unsigned long long kernel; /* ... in kernel mode of any other task */
};

#endif
