/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a store, and the file of one host as one that is asked: see source.h. */
#include "store/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/key_list.h"
#include "store/store_priv.h"

struct file_source {
	struct store_source source;
	struct store *store; /* owned */
	char *path; /* owned */
	dev_t dev;
	ino_t ino;
};

static struct file_source *file_of(struct store_source *source)
{
	return (struct file_source *)source;
}

static void file_close(struct store_source *source)
{
	struct file_source *file = file_of(source);

	store_close(file->store);
	free(file->path);
	free(file);
}

/* Another file may have taken the place of one that was damaged. */
static bool file_is_current(struct store_source *source)
{
	const struct file_source *file = file_of(source);
	struct stat st;

	return !stat(file->path, &st) && st.st_dev == file->dev && st.st_ino == file->ino;
}

static int file_read(struct store_source *source, const struct store_query *query,
		     struct profile *out, struct ledger *ledger_out,
		     struct store_coverage *coverage_out)
{
	return store_read(file_of(source)->store, query, out, ledger_out, coverage_out);
}

static int file_each_kind(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			  store_kind_fn *fn, void *arg)
{
	return store_each_kind(file_of(source)->store, from_ns, to_ns, fn, arg);
}

static int file_each_label(struct store_source *source, const struct store_query *query,
			   store_label_fn *fn, void *arg)
{
	return store_each_label(file_of(source)->store, query, fn, arg);
}

static int file_timeline(struct store_source *source, const struct store_query *query,
			 const char *by, const char *function, size_t point_cnt,
			 store_series_fn *fn, void *arg)
{
	return store_timeline(file_of(source)->store, query, by, function, point_cnt, fn, arg);
}

static int file_coverage(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			 struct store_coverage *out)
{
	return store_coverage(file_of(source)->store, from_ns, to_ns, out);
}

static int file_ledger(struct store_source *source, const struct store_query *query,
		       struct ledger *ledger_out, struct store_coverage *coverage_out)
{
	struct store_query bare = *query;
	struct profile prof;
	int err;

	bare.by = no_keys;
	err = store_read(file_of(source)->store, &bare, &prof, ledger_out, coverage_out);
	if (!err) {
		profile_deinit(&prof);
	} else if (err == -ENOENT) { /* windows without this kind, or none at all */
		ledger_init(ledger_out);
		err = file_coverage(source, query->from_ns, query->to_ns, coverage_out);
	}
	return err;
}

static const struct store_source_ops file_ops = {
	.close = file_close,
	.is_current = file_is_current,
	.read = file_read,
	.each_kind = file_each_kind,
	.each_label = file_each_label,
	.timeline = file_timeline,
	.coverage = file_coverage,
	.ledger = file_ledger,
};

int store_source_open_file(const char *path, struct store_source **out)
{
	struct file_source *file;
	struct stat st;
	int err;

	path = store_path_of(path);
	/* Asked for here, so that who asks again and again cannot make store_open() fill the log.
	 */
	if (stat(path, &st))
		return -errno;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->source.ops = &file_ops;
	file->source.name = "";
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->path = strdup(path);
	err = file->path ? store_open(path, STORE_READ, &file->store) : -ENOMEM;
	if (err) {
		free(file->path);
		free(file);
		return err;
	}
	*out = &file->source;
	return 0;
}

void store_source_close(struct store_source *source)
{
	if (source)
		source->ops->close(source);
}

bool store_source_is_current(struct store_source *source)
{
	return source->ops->is_current(source);
}

int store_source_read(struct store_source *source, const struct store_query *query,
		      struct profile *out, struct ledger *ledger_out,
		      struct store_coverage *coverage_out)
{
	source->why[0] = '\0';
	return source->ops->read(source, query, out, ledger_out, coverage_out);
}

int store_source_each_kind(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			   store_kind_fn *fn, void *arg)
{
	source->why[0] = '\0';
	return source->ops->each_kind(source, from_ns, to_ns, fn, arg);
}

int store_source_each_label(struct store_source *source, const struct store_query *query,
			    store_label_fn *fn, void *arg)
{
	source->why[0] = '\0';
	return source->ops->each_label(source, query, fn, arg);
}

int store_source_timeline(struct store_source *source, const struct store_query *query,
			  const char *by, const char *function, size_t point_cnt,
			  store_series_fn *fn, void *arg)
{
	source->why[0] = '\0';
	return source->ops->timeline(source, query, by, function, point_cnt, fn, arg);
}

int store_source_coverage(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			  struct store_coverage *out)
{
	source->why[0] = '\0';
	return source->ops->coverage(source, from_ns, to_ns, out);
}

int store_source_ledger(struct store_source *source, const struct store_query *query,
			struct ledger *ledger_out, struct store_coverage *coverage_out)
{
	source->why[0] = '\0';
	return source->ops->ledger(source, query, ledger_out, coverage_out);
}

int store_source_calls(struct store_source *source, const struct store_query *query,
		       const char *value, struct profile_calls *out, struct ledger *ledger_out,
		       struct store_coverage *coverage_out)
{
	source->why[0] = '\0';
	return source->ops->calls
		       ? source->ops->calls(source, query, value, out, ledger_out, coverage_out)
		       : -ENOTSUP;
}
