/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/debuginfod_tally.h"

#include <string.h>

void debuginfod_tally_add(struct debuginfod_tally *tally, const char *path, uint64_t weight,
			  int err)
{
	if (!tally->err)
		tally->err = err;
	tally->cnt++;
	for (size_t i = 0; i < TALLY_SHOWN && path; i++) {
		const char *lighter = tally->shown[i].path;
		uint64_t lighter_weight = tally->shown[i].weight;

		if (lighter && lighter_weight >= weight)
			continue;
		tally->shown[i].path = path;
		tally->shown[i].weight = weight;
		path = lighter;
		weight = lighter_weight;
	}
}

void debuginfod_tally_name(struct debuginfod_tally *tally)
{
	for (size_t i = 0; i < TALLY_SHOWN && tally->shown[i].path; i++) {
		const char *path = tally->shown[i].path, *slash = strrchr(path, '/');

		buf_printf(&tally->names, "%s%s", i ? ", " : "", slash ? slash + 1 : path);
	}
	if (tally->cnt > TALLY_SHOWN)
		buf_printf(&tally->names, " and %zu more", tally->cnt - TALLY_SHOWN);
}
