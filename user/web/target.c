/* SPDX-License-Identifier: Apache-2.0 */
/* A request's target: path and parameters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "web/query.h"

/* What may be there several times. */
static const char REPEATABLE[] = "select";

static int fail(struct buf *why, int err, const char *text)
{
	if (why)
		buf_add_str(why, text);
	return err;
}

/* Decode @text in place. */
static int decode(char *text, struct buf *why)
{
	char *out = text;

	for (; *text; text++) {
		uint32_t high, low;

		if (*text != '%') {
			*out++ = *text == '+' ? ' ' : *text;
			continue;
		}
		high = digit_value(text[1]);
		low = high < 16 ? digit_value(text[2]) : UINT32_MAX;
		if (high > 15 || low > 15)
			return fail(why, -EINVAL, "a '%' without two hexadecimal digits");
		if (!high && !low)
			return fail(why, -EINVAL, "a NUL in a parameter");
		*out++ = (char)(high << 4 | low);
		text += 2;
	}
	*out = '\0';
	return 0;
}

static int add_param(struct web_target *target, char *text, struct buf *why)
{
	struct web_param param = {.name = text, .value = ""};
	char *equals = strchr(text, '=');
	int err;

	if (!*text)
		return 0; /* "a=1&&b=2", "a=1&" */
	if (equals) {
		*equals = '\0';
		param.value = equals + 1;
		err = decode(equals + 1, why);
		if (err)
			return err;
	}
	err = decode(text, why);
	if (err)
		return err;
	if (!*text)
		return fail(why, -EINVAL, "a parameter without a name");
	if (strcmp(text, REPEATABLE) && web_target_get(target, text))
		return fail(why, -EINVAL, "a parameter that is given twice");
	if (target->param_cnt == WEB_PARAMS_MAX)
		return fail(why, -E2BIG, "too many parameters");
	target->params[target->param_cnt++] = param;
	return 0;
}

int web_target_parse(const char *text, struct web_target *out, struct buf *why)
{
	struct web_target target = {0};
	char *query, *end;
	int err = 0;

	*out = target;
	if (*text != '/')
		return fail(why, -EINVAL, "a target that does not begin with '/'");
	if (strnlen(text, WEB_TARGET_BYTES_MAX + 1) > WEB_TARGET_BYTES_MAX)
		return fail(why, -E2BIG, "too long a target");
	target.text = strdup(text);
	if (!target.text)
		return -ENOMEM;
	target.path = target.text;
	query = strchr(target.text, '?');
	if (query)
		*query++ = '\0';
	for (; query && !err; query = end) {
		end = strchr(query, '&');
		if (end)
			*end++ = '\0';
		err = add_param(&target, query, why);
	}
	if (err)
		free(target.text);
	else
		*out = target;
	return err;
}

void web_target_deinit(struct web_target *target)
{
	free(target->text);
	*target = (struct web_target){0};
}

const char *web_target_get_nth(const struct web_target *target, const char *name, size_t nth)
{
	for (size_t i = 0; i < target->param_cnt; i++)
		if (!strcmp(target->params[i].name, name) && !nth--)
			return target->params[i].value;
	return NULL;
}

const char *web_target_get(const struct web_target *target, const char *name)
{
	return web_target_get_nth(target, name, 0);
}
