/* SPDX-License-Identifier: Apache-2.0 */
/* On Linux a nice value is a thread's own. */
#include "base/priority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/fs.h"

static const char autogroup_path[] = "/proc/self/autogroup";

/* "/autogroup-25 nice 0" */
static int autogroup_nice(void)
{
	static const char key[] = " nice ";
	_cleanup_free_ char *line = fs_read_line(autogroup_path);
	const char *value = line ? strstr(line, key) : NULL;

	return value ? (int)strtol(value + strlen(key), NULL, 10) : PRIORITY_NO_AUTOGROUP;
}

static void set_autogroup(int nice)
{
	_cleanup_fclose_ FILE *file = fopen(autogroup_path, "we");

	if (file)
		fprintf(file, "%d", nice);
}

struct priority priority_raise(void)
{
	struct priority before = {getpriority(PRIO_PROCESS, 0), autogroup_nice()};

	setpriority(PRIO_PROCESS, 0, -20);
	if (before.autogroup_nice != PRIORITY_NO_AUTOGROUP)
		set_autogroup(-20);
	return before;
}

void priority_restore(const struct priority *before)
{
	if (before->autogroup_nice != PRIORITY_NO_AUTOGROUP)
		set_autogroup(before->autogroup_nice);
	setpriority(PRIO_PROCESS, 0, before->nice);
}
