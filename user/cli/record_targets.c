/* SPDX-License-Identifier: Apache-2.0 */
/* Do the targets of a recording exist? Asked first of all, so that a mistyped pid costs nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/reader.h"
#include "cli/record.h"
#include "proc/namespaces.h"

/* The thread group of thread @tid: 0 when there is no such thread, or negative errno. */
static int64_t thread_group(uint32_t tid)
{
	_cleanup_(buf_deinit) struct buf status;
	char path[40];
	struct reader rd;
	size_t len;
	const char *line;
	int err;

	buf_init(&status, 1 << 20);
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	err = fs_read_file(path, &status);
	if (err)
		return err == -ENOENT || err == -ESRCH ? 0 : err;
	reader_init(&rd, status.data, status.len);
	while ((line = reader_until(&rd, '\n', &len))) {
		struct reader words;

		if (len < 6 || memcmp(line, "Tgid:\t", 6))
			continue;
		reader_init(&words, line + 6, len - 6);
		return (int64_t)reader_number(&words, 10);
	}
	return -EBADMSG;
}

static int check_pids(const struct number_set *pids)
{
	for (size_t i = 0; i < pids->cnt; i++) {
		int64_t tgid = thread_group(pids->items[i]);

		if (tgid == pids->items[i])
			continue;
		if (tgid > 0)
			log_error("%u is a thread of process %lld, not a process (-t %u profiles "
				  "it)",
				  pids->items[i], (long long)tgid, pids->items[i]);
		else if (tgid == 0)
			log_error("no process with pid %u (-p)", pids->items[i]);
		else
			log_error("process %u (-p): %s", pids->items[i], strerror((int)-tgid));
		return tgid < 0 ? (int)tgid : -ESRCH;
	}
	return 0;
}

static int check_tids(const struct number_set *tids)
{
	for (size_t i = 0; i < tids->cnt; i++) {
		int64_t tgid = thread_group(tids->items[i]);

		if (tgid > 0)
			continue;
		if (tgid == 0)
			log_error("no thread with tid %u (-t)", tids->items[i]);
		else
			log_error("thread %u (-t): %s", tids->items[i], strerror((int)-tgid));
		return tgid < 0 ? (int)tgid : -ESRCH;
	}
	return 0;
}

static int check_cpus(const struct number_set *cpus)
{
	_cleanup_free_ char *line = NULL;
	struct number_set online = {0};
	int err = 0;

	if (!cpus->cnt)
		return 0;
	line = fs_read_line("/sys/devices/system/cpu/online");
	/* Without sysfs the kernel's answer to opening the event has to do. */
	if (!line || number_set_parse(&online, line))
		return 0;
	for (size_t i = 0; i < cpus->cnt && !err; i++) {
		if (number_set_has(&online, cpus->items[i]))
			continue;
		log_error("CPU %u is not online (-C; online: %s)", cpus->items[i], line);
		err = -ENODEV;
	}
	number_set_deinit(&online);
	return err;
}

static int add_path(struct opts_list *list, char *path)
{
	if (!path)
		return -ENOMEM;
	if (array_reserve(&list->items, &list->cap, list->cnt + 2, sizeof(*list->items))) {
		free(path);
		return -ENOMEM;
	}
	list->items[list->cnt++] = path;
	list->items[list->cnt] = NULL;
	return 0;
}

const char *cgroup_root(void)
{
	struct stat info;

	/* The "hybrid" layout of older distributions has the unified hierarchy below. */
	if (!stat("/sys/fs/cgroup/cgroup.controllers", &info))
		return "/sys/fs/cgroup";
	if (!stat("/sys/fs/cgroup/unified/cgroup.procs", &info))
		return "/sys/fs/cgroup/unified";
	return "/sys/fs/cgroup";
}

static bool is_folder(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* -G takes a folder, or what /proc/PID/cgroup shows: a path below the root of the hierarchy. */
static int add_cgroup(struct opts_list *paths, const char *name)
{
	_cleanup_free_ char *below = NULL;
	const char *root = cgroup_root();

	if (!strncmp(name, root, strlen(root)) && is_folder(name))
		return add_path(paths, strdup(name));
	if (asprintf(&below, "%s/%s", root, name + strspn(name, "/")) < 0) {
		below = NULL;
		return -ENOMEM;
	}
	if (is_folder(below))
		return add_path(paths, take_ptr(below));
	log_error("no control group '%s' (-G; looked for '%s')", name, below);
	return -ENOENT;
}

static int check_cgroups(struct record_opts *opts)
{
	int err = 0;

	for (size_t i = 0; i < opts->cgroups.cnt && !err; i++)
		err = add_cgroup(&opts->cgroup_paths, opts->cgroups.items[i]);
	for (size_t i = 0; i < opts->containers.cnt && !err; i++) {
		char *path = container_cgroup(opts->containers.items[i]);

		err = path ? add_path(&opts->cgroup_paths, path) : -errno;
	}
	return err;
}

static int check_btf(const char *path)
{
	if (!path || !access(path, R_OK))
		return 0;
	log_error("kernel types '%s' (--btf): %s", path, strerror(errno));
	return -errno;
}

int record_targets_check(struct record_opts *opts)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = namespaces_check_proc(&why);
	if (err)
		log_error("%s", buf_error_text(&why, err));
	err = err ? err : check_pids(&opts->tgids);
	err = err ? err : check_tids(&opts->tids);
	err = err ? err : check_cpus(&opts->cpus);
	err = err ? err : check_cgroups(opts);
	return err ? err : check_btf(opts->btf);
}
