/* SPDX-License-Identifier: Apache-2.0 */
/* The full-screen `bpfprof report`: a picture, a key, and again. */
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/tui.h"

int report_tui(const struct profile *prof, const struct tui_opts *opts)
{
	_cleanup_(screen_close) struct screen screen;
	_cleanup_(tui_deinit) struct tui tui = {0};
	enum log_level level = log_get_level();
	int err = screen_open(&screen, -1);

	if (err)
		return err;
	/* What is told meanwhile would stand in the middle of the picture. */
	log_set_level(LOG_QUIET);
	err = tui_init(&tui, prof, opts);
	while (!err && !tui.is_done) {
		tui_draw(&tui, &screen);
		err = tui_key(&tui, screen_key(&screen, -1));
	}
	log_set_level(level);
	return err;
}
