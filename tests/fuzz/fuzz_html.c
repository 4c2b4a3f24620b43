/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts made from whatever the pprof reader accepts: the trie, the binary, the facts,
 * the table; and that no text of the profile became markup. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encode/caption.h"
#include "encode/decode.h"
#include "encode/html.h"

enum { OUT_MAX_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only our own rows have tags; in JSON there are none. */
static void check_text(const struct buf *rows, const struct buf *facts)
{
	for (const char *at = buf_cstr(rows); (at = strchr(at, '<')); at++)
		if (strncmp(at, "<tr>", 4) && strncmp(at, "<td>", 4) && strncmp(at, "</t", 3))
			abort();
	if (strchr(buf_cstr(facts), '<'))
		abort();
}

static void check_parts(const struct profile *prof)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};
	struct buf binary, rows, facts;
	struct html_trie trie;

	buf_init(&binary, OUT_MAX_BYTES);
	buf_init(&rows, OUT_MAX_BYTES);
	buf_init(&facts, OUT_MAX_BYTES);
	if (!html_trie_init(&trie, prof, NULL)) {
		html_add_top(&rows, &trie.frames, caption_value(prof, &opts));
		html_add_facts(&facts, prof, &opts);
		check_text(&rows, &facts);
		html_add_binary(&binary, &trie);
	}
	html_trie_deinit(&trie);
	buf_deinit(&binary);
	buf_deinit(&rows);
	buf_deinit(&facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile prof;
	struct buf why;

	if (profile_init(&prof))
		return 0;
	buf_init(&why, BUF_NO_MAX);
	if (!pprof_decode(data, size, &prof, &why))
		check_parts(&prof);
	buf_deinit(&why);
	profile_deinit(&prof);
	return 0;
}
