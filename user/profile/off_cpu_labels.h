/* SPDX-License-Identifier: Apache-2.0 */
/* The labels under which capture adds waits (off_cpu_labels()), read back. No sample of a finished
 * profile has them. */
#ifndef BPFPROF_PROFILE_OFF_CPU_LABELS_H
#define BPFPROF_PROFILE_OFF_CPU_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/off_cpu.h"

/* What the hidden labels of a wait say. */
struct off_cpu_wait {
	uint32_t who_set;
	enum off_cpu_state state;
	uint32_t log2_ns;
	uint64_t waker;
};

/* What label set @set says of a wait. False: it is of an event's samples. */
bool off_cpu_read_labels(const struct profile *prof, uint32_t set, struct off_cpu_wait *out);

#endif
