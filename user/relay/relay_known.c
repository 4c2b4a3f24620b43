/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_known.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "clickhouse/native_read.h"

enum { ENTRIES_MAX = 4 << 20 /* 64 bytes each, as sets grow */ };

void relay_known_init(struct relay_known *known)
{
	known->cnt = 0;
	fleet_known_init(&known->sent);
}

void relay_known_deinit(struct relay_known *known)
{
	fleet_known_deinit(&known->sent);
}

void relay_known_forget(struct relay_known *known)
{
	fleet_known_forget(&known->sent);
	known->cnt = 0;
}

/* What the rows of a table are told apart by, besides their day: columns. */
static const struct entry_kind {
	enum fleet_block block;
	enum fleet_entry entry;
	/* A frame's names come later than the frame; sources are a host's own. */
	const char *id, *other; /* other: NULL: none */
} entry_kinds[] = {
	{FLEET_FRAMES, FLEET_FRAME, "frame", "named"},
	{FLEET_STACKS, FLEET_STACK, "stack", NULL},
	{FLEET_SOURCES, FLEET_SOURCE, "src", "host"},
};

static const struct entry_kind *find_kind(enum fleet_block block)
{
	for (size_t i = 0; i < sizeof(entry_kinds) / sizeof(*entry_kinds); i++)
		if (entry_kinds[i].block == block)
			return &entry_kinds[i];
	return NULL;
}

/* Note the rows of @rows, and which are new. */
static int note_rows(struct relay_known *known, const struct entry_kind *kind,
		     const struct native_block *rows, bool *is_new)
{
	const size_t day = native_column_of(rows->table, "day");
	const size_t id_column = native_column_of(rows->table, kind->id);
	const size_t other = kind->other ? native_column_of(rows->table, kind->other) : 0;

	for (uint64_t i = 0; i < rows->row_cnt; i++) {
		uint64_t id = native_number(rows, id_column, i);
		int added;

		if (kind->other)
			id = hash_mix(id, native_number(rows, other, i));
		added = fleet_known_add(&known->sent, (uint16_t)native_number(rows, day, i),
					kind->entry, id);
		if (added < 0)
			return added;
		is_new[i] = added;
		known->cnt += (size_t)added;
	}
	return 0;
}

int relay_known_choose(struct relay_known *known, enum fleet_block block,
		       const struct native_block *rows, bool **keep)
{
	const struct entry_kind *kind = find_kind(block);
	_cleanup_free_ bool *is_new = NULL;
	int err;

	*keep = NULL;
	if (!kind || !rows->row_cnt)
		return 0;
	is_new = calloc(rows->row_cnt, sizeof(*is_new));
	if (!is_new)
		return -ENOMEM;
	if (known->cnt > ENTRIES_MAX)
		relay_known_forget(known);
	err = note_rows(known, kind, rows, is_new);
	*keep = err ? NULL : take_ptr(is_new);
	return err;
}
