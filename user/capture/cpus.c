/* SPDX-License-Identifier: Apache-2.0 */
/* CPU lists from sysfs. */
#include "capture/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"

int cpus_read(const char *which, struct number_set *out)
{
	_cleanup_free_ char *line = NULL;
	struct number_set set = {0};
	char path[96];
	int err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", which);
	line = fs_read_line(path);
	if (!line)
		return -errno;
	err = number_set_parse(&set, line);
	if (err) {
		number_set_deinit(&set);
		return err;
	}
	*out = set;
	return 0;
}
