/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: see outputs.h. */
#include "cli/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/viewer.h"

void output_set_init(struct output_set *set)
{
	*set = (struct output_set){0};
	buf_init(&set->written, BUF_NO_MAX);
}

void output_set_deinit(struct output_set *set)
{
	output_set_abandon(set);
	for (size_t i = 0; i < set->output_cnt; i++)
		free(set->outputs[i].pattern);
	free(set->outputs);
	free(set->files);
	free(set->first_page);
	buf_deinit(&set->written);
	*set = (struct output_set){0};
}

static bool is_stdout(const struct output *output)
{
	return fs_output_is_stdout(output->pattern);
}

/* The next "%x" in @text that is not part of "%%", or NULL. */
static const char *find_directive(const char *text, char which)
{
	for (const char *at = strchr(text, '%'); at && at[1]; at = strchr(at + 2, '%'))
		if (at[1] == which)
			return at;
	return NULL;
}

static int fail_extension(const char *path, struct buf *why)
{
	buf_printf(why, "output '%s': unknown extension (known:", path);
	for (const struct encoder *const *enc = encoder_list(); *enc; enc++)
		buf_printf(why, " %s", (*enc)->extension);
	buf_add_str(why, "; '-' is folded text on standard output, '-.pb.gz' pprof there)");
	return -EINVAL;
}

int output_set_add(struct output_set *set, const char *path, struct buf *why)
{
	const struct encoder *encoder = encoder_for_path(path);
	struct output *output;

	if (!encoder)
		return fail_extension(path, why);
	for (size_t i = 0; i < set->output_cnt; i++) {
		if (!fs_output_is_same(set->outputs[i].pattern, path))
			continue;
		if (fs_output_is_stdout(path))
			buf_add_str(why, "standard output can be named only once (-f is -o -)");
		else
			buf_printf(why, "output '%s' is named twice", path);
		return -EINVAL;
	}
	if (find_directive(path, 'v') && !encoder->is_one_value) {
		buf_printf(why, "output '%s': %s files hold every value, leave out %%v", path,
			   encoder->extension);
		return -EINVAL;
	}
	if (array_reserve(&set->outputs, &set->output_cap, set->output_cnt + 1, sizeof(*output)))
		return -ENOMEM;
	output = &set->outputs[set->output_cnt];
	*output = (struct output){strdup(path), encoder, find_directive(path, 'v') != NULL};
	if (!output->pattern)
		return -ENOMEM;
	set->output_cnt++;
	return 0;
}

int output_set_number(struct output_set *set, uint64_t interval_ns)
{
	bool times_differ = interval_ns >= 2 * NSEC_PER_SEC;

	for (size_t i = 0; i < set->output_cnt; i++) {
		struct output *output = &set->outputs[i];
		size_t stem_len;
		char *numbered;

		if (is_stdout(output) || find_directive(output->pattern, 'n') ||
		    (times_differ && find_directive(output->pattern, 't')))
			continue;
		stem_len = strlen(output->pattern) - strlen(output->encoder->extension);
		if (asprintf(&numbered, "%.*s.%%n%s", (int)stem_len, output->pattern,
			     output->encoder->extension) < 0)
			return -ENOMEM;
		free(output->pattern);
		output->pattern = numbered;
	}
	return 0;
}

struct output_naming output_naming_first(uint64_t realtime_ns, uint64_t monotonic_ns)
{
	return (struct output_naming){realtime_ns, monotonic_ns, 1};
}

void output_naming_next(struct output_naming *naming, uint64_t realtime_ns, uint64_t monotonic_ns)
{
	uint64_t least_ns = naming->utc_ns + (monotonic_ns - naming->monotonic_ns);

	naming->utc_ns = realtime_ns > least_ns ? realtime_ns : least_ns;
	naming->monotonic_ns = monotonic_ns;
	naming->window++;
}

/* A value's name as part of a file's name. */
static void add_value_name(const char *value, struct buf *out)
{
	for (; *value; value++)
		buf_add_char(out, *value == '/' ? '-' : *value);
}

void output_expand(const char *pattern, const struct output_naming *naming, const char *value,
		   struct buf *out)
{
	char utc[17];

	clock_format_utc(naming->utc_ns, utc);
	for (const char *chr = pattern; *chr; chr++) {
		char directive = *chr == '%' ? chr[1] : '\0';

		if (directive == 't')
			buf_add_str(out, utc);
		else if (directive == 'n')
			buf_add_u64(out, naming->window);
		else if (directive == 'v' && value)
			add_value_name(value, out);
		else if (directive == '%')
			buf_add_char(out, '%');
		else
			directive = '\0';
		if (directive)
			chr++;
		else
			buf_add_char(out, *chr);
	}
}

void output_log_error(const char *path, int err)
{
	if (fs_output_is_stdout(path))
		path = "standard output";
	switch (err) {
	case -EEXIST:
		log_error("output '%s' exists already (--force replaces it)", path);
		break;
	case -ENOENT:
		log_error("output '%s': no such folder (make it first)", path);
		break;
	case -EISDIR:
		log_error("output '%s' is a folder, name a file in it", path);
		break;
	case -EREMCHG:
		log_error("output '%s' is no file, and another user has put it into a folder that "
			  "all may write to: name another one",
			  path);
		break;
	default:
		log_error("output '%s': %s", path, strerror(-err));
		break;
	}
}

static int open_file(struct output_set *set, uint32_t output, const struct output_naming *naming,
		     uint32_t value, const char *value_name)
{
	const char *pattern = set->outputs[output].pattern;
	struct output_file opened = {.output = output, .value = value, .is_open = true};
	_cleanup_(buf_deinit) struct buf path;
	int err;

	buf_init(&path, BUF_NO_MAX);
	if (array_reserve(&set->files, &set->file_cap, set->file_cnt + 1, sizeof(*set->files)))
		return -ENOMEM;
	output_expand(pattern, naming, value_name, &path);
	err = path.err ? path.err : fs_output_open(buf_cstr(&path), set->force, &opened.file);
	if (err) {
		output_log_error(buf_cstr(&path), err);
		return err;
	}
	set->files[set->file_cnt++] = opened;
	return 0;
}

/* Could a file be made where the names with %v will be? */
static int probe(const struct output_set *set, uint32_t output, const struct output_naming *naming)
{
	_cleanup_(buf_deinit) struct buf path;
	struct fs_output trial;
	int err;

	buf_init(&path, BUF_NO_MAX);
	output_expand(set->outputs[output].pattern, naming, NULL, &path);
	err = path.err ? path.err : fs_output_open(buf_cstr(&path), true, &trial);
	if (err)
		output_log_error(buf_cstr(&path), err);
	else
		fs_output_abandon(&trial);
	return err;
}

int output_set_open(struct output_set *set, const struct output_naming *naming)
{
	int err = 0;

	buf_reset(&set->written);
	for (uint32_t i = 0; i < set->output_cnt && !err; i++) {
		if (set->outputs[i].per_value)
			err = probe(set, i, naming);
		else
			err = open_file(set, i, naming, PROFILE_NONE, NULL);
	}
	return err;
}

int output_set_resolve(struct output_set *set, const struct output_naming *naming,
		       const struct profile *prof, uint32_t value)
{
	for (uint32_t i = 0; i < set->output_cnt; i++) {
		if (!set->outputs[i].per_value)
			continue;
		for (uint32_t j = 0; j < prof->value_type_cnt; j++) {
			const char *name = profile_str(prof, prof->value_types[j].type);
			int err;

			if (value != PROFILE_NONE && value != j)
				continue;
			err = open_file(set, i, naming, j, name);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Write @data and note the name; the commit releases it, whence the copy. */
static int commit_file(struct output_set *set, struct output_file *opened, const struct buf *data)
{
	bool is_direct = opened->file.is_direct;
	_cleanup_free_ char *path = strdup(opened->file.path);
	int err;

	if (!path)
		return -ENOMEM;
	opened->is_open = false;
	err = fs_output_commit(&opened->file, data->data, data->len);
	/* `bpfprof -f | head`: the reader has all that it wanted. */
	if (err == -EPIPE && fs_output_is_stdout(path))
		err = 0;
	if (err) {
		output_log_error(path, err);
		return err;
	}
	buf_printf(&set->written, "%s%s", set->written.len ? ", " : "",
		   fs_output_is_stdout(path) ? "standard output" : path);
	if (!is_direct && !set->first_page && viewer_can_show(path))
		set->first_page = take_ptr(path);
	return 0;
}

static int write_file(struct output_set *set, struct output_file *opened,
		      const struct profile *prof, const struct encoder_opts *opts)
{
	const struct output *output = &set->outputs[opened->output];
	struct encoder_opts own = *opts;
	_cleanup_(buf_deinit) struct buf data;
	int err;

	if (output->per_value)
		own.value = opened->value;
	buf_init(&data, BUF_NO_MAX);
	err = output->encoder->encode(prof, &own, &data);
	if (err) {
		log_error("output '%s': cannot be encoded as %s: %s", output->pattern,
			  output->encoder->name, strerror(-err));
		return err;
	}
	/* Where one window of text ends; other formats know their own ends. */
	if (set->is_windowed && is_stdout(output) && output->encoder == &encoder_folded)
		buf_add_char(&data, '\n');
	return data.err ? data.err : commit_file(set, opened, &data);
}

int output_set_write(struct output_set *set, const struct profile *prof,
		     const struct encoder_opts *opts)
{
	int first_err = 0;

	for (size_t i = 0; i < set->file_cnt; i++) {
		int err = write_file(set, &set->files[i], prof, opts);

		first_err = first_err ? first_err : err;
	}
	output_set_abandon(set);
	return first_err;
}

void output_set_abandon(struct output_set *set)
{
	for (size_t i = 0; i < set->file_cnt; i++)
		if (set->files[i].is_open)
			fs_output_abandon(&set->files[i].file);
	set->file_cnt = 0;
}

bool output_set_is_ours(const struct output_set *set)
{
	for (size_t i = 0; i < set->output_cnt; i++)
		if (!fs_output_is_ours(set->outputs[i].pattern))
			return false;
	return true;
}
