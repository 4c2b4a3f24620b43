/* SPDX-License-Identifier: Apache-2.0 */
#include "event/insn.h"

uint32_t probe_cost_ns(enum probe_class probe)
{
	static const uint32_t costs_ns[PROBE_CLASSES] = {
		[PROBE_EMULATED] = 650,
		[PROBE_STEPPED] = 21000,
	};

	return costs_ns[probe];
}
