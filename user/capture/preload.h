/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meet what is already running: every executable file mapped on the host gets its id and its unwind
 * rows before it is first sampled. Each file is mapped read-only into ourselves and shown to the
 * kernel side (bp_meet), which announces it as if it had been sampled. The mappings stay until the
 * end, so that the announcement can be followed to the very file.
 */
#ifndef BPFPROF_CAPTURE_PRELOAD_H
#define BPFPROF_CAPTURE_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct preload;

/* Scan in a thread of its own; program bp_meet is @prog_fd. *owned*; NULL + errno. */
struct preload *preload_start(int prog_fd);

/*
 * Map the file that process @tgid has mapped at [@start, @end), and let the kernel side meet it:
 * its executable id (abi.h), BP_EXE_NONE when that fails. From any thread.
 */
uint32_t preload_meet(struct preload *preload, pid_t tgid, uint64_t start, uint64_t end);

/* The same for the file at @path. */
uint32_t preload_meet_path(struct preload *preload, const char *path);

/* Has all been met that was mapped when it began? */
bool preload_is_done(const struct preload *preload);

/* The process in which the file was found that we have mapped at @start; 0: it is no such mapping.
 */
pid_t preload_tgid(struct preload *preload, uint64_t start);

/* Ends the scan and unmaps. NULL is fine. */
void preload_stop(struct preload *preload);

#endif
