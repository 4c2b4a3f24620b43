/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/fleet_known.h"

#include <errno.h>

void fleet_known_init(struct fleet_known *known)
{
	*known = (struct fleet_known){.days[0].day = 0};
}

void fleet_known_deinit(struct fleet_known *known)
{
	for (size_t i = 0; i < KNOWN_DAYS; i++)
		for (size_t k = 0; k < FLEET_ENTRY_CNT; k++)
			hmap_deinit(&known->days[i].sets[k]);
}

void fleet_known_forget(struct fleet_known *known)
{
	fleet_known_deinit(known);
	fleet_known_init(known);
}

/* The sets of @day, which the one that was used the longest time ago makes room for. */
static struct fleet_known_day *day_of(struct fleet_known *known, uint16_t day)
{
	struct fleet_known_day found;
	size_t at = 0;

	while (at < KNOWN_DAYS - 1 && known->days[at].day != day)
		at++;
	found = known->days[at];
	if (found.day != day) {
		for (size_t k = 0; k < FLEET_ENTRY_CNT; k++)
			hmap_clear(&found.sets[k]);
		found.day = day;
	}
	for (; at; at--)
		known->days[at] = known->days[at - 1];
	known->days[0] = found;
	return &known->days[0];
}

/* The hash is all of the number. */
static bool is_equal(const void *owner, uint32_t index, const void *key)
{
	return true;
}

int fleet_known_add(struct fleet_known *known, uint16_t day, enum fleet_entry entry, uint64_t id)
{
	struct hmap *set = &day_of(known, day)->sets[entry];

	if (hmap_find(set, id, is_equal, NULL, NULL) != HMAP_NONE)
		return 0;
	return hmap_insert(set, id, 0) ? -ENOMEM : 1;
}
