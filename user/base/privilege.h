/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of root's power we have, and what it is for: the capabilities(7) that bpfprof uses. Linux
 * 5.8 made CAP_BPF and CAP_PERFMON of parts of CAP_SYS_ADMIN, 5.9 CAP_CHECKPOINT_RESTORE; who has
 * CAP_SYS_ADMIN has them.
 */
#ifndef BPFPROF_BASE_PRIVILEGE_H
#define BPFPROF_BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum privilege {
	PRIVILEGE_BPF,
	PRIVILEGE_PERFMON,
	PRIVILEGE_SYS_PTRACE,
	PRIVILEGE_DAC_READ_SEARCH,
	PRIVILEGE_CHECKPOINT_RESTORE,
	PRIVILEGE_SYSLOG,
	PRIVILEGE_SYS_ADMIN,
	PRIVILEGE_CNT,

	/* Root's, which nobody is asked to give to the binary. */
	PRIVILEGE_SYS_NICE = PRIVILEGE_CNT,
	PRIVILEGE_KILL,
	PRIVILEGE_CHOWN,
	PRIVILEGE_DAC_OVERRIDE,
	PRIVILEGE_FOWNER,
	PRIVILEGE_ALL_CNT,
};

/* As a bit of a set. */
#define PRIVILEGE_BIT(privilege) (1U << (privilege))

/* What every recording needs, and what opening other users' programs and libraries may need. */
#define PRIVILEGES_RECORD (PRIVILEGE_BIT(PRIVILEGE_BPF) | PRIVILEGE_BIT(PRIVILEGE_PERFMON))
#define PRIVILEGES_FILES                                                                  \
	(PRIVILEGE_BIT(PRIVILEGE_SYS_PTRACE) | PRIVILEGE_BIT(PRIVILEGE_DAC_READ_SEARCH) | \
	 PRIVILEGE_BIT(PRIVILEGE_CHECKPOINT_RESTORE))

/* What a recording that has been set up goes on needing: map updates, events of CPUs that come,
 * files of processes that come, kernel symbols, and a part of the CPU for its end. */
#define PRIVILEGES_RUN                                                            \
	(PRIVILEGES_RECORD | PRIVILEGES_FILES | PRIVILEGE_BIT(PRIVILEGE_SYSLOG) | \
	 PRIVILEGE_BIT(PRIVILEGE_SYS_NICE))

/* What writing as root takes where the files or their folder are somebody else's. */
#define PRIVILEGES_OUTPUT                                                         \
	(PRIVILEGE_BIT(PRIVILEGE_CHOWN) | PRIVILEGE_BIT(PRIVILEGE_DAC_OVERRIDE) | \
	 PRIVILEGE_BIT(PRIVILEGE_FOWNER))

struct privilege_info {
	const char *name; /* "CAP_BPF" */
	const char *feature; /* what is done with it: "load BPF programs" */
	const char *without; /* what is then: "nothing can be recorded" */
};

/* Of @privilege; static. */
const struct privilege_info *privilege_info(enum privilege privilege);

/* Are we in a user namespace that is not the first one? Root there has no power over the machine.
 */
bool privilege_is_in_user_namespace(void);

/* Is it in effect for this thread? */
bool privilege_has(enum privilege privilege);

/* Append the names of those of @set that are not in effect, "CAP_BPF and CAP_PERFMON"; how many
 * they are. */
size_t privilege_missing(unsigned int set, struct buf *out);

/* Append why @what was refused with @err (-EPERM, -EACCES), one line without its end: which of @set
 * are missing and where to get them, or, where none is, who else may have said no: kernel lockdown,
 * a security module, a container's filter. */
void privilege_explain(const char *what, unsigned int set, int err, struct buf *out);

/* Is kernel lockdown "confidentiality", under which BPF programs cannot read the kernel's memory?
 * Appends one line about @what then. */
bool privilege_is_locked_down(const char *what, struct buf *out);

/*
 * Give up all of them for good, unless we are root: a binary that has them of its own must not read
 * or do anything for its caller that the caller may not. 0 or negative errno.
 */
int privilege_drop(void);

/*
 * What the caller names is opened with the caller's rights: from the one to the other this thread
 * has none of the capabilities that the binary was given. Nothing where it was given none.
 */
void privilege_pause(void);
void privilege_resume(void);

/*
 * Give up all capabilities of this thread but @set, for good; one whose wider one is all we have
 * keeps that. The other threads of the process keep theirs: each gives up its own, and those that
 * it makes later inherit what is left. 0 or negative errno.
 */
int privilege_keep(unsigned int set);

#endif
