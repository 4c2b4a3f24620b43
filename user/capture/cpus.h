/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPUs there are: /sys/devices/system/cpu. */
#ifndef BPFPROF_CAPTURE_CPUS_H
#define BPFPROF_CAPTURE_CPUS_H

#include "base/parse.h"

/* Read the list @which ("online", "present", "possible") into @out (number_set_deinit()). 0 or
 * negative errno. */
int cpus_read(const char *which, struct number_set *out);

#endif
