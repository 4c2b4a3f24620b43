/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of plain C arrays: `struct x *items; size_t items_cnt, items_cap;` in the owner's struct.
 */
#ifndef BPFPROF_BASE_ARRAY_H
#define BPFPROF_BASE_ARRAY_H

#include <stddef.h>

/*
 * Make room for @need elements of @elem_bytes in the array that *@items (a `T **`) points to.
 * Doubles, so that appending one by one is O(1); new bytes are zero. Returns 0, or -ENOMEM and the
 * array unchanged. Pointers into the array are invalid afterwards: keep indices.
 */
int array_reserve(void *items, size_t *cap, size_t need, size_t elem_bytes);

#endif
