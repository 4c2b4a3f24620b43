/* SPDX-License-Identifier: Apache-2.0 */
/* On Linux a nice value is a thread's own, and ends with it. */
#include "base/priority.h"

#include <sys/resource.h>

#include "base/privilege.h"

enum { LOW_NICE = 15 };

int priority_raise(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, -20);
	return before;
}

int priority_lower(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	if (privilege_has(PRIVILEGE_SYS_NICE))
		setpriority(PRIO_PROCESS, 0, LOW_NICE);
	return before;
}

void priority_restore(int before)
{
	setpriority(PRIO_PROCESS, 0, before);
}
