/* SPDX-License-Identifier: Apache-2.0 */
/* The users of this machine. A static build knows those in /etc/passwd and /etc/group: the others
 * come from libraries (nsswitch.conf), which it does not load. */
#ifndef BPFPROF_BASE_ACCOUNT_H
#define BPFPROF_BASE_ACCOUNT_H

#include <pwd.h>
#include <stdio.h>
#include <sys/types.h>

/* As getpwuid(): borrowed until the next call; NULL: there is none. */
const struct passwd *account_of(uid_t uid);

/*
 * As getgrouplist(): the groups of user @name, @gid first, into @groups. *@cnt is how many fit,
 * then how many there are. Returns that number, or -1 when they do not fit.
 */
int account_groups(const char *name, gid_t gid, gid_t *groups, int *cnt);

/* The same from a file in the format of passwd(5), or group(5), which may be NULL: a user has @gid.
 */
const struct passwd *account_in(FILE *passwd, uid_t uid);
int account_groups_in(FILE *group, const char *name, gid_t gid, gid_t *groups, int *cnt);

#endif
