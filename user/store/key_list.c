/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of labels as text. */
#include "store/key_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const no_keys[1] = {NULL};

int key_list_parse(struct key_list *list, const char *text)
{
	size_t cnt = 1;

	*list = (struct key_list){.cnt = 0};
	text = text ? text : "";
	for (const char *chr = text; *chr; chr++)
		cnt += *chr == ',';
	list->text = strdup(text);
	list->items = calloc(cnt + 1, sizeof(*list->items));
	if (!list->text || !list->items)
		return -ENOMEM;
	if (!*text)
		return 0;
	for (char *rest = list->text, *key; (key = strsep(&rest, ","));) {
		if (!*key)
			return -EINVAL;
		list->items[list->cnt++] = key;
	}
	return 0;
}

void key_list_deinit(struct key_list *list)
{
	free(list->text);
	free(list->items);
	*list = (struct key_list){.cnt = 0};
}
