/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: lines of /proc/PID/maps. A process chooses the paths in its own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_image.h"
#include "proc/maps_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_inside(const char *part, size_t part_len, const char *line, size_t len)
{
	if (part < line || part > line + len || part_len > (size_t)(line + len - part))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *line = image_copy(data, len);
	struct maps_line map;

	if (maps_line_parse(line, len, &map)) {
		check_inside(map.file, map.file_len, line, len);
		check_inside(map.path, map.path_len, line, len);
		if (map.path + map.path_len != line + len || map.file + map.file_len > map.path ||
		    (map.path_len && map.path[0] == ' '))
			abort();
	}
	free(line);
	return 0;
}
