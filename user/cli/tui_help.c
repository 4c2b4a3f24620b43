/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the full-screen report. */
#include "cli/tui.h"

const struct tui_help_row tui_help_rows[] = {
	{"", "Moving"},
	{"Up Down j k", "one row"},
	{"PgUp PgDn Space", "one page"},
	{"Home End", "the first row, the last one"},
	{"Esc u Backspace", "back to what was shown before; Left too, outside of trees"},
	{"q", "quit"},
	{"", ""},
	{"", "Views"},
	{"Enter r", "the callers of the selected function, upwards"},
	{"e", "its callees, downwards"},
	{"z", "zoom: only what is below it, as table or tree"},
	{"t", "the table or the tree of calls"},
	{"a", "annotate: its source lines or its instructions"},
	{"v", "the next value of the profile"},
	{"s", "sort the table by self, total or name"},
	{"", ""},
	{"", "Trees"},
	{"Enter", "unfold or fold"},
	{"Right +", "unfold, as far as nothing branches off"},
	{"Left -", "fold; Left then goes to the caller"},
	{"E C", "unfold all below; fold all below"},
	{"", ""},
	{"", "Annotated functions"},
	{"s Tab", "source lines or instructions"},
	{"H", "the line or instruction with the most"},
	{"", ""},
	{"", "Finding"},
	{"/", "search for a regular expression, ignoring case"},
	{"n N", "the next one, the one before; folded ones are unfolded"},
	{"#", "the next row that is called as the selected one"},
	{"", ""},
	{"", "A share with ~ comes from fewer than 10 samples: noise."},
};

const size_t tui_help_cnt = sizeof(tui_help_rows) / sizeof(tui_help_rows[0]);
