/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: one line per distinct stack, root first, as flamegraph.pl and its kin read them.
 *
 * A line is held as a row of frame ids, each id a distinct frame text, so that equal lines are
 * found by comparing numbers and the text is written once, straight into the output. The order is
 * that of the written bytes (LC_ALL=C sort), so that equal profiles give equal files.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/frame_name.h"
#include "encode/text.h"

enum {
	/*
	 * The most frames in all lines together, 512 MiB of ids: it bounds what a small hostile
	 * file can ask for, which may name a location of 65,535 lines again and again.
	 */
	FOLDED_FRAMES_MAX = 1 << 27
};

/* The most bytes of output: long names in deep stacks are another way to ask for too much. */
static const uint64_t FOLDED_BYTES_MAX = 1ULL << 32;

static const char NO_STACK[] = "[no stack]";

/* Texts of one location or label set: ids[first .. first + cnt), root first. */
struct span {
	uint32_t first, cnt;
};

struct line {
	size_t first; /* in frames */
	uint32_t cnt;
	int64_t value, second; /* second: of a line that has two columns */
};

struct folder {
	const struct profile *prof;
	const struct encoder_opts *opts;
	uint32_t value; /* index of the value type */
	uint32_t second; /* of the second column; PROFILE_NONE: there is none */
	struct strtab texts; /* of frames, as written */
	struct buf raw, scratch; /* a text as it is recorded and as it is written */
	/* all owned */
	uint32_t *location_ids; /* frames of all locations */
	size_t location_id_cnt, location_id_cap;
	struct span *locations; /* per location of the profile */
	uint32_t *processes; /* per label set: its first frame, or STRTAB_NONE */
	uint32_t *frames; /* of all lines */
	size_t frame_cnt, frame_cap;
	struct line *lines;
	size_t line_cnt, line_cap;
	struct hmap line_index;
};

static void folder_deinit(struct folder *folder)
{
	strtab_deinit(&folder->texts);
	buf_deinit(&folder->raw);
	buf_deinit(&folder->scratch);
	free(folder->location_ids);
	free(folder->locations);
	free(folder->processes);
	free(folder->frames);
	free(folder->lines);
	hmap_deinit(&folder->line_index);
}

/* The id of the text in scratch; STRTAB_NONE when memory runs out. */
static uint32_t intern_scratch(struct folder *folder)
{
	if (folder->raw.err || folder->scratch.err)
		return STRTAB_NONE;
	return strtab_add(&folder->texts, buf_cstr(&folder->scratch), folder->scratch.len);
}

static const char *suffix(const struct folder *folder, uint16_t flags, bool is_inlined)
{
	if (!folder->opts->annotate || flags & LOCATION_SYNTHETIC)
		return "";
	if (is_inlined)
		return "_[i]";
	if (flags & LOCATION_WAKER)
		return "_[w]";
	if (flags & LOCATION_KERNEL)
		return "_[k]";
	return flags & LOCATION_JIT ? "_[j]" : "";
}

/* Append the frame of @loc's line @line (the last is the function that the others are inlined in).
 */
static int add_location_frame(struct folder *folder, const struct profile_location *loc,
			      uint32_t location, uint32_t line)
{
	uint32_t id;
	int err;

	buf_reset(&folder->raw);
	buf_reset(&folder->scratch);
	frame_add_name(folder->prof, location, line, &folder->raw);
	text_add_frame(&folder->scratch, buf_cstr(&folder->raw), folder->raw.len);
	buf_add_str(&folder->scratch, suffix(folder, loc->flags, line + 1 < loc->line_cnt));
	id = intern_scratch(folder);
	if (id == STRTAB_NONE)
		return -ENOMEM;
	err = array_reserve(&folder->location_ids, &folder->location_id_cap,
			    folder->location_id_cnt + 1, sizeof(*folder->location_ids));
	if (!err)
		folder->location_ids[folder->location_id_cnt++] = id;
	return err;
}

/* Name every frame once, root first within a location. */
static int format_locations(struct folder *folder)
{
	const struct profile *prof = folder->prof;
	const struct profile_location *loc;
	int err = 0;

	folder->locations = calloc(prof->location_cnt + 1, sizeof(*folder->locations));
	if (!folder->locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->location_cnt; i++) {
		loc = &prof->locations[i];
		folder->locations[i].first = (uint32_t)folder->location_id_cnt;
		folder->locations[i].cnt = loc->line_cnt ? loc->line_cnt : 1;
		if (folder->location_id_cnt > FOLDED_FRAMES_MAX)
			return -EFBIG;
		for (uint32_t line = folder->locations[i].cnt; !err && line-- > 0;)
			err = add_location_frame(folder, loc, i, line);
		if (err)
			return err;
	}
	return 0;
}

static int format_processes(struct folder *folder)
{
	size_t cnt = folder->prof->label_set_cnt;

	folder->processes = calloc(cnt + 1, sizeof(*folder->processes));
	if (!folder->processes)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		folder->processes[i] = STRTAB_NONE;
		buf_reset(&folder->raw);
		buf_reset(&folder->scratch);
		if (!frame_add_process(folder->prof, i, folder->opts->by, &folder->raw))
			continue;
		text_add_frame(&folder->scratch, buf_cstr(&folder->raw), folder->raw.len);
		folder->processes[i] = intern_scratch(folder);
		if (folder->processes[i] == STRTAB_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int push_frames(struct folder *folder, const uint32_t *ids, size_t cnt)
{
	int err;

	if (cnt > FOLDED_FRAMES_MAX - folder->frame_cnt)
		return -EFBIG;
	err = array_reserve(&folder->frames, &folder->frame_cap, folder->frame_cnt + cnt,
			    sizeof(*folder->frames));
	if (err)
		return err;
	memcpy(folder->frames + folder->frame_cnt, ids, cnt * sizeof(*ids));
	folder->frame_cnt += cnt;
	return 0;
}

/* Append the frames of @sample, root first. */
static int push_sample(struct folder *folder, const struct profile_sample *sample)
{
	const struct profile *prof = folder->prof;
	const struct profile_stack *stack = &prof->stacks[sample->stack];
	uint32_t process = folder->processes[sample->label_set], no_stack;
	const struct span *span;
	int err = 0;

	if (process != STRTAB_NONE)
		err = push_frames(folder, &process, 1);
	for (uint32_t i = stack->cnt; !err && i-- > 0;) {
		span = &folder->locations[prof->stack_locations[stack->first + i]];
		err = push_frames(folder, folder->location_ids + span->first, span->cnt);
	}
	if (err || stack->cnt || process != STRTAB_NONE)
		return err;
	/* A line has to have a frame. */
	no_stack = strtab_add(&folder->texts, NO_STACK, strlen(NO_STACK));
	return no_stack == STRTAB_NONE ? -ENOMEM : push_frames(folder, &no_stack, 1);
}

static bool line_equal(const void *owner, uint32_t index, const void *key)
{
	const struct folder *folder = owner;
	const struct line *known = &folder->lines[index], *wanted = key;

	return known->cnt == wanted->cnt &&
	       !memcmp(folder->frames + known->first, folder->frames + wanted->first,
		       wanted->cnt * sizeof(*folder->frames));
}

/* Add @value and @second to the line of @sample; a line that is known gives its frames back. */
static int add_line(struct folder *folder, const struct profile_sample *sample, int64_t value,
		    int64_t second)
{
	struct line wanted = {.first = folder->frame_cnt, .value = value, .second = second};
	uint64_t hash;
	uint32_t known;
	int err = push_sample(folder, sample);

	if (err)
		return err;
	wanted.cnt = (uint32_t)(folder->frame_cnt - wanted.first);
	hash = hash_bytes(folder->frames + wanted.first, wanted.cnt * sizeof(*folder->frames));
	known = hmap_find(&folder->line_index, hash, line_equal, folder, &wanted);
	if (known != HMAP_NONE) {
		folder->lines[known].value = profile_value_sum(folder->lines[known].value, value);
		folder->lines[known].second =
			profile_value_sum(folder->lines[known].second, second);
		folder->frame_cnt = wanted.first;
		return 0;
	}
	err = array_reserve(&folder->lines, &folder->line_cap, folder->line_cnt + 1,
			    sizeof(*folder->lines));
	if (!err)
		err = hmap_insert(&folder->line_index, hash, (uint32_t)folder->line_cnt);
	if (!err)
		folder->lines[folder->line_cnt++] = wanted;
	return err;
}

static int add_lines(struct folder *folder)
{
	const struct profile *prof = folder->prof;
	int64_t value, second = 0;
	int err = 0;

	for (size_t i = 0; !err && i < prof->sample_cnt; i++) {
		value = prof->values[i * prof->value_type_cnt + folder->value];
		if (folder->second != PROFILE_NONE)
			second = prof->values[i * prof->value_type_cnt + folder->second];
		if (value || second)
			err = add_line(folder, &prof->samples[i], value, second);
	}
	return err;
}

/* The order of "@last VALUE" at the end of a line against @other, a frame text that begins with
 * "@last " itself. */
static int compare_value(int64_t value, const char *other, char after_other)
{
	char text[32];
	size_t len, other_len = strlen(other);
	int order;

	snprintf(text, sizeof(text), "%" PRId64, value);
	len = strlen(text);
	order = memcmp(text, other, len < other_len ? len : other_len);
	if (order || len <= other_len)
		return order ? order : -1;
	return text[other_len] - after_other;
}

/*
 * The order of two lines as they are written, decided where they first differ. A frame that is a
 * prefix of the other is followed by ';', or at the line's end by ' ' and the value. No frame
 * contains ';', so only the latter may go on like the other frame does.
 */
static int compare_lines(const void *left_ptr, const void *right_ptr, void *folder_ptr)
{
	const struct folder *folder = folder_ptr;
	const struct line *left = left_ptr, *right = right_ptr;
	const uint32_t *left_ids = folder->frames + left->first;
	const uint32_t *right_ids = folder->frames + right->first;
	uint32_t at = 0, least = left->cnt < right->cnt ? left->cnt : right->cnt;
	const char *left_text, *right_text;
	bool left_ends, right_ends;
	size_t same = 0;

	while (at < least && left_ids[at] == right_ids[at])
		at++;
	if (at == least) /* "a 1" is before "a;b 1" */
		return (left->cnt > right->cnt) - (left->cnt < right->cnt);
	left_text = strtab_get(&folder->texts, left_ids[at]);
	right_text = strtab_get(&folder->texts, right_ids[at]);
	left_ends = at + 1 == left->cnt;
	right_ends = at + 1 == right->cnt;
	while (left_text[same] && left_text[same] == right_text[same])
		same++;
	if (!left_text[same] && left_ends && right_text[same] == ' ')
		return compare_value(left->value, right_text + same + 1, right_ends ? ' ' : ';');
	if (!right_text[same] && right_ends && left_text[same] == ' ')
		return -compare_value(right->value, left_text + same + 1, left_ends ? ' ' : ';');
	return (uint8_t)(left_text[same] ? left_text[same]
			 : left_ends	 ? ' '
					 : ';') -
	       (uint8_t)(right_text[same] ? right_text[same]
			 : right_ends	  ? ' '
					  : ';');
}

static void write_line(const struct folder *folder, const struct line *line, struct buf *out)
{
	const uint32_t *ids = folder->frames + line->first;

	for (uint32_t i = 0; i < line->cnt; i++) {
		if (i)
			buf_add_char(out, ';');
		buf_add_str(out, strtab_get(&folder->texts, ids[i]));
	}
	buf_printf(out, " %" PRId64, line->value);
	if (folder->second != PROFILE_NONE)
		buf_printf(out, " %" PRId64, line->second);
	buf_add_char(out, '\n');
}

/* -EFBIG when the text would be beyond all measure; found out before any of it is written. */
static int check_size(const struct folder *folder)
{
	_cleanup_free_ uint32_t *lens = malloc(folder->texts.cnt * sizeof(*lens));
	uint64_t total = 0;

	if (!lens)
		return -ENOMEM;
	for (uint32_t i = 0; i < folder->texts.cnt; i++)
		lens[i] = (uint32_t)strlen(strtab_get(&folder->texts, i)) + 1;
	for (size_t i = 0; i < folder->frame_cnt; i++)
		total += lens[folder->frames[i]];
	return total > FOLDED_BYTES_MAX ? -EFBIG : 0;
}

static int fold(struct folder *folder, struct buf *out)
{
	int err = strtab_init(&folder->texts);

	if (!err)
		err = format_locations(folder);
	if (!err)
		err = format_processes(folder);
	if (!err)
		err = add_lines(folder);
	if (!err)
		err = check_size(folder);
	if (err)
		return err;
	if (folder->line_cnt)
		qsort_r(folder->lines, folder->line_cnt, sizeof(*folder->lines), compare_lines,
			folder);
	for (size_t i = 0; i < folder->line_cnt && !out->err; i++) {
		/* samples may cancel out in the difference of two profiles */
		if (folder->lines[i].value || folder->lines[i].second)
			write_line(folder, &folder->lines[i], out);
	}
	return out->err;
}

int folded_encode_pair(const struct profile *prof, const struct encoder_opts *opts, uint32_t second,
		       struct buf *out)
{
	_cleanup_(folder_deinit) struct folder folder = {
		.prof = prof,
		.opts = opts,
		.second = second,
	};

	buf_init(&folder.raw, BUF_NO_MAX);
	buf_init(&folder.scratch, BUF_NO_MAX);
	hmap_init(&folder.line_index);
	if (prof->err)
		return prof->err;
	folder.value = opts->value == PROFILE_NONE ? prof->default_value : opts->value;
	if (!prof->sample_cnt)
		return out->err;
	if (folder.value >= prof->value_type_cnt ||
	    (second != PROFILE_NONE && second >= prof->value_type_cnt))
		return -EINVAL;
	return fold(&folder, out);
}

static int folded_encode(const struct profile *prof, const struct encoder_opts *opts,
			 struct buf *out)
{
	return folded_encode_pair(prof, opts, PROFILE_NONE, out);
}

const struct encoder encoder_folded = {
	.name = "folded",
	.extension = ".folded",
	.help = "folded stacks: one line per stack, root first, then the value",
	.is_one_value = true,
	.encode = folded_encode,
};
