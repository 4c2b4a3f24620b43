/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/fleet_frame.h"

#include <stddef.h>

const struct native_column fleet_frame_columns[FLEET_FRAME_COLUMN_CNT] = {
	{"day", NATIVE_DATE},
	{"frame", NATIVE_U64},
	{"flags", NATIVE_U16},
	{"path", NATIVE_TEXT},
	{"build_id", NATIVE_TEXT},
	{"address", NATIVE_U64},
	{"names", NATIVE_TEXT_ARRAY},
	{"system_names", NATIVE_TEXT_ARRAY},
	{"files", NATIVE_TEXT_ARRAY},
	{"lines", NATIVE_U32_ARRAY},
	{"start_lines", NATIVE_U32_ARRAY},
	{"named", NATIVE_U8},
};

uint8_t fleet_frame_named(const struct profile *prof, uint32_t location)
{
	const struct profile_location *loc = &prof->locations[location];
	const uint32_t lined_max = UINT8_MAX - FLEET_NAMED_LINES;

	for (uint32_t i = 0; i < loc->line_cnt; i++)
		if (prof->lines[loc->first_line + i].line)
			return (uint8_t)(FLEET_NAMED_LINES +
					 (loc->line_cnt < lined_max ? loc->line_cnt : lined_max));
	if (profile_location_is_bare(prof, location))
		return 0;
	return (uint8_t)(loc->line_cnt < FLEET_NAMED_ASKED ? loc->line_cnt : FLEET_NAMED_ASKED - 1);
}

/* A column of arrays: one of the strings of each line's function. */
static void add_strings(struct native_block *block, const struct profile *prof,
			const struct profile_location *loc, size_t member)
{
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const uint32_t function = prof->lines[loc->first_line + i].function;
		const char *func = (const char *)&prof->functions[function];

		native_element_str(block, profile_str(prof, *(const uint32_t *)(func + member)));
	}
	native_end_array(block);
}

void fleet_frame_add(struct native_block *block, const struct fleet_frame *frame,
		     const struct profile *prof, uint32_t location)
{
	const struct profile_location *loc = &prof->locations[location];

	native_add(block, frame->day);
	native_add(block, frame->frame);
	native_add(block, loc->flags);
	native_add_str(block, frame->path);
	native_add_str(block, frame->build_id);
	native_add(block, frame->address);
	add_strings(block, prof, loc, offsetof(struct profile_function, name));
	add_strings(block, prof, loc, offsetof(struct profile_function, system_name));
	add_strings(block, prof, loc, offsetof(struct profile_function, file));
	for (uint32_t i = 0; i < loc->line_cnt; i++)
		native_element(block, prof->lines[loc->first_line + i].line);
	native_end_array(block);
	for (uint32_t i = 0; i < loc->line_cnt; i++)
		native_element(
			block,
			prof->functions[prof->lines[loc->first_line + i].function].start_line);
	native_end_array(block);
	native_add(block, frame->named);
}
