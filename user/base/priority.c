/* SPDX-License-Identifier: Apache-2.0 */
/* On Linux a nice value is a thread's own, and ends with it. */
#include "base/priority.h"

#include <sys/resource.h>

int priority_raise(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, -20);
	return before;
}

void priority_restore(int before)
{
	setpriority(PRIO_PROCESS, 0, before);
}
