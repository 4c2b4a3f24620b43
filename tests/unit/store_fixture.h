/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a folder of its own, and windows for it. Include it after cmocka. */
#ifndef BPFPROF_TESTS_STORE_FIXTURE_H
#define BPFPROF_TESTS_STORE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "random_profile.h"
#include "scratch.h"
#include "store/store.h"

/* 2026-11-20 12:00:00 UTC */
#define STORE_NOON_NS (1795176000 * NSEC_PER_SEC)
#define STORE_WINDOW_NS (10 * NSEC_PER_SEC)

struct store_folder {
	char folder[64];
	char path[96];
};

static inline void store_folder_make(struct store_folder *out)
{
	snprintf(out->folder, sizeof(out->folder), "/tmp/bpfprof-store-XXXXXX");
	assert_non_null(mkdtemp(out->folder));
	snprintf(out->path, sizeof(out->path), "%s/store.db", out->folder);
}

static inline void store_folder_remove(const struct store_folder *folder)
{
	remove_tree(folder->folder);
}

static inline struct store *store_must_open(const struct store_folder *folder, enum store_mode mode)
{
	struct store *store = NULL;

	assert_int_equal(store_open(folder->path, mode, &store), 0);
	return store;
}

/* Both values of random_profile() as one kind. */
static const struct store_kind store_cpu_kind = {
	.name = "cpu",
	.columns = {0, 1},
	.column_cnt = 2,
	.default_column = 0,
};

/* Store @prof as the window number @nr of one boot; what store_add() says. */
static inline int store_add_nr(struct store *store, const struct profile *prof, uint64_t nr)
{
	struct store_window window = {
		.origin = {.boot_id = "0f0f0f0f-0000-4000-8000-000000000001",
			   .instance = 7,
			   .epoch = nr},
		.start_ns = STORE_NOON_NS + nr * STORE_WINDOW_NS,
		.end_ns = STORE_NOON_NS + (nr + 1) * STORE_WINDOW_NS,
		.prof = prof,
		.kinds = &store_cpu_kind,
		.kind_cnt = 1,
	};
	struct ledger ledger;
	int err;

	sample_ledger(&ledger);
	window.ledger = &ledger;
	err = store_add(store, &window, NULL);
	ledger_deinit(&ledger);
	return err;
}

/* What store_add_random() stores as window @nr. None of its values is time that was sampled, which
 * compaction shares out. */
static inline void store_random_profile(struct profile *prof, uint64_t nr)
{
	random_profile(prof, nr * 77 + 1);
	prof->period_type = prof->value_types[0];
}

/* Windows [@first, @end) of random profiles, each of which is also merged into @sum (may be NULL).
 */
static inline void store_add_random(struct store *store, uint64_t first, uint64_t end,
				    struct profile *sum)
{
	for (uint64_t nr = first; nr < end; nr++) {
		struct profile prof;

		store_random_profile(&prof, nr);
		assert_int_equal(store_add_nr(store, &prof, nr), 0);
		if (sum)
			assert_int_equal(profile_merge(sum, &prof), 0);
		profile_deinit(&prof);
	}
}

/* What differs by design between a merged profile and one that was read: times, comments. */
static inline void store_forget_header(struct profile *prof)
{
	prof->time_ns = prof->duration_ns = 0;
	prof->period = 0;
	prof->comment_cnt = 0;
}

/* Everything of a kind, at any time. */
static const struct store_query store_everything = {.to_ns = UINT64_MAX, .kind = "cpu"};

#endif
