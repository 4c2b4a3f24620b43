/* SPDX-License-Identifier: Apache-2.0 */
/* How often CPUs have switched from one thread to another. */
#ifndef BPFPROF_PROC_SWITCHES_H
#define BPFPROF_PROC_SWITCHES_H

#include <stddef.h>
#include <stdint.h>

/* Context switches of all CPUs since boot, of @len bytes of /proc/stat (proc_stat(5): "ctxt");
 * 0 where they are not told. */
uint64_t switches_parse(const char *stat, size_t len);

/* As many as the kernel tells now; 0 where it does not. */
uint64_t switches_read(void);

/* Switches per second from @before to @now, @span_ns later; 0 where either is not known. */
double switches_rate(uint64_t before, uint64_t now, uint64_t span_ns);

#endif
