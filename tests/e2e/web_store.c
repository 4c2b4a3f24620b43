/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_store STORE PROFILE SECONDS_AGO...: a store with a window of ten seconds for each
 * SECONDS_AGO, all with the samples of PROFILE (any format that is read), as kind "cpu".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "encode/decode.h"
#include "store/store.h"

enum { WINDOW_S = 10 };

static int read_profile(const char *path, struct profile *out)
{
	_cleanup_(buf_deinit) struct buf data;
	int err;

	buf_init(&data, BUF_NO_MAX);
	err = fs_read_file(path, &data);
	if (!err)
		err = profile_init(out);
	return err ? err : profile_decode(data.data, data.len, out, NULL);
}

/* One event, as many ticks as the profile has samples: the books balance. */
static void make_ledger(const struct profile *prof, struct ledger *out)
{
	struct ledger_event *event = &out->events[0];

	ledger_init(out);
	out->event_cnt = 1;
	out->duration_s = WINDOW_S;
	ledger_copy_name(event->name, sizeof(event->name), "cpu-clock");
	ledger_copy_name(event->unit, sizeof(event->unit), "samples");
	event->sum.cpu = -1;
	event->sum.recorded = (uint64_t)profile_total(prof, 0);
	event->sum.ran = event->sum.ticks = event->sum.recorded;
}

static int add_window(struct store *store, const struct profile *prof, const char *ago,
		      size_t number)
{
	struct store_kind kind = {.name = "cpu",
				  .column_cnt = prof->value_type_cnt,
				  .default_column = prof->default_value};
	struct store_window window = {.origin = {.boot_id = "00000000-0000-0000-0000-000000000000",
						 .instance = 1,
						 .epoch = number},
				      .prof = prof,
				      .kinds = &kind,
				      .kind_cnt = 1};
	struct ledger ledger;
	uint64_t seconds;
	int err = parse_u64(ago, &seconds);

	if (err)
		return err;
	for (uint32_t i = 0; i < kind.column_cnt; i++)
		kind.columns[i] = i;
	make_ledger(prof, &ledger);
	window.ledger = &ledger;
	window.start_ns = clock_realtime_ns() - seconds * NSEC_PER_SEC;
	window.end_ns = window.start_ns + WINDOW_S * NSEC_PER_SEC;
	err = store_add(store, &window, NULL);
	ledger_deinit(&ledger);
	return err;
}

int main(int argc, char **argv)
{
	struct profile prof = {0};
	struct store *store = NULL;
	int err = argc > 3 ? read_profile(argv[2], &prof) : -EINVAL;

	if (!err)
		err = store_open(argv[1], STORE_WRITE, &store);
	for (int i = 3; i < argc && !err; i++)
		err = add_window(store, &prof, argv[i], (size_t)i);
	if (store)
		store_close(store);
	profile_deinit(&prof);
	if (err)
		fprintf(stderr, "web_store: %s\n", strerror(-err));
	return err != 0;
}
