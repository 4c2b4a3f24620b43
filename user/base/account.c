/* SPDX-License-Identifier: Apache-2.0 */
#include "base/account.h"

#include <grp.h>
#include <stdbool.h>
#include <string.h>

#include "base/build.h"
#include "base/cleanup.h"

const struct passwd *account_in(FILE *passwd, uid_t uid)
{
	const struct passwd *entry;

	while ((entry = fgetpwent(passwd)) && entry->pw_uid != uid)
		;
	return entry;
}

static bool is_member(const struct group *entry, const char *name)
{
	for (char **member = entry->gr_mem; *member; member++)
		if (!strcmp(*member, name))
			return true;
	return false;
}

static bool is_listed(const gid_t *groups, int cnt, gid_t gid)
{
	for (int i = 0; i < cnt; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

int account_groups_in(FILE *group, const char *name, gid_t gid, gid_t *groups, int *cnt)
{
	const struct group *entry;
	int max = *cnt;
	int have = 0;

	if (max > 0)
		groups[0] = gid;
	have++;
	while (group && (entry = fgetgrent(group))) {
		if (!is_member(entry, name) ||
		    is_listed(groups, have < max ? have : max, entry->gr_gid))
			continue;
		if (have < max)
			groups[have] = entry->gr_gid;
		have++;
	}
	*cnt = have;
	return have <= max ? have : -1;
}

const struct passwd *account_of(uid_t uid)
{
	_cleanup_fclose_ FILE *file = NULL;

	if (!BUILD_IS_STATIC)
		return getpwuid(uid);
	file = fopen("/etc/passwd", "re");
	return file ? account_in(file, uid) : NULL;
}

int account_groups(const char *name, gid_t gid, gid_t *groups, int *cnt)
{
	_cleanup_fclose_ FILE *file = NULL;

	if (!BUILD_IS_STATIC)
		return getgrouplist(name, gid, groups, cnt);
	file = fopen("/etc/group", "re");
	return account_groups_in(file, name, gid, groups, cnt);
}
