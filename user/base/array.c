/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of plain C arrays. */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge_pages.h"

enum { ARRAY_FIRST_CAP = 8 };

int array_reserve(void *items, size_t *cap, size_t need, size_t elem_bytes)
{
	size_t new_cap = *cap <= SIZE_MAX / 2 ? *cap * 2 : SIZE_MAX;
	size_t new_bytes;
	char *old, *grown;

	if (need <= *cap)
		return 0;
	if (new_cap < ARRAY_FIRST_CAP)
		new_cap = ARRAY_FIRST_CAP;
	if (new_cap < need)
		new_cap = need;
	if (__builtin_mul_overflow(new_cap, elem_bytes, &new_bytes))
		return -ENOMEM;

	/* @items is some `T **`: going through memcpy() keeps strict aliasing. */
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, new_bytes);
	if (!grown)
		return -ENOMEM;
	huge_pages_prefer(grown, new_bytes);
	memset(grown + *cap * elem_bytes, 0, (new_cap - *cap) * elem_bytes);
	memcpy(items, &grown, sizeof(grown));
	*cap = new_cap;
	return 0;
}
