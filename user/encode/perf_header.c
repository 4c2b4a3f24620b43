/* SPDX-License-Identifier: Apache-2.0 */
/* The line that a sample begins with in the text of perf script. */
#include "encode/perf_header.h"

#include <string.h>

#include "base/clock.h"
#include "base/parse.h"

static bool is_blank(char chr)
{
	return chr == ' ' || chr == '\t' || chr == '\r';
}

struct perf_text perf_text_trim(struct perf_text text)
{
	while (text.len && is_blank(text.str[0])) {
		text.str++;
		text.len--;
	}
	while (text.len && is_blank(text.str[text.len - 1]))
		text.len--;
	return text;
}

static struct perf_text cut(struct perf_text text, size_t begin, size_t len)
{
	return (struct perf_text){.str = text.str + begin, .len = len};
}

struct perf_text perf_text_word(struct perf_text *text)
{
	size_t begin = 0, end;
	struct perf_text word;

	while (begin < text->len && is_blank(text->str[begin]))
		begin++;
	end = begin;
	while (end < text->len && !is_blank(text->str[end]))
		end++;
	word = cut(*text, begin, end - begin);
	*text = cut(*text, end, text->len - end);
	return word;
}

/* The same from the end. */
static struct perf_text last_word(struct perf_text *text)
{
	struct perf_text word;
	size_t begin;

	*text = perf_text_trim(*text);
	begin = text->len;
	while (begin && !is_blank(text->str[begin - 1]))
		begin--;
	word = cut(*text, begin, text->len - begin);
	text->len = begin;
	return word;
}

bool perf_text_number(struct perf_text text, int base, int64_t *out)
{
	int64_t number = 0;

	for (size_t i = 0; i < text.len; i++) {
		uint32_t digit = digit_value(text.str[i]);

		if (digit >= (uint32_t)base)
			return false;
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			number = INT64_MAX;
	}
	if (out && text.len)
		*out = number;
	return text.len > 0;
}

/* "000300" behind the point, in nanoseconds. */
static uint64_t fraction_ns(struct perf_text digits)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < 9; i++)
		ns = ns * 10 + (i < digits.len ? digit_value(digits.str[i]) : 0);
	return ns;
}

/* "12.000300:", into *@out_ns. */
static bool is_time(struct perf_text word, uint64_t *out_ns)
{
	const char *dot = word.len ? memchr(word.str, '.', word.len) : NULL;
	size_t before = dot ? (size_t)(dot - word.str) : 0;

	int64_t time_s, ns;

	if (!dot || word.str[word.len - 1] != ':' ||
	    !perf_text_number(cut(word, 0, before), 10, &time_s) ||
	    !perf_text_number(cut(word, before + 1, word.len - before - 2), 10, NULL))
		return false;
	if (__builtin_mul_overflow(time_s, (int64_t)NSEC_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, fraction_ns(cut(word, before + 1, word.len - before - 2)),
				   &ns))
		ns = INT64_MAX;
	*out_ns = (uint64_t)ns;
	return true;
}

/* "[001]" */
static bool is_cpu(struct perf_text word, int64_t *out)
{
	return word.len > 2 && word.str[0] == '[' && word.str[word.len - 1] == ']' &&
	       perf_text_number(cut(word, 1, word.len - 2), 10, out);
}

/* "17/18", or one number, which perf's default fields mean as the thread's. */
static bool is_task(struct perf_text word, struct perf_header *out)
{
	const char *slash = word.len ? memchr(word.str, '/', word.len) : NULL;
	size_t before = slash ? (size_t)(slash - word.str) : 0;
	int64_t pid, tid;

	if (!slash) {
		if (!perf_text_number(word, 10, &tid))
			return false;
		out->tid = tid;
		return true;
	}
	if (!perf_text_number(cut(word, 0, before), 10, &pid) ||
	    !perf_text_number(cut(word, before + 1, word.len - before - 1), 10, &tid))
		return false;
	out->pid = pid;
	out->tid = tid;
	return true;
}

/* Letters of -F misc: "U", "K", "Sp". */
static bool is_misc(struct perf_text word)
{
	for (size_t i = 0; i < word.len; i++)
		if (!strchr("KUHGgEFPSpLCMD", word.str[i]))
			return false;
	return word.len > 0 && word.len < 4;
}

/* What stands before the time or the event: the comm is what is left of it. */
static void parse_left(struct perf_text left, struct perf_header *out)
{
	struct perf_text before = left, word = last_word(&left);

	if (is_misc(word)) {
		struct perf_text ahead = left;
		struct perf_text next = last_word(&ahead);
		struct perf_header trial;

		/* A comm may be such letters too; then there is no number before it. */
		if (is_cpu(next, NULL) || is_task(next, &trial)) {
			before = left;
			word = last_word(&left);
		}
	}
	if (is_cpu(word, &out->cpu)) {
		before = left;
		word = last_word(&left);
	}
	out->comm = perf_text_trim(is_task(word, out) ? left : before);
}

/* "250000 cycles:P: what follows"; each part may be missing. */
static void parse_right(struct perf_text right, struct perf_header *out)
{
	struct perf_text rest = right, word = perf_text_word(&rest);

	if (perf_text_number(word, 10, &out->period)) {
		right = rest;
		word = perf_text_word(&rest);
	}
	if (word.len > 1 && word.str[word.len - 1] == ':') {
		out->event = cut(word, 0, word.len - 1);
		right = rest;
	}
	out->rest = perf_text_trim(right);
}

/* Without a time: from the CPU, else from the first number on. */
static bool parse_without_time(struct perf_text line, struct perf_header *out)
{
	struct perf_text left = line, right = line, word = perf_text_word(&right);

	while (word.len && !is_cpu(word, NULL))
		word = perf_text_word(&right);
	if (!word.len) {
		right = line;
		do
			word = perf_text_word(&right);
		while (word.len && !is_task(word, out));
	}
	if (!word.len)
		return false;
	left.len = (size_t)(word.str + word.len - line.str);
	parse_left(left, out);
	parse_right(right, out);
	/* Too much looks like that, but for the event's colon. */
	return out->event.len &&
	       (!out->rest.len || out->rest.str[out->rest.len - 1] == ')' || out->cpu >= 0);
}

bool perf_header_parse(struct perf_text line, struct perf_header *out)
{
	struct perf_text left = line, right = line, word;

	*out = (struct perf_header){.pid = -1, .tid = -1, .cpu = -1, .period = -1};
	do
		word = perf_text_word(&right);
	while (word.len && !is_time(word, &out->time_ns));
	if (!word.len)
		return parse_without_time(line, out);
	left.len = (size_t)(word.str - line.str);
	out->has_time = true;
	parse_left(left, out);
	parse_right(right, out);
	/* A frame of folded text may be a time too. */
	return out->tid >= 0 || out->cpu >= 0 || out->event.len;
}
