/* SPDX-License-Identifier: Apache-2.0 */
/* Large arrays on huge pages: one fault for 2 MiB instead of one for each 4 KiB. */
#ifndef BPFPROF_BASE_HUGE_PAGES_H
#define BPFPROF_BASE_HUGE_PAGES_H

#include <stddef.h>

/* Ask for huge pages under the @bytes at @data, which were just allocated, where they are many
 * (madvise(2), MADV_HUGEPAGE). Less than 2 MiB are touched beyond what is used; a kernel that has
 * none does nothing. */
void huge_pages_prefer(void *data, size_t bytes);

#endif
