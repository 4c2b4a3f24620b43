/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles that are there, compared and told. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/diff_outputs.h"

static int join(const struct diff_opts *opts, const struct profile profiles[DIFF_SIDE_CNT],
		const char *const names[DIFF_SIDE_CNT], struct diff *diff)
{
	uint32_t values[DIFF_SIDE_CNT];
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = diff_pick_value(&profiles[DIFF_BEFORE], &profiles[DIFF_AFTER], opts->value, values,
			      &why);
	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER && !err; side++)
		err = diff_add(diff, side, &profiles[side], values[side]);
	if (!err)
		err = diff_finish(diff);
	if (!err)
		err = diff_note_names(diff, names);
	if (err)
		log_error("diff: %s", buf_error_text(&why, err));
	return err;
}

static int show(const struct diff_opts *opts, struct diff_outputs *outputs,
		const struct profile profiles[DIFF_SIDE_CNT],
		const char *const names[DIFF_SIDE_CNT], const struct diff *diff)
{
	_cleanup_(diff_report_deinit) struct diff_report report;
	int err = diff_report_init(&report, diff, (enum diff_sort)opts->sort.bits);

	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER && !err; side++) {
		report.names[side] = names[side];
		err = diff_report_facts(&report, side, &profiles[side]);
	}
	if (!err && opts->only_grown)
		diff_report_keep_grown(&report);
	if (!err)
		return diff_outputs_show(opts, outputs, &report);
	log_error("diff: %s", strerror(-err));
	return CLI_FAILED;
}

int diff_sides_show(const struct diff_opts *opts, struct diff_outputs *outputs,
		    const struct profile profiles[DIFF_SIDE_CNT],
		    const char *const names[DIFF_SIDE_CNT])
{
	_cleanup_(diff_deinit) struct diff diff;
	const char *by = opts->by && !strcmp(opts->by, "none") ? "" : opts->by;
	int err = diff_init(&diff, by, opts->normalize);

	if (err)
		log_error("diff: %s", strerror(-err));
	else
		err = join(opts, profiles, names, &diff);
	return err ? CLI_FAILED : show(opts, outputs, profiles, names, &diff);
}
