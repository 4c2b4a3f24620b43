/* SPDX-License-Identifier: Apache-2.0 */
/* What we use ourselves. */
#ifndef BPFPROF_CAPTURE_OWN_MEMORY_H
#define BPFPROF_CAPTURE_OWN_MEMORY_H

#include <stdint.h>

/* Anonymous resident memory of this process now, bytes (RssAnon of /proc/self/status); 0 if
 * unknown. */
uint64_t own_rss_anon_bytes(void);

/*
 * From now on free memory goes back to the system early: one arena for all threads, and large
 * blocks mapped one by one. For a process that lives long and does little; before its threads
 * start. Threads of malloc()'s own choice keep up to 64 MiB each (mallopt(3), glibc's arenas).
 */
void own_memory_keep_little(void);

/* Free memory between what is in use goes back to the system now. */
void own_memory_give_back(void);

#endif
