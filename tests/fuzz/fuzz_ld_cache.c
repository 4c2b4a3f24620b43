/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the dynamic linker's cache of somebody else's root. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/ld_cache.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int check_entry(void *arg, const char *name, const char *path)
{
	size_t *cnt = arg;

	if (path[0] != '/' || strlen(path) >= PATH_MAX || strlen(name) >= PATH_MAX)
		abort();
	++*cnt;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = image_copy(data, len);
	size_t cnt = 0;

	ld_cache_for_each(copy, len, check_entry, &cnt);
	if (cnt * 24 > len)
		abort();
	free(copy);
	return 0;
}
