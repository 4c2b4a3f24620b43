/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles, split at the first byte 0x1e, compared; everything that is written of it. */
#include <stdlib.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/diff_report.h"
#include "encode/encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPLIT = 0x1e };

/* All that a person could see; the totals have to agree. */
static void write_all(const struct diff *diff, const struct profile profiles[DIFF_SIDE_CNT])
{
	struct encoder_opts how = {.value = DIFF_BEFORE, .by = diff->by};
	struct diff_report report;
	struct buf out;

	buf_init(&out, 64 << 20);
	if (!diff_report_init(&report, diff, DIFF_BY_CHANGE)) {
		report.names[DIFF_BEFORE] = "before";
		report.names[DIFF_AFTER] = "after";
		report.limit = 20;
		report.fail_above = 0;
		diff_report_facts(&report, DIFF_BEFORE, &profiles[DIFF_BEFORE]);
		diff_report_facts(&report, DIFF_AFTER, &profiles[DIFF_AFTER]);
		diff_report_conclude(&report);
		diff_report_text(&report, &out);
		diff_report_markdown(&report, &out);
		diff_report_json(&report, &out);
	}
	diff_report_deinit(&report);
	for (enum diff_width width = DIFF_WIDTH_AFTER; width <= DIFF_WIDTH_SUM; width++)
		diff_svg_encode(diff, &(struct diff_svg_opts){.width = width}, &out);
	folded_encode_pair(&diff->joined, &how, DIFF_AFTER, &out);
	encoder_pprof.encode(&diff->joined, &how, &out);
	buf_deinit(&out);
}

static void compare(const struct profile profiles[DIFF_SIDE_CNT], bool normalize)
{
	uint32_t values[DIFF_SIDE_CNT];
	struct diff diff;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (!diff_init(&diff, NULL, normalize) &&
	    !diff_pick_value(&profiles[DIFF_BEFORE], &profiles[DIFF_AFTER], NULL, values, &why) &&
	    !diff_add(&diff, DIFF_BEFORE, &profiles[DIFF_BEFORE], values[DIFF_BEFORE]) &&
	    !diff_add(&diff, DIFF_AFTER, &profiles[DIFF_AFTER], values[DIFF_AFTER]) &&
	    !diff_finish(&diff))
		write_all(&diff, profiles);
	diff_deinit(&diff);
	buf_deinit(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = size ? memchr(data, SPLIT, size) : NULL;
	size_t first = split ? (size_t)(split - data) : size;
	struct profile profiles[DIFF_SIDE_CNT];
	int err;

	if (profile_init(&profiles[DIFF_BEFORE]))
		abort();
	if (profile_init(&profiles[DIFF_AFTER]))
		abort();
	err = profile_decode(data, first, &profiles[DIFF_BEFORE], NULL);
	if (!err && split)
		err = profile_decode(split + 1, size - first - 1, &profiles[DIFF_AFTER], NULL);
	if (!err) {
		compare(profiles, false);
		compare(profiles, true);
	}
	profile_deinit(&profiles[DIFF_BEFORE]);
	profile_deinit(&profiles[DIFF_AFTER]);
	return 0;
}
