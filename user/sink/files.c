/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hmap.h"
#include "base/json.h"
#include "encode/encoder.h"
#include "sink/pieces.h"

enum {
	FOLDER_MODE = 0750, /* less the umask */
	NAME_MAX_BYTES = 120, /* so that three of them fit into a name */
	HASH_BYTES = 17, /* '~' and 16 digits */
	UTC_BYTES = 17,
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
		files->id = (uint32_t)(hash_bytes(opts->host_id, strlen(opts->host_id)) >> 32);
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

/* --- Names --- */

static bool is_plain(char chr, bool is_first)
{
	return (chr >= 'a' && chr <= 'z') || (chr >= 'A' && chr <= 'Z') ||
	       (chr >= '0' && chr <= '9') || chr == '_' || chr == '-' || (chr == '.' && !is_first);
}

void files_add_name(struct buf *out, const char *name)
{
	const size_t begin = out->len;

	if (!*name)
		buf_add_str(out, "(none)");
	for (const char *chr = name; *chr; chr++) {
		if (is_plain(*chr, chr == name))
			buf_add_char(out, *chr);
		else
			buf_printf(out, "%%%02X", (unsigned char)*chr);
	}
	if (out->err || out->len - begin <= NAME_MAX_BYTES)
		return;
	out->len = begin + NAME_MAX_BYTES - HASH_BYTES;
	buf_printf(out, "~%016" PRIx64, hash_bytes(name, strlen(name)));
}

static void add_time(struct buf *out, uint64_t time_ns)
{
	char utc[UTC_BYTES];

	clock_format_utc(time_ns, utc);
	buf_add_str(out, utc);
}

/* The file of @piece in its folder. Batches of one kind differ in their types: each has a number
 * but the first. */
static void add_file_name(const struct files *files, const struct sink_window *window,
			  const struct sink_piece *piece, struct buf *out)
{
	unsigned int before = 0;

	for (const struct sink_batch *batch = window->batches; batch < piece->batch; batch++)
		before += !strcmp(batch->kind, piece->batch->kind);
	add_time(out, window->start_ns);
	buf_add_char(out, '-');
	files_add_name(out, sink_label_str(window->dict, piece->label_set, "host"));
	buf_printf(out, "-%08" PRIx32 "-%" PRIu64, files->id, window->seq);
	if (before)
		buf_printf(out, ".%u", before);
	buf_add_str(out, ".pb.gz");
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

/* The folder @name ("SERVICE/KIND", "(lost)") below @dir. A borrowed fd or negative errno. */
static int find_folder(struct files *files, int dir, struct buf *name)
{
	_cleanup_close_ int service = -1;
	char *slash;
	int fd;

	if (name->err)
		return name->err;
	for (size_t i = 0; i < files->folder_cnt; i++)
		if (!strcmp(buf_cstr(&files->folders[i].name), buf_cstr(name)))
			return files->folders[i].fd;
	slash = strchr(name->data, '/');
	if (slash) {
		*slash = '\0';
		service = open_folder(dir, name->data);
		*slash = '/';
		if (service < 0)
			return service;
	}
	fd = open_folder(slash ? service : dir, slash ? slash + 1 : name->data);
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

static int encode(const struct sink_window *window, const struct sink_piece *piece, struct buf *out)
{
	struct profile prof;
	int err = sink_piece_profile(window, piece, NULL, &prof);

	if (err)
		return err;
	err = encoder_pprof.encode(&prof, &(const struct encoder_opts){.by = NULL}, out);
	profile_deinit(&prof);
	return err;
}

/* @name has what was being written when it failed. */
static int write_piece(struct files *files, int dir, const struct sink_window *window,
		       const struct sink_piece *piece, struct buf *name)
{
	_cleanup_(buf_deinit) struct buf data;
	int folder, err;

	buf_init(&data, BUF_NO_MAX);
	buf_reset(name);
	files_add_name(name, sink_label_str(window->dict, piece->label_set, "service"));
	buf_add_char(name, '/');
	files_add_name(name, piece->batch->kind);
	folder = find_folder(files, dir, name);
	if (folder < 0)
		return folder;
	buf_reset(name);
	add_file_name(files, window, piece, name);
	err = name->err ? name->err : encode(window, piece, &data);
	if (!err)
		err = write_file(files, folder, buf_cstr(name), &data);
	if (!err)
		files->sink.counts.rows += piece->row_cnt;
	return err;
}

static int write_window(struct files *files, int dir, const struct sink_window *window,
			struct buf *name)
{
	_cleanup_(sink_pieces_deinit) struct sink_pieces pieces;
	int err = sink_pieces_init(&pieces, window, sink_label_is_service, SIZE_MAX);

	for (size_t i = 0; i < pieces.cnt && !err; i++)
		err = write_piece(files, dir, &pieces.window, &pieces.items[i], name);
	return err;
}

static void print_lost(const struct sink_window *window, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_u64(&js, "start_ns", window->start_ns);
	json_kv_u64(&js, "end_ns", window->end_ns);
	json_kv_u64(&js, "windows", window->window_cnt);
	json_kv_u64(&js, "samples", window->lost_samples);
	json_kv_str(&js, "reason", window->lost);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

static int write_lost(struct files *files, int dir, const struct sink_window *window,
		      struct buf *name)
{
	_cleanup_(buf_deinit) struct buf text;
	int folder;

	buf_init(&text, BUF_NO_MAX);
	buf_reset(name);
	buf_add_str(name, "(lost)");
	folder = find_folder(files, dir, name);
	if (folder < 0)
		return folder;
	buf_reset(name);
	add_time(name, window->start_ns);
	buf_printf(name, "-%08" PRIx32 "-%" PRIu64 ".json", files->id, window->seq);
	print_lost(window, &text);
	return text.err || name->err ? -ENOMEM : write_file(files, folder, buf_cstr(name), &text);
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	struct files *files = (struct files *)sink;
	_cleanup_(buf_deinit) struct buf name;
	_cleanup_close_ int dir = open_dir(files);
	int err = dir < 0 ? dir : 0, synced;

	buf_init(&name, BUF_NO_MAX);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (windows[i].lost)
			err = write_lost(files, dir, &windows[i], &name);
		else
			err = write_window(files, dir, &windows[i], &name);
		sink->counts.windows += err ? 0 : windows[i].window_cnt;
	}
	synced = sync_folders(files);
	err = err ? err : synced;
	if (!err)
		return 0;
	buf_printf(why, "%s%s%s: %s", files->dir, name.len ? ": " : "", buf_cstr(&name),
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
