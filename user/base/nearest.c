/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": the name nearest to a mistyped one. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { WORD_MAX = 63 };

static uint32_t min3(uint32_t one, uint32_t two, uint32_t three)
{
	uint32_t least = one < two ? one : two;

	return least < three ? least : three;
}

uint32_t edit_distance(const char *from, const char *into)
{
	size_t from_len = strlen(from), into_len = strlen(into);
	uint32_t rows[3][WORD_MAX + 1]; /* the last two rows of the table and the one being made */

	if (from_len > WORD_MAX || into_len > WORD_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= into_len; j++)
		rows[0][j] = (uint32_t)j;
	for (size_t i = 1; i <= from_len; i++) {
		uint32_t *row = rows[i % 3];
		const uint32_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= into_len; j++) {
			bool same = from[i - 1] == into[j - 1];

			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
			if (i > 1 && j > 1 && from[i - 1] == into[j - 2] &&
			    from[i - 2] == into[j - 1] && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return rows[from_len % 3][into_len];
}

void nearest_init(struct nearest *nearest, const char *typed)
{
	/* A third of the word may be wrong: more, and the guess insults rather than helps. */
	*nearest = (struct nearest){
		.typed = typed,
		.distance = (uint32_t)strlen(typed) / 3 + 1,
	};
}

/* Below every real distance: what was typed is the beginning of the name. */
static uint32_t likeness(const char *typed, const char *name)
{
	size_t len = strlen(typed);

	if (len >= 3 && !strncmp(typed, name, len))
		return 0;
	return edit_distance(typed, name);
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	uint32_t distance = likeness(nearest->typed, name);

	if (distance >= nearest->distance)
		return;
	nearest->distance = distance;
	nearest->best = name;
}
