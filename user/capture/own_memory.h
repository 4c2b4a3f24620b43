/* SPDX-License-Identifier: Apache-2.0 */
/* What we use ourselves. */
#ifndef BPFPROF_CAPTURE_OWN_MEMORY_H
#define BPFPROF_CAPTURE_OWN_MEMORY_H

#include <stdint.h>

/* Anonymous resident memory of this process now, bytes (RssAnon of /proc/self/status); 0 if
 * unknown. */
uint64_t own_rss_anon_bytes(void);

#endif
