/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's reader. What it accepts prints as one line, can be summed, and once written is read
 * and written as the same bytes (the first writing may repair names that are not UTF-8).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Write @ledger, and read the text as @out. */
static void rewrite(const struct ledger *ledger, struct ledger *out, struct buf *text)
{
	buf_init(text, BUF_NO_MAX);
	ledger_to_json(ledger, text);
	if (ledger_from_json(text->data, text->len, out))
		abort();
}

static void check_line(const struct ledger *ledger)
{
	struct buf line;

	buf_init(&line, BUF_NO_MAX);
	ledger_format_line(ledger, &line);
	for (size_t i = 0; i < line.len; i++) {
		if ((uint8_t)line.data[i] < ' ')
			abort();
	}
	buf_deinit(&line);
}

static void check(const struct ledger *ledger)
{
	struct ledger second, third;
	struct buf first_text, second_text, third_text;

	check_line(ledger);
	rewrite(ledger, &second, &first_text);
	rewrite(&second, &third, &second_text);
	buf_init(&third_text, BUF_NO_MAX);
	ledger_to_json(&third, &third_text);
	if (second_text.len != third_text.len ||
	    memcmp(second_text.data, third_text.data, second_text.len) != 0)
		abort();
	ledger_merge(&third, ledger);
	ledger_is_strictly_clean(&third);
	ledger_deinit(&second);
	ledger_deinit(&third);
	buf_deinit(&first_text);
	buf_deinit(&second_text);
	buf_deinit(&third_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ledger ledger;

	if (!ledger_from_json((const char *)data, size, &ledger)) {
		check(&ledger);
		ledger_deinit(&ledger);
	}
	return 0;
}
