/* SPDX-License-Identifier: Apache-2.0 */
/* Which events `bpfprof stat` counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/stat.h"

/* What a first look at a program asks; those that do not open here are left out. */
static const char first_look[] = "task-clock,context-switches,cpu-migrations,page-faults,"
				 "cycles,instructions,branches,branch-misses";

static int add_event(struct stat_run *run, struct event_spec *spec, const struct event_scope *scope,
		     bool must_open)
{
	_cleanup_(buf_deinit) struct buf why;
	int err = array_reserve(&run->events, &run->cap, run->cnt + 1, sizeof(*run->events));

	buf_init(&why, BUF_NO_MAX);
	if (err) {
		log_error("%s", strerror(-err));
		return err;
	}
	run->events[run->cnt] = (struct stat_event){0};
	err = event_resolve(spec, scope, &run->events[run->cnt].event, &why);
	if (!err) {
		run->cnt++;
		return 0;
	}
	if (!must_open) {
		log_debug("%s", buf_cstr(&why));
		return 0;
	}
	log_error("%s", buf_error_text(&why, err));
	return err;
}

static int add_list(struct stat_run *run, const char *text, bool must_open)
{
	struct event_scope scope = {.is_counting = true};
	_cleanup_(buf_deinit) struct buf why;
	struct event_spec *specs;
	size_t cnt;
	int err;

	buf_init(&why, BUF_NO_MAX);
	/* Bare library names mean what the first process has loaded. */
	if (run->opts->tgids.cnt)
		scope.tgid = (pid_t)run->opts->tgids.items[0];
	err = event_parse(text, &specs, &cnt, &why);
	if (err) {
		log_error("%s", buf_error_text(&why, err));
		return err;
	}
	for (size_t i = 0; i < cnt && !err; i++)
		err = add_event(run, &specs[i], &scope, must_open);
	for (size_t i = 0; i < cnt; i++)
		event_spec_deinit(&specs[i]);
	free(specs);
	return err;
}

int stat_events_resolve(struct stat_run *run)
{
	const struct opts_list *events = &run->opts->events;
	int err = 0;

	for (size_t i = 0; i < events->cnt && !err; i++)
		err = add_list(run, events->items[i], true);
	if (!events->cnt)
		err = add_list(run, first_look, false);
	if (!err && !run->cnt) {
		log_error("no event opens here: run as root (see bpfprof doctor)");
		err = -EACCES;
	}
	return err;
}
