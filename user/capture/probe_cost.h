/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What probes will cost the machine, told before they sample. They are in place then, and their
 * programs, which do nothing yet, count how often they are run: a tenth of a second of that, by
 * what a hit costs, is the estimate. Of a COMMAND that has not been started nothing is known.
 */
#ifndef BPFPROF_CAPTURE_PROBE_COST_H
#define BPFPROF_CAPTURE_PROBE_COST_H

#include <stdbool.h>

#include "capture/loader.h"
#include "capture/samplers.h"

/*
 * Say what the probes of @samplers cost, under -v or where it is noticeable. 0; -EBUSY after
 * log_error() when it is more than a share of the machine's CPU time that nobody asked for, unless
 * @is_forced. Takes 0.1 s where there are probes.
 */
int probe_cost_check(const struct samplers *samplers, const struct loader *loader, bool is_forced);

#endif
