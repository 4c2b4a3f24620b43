/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that were read, as value types of one profile. */
#include "store/kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kinds_deinit(struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->cnt; i++)
		profile_deinit(&kinds->items[i].types);
	free(kinds->items);
	*kinds = (struct kinds){.cnt = 0};
}

static uint32_t find_type(const struct profile *prof, const char *type, const char *unit)
{
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		if (!strcmp(profile_str(prof, prof->value_types[i].type), type) &&
		    !strcmp(profile_str(prof, prof->value_types[i].unit), unit))
			return i;
	return PROFILE_NONE;
}

int kinds_take_types(const struct kinds *kinds, struct profile *prof, kind_values *value_at)
{
	for (size_t k = 0; k < kinds->cnt; k++) {
		const struct profile *types = &kinds->items[k].types;

		for (uint32_t i = 0; i < types->value_type_cnt; i++) {
			const char *type = profile_str(types, types->value_types[i].type);
			const char *unit = profile_str(types, types->value_types[i].unit);
			uint32_t at = find_type(prof, type, unit);

			value_at[k][i] =
				at != PROFILE_NONE ? at : profile_add_value_type(prof, type, unit);
		}
		/* Of rates that differ none is that of the sum. */
		if (k) {
			if (prof->period != types->period)
				prof->period = 0;
			continue;
		}
		prof->default_value = types->default_value;
		prof->period = types->period;
		prof->period_type.type =
			profile_string(prof, profile_str(types, types->period_type.type));
		prof->period_type.unit =
			profile_string(prof, profile_str(types, types->period_type.unit));
	}
	return prof->err == -EINVAL ? -E2BIG : prof->err;
}
