/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as input: see inputs.h. */
#include "cli/inputs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "encode/decode.h"

enum {
	INPUT_MAX_BYTES = 1 << 30 /* as profile_decode() allows uncompressed */
};

/* Decode @path into @out (initialised, empty), logging what is wrong with it. */
static int load_one(const char *path, struct profile *out)
{
	_cleanup_(buf_deinit) struct buf data, why;
	int err;

	buf_init(&data, INPUT_MAX_BYTES);
	buf_init(&why, BUF_NO_MAX);
	err = !strcmp(path, "-") ? fs_read_fd(STDIN_FILENO, &data) : fs_read_file(path, &data);
	if (err) {
		log_error("input '%s': %s", path,
			  err == -EFBIG ? "larger than 1 GiB" : strerror(-err));
		return err;
	}
	err = profile_decode(data.data, data.len, out, &why);
	if (err)
		log_error("input '%s': %s", path, buf_error_text(&why, err));
	else if (why.len)
		log_warn("input '%s': %s", path, buf_cstr(&why));
	return err;
}

/* "cpu/nanoseconds, samples/count" */
static void add_values(const struct profile *prof, struct buf *out)
{
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		buf_printf(out, "%s%s/%s", i ? ", " : "",
			   profile_str(prof, prof->value_types[i].type),
			   profile_str(prof, prof->value_types[i].unit));
}

static void log_merge_error(const char *path, const struct profile *merged,
			    const struct profile *next, int err)
{
	_cleanup_(buf_deinit) struct buf values;

	buf_init(&values, BUF_NO_MAX);
	if (err == -EINVAL) {
		add_values(next, &values);
		buf_add_str(&values, " instead of ");
		add_values(merged, &values);
		log_error("input '%s' cannot be merged with those before it: it holds %s", path,
			  buf_cstr(&values));
	} else {
		log_error("input '%s' cannot be merged with those before it: %s", path,
			  strerror(-err));
	}
}

int inputs_load(const struct opts_list *paths, struct profile *out)
{
	int err = profile_init(out);

	/* The first one needs no merging and keeps its order. */
	if (!err)
		err = load_one(paths->items[0], out);
	for (size_t i = 1; i < paths->cnt && !err; i++) {
		struct profile next;

		err = profile_init(&next);
		if (err)
			break;
		err = load_one(paths->items[i], &next);
		if (!err) {
			err = profile_merge(out, &next);
			if (err)
				log_merge_error(paths->items[i], out, &next, err);
		}
		profile_deinit(&next);
	}
	return err;
}
