/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of labels as text: "service,host". */
#ifndef BPFPROF_STORE_KEY_LIST_H
#define BPFPROF_STORE_KEY_LIST_H

#include <stddef.h>

struct key_list {
	char *text; /* owned */
	const char **items; /* owned, NULL-terminated: as store_query.by has them */
	size_t cnt;
};

extern const char *const no_keys[1]; /* what key_list_parse() makes of "", as items */

/* The keys of @text, "" or NULL for none. 0; -EINVAL: one of them is empty; -ENOMEM. Release with
 * key_list_deinit() in either case. */
int key_list_parse(struct key_list *list, const char *text);
void key_list_deinit(struct key_list *list);

#endif
