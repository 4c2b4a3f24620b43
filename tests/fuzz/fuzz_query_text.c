/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: points in time, conditions on labels and lists of keys, as a command line or a URL
 * brings them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_time.h"
#include "store/key_list.h"
#include "store/match_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define NOW_NS UINT64_C(1795176000000000000)
#define UNTOUCHED UINT64_C(0x5a5a5a)

static void check_time(const char *text)
{
	uint64_t value = UNTOUCHED;
	int err = parse_time_ns(text, NOW_NS, &value);

	if (err && ((err != -EINVAL && err != -ERANGE) || value != UNTOUCHED))
		abort();
}

/* What was accepted is what stands there: joined again it is the text. */
static void check_matches(const char *text)
{
	struct match_list list = {0};
	struct buf why, joined;
	int err;

	buf_init(&why, BUF_NO_MAX);
	buf_init(&joined, BUF_NO_MAX);
	err = match_list_parse(&list, text, &why);
	if (err ? !why.len : why.len)
		abort();
	if (list.cnt > MATCHES_MAX)
		abort();
	for (size_t i = 0; i < list.cnt; i++)
		buf_printf(&joined, "%s%s=%s", i ? "," : "", list.items[i].key, list.items[i].glob);
	if (!err && strcmp(buf_cstr(&joined), text))
		abort();
	match_list_deinit(&list);
	buf_deinit(&why);
	buf_deinit(&joined);
}

/* The same of keys, none of which is empty. */
static void check_keys(const char *text)
{
	struct key_list list = {0};
	struct buf joined;
	int err = key_list_parse(&list, text);

	buf_init(&joined, BUF_NO_MAX);
	if (err && err != -EINVAL)
		abort();
	for (size_t i = 0; i < list.cnt; i++) {
		if (!list.items[i][0])
			abort();
		buf_printf(&joined, "%s%s", i ? "," : "", list.items[i]);
	}
	if (!err && (strcmp(buf_cstr(&joined), text) || list.items[list.cnt]))
		abort();
	key_list_deinit(&list);
	buf_deinit(&joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = strndup((const char *)data, len);

	if (!text)
		abort();
	check_time(text);
	check_matches(text);
	check_keys(text);
	free(text);
	return 0;
}
