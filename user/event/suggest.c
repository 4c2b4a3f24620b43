/* SPDX-License-Identifier: Apache-2.0 */
/* One search for the nearest name after another: what a place gives up is offered to the next. */
#include "event/suggest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void suggest_init(struct suggest *suggest, const char *typed)
{
	for (size_t i = 0; i < SUGGEST_CNT; i++)
		nearest_init(&suggest->places[i], typed);
}

void suggest_deinit(struct suggest *suggest)
{
	for (size_t i = 0; i < SUGGEST_CNT; i++)
		free((char *)suggest->places[i].best);
	*suggest = (struct suggest){0};
}

/* Could @name be near enough for the last place? Lengths alone tell of most, and are cheap. */
static bool is_worth_it(const struct nearest *last, const char *name)
{
	size_t typed_len = strlen(last->typed);
	size_t name_len = strnlen(name, typed_len + last->distance + 1);

	if (typed_len >= 3 && !strncmp(last->typed, name, typed_len))
		return true;
	return name_len + last->distance > typed_len && name_len < typed_len + last->distance;
}

void suggest_offer(struct suggest *suggest, const char *name)
{
	char *moving;

	if (!is_worth_it(&suggest->places[SUGGEST_CNT - 1], name))
		return;
	for (size_t i = 0; i < SUGGEST_CNT; i++) {
		if (suggest->places[i].best && !strcmp(suggest->places[i].best, name))
			return;
	}
	moving = strdup(name);
	for (size_t i = 0; i < SUGGEST_CNT && moving; i++) {
		struct nearest *place = &suggest->places[i];
		char *before = (char *)place->best;

		nearest_offer(place, moving);
		if (place->best == moving)
			moving = before;
	}
	free(moving);
}

void suggest_print(const struct suggest *suggest, struct buf *out)
{
	for (size_t i = 0; i < SUGGEST_CNT && suggest->places[i].best; i++)
		buf_printf(out, "%s%s", i ? ", " : "; near it: ", suggest->places[i].best);
}
