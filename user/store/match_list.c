/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on labels as text. */
#include "store/match_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool matches(const struct store_match *match, const char *value)
{
	const char *text = value ? value : "";

	switch (match->how) {
	case STORE_MATCH_EQUAL:
		return !strcmp(text, match->glob);
	case STORE_MATCH_UNEQUAL:
		return strcmp(text, match->glob) != 0;
	case STORE_MATCH_REGEX:
		return !regexec(match->regex, text, 0, NULL, 0);
	case STORE_MATCH_NOT_REGEX:
		return regexec(match->regex, text, 0, NULL, 0) == REG_NOMATCH;
	case STORE_MATCH_GLOB:
		break;
	}
	return value ? !fnmatch(match->glob, value, 0) : !match->glob[0];
}

/* Of the patterns of each key, one matches. */
bool match_labels(const struct store_match *where, size_t cnt, match_value_fn *value, void *arg)
{
	for (size_t i = 0; i < cnt; i++) {
		bool is_glob = where[i].how == STORE_MATCH_GLOB;
		bool any = !is_glob && matches(&where[i], value(arg, where[i].key));

		for (size_t j = 0; j < cnt && is_glob && !any; j++)
			any = where[j].how == STORE_MATCH_GLOB &&
			      !strcmp(where[i].key, where[j].key) &&
			      matches(&where[j], value(arg, where[j].key));
		if (!any)
			return false;
	}
	return true;
}

void match_list_deinit(struct match_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		free((char *)list->items[i].key);
	free(list->items);
	*list = (struct match_list){0};
}

/* Up to the next comma without a backslash before it; fnmatch(3) takes the backslash off. */
static size_t item_len(const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != ',')
		len += text[len] == '\\' && text[len + 1] ? 2 : 1;
	return len;
}

/* A backslash that stands for itself alone would make a pattern that nothing matches. */
static bool ends_open(const char *glob)
{
	size_t cnt = 0;

	for (size_t len = strlen(glob); len && glob[len - 1] == '\\'; len--)
		cnt++;
	return cnt % 2;
}

static int refuse(struct buf *why, const char *item, size_t len, const char *what)
{
	buf_printf(why, "'%.*s' %s", (int)len, item, what);
	return -EINVAL;
}

static int add_item(struct match_list *list, const char *item, size_t len, struct buf *why)
{
	const char *equals = memchr(item, '=', len);
	char *key;

	if (!equals || equals == item)
		return refuse(why, item, len, "is not of the form KEY=GLOB");
	if (list->cnt == MATCHES_MAX) {
		buf_printf(why, "more than %d conditions", MATCHES_MAX);
		return -E2BIG;
	}
	if (array_reserve(&list->items, &list->cap, list->cnt + 1, sizeof(*list->items)))
		return -ENOMEM;
	key = strndup(item, len);
	if (!key)
		return -ENOMEM;
	key[equals - item] = '\0';
	list->items[list->cnt++] =
		(struct store_match){.key = key, .glob = key + (equals - item) + 1};
	if (ends_open(list->items[list->cnt - 1].glob))
		return refuse(why, item, len, "ends in a backslash that stands before nothing");
	return 0;
}

int match_list_parse(struct match_list *list, const char *text, struct buf *why)
{
	int err;

	for (;;) {
		size_t len = item_len(text);

		err = add_item(list, text, len, why);
		if (err || !text[len])
			return err;
		text += len + 1;
	}
}
