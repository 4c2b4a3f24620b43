/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of folded stacks, anybody's: `root;caller;leaf 12`. The first frame becomes the label
 * "comm", so that writing the profile again gives the same lines. Two count columns are a
 * comparison (difffolded.pl); because a frame may end in a number too, they are taken as such only
 * when every line has them. Frames behind "--" are the waker's, marked "_[w]" or not.
 */
#include "encode/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/reader.h"
#include "profile/synthetic.h"

enum {
	SUFFIX_LEN = 4 /* of "_[k]" */
};

struct text {
	const char *str; /* borrowed, no NUL behind it */
	size_t len;
};

struct folded_line {
	struct text stack; /* without any count */
	struct text
		stack_and_count; /* without the last count: the stack, where it is the only one */
	int64_t counts[2]; /* counts[1] is the last column */
	bool has_two;
};

struct line_stats {
	size_t good, two, bad, first_bad; /* first_bad: line number, from 1 */
};

/* The locations of one text of a frame: in a stack of its own and in a waker's. PROFILE_NONE: there
 * was none yet. */
struct frame_locations {
	uint32_t own, waker;
};

struct folded_reader {
	struct profile *out;
	bool has_two; /* in every line */
	uint32_t comm; /* string id of the label's key */
	/* texts of frames and the locations they are; owned */
	struct strtab frames;
	struct frame_locations *frame_locations;
	size_t frame_location_cnt, frame_location_cap;
	/* scratch, owned: one line's frames, its locations, one location's lines */
	struct text *texts;
	size_t text_cnt, text_cap;
	uint32_t *stack;
	size_t stack_cnt, stack_cap;
	struct profile_line *lines;
	size_t line_cap;
};

static void folded_reader_deinit(struct folded_reader *rdr)
{
	strtab_deinit(&rdr->frames);
	free(rdr->frame_locations);
	free(rdr->texts);
	free(rdr->stack);
	free(rdr->lines);
}

static bool is_blank(char chr)
{
	return chr == ' ' || chr == '\t' || chr == '\r';
}

static bool is_digit(char chr)
{
	return chr >= '0' && chr <= '9';
}

static struct text trim_end(struct text text)
{
	while (text.len && is_blank(text.str[text.len - 1]))
		text.len--;
	return text;
}

/* "12", "-3", "0.5" (rounded, halves away from 0). False when @text is no count, or too large. */
static bool parse_count(struct text text, int64_t *out)
{
	bool is_negative = text.len && text.str[0] == '-';
	size_t at = is_negative, first = at;
	int64_t count = 0;

	for (; at < text.len && is_digit(text.str[at]); at++) {
		if (__builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, text.str[at] - '0', &count))
			return false;
	}
	if (at == first)
		return false;
	if (at < text.len && text.str[at] == '.') {
		at++;
		if (at < text.len && text.str[at] >= '5' && text.str[at] <= '9' &&
		    __builtin_add_overflow(count, 1, &count))
			return false;
		while (at < text.len && is_digit(text.str[at]))
			at++;
	}
	*out = is_negative ? -count : count;
	return at == text.len;
}

/* Split the last word off @text if it is a count and something stands before it. */
static bool split_count(struct text text, struct text *rest, int64_t *count)
{
	struct text word = trim_end(text);
	size_t begin = word.len;

	while (begin && !is_blank(word.str[begin - 1]))
		begin--;
	if (begin < 2)
		return false;
	/* one separator: further blanks belong to the frame's name */
	*rest = (struct text){.str = text.str, .len = begin - 1};
	word.str += begin;
	word.len -= begin;
	return parse_count(word, count);
}

/* False when the line has no count. */
static bool parse_line(struct text text, struct folded_line *out)
{
	struct text rest;

	if (!split_count(text, &out->stack_and_count, &out->counts[1]))
		return false;
	out->stack = out->stack_and_count;
	out->has_two = split_count(out->stack_and_count, &rest, &out->counts[0]);
	if (out->has_two)
		out->stack = rest;
	return true;
}

/* The next line that is neither empty nor a comment; counts lines in @number. */
static bool next_line(struct reader *rd, struct text *out, size_t *number)
{
	while (!reader_done(rd)) {
		out->str = reader_until(rd, '\n', &out->len);
		*out = trim_end(*out);
		(*number)++;
		if (out->len && !(out->str[0] == '#' && (out->len == 1 || out->str[1] == ' ')))
			return true;
	}
	return false;
}

static struct line_stats count_lines(struct reader rd)
{
	struct line_stats stats = {.good = 0};
	struct folded_line line;
	struct text text;
	size_t number = 0;

	while (next_line(&rd, &text, &number)) {
		if (parse_line(text, &line)) {
			stats.good++;
			stats.two += line.has_two;
		} else if (!stats.bad++) {
			stats.first_bad = number;
		}
	}
	return stats;
}

/* Cut a suffix "_[x]" off @frame; its letter, or 0. */
static char cut_suffix(struct text *frame)
{
	const char *tail;

	if (frame->len <= SUFFIX_LEN)
		return 0;
	tail = frame->str + frame->len - SUFFIX_LEN;
	if (memcmp(tail, "_[", 2) != 0 || tail[3] != ']' || !tail[2] || !strchr("kijw", tail[2]))
		return 0;
	frame->len -= SUFFIX_LEN;
	return tail[2];
}

static uint16_t suffix_flags(char letter)
{
	switch (letter) {
	case 'k':
		return LOCATION_KERNEL;
	case 'j':
		return LOCATION_JIT;
	case 'w':
		return LOCATION_WAKER;
	default:
		return 0;
	}
}

static uint32_t frame_function(struct profile *out, struct text name)
{
	struct profile_function function = {.name = profile_stringn(out, name.str, name.len)};

	function.system_name = function.name;
	return profile_function_add(out, &function);
}

/* Where the location of @frame is kept; NULL on -ENOMEM. */
static uint32_t *find_location(struct folded_reader *rdr, struct text frame, bool is_waker)
{
	uint32_t id = strtab_add(&rdr->frames, frame.str, frame.len);

	if (id == STRTAB_NONE || array_reserve(&rdr->frame_locations, &rdr->frame_location_cap,
					       (size_t)id + 1, sizeof(*rdr->frame_locations)))
		return NULL;
	while (rdr->frame_location_cnt <= id)
		rdr->frame_locations[rdr->frame_location_cnt++] =
			(struct frame_locations){PROFILE_NONE, PROFILE_NONE};
	return is_waker ? &rdr->frame_locations[id].waker : &rdr->frame_locations[id].own;
}

/* A frame on its own. One text is one location: most frames cost one look-up. */
static uint32_t frame_location(struct folded_reader *rdr, struct text frame, bool is_waker)
{
	uint32_t *known = find_location(rdr, frame, is_waker);
	struct profile *out = rdr->out;
	struct profile_line line = {.line = 0};
	struct text name = frame;
	uint16_t flags = LOCATION_SYNTHETIC;

	if (!known) {
		out->err = -ENOMEM;
		return PROFILE_NONE;
	}
	if (*known != PROFILE_NONE)
		return *known;
	if (synthetic_of(frame.str, frame.len) == SYNTHETIC_NOT) {
		flags = suffix_flags(cut_suffix(&name));
		/* With nothing that it could be inlined into, "_[i]" is part of the name. */
		if (!flags)
			name = frame;
		flags |= is_waker ? LOCATION_WAKER : 0;
	}
	line.function = frame_function(out, name);
	*known = profile_location_lines(out, PROFILE_NONE, 0, flags, &line, 1);
	return *known;
}

/* A frame and the @inlined_cnt frames inlined into it, which are the ones towards the leaf. */
static uint32_t inlined_location(struct folded_reader *rdr, const struct text *frames,
				 size_t inlined_cnt, bool is_waker)
{
	size_t cnt = inlined_cnt + 1;
	uint16_t flags = 0;

	rdr->out->err = array_reserve(&rdr->lines, &rdr->line_cap, cnt, sizeof(*rdr->lines));
	if (rdr->out->err)
		return PROFILE_NONE;
	for (size_t i = 0; i < cnt; i++) {
		struct text name = frames[i];
		char letter = cut_suffix(&name);

		if (!i)
			flags = suffix_flags(letter);
		rdr->lines[cnt - 1 - i] = (struct profile_line){
			.function = frame_function(rdr->out, i || flags ? name : frames[i]),
		};
	}
	flags |= is_waker ? LOCATION_WAKER : 0;
	return profile_location_lines(rdr->out, PROFILE_NONE, 0, flags, rdr->lines, cnt);
}

static int split_frames(struct folded_reader *rdr, struct text stack)
{
	struct reader rd;
	int err = 0;

	reader_init(&rd, stack.str, stack.len);
	rdr->text_cnt = 0;
	while (!err && !reader_done(&rd)) {
		struct text frame;

		frame.str = reader_until(&rd, ';', &frame.len);
		err = array_reserve(&rdr->texts, &rdr->text_cap, rdr->text_cnt + 1,
				    sizeof(*rdr->texts));
		if (!err)
			rdr->texts[rdr->text_cnt++] = frame;
	}
	return err;
}

/* How many frames from @at on are marked as inlined into the one before them? */
static size_t count_inlined(const struct folded_reader *rdr, size_t at)
{
	size_t cnt = 0;

	while (at + cnt < rdr->text_cnt && cnt < UINT16_MAX - 1) {
		struct text frame = rdr->texts[at + cnt];

		if (cut_suffix(&frame) != 'i')
			break;
		cnt++;
	}
	return cnt;
}

/* The frames behind the first one as a stack; they come root first, a stack is leaf first. */
static uint32_t read_stack(struct folded_reader *rdr)
{
	struct profile *out = rdr->out;
	size_t inlined_cnt, place = rdr->text_cnt;
	bool is_waker = false;

	out->err = array_reserve(&rdr->stack, &rdr->stack_cap, rdr->text_cnt, sizeof(*rdr->stack));
	if (out->err)
		return PROFILE_NONE;
	for (size_t i = 1; i < rdr->text_cnt; i += 1 + inlined_cnt) {
		struct text *frame = &rdr->texts[i];

		inlined_cnt = count_inlined(rdr, i + 1);
		rdr->stack[--place] = inlined_cnt
					      ? inlined_location(rdr, frame, inlined_cnt, is_waker)
					      : frame_location(rdr, *frame, is_waker);
		is_waker |= synthetic_of(frame->str, frame->len) == SYNTHETIC_WAKER;
	}
	return profile_stack(out, rdr->stack + place, rdr->text_cnt - place);
}

static int read_line(struct folded_reader *rdr, const struct folded_line *line)
{
	struct profile *out = rdr->out;
	struct profile_label label = {.key = rdr->comm};
	uint32_t stack, label_set;
	int err = split_frames(rdr, rdr->has_two ? line->stack : line->stack_and_count);

	if (err)
		return err;
	stack = read_stack(rdr);
	label.str = profile_stringn(out, rdr->texts[0].str, rdr->texts[0].len);
	label_set = profile_labels(out, &label, label.str == PROFILE_NONE ? 0 : 1);
	profile_sample(out, stack, label_set, line->counts + (rdr->has_two ? 0 : 1));
	return out->err;
}

static int read_lines(struct folded_reader *rdr, struct reader rd)
{
	struct folded_line line;
	struct text text;
	size_t number = 0;
	int err = 0;

	while (!err && next_line(&rd, &text, &number)) {
		if (parse_line(text, &line))
			err = read_line(rdr, &line);
	}
	return err;
}

/* 0, or -EBADMSG where this is some other text; @why tells of bad lines in both cases. */
static int judge(const struct line_stats *stats, struct buf *why)
{
	if (!stats->bad)
		return 0;
	if (why && !stats->good)
		buf_printf(why, "no folded stacks: none of %zu lines ends in a count", stats->bad);
	else if (why)
		buf_printf(why,
			   "%zu of %zu lines do not end in a count and are left out, "
			   "the first is line %zu",
			   stats->bad, stats->bad + stats->good, stats->first_bad);
	return stats->good ? 0 : -EBADMSG;
}

int folded_decode(const void *data, size_t len, struct profile *out, struct buf *why)
{
	_cleanup_(folded_reader_deinit) struct folded_reader rdr = {.out = out};
	struct line_stats stats;
	struct reader rd;
	int err;

	reader_init(&rd, data, len);
	stats = count_lines(rd);
	err = judge(&stats, why);
	if (!err)
		err = strtab_init(&rdr.frames);
	if (err)
		return err;
	rdr.has_two = stats.good && stats.two == stats.good;
	rdr.comm = profile_string(out, "comm");
	if (rdr.has_two) {
		profile_add_value_type(out, "before", "count");
		out->default_value = profile_add_value_type(out, "after", "count");
	} else {
		profile_add_value_type(out, "samples", "count");
	}
	return out->err ? out->err : read_lines(&rdr, rd);
}
