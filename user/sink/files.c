/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "sink/objects.h"

enum {
	FOLDER_MODE = 0750, /* less the umask */
	FOLDERS_MAX = 64, /* open at once */
};

/* One that files were put into. */
struct folder {
	struct buf name; /* "SERVICE/KIND" */
	int fd; /* owned */
};

struct files {
	struct sink sink;
	char *dir; /* owned */
	uint32_t id; /* of the host's store */
	int dir_fd; /* while windows are sent; owned */
	const struct buf *at; /* while windows are sent: what is being made, for messages */
	/* Those whose files' names are not on the disk yet: a round puts many into each. */
	struct folder folders[FOLDERS_MAX];
	size_t folder_cnt;
};

/* The folder of @url, and how long its name is; NULL: it is none of ours. */
static const char *folder_of(const char *url, size_t *len_out)
{
	const char *path;

	if (strncmp(url, "file:", 5) != 0)
		return NULL;
	path = url + 5;
	if (!strncmp(path, "///", 3))
		path += 2;
	if (path[0] != '/' || path[1] == '/')
		return NULL;
	*len_out = strlen(path);
	while (*len_out > 1 && path[*len_out - 1] == '/')
		--*len_out;
	return path;
}

static bool is_url(const char *url)
{
	return !strncmp(url, "file:", 5);
}

static int name_sink(const char *url, struct buf *out, struct buf *why)
{
	size_t len;
	const char *path = folder_of(url, &len);

	if (!path) {
		buf_add_str(why, "behind file: the folder's full name is wanted: file:/DIR");
		return -EINVAL;
	}
	buf_add_str(out, "file:");
	buf_add(out, path, len);
	return 0;
}

static void close_sink(struct sink *sink)
{
	struct files *files = (struct files *)sink;

	free(files->dir);
	free(files);
}

static int open_sink(const char *url, const struct sink_opts *opts, struct sink **out,
		     struct buf *why)
{
	struct files *files;
	struct buf name;
	int err;

	buf_init(&name, BUF_NO_MAX);
	err = name_sink(url, &name, why);
	files = err ? NULL : calloc(1, sizeof(*files));
	if (files) {
		files->dir = strdup(buf_cstr(&name) + strlen("file:"));
		files->id = sink_store_id(opts->host_id);
	}
	buf_deinit(&name);
	if (err)
		return err;
	if (!files || !files->dir) {
		free(files);
		return -ENOMEM;
	}
	*out = &files->sink;
	return 0;
}

/* --- Folders and files --- */

/* The folder @name in @parent, made if it is not there. An fd or negative errno. */
static int open_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	if (mkdirat(parent, name, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	if (fsync(parent))
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The sink's own, whose last part is made. */
static int open_dir(const struct files *files)
{
	int fd;

	if (mkdir(files->dir, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	fd = open(files->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A link, or a pipe, was not made by us. */
static int check_place(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) ? 0 : -EEXIST;
}

/* Put the names of their files on the disk, and close them. 0 or negative errno. */
static int sync_folders(struct files *files)
{
	int err = 0;

	for (size_t i = 0; i < files->folder_cnt; i++) {
		struct folder *folder = &files->folders[i];

		if (!err && fsync(folder->fd))
			err = -errno;
		close(folder->fd);
		buf_deinit(&folder->name);
	}
	files->folder_cnt = 0;
	return err;
}

static int add_folder(struct files *files, const char *name, int fd)
{
	int err = files->folder_cnt == FOLDERS_MAX ? sync_folders(files) : 0;
	struct folder *folder = &files->folders[files->folder_cnt];

	buf_init(&folder->name, BUF_NO_MAX);
	buf_add_str(&folder->name, name);
	if (!err)
		err = folder->name.err;
	if (err) {
		buf_deinit(&folder->name);
		close(fd);
		return err;
	}
	folder->fd = fd;
	files->folder_cnt++;
	return fd;
}

/* The folder @name ("SERVICE/KIND", "(lost)"). A borrowed fd or negative errno. */
static int find_folder(struct files *files, struct buf *name)
{
	_cleanup_close_ int service = -1;
	char *slash;
	int fd;

	for (size_t i = 0; i < files->folder_cnt; i++)
		if (!strcmp(buf_cstr(&files->folders[i].name), buf_cstr(name)))
			return files->folders[i].fd;
	slash = strchr(name->data, '/');
	if (slash) {
		*slash = '\0';
		service = open_folder(files->dir_fd, name->data);
		*slash = '/';
		if (service < 0)
			return service;
	}
	fd = open_folder(slash ? service : files->dir_fd, slash ? slash + 1 : name->data);
	return fd < 0 ? fd : add_folder(files, buf_cstr(name), fd);
}

/* @data as @name in @folder, whatever was there; it is on the disk before it has its name. */
static int write_file(struct files *files, int folder, const char *name, const struct buf *data)
{
	_cleanup_(buf_deinit) struct buf path;
	struct fs_output output;
	int err = check_place(folder, name);

	buf_init(&path, BUF_NO_MAX);
	buf_printf(&path, "/proc/self/fd/%d/%s", folder, name);
	if (!err)
		err = path.err ? path.err : fs_output_open(buf_cstr(&path), true, &output);
	if (err)
		return err;
	err = fs_write_all(output.fd, data->data, data->len);
	if (!err && fsync(output.fd))
		err = -errno;
	if (err) {
		fs_output_abandon(&output);
		return err;
	}
	files->sink.counts.sent_bytes += data->len;
	return fs_output_commit(&output, "", 0);
}

/* --- Windows --- */

static int put_object(void *arg, struct sink_object *object)
{
	struct files *files = arg;
	int folder, err;

	files->at = &object->folder;
	folder = find_folder(files, &object->folder);
	if (folder < 0)
		return folder;
	files->at = &object->name;
	err = write_file(files, folder, buf_cstr(&object->name), &object->data);
	if (!err)
		files->sink.counts.rows += object->row_cnt;
	return err;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	struct files *files = (struct files *)sink;
	_cleanup_(sink_object_deinit) struct sink_object object;
	int err, synced;

	sink_object_init(&object);
	files->at = &object.name;
	files->dir_fd = open_dir(files);
	err = files->dir_fd < 0 ? files->dir_fd : 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		err = sink_put_objects(&windows[i], files->id, put_object, files, &object);
		sink->counts.windows += err ? 0 : windows[i].window_cnt;
	}
	synced = sync_folders(files);
	err = err ? err : synced;
	if (files->dir_fd >= 0)
		close(files->dir_fd);
	if (!err)
		return 0;
	buf_printf(why, "%s%s%s: %s", files->dir, files->at->len ? ": " : "", buf_cstr(files->at),
		   strerror(-err));
	/* That would be about the window. */
	return err == -EINVAL ? -EIO : err;
}

const struct sink_ops files_sink = {
	.is_url = is_url,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = close_sink,
	.lost_told = "files in (lost)/ say so",
};
