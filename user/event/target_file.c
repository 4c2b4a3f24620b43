/* SPDX-License-Identifier: Apache-2.0 */
/* From what was typed to an open program or library, and to a path that leads the kernel there. */
#include "event/target_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/root_file.h"
#include "event/suggest.h"
#include "event/target_search.h"
#include "proc/process_root.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#endif

void target_file_deinit(struct target_file *file)
{
	free(file->open_path);
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
	if (file->root_fd >= 0)
		close(file->root_fd);
	*file = (struct target_file){.fd = -1, .root_fd = -1};
}

/* --- What kind of file it is --- */

/* "#!/bin/sh -e" runs /bin/sh. */
static void print_script(struct buf *why, const char *path, const char *head, size_t len)
{
	struct reader rd;
	const char *name;
	size_t name_len;

	reader_init(&rd, head, len);
	reader_skip(&rd, 2);
	while (reader_accept(&rd, ' '))
		;
	name = reader_until(&rd, '\n', &name_len);
	for (size_t i = 0; name && i < name_len; i++) {
		if (name[i] == ' ' || name[i] == '\t')
			name_len = i;
	}
	buf_printf(why, "'%s' is a script: what runs is '%.*s'", path, name ? (int)name_len : 0,
		   name ? name : "");
}

/* What is wrong with an ELF header, as the end of a sentence; NULL: nothing. */
static const char *header_fault(const char *head, size_t len)
{
	uint16_t type, machine;
	struct reader rd;

	reader_init(&rd, head, len);
	reader_skip(&rd, EI_NIDENT);
	rd.big_endian = len > EI_DATA && head[EI_DATA] == ELFDATA2MSB;
	type = reader_u16(&rd);
	machine = reader_u16(&rd);
	if (rd.err || len < sizeof(Elf64_Ehdr))
		return "is cut short";
	if (head[EI_CLASS] != ELFCLASS64)
		return "is for 32-bit processes, which cannot be probed";
	if (machine != MACHINE)
		return "is for another kind of machine";
	if (type == ET_REL)
		return "is an object file: name the program that it was linked into";
	if (type != ET_EXEC && type != ET_DYN)
		return "is neither a program nor a library";
	return NULL;
}

static int check_image(int fd, const char *path, struct buf *why)
{
	char head[256];
	ssize_t len = fs_read_at(fd, head, sizeof(head), 0);
	const char *fault;

	if (len < 0) {
		buf_printf(why, "'%s' cannot be read: %s", path, strerror((int)-len));
		return (int)len;
	}
	if (len >= 2 && !memcmp(head, "#!", 2)) {
		print_script(why, path, head, (size_t)len);
		return -EINVAL;
	}
	fault = len < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0
			? "is neither a program nor a library"
			: header_fault(head, (size_t)len);
	if (!fault)
		return 0;
	buf_printf(why, "'%s' %s", path, fault);
	return -EINVAL;
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a folder";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFLNK:
		return "a symbolic link that leads nowhere";
	default:
		return "a device";
	}
}

static int explain_open(const struct target_root *root, const char *path, int err, struct buf *why)
{
	struct stat st;

	buf_printf(why, "'%s' ", path);
	if (!root->is_own)
		buf_printf(why, "of process %d ", (int)root->tgid);
	if (err == -EINVAL && !root_file_stat(root->fd, path, &st) && !S_ISREG(st.st_mode))
		buf_printf(why, "is %s, no program or library", kind_name(st.st_mode));
	else if (err == -ENOENT || err == -ENOTDIR)
		buf_add_str(why, "does not exist");
	else
		buf_printf(why, "cannot be opened: %s", strerror(-err));
	return err == -ENOTDIR ? -ENOENT : err;
}

/* --- Paths --- */

/* overlayfs may show another inode through a mapping than by a path. */
static bool is_same_file(const struct stat *left, const struct stat *right)
{
	return (left->st_dev == right->st_dev && left->st_ino == right->st_ino) ||
	       (left->st_size == right->st_size && left->st_mtim.tv_sec == right->st_mtim.tv_sec &&
		left->st_mtim.tv_nsec == right->st_mtim.tv_nsec);
}

/* The path of what @fd is, from @root, without symbolic links. False when there is none. */
static bool canonical_path(const struct target_root *root, int fd, char out[static PATH_MAX])
{
	size_t folder_len = strlen(root->folder);
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, PATH_MAX);
	if (len <= 0 || len >= PATH_MAX)
		return false;
	out[len] = '\0';
	if (!folder_len)
		return true;
	if (strncmp(out, root->folder, folder_len) != 0 || out[folder_len] != '/')
		return false;
	memmove(out, out + folder_len, (size_t)len - folder_len + 1);
	return true;
}

static char *path_for_kernel(const struct target_root *root, const char *path)
{
	char *out = NULL;

	if (root->is_own)
		return strdup(path);
	return asprintf(&out, "/proc/%d/root%s", (int)root->tgid, path) < 0 ? NULL : out;
}

/* Does @path lead the kernel to the file that is open as @fd? */
static bool leads_to(const char *path, int fd)
{
	struct stat want, have;

	return strlen(path) < PATH_MAX && !fstat(fd, &want) && !stat(path, &have) &&
	       is_same_file(&want, &have);
}

/* Fill @out for the file that is open as @fd (taken). */
static int name_file(const struct target_root *root, int fd, const char *typed,
		     struct target_file *out, struct buf *why)
{
	struct target_file file = {.fd = fd, .root_fd = -1};
	char path[PATH_MAX];
	int err = -ENOMEM;

	if (canonical_path(root, fd, path)) {
		file.path = strdup(path);
		file.open_path = path_for_kernel(root, path);
		err = file.path && file.open_path ? 0 : -ENOMEM;
	} else {
		err = -ENOENT;
	}
	if (!err && !leads_to(file.open_path, fd))
		err = -ENOENT;
	if (err == -ENOENT)
		buf_printf(why, "'%s' is open, but no path leads to it from here", typed);
	if (err) {
		target_file_deinit(&file);
		return err;
	}
	*out = file;
	return 0;
}

static int open_path(const struct target_root *root, const char *path, struct target_file *out,
		     struct buf *why)
{
	int fd = root_file_open(root->fd, path);

	return fd < 0 ? explain_open(root, path, fd, why) : name_file(root, fd, path, out, why);
}

/* --- Files that are mapped --- */

/* What is mapped lies no longer under its path: through the mapping then. */
static int open_mapping(const struct candidate *candidate, struct target_file *out, struct buf *why)
{
	_cleanup_close_ int path_fd = open(candidate->map_path, O_PATH | O_CLOEXEC);
	struct target_file file = {.fd = -1, .root_fd = -1};
	int fd = path_fd < 0 ? -errno : root_file_reopen(path_fd);

	if (fd < 0) {
		buf_printf(why,
			   "'%s' is another file than the one that is mapped, which is deleted and "
			   "cannot be opened: %s",
			   candidate->path, strerror(-fd));
		return fd;
	}
	file.fd = fd;
	file.open_path = strdup(candidate->map_path);
	if (asprintf(&file.path, "%s (deleted)", candidate->path) < 0)
		file.path = NULL;
	if (!file.path || !file.open_path) {
		target_file_deinit(&file);
		return -ENOMEM;
	}
	*out = file;
	return 0;
}

/* Is the file at its path the one that is mapped? Also when nobody may say what is mapped. */
static bool is_still_there(const struct target_root *root, const struct candidate *candidate)
{
	struct stat named, mapped;

	if (root_file_stat(root->fd, candidate->path, &named))
		return false;
	return stat(candidate->map_path, &mapped) || is_same_file(&named, &mapped);
}

static int open_candidate(const struct target_root *root, const struct candidate *candidate,
			  struct target_file *out, struct buf *why)
{
	if (candidate->map_path && !is_still_there(root, candidate))
		return open_mapping(candidate, out, why);
	return open_path(root, candidate->path, out, why);
}

/* --- One of several --- */

static bool is_one_file(const struct target_file *left, const struct target_file *right)
{
	struct stat lhs, rhs;

	return !fstat(left->fd, &lhs) && !fstat(right->fd, &rhs) && lhs.st_dev == rhs.st_dev &&
	       lhs.st_ino == rhs.st_ino;
}

/* Open @candidate and make sure that it can have probes. */
static int open_checked(const struct target_root *root, const struct candidate *candidate,
			struct target_file *out, struct buf *why)
{
	struct target_file file = {.fd = -1, .root_fd = -1};
	int err = open_candidate(root, candidate, &file, why);

	if (!err)
		err = check_image(file.fd, file.path, why);
	if (err) {
		target_file_deinit(&file);
		return err;
	}
	*out = file;
	return 0;
}

static bool is_among(const struct target_file *files, size_t cnt, const struct target_file *file)
{
	for (size_t i = 0; i < cnt; i++) {
		if (is_one_file(&files[i], file))
			return true;
	}
	return false;
}

/* Open the candidates that can be used, each file once, into @files. How many; where it is 0, *@err
 * and @why are the first one's. */
static size_t open_all(const struct target_root *root, const struct candidates *candidates,
		       struct target_file *files, int *err, struct buf *why)
{
	size_t cnt = 0;

	for (size_t i = 0; i < candidates->cnt; i++) {
		struct target_file file;
		struct buf fault;
		int failed;

		buf_init(&fault, BUF_NO_MAX);
		failed = open_checked(root, &candidates->items[i], &file, &fault);
		if (failed && !*err) {
			*err = failed;
			buf_add_str(why, buf_cstr(&fault));
		}
		buf_deinit(&fault);
		if (failed)
			continue;
		if (is_among(files, cnt, &file))
			target_file_deinit(&file);
		else
			files[cnt++] = file;
	}
	if (cnt) {
		buf_reset(why);
		*err = 0;
	}
	return cnt;
}

/*
 * The one program or library among @candidates: 0 and *@out; -ENOENT when there are no candidates;
 * -EINVAL when there are several that are not the same file. Those that cannot be used do not count
 * where another can.
 */
static int choose(const struct target_root *root, const char *name,
		  const struct candidates *candidates, struct target_file *out, struct buf *why)
{
	_cleanup_free_ struct target_file *files = calloc(candidates->cnt + 1, sizeof(*files));
	int err = 0;
	size_t cnt;

	if (!files)
		return -ENOMEM;
	if (!candidates->cnt)
		return -ENOENT;
	cnt = open_all(root, candidates, files, &err, why);
	if (cnt == 1) {
		*out = files[0];
		return 0;
	}
	if (cnt > 1) {
		buf_printf(why, "'%s' could be", name);
		for (size_t i = 0; i < cnt; i++)
			buf_printf(why, "%s %s", i ? " or" : "", files[i].path);
		buf_add_str(why, ": name one by its path");
		err = -EINVAL;
	}
	for (size_t i = 0; i < cnt; i++)
		target_file_deinit(&files[i]);
	return err;
}

/* --- Names --- */

enum place { PLACE_MAPPED, PLACE_CACHE, PLACE_FOLDERS, PLACE_PROGRAMS, PLACE_CNT };

static int search_place(enum place place, const struct target_root *root, const char *name,
			struct candidates *candidates, struct suggest *near)
{
	switch (place) {
	case PLACE_MAPPED:
		return root->tgid ? target_search_mapped(root, name, candidates, near) : 0;
	case PLACE_CACHE:
		return target_search_cache(root, name, candidates, near);
	case PLACE_FOLDERS:
		return target_search_folders(root, name, candidates);
	default:
		return target_search_programs(root, name, candidates);
	}
}

static int explain_search(const struct target_root *root, int err, struct buf *why)
{
	if (err != -ENOMEM)
		buf_printf(why, "what process %d has mapped cannot be read: %s", (int)root->tgid,
			   strerror(-err));
	return err;
}

static int find_name(const struct target_root *root, const char *name, struct target_file *out,
		     struct buf *why)
{
	struct candidates candidates = {0};
	struct suggest near;
	int err = -ENOENT;

	suggest_init(&near, name);
	for (enum place place = 0; err == -ENOENT && place < PLACE_CNT; place++) {
		err = search_place(place, root, name, &candidates, &near);
		if (err)
			explain_search(root, err, why);
		else
			err = choose(root, name, &candidates, out, why);
		candidates_deinit(&candidates);
		if (why->len)
			break;
	}
	if (err == -ENOENT && !why->len) {
		buf_printf(why, "there is no library or program '%s'", name);
		if (!root->is_own)
			buf_printf(why, " in the root of process %d", (int)root->tgid);
		suggest_print(&near, why);
	}
	suggest_deinit(&near);
	return err;
}

/* @path counts from the root. What the process has mapped under it comes first: it may be another
 * file than what lies there by now. */
static int find_path(const struct target_root *root, const char *path, struct target_file *out,
		     struct buf *why)
{
	struct candidates candidates = {0};
	struct suggest near;
	int err = -ENOENT;

	suggest_init(&near, path);
	if (root->tgid && !target_search_mapped(root, path, &candidates, &near))
		err = choose(root, path, &candidates, out, why);
	if (err == -ENOENT && !why->len) {
		const struct candidate named = {.path = (char *)path};

		err = open_checked(root, &named, out, why);
	}
	candidates_deinit(&candidates);
	suggest_deinit(&near);
	return err;
}

static int own_root_open(struct target_root *out)
{
	*out = (struct target_root){
		.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.is_own = true,
	};
	return out->fd < 0 ? -errno : 0;
}

static int target_root_open(pid_t tgid, struct target_root *out, struct buf *why)
{
	int err = own_root_open(out);
	int fd;

	if (err || !tgid)
		return err;
	fd = process_root_open(tgid);
	if (fd < 0) {
		close(out->fd);
		if (fd == -ENOENT)
			buf_printf(why, "there is no process %d", (int)tgid);
		else
			buf_printf(why, "the root of process %d cannot be opened: %s", (int)tgid,
				   strerror(-fd));
		return fd == -ENOENT ? -ESRCH : fd;
	}
	out->tgid = tgid;
	out->is_own = process_root_is_own(fd);
	if (out->is_own) {
		close(fd);
		return 0;
	}
	close(out->fd);
	out->fd = fd;
	process_root_folder(tgid, out->folder);
	return 0;
}

/* A path below our current folder is ours, whoever the target is. */
static int find_relative(const char *path, struct target_file *out, struct buf *why)
{
	_cleanup_free_ char *absolute = NULL;
	_cleanup_free_ char *folder = getcwd(NULL, 0);
	struct target_root root = {.fd = -1};
	int err = folder ? own_root_open(&root) : -errno;

	if (err)
		return err;
	if (asprintf(&absolute, "%s/%s", folder, path) < 0) {
		absolute = NULL;
		err = -ENOMEM;
	}
	if (!err)
		err = find_path(&root, absolute, out, why);
	close(root.fd);
	return err;
}

static int find_file(const char *path, pid_t tgid, struct target_file *out, struct buf *why)
{
	struct target_root root = {.fd = -1};
	int err;

	if (path[0] != '/' && strchr(path, '/'))
		return find_relative(path, out, why);
	err = target_root_open(tgid, &root, why);
	if (err)
		return err;
	err = path[0] == '/' ? find_path(&root, path, out, why) : find_name(&root, path, out, why);
	if (!err && !root.is_own)
		out->root_fd = take_fd(&root.fd);
	if (root.fd >= 0)
		close(root.fd);
	return err;
}

int target_file_find(const char *path, pid_t tgid, struct target_file *out, struct buf *why)
{
	struct buf reason;
	int err;

	buf_init(&reason, BUF_NO_MAX);
	err = find_file(path, tgid, out, &reason);
	if (err && !reason.len)
		buf_printf(&reason, "'%s': %s", path, strerror(-err));
	if (err)
		buf_add_str(why, buf_cstr(&reason));
	buf_deinit(&reason);
	return err;
}
