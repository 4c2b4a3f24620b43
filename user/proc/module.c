/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the file behind a mapping. A path proves nothing: the file may have been replaced since,
 * or the path be another container's. So each candidate is first looked at (O_PATH: a FIFO, a
 * device or a socket under that name is not opened by that), compared with what the kernel saw, and
 * only then opened for reading.
 */
#include "proc/module.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/reader.h"
#include "elf/elf_file.h"
#include "proc/jitdump_file.h"
#include "proc/perf_map_file.h"
#include "proc/process_root.h"

enum {
	/* "/proc/TGID/root" in front of the longest path that the kernel hands out */
	CANDIDATE_MAX = PATH_MAX + 64,
	VDSO_BYTES_MAX = 64 * 1024, /* two pages as of 6.18 */
};

static const char deleted_suffix[] = " (deleted)";

/* overlayfs with xino puts a layer number into the top bits of what stat shows; the kernel side
 * sees the inode below it. */
static const uint64_t ino_mask = (1ULL << 48) - 1;

/* A file that was changed there has been copied up into another layer: the kernel side sees the
 * copy's inode, stat shows that of the file it is a copy of. */
static bool is_on_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Is @fd (O_PATH will do), whose stat is @have, the file that the kernel saw? */
static bool identity_agrees(const struct module_identity *want, int fd, const struct stat *have)
{
	if (want->size_bytes && want->size_bytes != (uint64_t)have->st_size)
		return false;
	if ((want->mtime_s || want->mtime_ns) &&
	    (want->mtime_s != have->st_mtim.tv_sec ||
	     want->mtime_ns != (uint32_t)have->st_mtim.tv_nsec))
		return false;
	return !want->ino || !((want->ino ^ have->st_ino) & ino_mask) || is_on_overlay(fd);
}

/* Open @path for reading if it is a regular file that agrees with @identity. The descriptor;
 * -ENOENT and the like, -ESTALE when it is another file, -EINVAL when it is not a regular one. */
static int open_verified(const char *path, const struct module_identity *identity)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);
	char proc_path[64];
	struct stat st;
	int fd;

	if (path_fd < 0 || fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!identity_agrees(identity, path_fd, &st))
		return -ESTALE;
	snprintf(proc_path, sizeof(proc_path), "/proc/self/fd/%d", path_fd);
	fd = open(proc_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* The places to look, in order; see module_open(). False when there is no such candidate. */
static bool candidate_path(int which, pid_t tgid, uint64_t start, uint64_t end, const char *path,
			   char out[static CANDIDATE_MAX])
{
	switch (which) {
	case 0:
		snprintf(out, CANDIDATE_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)tgid,
			 start, end);
		return tgid > 0 && end > start;
	case 1:
		snprintf(out, CANDIDATE_MAX, "/proc/%d/exe", (int)tgid);
		return tgid > 0;
	case 2:
		return tgid > 0 && path[0] == '/' &&
		       snprintf(out, CANDIDATE_MAX, "/proc/%d/root%s", (int)tgid, path) <
			       CANDIDATE_MAX;
	default:
		return path[0] == '/' && snprintf(out, CANDIDATE_MAX, "%s", path) < CANDIDATE_MAX;
	}
}

enum { CANDIDATE_MAP_FILES = 0, CANDIDATE_EXE = 1, CANDIDATE_CNT = 4 };

static void module_find_file(struct module *module, pid_t tgid, uint64_t start, uint64_t end)
{
	bool is_known = module->identity.ino != 0, is_refused = false;

	module->absence = MODULE_NO_FILE;
	for (int which = 0; which < CANDIDATE_CNT; which++) {
		char path[CANDIDATE_MAX];
		int fd;

		/* Which of its files a process was started from says nothing about a library. */
		if (which == CANDIDATE_EXE && !is_known)
			continue;
		if (!candidate_path(which, tgid, start, end, module->path, path))
			continue;
		fd = open_verified(path, &module->identity);
		/* A file under its own name: somebody has replaced it. The others may rightly be
		 * another file (exe), or another mapping by now (map_files). */
		if ((fd == -ESTALE || fd == -EINVAL) && which > CANDIDATE_EXE && !is_refused)
			module->absence = MODULE_FILE_CHANGED;
		if (fd == -EACCES || fd == -EPERM) {
			is_refused = true;
			module->absence = MODULE_NOT_PERMITTED;
		}
		if (fd < 0)
			continue;
		module->fd = fd;
		module->is_verified = is_known;
		module->absence = MODULE_PRESENT;
		return;
	}
}

/* Memory that the kernel backs with a nameless file of its own: there may be an ELF image in it
 * (programs run from a memfd), but mostly it is a JIT compiler's. */
static bool is_shared_memory(const char *path)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

static bool is_elf(int fd)
{
	char magic[4];

	return fs_read_at(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

static void module_make_anon(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	module->kind = MODULE_ANON;
	module->is_verified = false;
	module->absence = MODULE_PRESENT;
}

/* The root of process @tgid; -1 when that is ours, or when the process is gone. */
static int open_root(pid_t tgid)
{
	_cleanup_close_ int fd = tgid > 0 ? process_root_open(tgid) : -1;

	return fd < 0 || process_root_is_own(fd) ? -1 : take_fd(&fd);
}

/* Where @path goes on behind the folder that is the root of process @tgid: "/mnt" in the path of
 * "/mnt/bin/tool". 0: it is no such path. */
static uint32_t chroot_len(pid_t tgid, const char *path)
{
	char folder[PATH_MAX];
	size_t len = process_root_folder(tgid, folder);

	return len && !strncmp(path, folder, len) && path[len] == '/' ? (uint32_t)len : 0;
}

static struct module *module_new(enum module_kind kind, const char *path, size_t path_len)
{
	struct module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->kind = kind;
	module->fd = -1;
	module->root_fd = -1;
	module->dump_fd = -1;
	module->path = strndup(path, path_len);
	if (!module->path) {
		free(module);
		errno = ENOMEM;
		return NULL;
	}
	return module;
}

struct module *module_open(pid_t tgid, uint64_t start, uint64_t end, const char *path,
			   const struct module_identity *identity)
{
	size_t suffix_len = sizeof(deleted_suffix) - 1;
	size_t len = strlen(path);
	struct module *module;

	if (len > suffix_len && !strcmp(path + len - suffix_len, deleted_suffix))
		len -= suffix_len;
	module = module_new(MODULE_FILE, path, len);
	if (!module)
		return NULL;
	module->identity = *identity;
	if (!strcmp(path, "//anon") || (path[0] != '/' && !identity->ino)) {
		module_make_anon(module);
		return module;
	}
	module_find_file(module, tgid, start, end);
	if (module->absence == MODULE_NOT_PERMITTED)
		log_debug("%s: not permitted to read it (process %d)", module->path, (int)tgid);
	if (is_shared_memory(module->path) && (module->fd < 0 || !is_elf(module->fd)))
		module_make_anon(module);
	if (module->fd < 0)
		return module;
	module->build_id_len =
		(uint32_t)elf_build_id_fd(module->fd, module->build_id, sizeof(module->build_id));
	module_enter_root(module, tgid);
	return module;
}

struct module *module_of_file(const char *path, int fd)
{
	_cleanup_close_ int taken = fd;
	struct module *module = module_new(MODULE_FILE, path, strlen(path));

	if (!module)
		return NULL;
	module->fd = take_fd(&taken);
	module->build_id_len =
		(uint32_t)elf_build_id_fd(module->fd, module->build_id, sizeof(module->build_id));
	return module;
}

void module_enter_root(struct module *module, pid_t tgid)
{
	if (module->root_fd >= 0)
		close(module->root_fd);
	module->root_fd = open_root(tgid);
	module->path_in_root = module->root_fd >= 0 ? chroot_len(tgid, module->path) : 0;
}

bool module_is_rewritten(const struct module *module)
{
	uint8_t build_id[BUILD_ID_MAX];
	struct stat st;

	if (fstat(module->fd, &st))
		return true;
	if (identity_agrees(&module->identity, module->fd, &st))
		return false;
	/* `touch` and `strip` change no code. */
	return !module->build_id_len ||
	       elf_build_id_fd(module->fd, build_id, sizeof(build_id)) != module->build_id_len ||
	       memcmp(build_id, module->build_id, module->build_id_len) != 0;
}

void module_drop_file(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	module->is_verified = false;
	module->build_id_len = 0;
	module->absence = MODULE_BAD_ELF;
}

/* Where our vdso lies, from our own maps. 0 or -ENOENT. */
static int find_vdso(struct reader *maps, uint64_t *start_out, uint64_t *end_out)
{
	static const char name[] = "[vdso]";

	while (!reader_done(maps)) {
		size_t len;
		const char *line = reader_until(maps, '\n', &len);
		struct reader rd;

		if (len < sizeof(name) - 1 ||
		    memcmp(line + len - (sizeof(name) - 1), name, sizeof(name) - 1))
			continue;
		reader_init(&rd, line, len);
		*start_out = reader_number(&rd, 16);
		reader_accept(&rd, '-');
		*end_out = reader_number(&rd, 16);
		return rd.err ? -ENOENT : 0;
	}
	return -ENOENT;
}

/* A file of our own that holds the vdso; negative errno. */
static int copy_vdso(void)
{
	_cleanup_(buf_deinit) struct buf text = {0};
	_cleanup_close_ int fd = -1;
	uint64_t start, end;
	struct reader maps;
	int err;

	buf_init(&text, BUF_NO_MAX);
	err = fs_read_file("/proc/self/maps", &text);
	if (err)
		return err;
	reader_init(&maps, text.data, text.len);
	err = find_vdso(&maps, &start, &end);
	if (err)
		return err;
	if (end <= start || end - start > VDSO_BYTES_MAX)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, (const void *)(uintptr_t)start, end - start);
	return err ? err : take_fd(&fd);
}

struct module *module_vdso(void)
{
	struct module *module = module_new(MODULE_VDSO, "[vdso]", strlen("[vdso]"));
	int fd;

	if (!module)
		return NULL;
	fd = copy_vdso();
	if (fd < 0) {
		module_free(module);
		errno = -fd;
		return NULL;
	}
	module->fd = fd;
	module->is_verified = true;
	module->build_id_len =
		(uint32_t)elf_build_id_fd(fd, module->build_id, sizeof(module->build_id));
	return module;
}

/* What is said once of a list that is not the process' own. */
static void warn_foreign(const struct module *module, const char *list, bool *is_foreign)
{
	if (!*is_foreign)
		log_warn("names of JIT code of process %d: its %s belongs to another user, or "
			 "everybody may write to it: not read",
			 (int)module->tgid, list);
	*is_foreign = true;
}

void module_jit_refresh(struct module *module)
{
	if (module->fd < 0) {
		int fd = perf_map_file_open(module->tgid);

		if (fd == -EPERM)
			warn_foreign(module, "perf map in /tmp", &module->is_map_foreign);
		module->fd = fd < 0 ? -1 : fd;
	}
	if (module->dump_fd < 0) {
		int fd = jitdump_file_open(module->tgid);

		if (fd == -EPERM)
			warn_foreign(module, "jitdump", &module->is_dump_foreign);
		module->dump_fd = fd < 0 ? -1 : fd;
	}
}

/* The last part of the path that process @tgid was started from, *owned*; NULL: not known. */
static char *program_of(pid_t tgid)
{
	char link[64], path[PATH_MAX];
	const char *slash;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)tgid);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	slash = strrchr(path, '/');
	return strdup(slash ? slash + 1 : path);
}

struct module *module_jit(pid_t tgid)
{
	struct module *module;
	char path[32];

	snprintf(path, sizeof(path), "//anon:%d", (int)tgid);
	module = module_new(MODULE_JIT, path, strlen(path));
	if (!module)
		return NULL;
	module->tgid = tgid;
	module->program = program_of(tgid);
	module_jit_refresh(module);
	return module;
}

void module_free(struct module *module)
{
	if (!module)
		return;
	if (module->fd >= 0)
		close(module->fd);
	if (module->root_fd >= 0)
		close(module->root_fd);
	if (module->dump_fd >= 0)
		close(module->dump_fd);
	free(module->path);
	free(module->program);
	free(module);
}
