/* SPDX-License-Identifier: Apache-2.0 */
#include "http/aws_key.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"

enum { FILE_MAX_BYTES = 1 << 20 };

/* @len bytes of a line. */
struct text {
	const char *begin;
	size_t len;
};

static bool is_text(struct text text, const char *wanted)
{
	return text.len == strlen(wanted) && !memcmp(text.begin, wanted, text.len);
}

static struct text trim(struct text text)
{
	while (text.len && strchr(" \t\r", text.begin[0])) {
		text.begin++;
		text.len--;
	}
	while (text.len && strchr(" \t\r", text.begin[text.len - 1]))
		text.len--;
	return text;
}

/* False: it is too long, or is not what a header may have. */
static bool take_value(struct text value, char *out, size_t size)
{
	if (value.len >= size)
		return false;
	for (size_t i = 0; i < value.len; i++)
		if (value.begin[i] <= ' ' || value.begin[i] > '~')
			return false;
	memcpy(out, value.begin, value.len);
	out[value.len] = '\0';
	return true;
}

/* A line of the profile. */
static bool take_line(struct text line, struct aws_key *out)
{
	const char *equals = memchr(line.begin, '=', line.len);
	const size_t len = equals ? (size_t)(equals - line.begin) : 0;
	const struct text name = trim((struct text){line.begin, len});
	struct text value;

	if (!equals || *line.begin == '#' || *line.begin == ';')
		return true;
	value = trim((struct text){equals + 1, line.len - len - 1});
	if (is_text(name, "aws_access_key_id"))
		return take_value(value, out->id, sizeof(out->id));
	if (is_text(name, "aws_secret_access_key"))
		return take_value(value, out->secret, sizeof(out->secret));
	if (is_text(name, "aws_session_token"))
		return take_value(value, out->token, sizeof(out->token));
	return true;
}

int aws_key_read(const void *data, size_t len, const char *profile, struct aws_key *out)
{
	bool is_ours = false, is_right = true;
	struct aws_key key = {.id = ""};
	struct reader rd;
	struct text line;
	int err;

	reader_init(&rd, data, len);
	while ((line.begin = reader_until(&rd, '\n', &line.len))) {
		line = trim(line);
		if (line.len > 1 && line.begin[0] == '[' && line.begin[line.len - 1] == ']')
			is_ours =
				is_text(trim((struct text){line.begin + 1, line.len - 2}), profile);
		else if (is_ours && line.len)
			is_right = take_line(line, &key) && is_right;
	}
	if (!is_right || !*key.id != !*key.secret)
		err = -EINVAL;
	else
		err = *key.id ? 0 : -ENOENT;
	if (!err)
		*out = key;
	explicit_bzero(&key, sizeof(key));
	return err;
}

/* $@name into @out; it stays empty where there is none. */
static bool take_variable(const char *name, char *out, size_t size)
{
	const char *value = getenv(name);

	*out = '\0';
	return !value || take_value((struct text){value, strlen(value)}, out, size);
}

static int take_environment(struct aws_key *out, struct buf *why)
{
	bool is_right = take_variable("AWS_ACCESS_KEY_ID", out->id, sizeof(out->id));

	/* All three, also where one is wrong: none is left as it was. */
	is_right = take_variable("AWS_SECRET_ACCESS_KEY", out->secret, sizeof(out->secret)) &&
		   is_right;
	is_right = take_variable("AWS_SESSION_TOKEN", out->token, sizeof(out->token)) && is_right;
	if (is_right && !*out->id && !*out->secret)
		return -ENOENT;
	if (is_right && *out->id && *out->secret)
		return 0;
	buf_add_str(why, "$AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY and $AWS_SESSION_TOKEN are no "
			 "key: one of the first two is missing, or one is too long, or has spaces");
	return -EINVAL;
}

/* The value of $@name; @otherwise where there is none. */
static const char *variable_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* The name of the file. False: nothing says where it is. */
static bool add_path(struct buf *out)
{
	const char *home = variable_or("HOME", NULL);
	const char *path = variable_or("AWS_SHARED_CREDENTIALS_FILE", NULL);

	if (path)
		buf_add_str(out, path);
	else if (home)
		buf_printf(out, "%s/.aws/credentials", home);
	return out->len;
}

static int take_file(const char *path, const char *profile, struct aws_key *out, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf data;
	int err;

	buf_init(&data, FILE_MAX_BYTES);
	err = fs_read_file(path, &data);
	if (err) {
		buf_printf(why, "'%s': %s", path, strerror(-err));
		return err;
	}
	err = aws_key_read(data.data, data.len, profile, out);
	if (err)
		buf_printf(why, "'%s': profile '%s' %s", path, profile,
			   err == -ENOENT ? "is not there, or has no key"
					  : "has no whole key of letters, digits and signs");
	if (data.len)
		explicit_bzero(data.data, data.len);
	return err;
}

int aws_key_find(struct aws_key *out, struct buf *from, struct buf *why)
{
	const char *profile = variable_or("AWS_PROFILE", "default");
	_cleanup_(buf_deinit) struct buf path;
	int err = take_environment(out, why);

	buf_init(&path, BUF_NO_MAX);
	if (!err)
		buf_add_str(from, "$AWS_ACCESS_KEY_ID");
	if (err != -ENOENT)
		return err;
	if (add_path(&path))
		err = take_file(buf_cstr(&path), profile, out, why);
	if (!err)
		buf_printf(from, "profile '%s' of '%s'", profile, buf_cstr(&path));
	else if (err == -ENOENT)
		buf_printf(why,
			   "%sset $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or name a "
			   "file by $AWS_SHARED_CREDENTIALS_FILE and a profile by $AWS_PROFILE",
			   why->len ? ": " : "");
	return err;
}
