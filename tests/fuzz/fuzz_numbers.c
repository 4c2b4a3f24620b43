/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: numbers, sizes, durations, and lists of CPUs as the kernel and people write them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "proc/switches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { UNTOUCHED = 0x5a5a5a };

static void check_value(int (*parse)(const char *str, uint64_t *out), const char *text)
{
	uint64_t value = UNTOUCHED;
	int err = parse(text, &value);

	if (err && ((err != -EINVAL && err != -ERANGE) || value != UNTOUCHED))
		abort();
}

static void check_set(const char *text)
{
	struct number_set set = {0};
	int err = number_set_parse(&set, text);

	if (err && err != -EINVAL && err != -ERANGE)
		abort();
	for (size_t i = 0; !err && i < set.cnt; i++)
		if ((i && set.items[i - 1] >= set.items[i]) || !number_set_has(&set, set.items[i]))
			abort();
	number_set_deinit(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = strndup((const char *)data, len);

	if (!text)
		abort();
	check_value(parse_u64, text);
	check_value(parse_bytes, text);
	check_value(parse_count, text);
	check_value(parse_duration_ns, text);
	check_set(text);
	if (switches_parse((const char *)data, len) && !memmem(data, len, "ctxt ", 5))
		abort();
	free(text);
	return 0;
}
