/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of the text of perf script, in whatever fields it was asked for:
 *
 *	web 17/18 [001] 12.000300: 250000 cycles:P:	perf_header.h
 *		    1234 parse+0x14 (inlined)		a frame, leaf first; into the next one
 *		    1234 work+0x14 (/usr/bin/app)
 *	  work.c:31					its line, with -F srcline
 *
 * Times become the label "time" (profile/timeline.h, perf_clock.h).
 *
 * Value types: "samples", and one per event, the sum of its periods (or its samples, where there
 * are several events and no periods). Two passes, as the events have to be known first.
 *
 * A frame's address is left out: perf prints some relative to the module and some not. Where there
 * is no symbol, the name is the module's in brackets; only where that is unknown too, the address.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/reader.h"
#include "encode/decode.h"
#include "encode/frame_name.h"
#include "encode/perf_clock.h"
#include "encode/perf_header.h"
#include "profile/synthetic.h"
#include "profile/timeline.h"

enum { EVENTS_MAX = PROFILE_VALUES_MAX - 1 };

static const char UNIT_MARK[] = "# unit: "; /* our writer's */

enum line_kind { LINE_HEADER, LINE_FRAME, LINE_SOURCE, LINE_END, LINE_BAD };

/* One function of a frame, before it is known whether a source line follows. */
struct raw_line {
	struct perf_text name, file;
	uint64_t ip;
	uint32_t line;
};

struct perf_reader {
	struct profile *out;
	struct strtab events;
	struct perf_text unit; /* empty: to be guessed */
	struct perf_clock clock;
	bool has_period, has_count, has_events; /* has_*: are there such value types? */
	size_t header_cnt, bad_cnt, first_bad; /* first_bad: line number, from 1 */
	uint32_t comm, pid, tid, cpu; /* string ids of the labels' keys */
	/* the sample at hand */
	bool is_open, is_whole; /* is_whole: the last of raw is no inlined one */
	struct perf_header header;
	struct perf_text module; /* of the frame at hand */
	/* owned: of the frame at hand, innermost first; of the sample, leaf first */
	struct raw_line *raw;
	size_t raw_cnt, raw_cap;
	struct profile_line *lines;
	size_t line_cap;
	uint32_t *stack;
	size_t stack_cnt, stack_cap;
	struct buf scratch;
};

static void perf_reader_deinit(struct perf_reader *rdr)
{
	strtab_deinit(&rdr->events);
	free(rdr->raw);
	free(rdr->lines);
	free(rdr->stack);
	buf_deinit(&rdr->scratch);
}

/* --- Lines --- */

static bool text_is(struct perf_text text, const char *wanted)
{
	return text.len == strlen(wanted) && !memcmp(text.str, wanted, text.len);
}

static bool text_begins(struct perf_text text, const char *wanted)
{
	return text.len >= strlen(wanted) && !memcmp(text.str, wanted, strlen(wanted));
}

static bool text_ends(struct perf_text text, const char *wanted)
{
	size_t len = strlen(wanted);

	return text.len >= len && !memcmp(text.str + text.len - len, wanted, len);
}

static bool text_has(struct perf_text text, const char *wanted)
{
	return text.len && memmem(text.str, text.len, wanted, strlen(wanted));
}

static bool next_line(struct reader *rd, struct perf_text *out)
{
	out->str = reader_until(rd, '\n', &out->len);
	return out->str != NULL;
}

static bool is_indented(struct perf_text line)
{
	return line.len && (line.str[0] == ' ' || line.str[0] == '\t');
}

/* Frames begin with a tab. Headers are indented too, with spaces, where perf pads the comm; only
 * those with a time are taken then. */
static enum line_kind classify(struct perf_text line, struct perf_header *header)
{
	struct perf_text text = perf_text_trim(line), rest = text, word;
	bool is_frame;

	if (!text.len || text.str[0] == '#')
		return LINE_END;
	if (text_has(line, ": PERF_RECORD_"))
		return LINE_END; /* --show-mmap-events and the like */
	if (line.str[0] != '\t' && perf_header_parse(line, header) &&
	    (header->has_time || !is_indented(line)))
		return LINE_HEADER;
	word = perf_text_word(&rest);
	is_frame = perf_text_number(word, 16, NULL);
	/* Who keeps such texts has sometimes taken the blanks away. */
	if (!is_indented(line))
		return is_frame && text_ends(text, ")") ? LINE_FRAME : LINE_BAD;
	if (is_frame || (text_ends(text, ")") && !text_has(text, "(discriminator")))
		return LINE_FRAME;
	return LINE_SOURCE;
}

/* Cut "+0x12" off the end. */
static struct perf_text without_offset(struct perf_text text)
{
	const char *plus = text.len ? memrchr(text.str, '+', text.len) : NULL;
	size_t at = plus ? (size_t)(plus - text.str) : 0;
	struct perf_text digits = {.str = text.str + at + 3, .len = text.len - at - 3};

	if (at && text.len > at + 3 && !memcmp(plus, "+0x", 3) &&
	    perf_text_number(digits, 16, NULL))
		text.len = at;
	return text;
}

/* Split "name (module)"; a module may have balanced parentheses in it. */
static struct perf_text split_module(struct perf_text *text)
{
	struct perf_text module = {.str = text->str, .len = 0};
	size_t depth = 0, at = text->len;

	if (!text_ends(*text, ")"))
		return module;
	while (at-- > 0) {
		if (text->str[at] == ')')
			depth++;
		else if (text->str[at] == '(' && --depth == 0)
			break;
	}
	if (at >= text->len)
		return module;
	module.str = text->str + at + 1;
	module.len = text->len - at - 2;
	text->len = at;
	*text = perf_text_trim(*text);
	return module;
}

/* --- Frames --- */

static bool has_module(const struct perf_reader *rdr)
{
	return rdr->module.len && !text_is(rdr->module, "[unknown]");
}

/* Modules of the kernel are "[name]" or files; so are some areas of processes. */
static uint16_t module_flags(struct perf_text module)
{
	static const char *const areas[] = {"[vdso]", "[vsyscall]", "[heap]", "[stack]",
					    "[uprobes]"};

	if (text_begins(module, "//anon") || text_begins(module, "[anon") ||
	    text_begins(module, "[JIT]") || text_ends(module, ".map"))
		return LOCATION_JIT;
	if (text_ends(module, ".ko") || text_has(module, ".ko.") || text_has(module, "/vmlinux") ||
	    text_begins(module, "bpf_prog_"))
		return LOCATION_KERNEL;
	if (!text_begins(module, "[") || text_is(module, "[unknown]"))
		return 0;
	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
		if (text_is(module, areas[i]))
			return 0;
	return LOCATION_KERNEL;
}

/* "[libc.so.6]" */
static uint32_t module_name(struct perf_reader *rdr)
{
	const char *base = "unknown";
	_cleanup_free_ char *path = NULL;
	size_t len = strlen(base);

	if (has_module(rdr)) {
		path = strndup(rdr->module.str, rdr->module.len);
		if (!path)
			return PROFILE_NONE;
		base = frame_module(path, &len);
	}
	buf_reset(&rdr->scratch);
	buf_add_char(&rdr->scratch, '[');
	buf_add(&rdr->scratch, base, len);
	buf_add_char(&rdr->scratch, ']');
	return profile_stringn(rdr->out, buf_cstr(&rdr->scratch), rdr->scratch.len);
}

static bool is_unnamed(const struct raw_line *raw)
{
	return !raw->name.len || text_is(raw->name, "[unknown]");
}

static uint32_t raw_function(struct perf_reader *rdr, const struct raw_line *raw)
{
	struct profile *out = rdr->out;
	struct profile_function function = {
		.file = profile_stringn(out, raw->file.str, raw->file.len),
	};

	if (is_unnamed(raw))
		function.name = module_name(rdr);
	else
		function.name = profile_stringn(out, raw->name.str, raw->name.len);
	function.system_name = function.name;
	return profile_function_add(out, &function);
}

static uint32_t module_mapping(struct perf_reader *rdr)
{
	struct profile_mapping mapping = {.build_id = STRTAB_EMPTY};
	uint64_t shift;

	if (!has_module(rdr))
		return PROFILE_NONE;
	mapping.path = profile_stringn(rdr->out, rdr->module.str, rdr->module.len);
	mapping.flags = MAPPING_HAS_FUNCTIONS;
	return profile_mapping_add(rdr->out, &mapping, &shift);
}

static uint32_t frame_location(struct perf_reader *rdr)
{
	const struct raw_line *raw = rdr->raw;
	uint16_t flags = module_flags(rdr->module);

	if (rdr->raw_cnt == 1 && !has_module(rdr)) {
		if (is_unnamed(raw))
			return profile_location(rdr->out, PROFILE_NONE, raw->ip, 0);
		if (synthetic_of(raw->name.str, raw->name.len) != SYNTHETIC_NOT)
			flags = LOCATION_SYNTHETIC;
	}
	for (size_t i = 0; i < rdr->raw_cnt; i++) {
		rdr->lines[i].function = raw_function(rdr, &raw[i]);
		rdr->lines[i].line = raw[i].line;
	}
	return profile_location_lines(rdr->out, module_mapping(rdr), 0, flags, rdr->lines,
				      rdr->raw_cnt);
}

/* The frame at hand, its source lines included, goes to the stack. */
static int finish_frame(struct perf_reader *rdr)
{
	int err;

	/* what our writer puts where there is none */
	if (rdr->raw_cnt == 1 && !has_module(rdr) && text_is(rdr->raw[0].name, "[no stack]"))
		rdr->raw_cnt = 0;
	if (!rdr->raw_cnt)
		return 0;
	err = array_reserve(&rdr->lines, &rdr->line_cap, rdr->raw_cnt, sizeof(*rdr->lines));
	if (!err)
		err = array_reserve(&rdr->stack, &rdr->stack_cap, rdr->stack_cnt + 1,
				    sizeof(*rdr->stack));
	if (err)
		return err;
	rdr->stack[rdr->stack_cnt++] = frame_location(rdr);
	rdr->raw_cnt = 0;
	rdr->is_whole = false;
	rdr->module.len = 0;
	return rdr->out->err;
}

/* "1234 work+0x14 (/usr/bin/app)"; the address or the module may be missing. */
static int read_frame(struct perf_reader *rdr, struct perf_text text)
{
	struct perf_text rest = text, word = perf_text_word(&rest), module;
	bool is_inlined;
	struct reader digits;
	int err = 0;

	rest = perf_text_trim(rest);
	if (perf_text_number(word, 16, NULL) && !text_begins(rest, "("))
		text = rest;
	reader_init(&digits, word.str, word.len);
	module = split_module(&text);
	is_inlined = text_is(module, "inlined");
	if (rdr->is_whole || rdr->raw_cnt >= UINT16_MAX - 1)
		err = finish_frame(rdr);
	if (!err)
		err = array_reserve(&rdr->raw, &rdr->raw_cap, rdr->raw_cnt + 1, sizeof(*rdr->raw));
	if (err)
		return err;
	rdr->raw[rdr->raw_cnt++] = (struct raw_line){
		.name = without_offset(text),
		.ip = reader_number(&digits, 16),
	};
	rdr->is_whole = !is_inlined;
	if (!is_inlined)
		rdr->module = without_offset(module);
	return 0;
}

/* "work.c:31 (discriminator 2)" belongs to the last frame. Where there is none known, perf prints
 * ":0", "??:0" or the module and the address. */
static void read_source(struct perf_reader *rdr, struct perf_text text)
{
	struct perf_text file = perf_text_word(&text), number;
	const char *colon = file.len ? memrchr(file.str, ':', file.len) : NULL;
	int64_t line;

	if (!rdr->raw_cnt || !colon)
		return;
	number.str = colon + 1;
	number.len = (size_t)(file.str + file.len - number.str);
	file.len = (size_t)(colon - file.str);
	if (!perf_text_number(number, 10, &line) || !line || line > INT32_MAX ||
	    text_is(file, "??"))
		return;
	rdr->raw[rdr->raw_cnt - 1].file = file;
	rdr->raw[rdr->raw_cnt - 1].line = (uint32_t)line;
}

/* --- Samples --- */

/* The event's id, from 1; STRTAB_NONE without memory. */
static uint32_t event_of(struct perf_reader *rdr, const struct perf_header *header)
{
	struct perf_text name = header->event;

	/* A string ends at a NUL byte: this one would be empty. */
	if (!name.len || !name.str[0])
		name = (struct perf_text){.str = "event", .len = strlen("event")};
	return strtab_add(&rdr->events, name.str, name.len);
}

static void add_number(struct profile_label *labels, size_t *cnt, uint32_t key, int64_t number)
{
	if (number >= 0)
		labels[(*cnt)++] =
			(struct profile_label){.key = key, .str = PROFILE_NONE, .num = number};
}

static uint32_t sample_labels(struct perf_reader *rdr)
{
	const struct perf_header *header = &rdr->header;
	struct profile_label labels[4];
	uint32_t set;
	uint64_t time_ns;
	size_t cnt = 0;

	if (header->comm.len && !text_is(header->comm, "[unknown]"))
		labels[cnt++] = (struct profile_label){
			.key = rdr->comm,
			.str = profile_stringn(rdr->out, header->comm.str, header->comm.len),
		};
	add_number(labels, &cnt, rdr->pid, header->pid);
	add_number(labels, &cnt, rdr->tid, header->tid);
	add_number(labels, &cnt, rdr->cpu, header->cpu);
	set = profile_labels(rdr->out, labels, cnt);
	if (!perf_clock_read(&rdr->clock, header, &time_ns))
		return set;
	return timeline_labels(rdr->out, set, time_ns);
}

/* One frame without a call chain stands behind the event; so do the fields of a tracepoint. */
static int read_lone_frame(struct perf_reader *rdr)
{
	struct perf_text rest = rdr->header.rest, text = rest, word = perf_text_word(&rest);

	return perf_text_number(word, 16, NULL) && text_ends(text, ")") ? read_frame(rdr, text) : 0;
}

/* The sample at hand is complete. */
static int finish_sample(struct perf_reader *rdr)
{
	int64_t values[PROFILE_VALUES_MAX] = {0};
	struct profile *out = rdr->out;
	uint32_t event;
	int err = 0;

	if (!rdr->is_open)
		return 0;
	rdr->is_open = false;
	if (!rdr->raw_cnt && !rdr->stack_cnt)
		err = read_lone_frame(rdr);
	if (!err)
		err = finish_frame(rdr);
	if (err)
		return err;
	event = event_of(rdr, &rdr->header);
	if (event == STRTAB_NONE)
		return -ENOMEM;
	if (rdr->has_events)
		values[rdr->has_count + event - 1] = rdr->has_period ? rdr->header.period : 1;
	if (rdr->has_events && rdr->has_period && rdr->header.period < 0)
		values[rdr->has_count + event - 1] = 0;
	if (rdr->has_count)
		values[0] = 1;
	profile_sample(out, profile_stack(out, rdr->stack, rdr->stack_cnt), sample_labels(rdr),
		       values);
	return out->err;
}

static int begin_sample(struct perf_reader *rdr, const struct perf_header *header)
{
	int err = finish_sample(rdr);

	rdr->header = *header;
	rdr->is_open = true;
	rdr->stack_cnt = 0;
	rdr->raw_cnt = 0;
	return err;
}

static int read_samples(struct perf_reader *rdr, struct reader rd)
{
	struct perf_header header;
	struct perf_text line;
	int err = 0;

	while (!err && next_line(&rd, &line)) {
		switch (classify(line, &header)) {
		case LINE_HEADER:
			err = begin_sample(rdr, &header);
			break;
		case LINE_FRAME:
			if (rdr->is_open)
				err = read_frame(rdr, perf_text_trim(line));
			break;
		case LINE_SOURCE:
			read_source(rdr, line);
			break;
		case LINE_END:
		case LINE_BAD:
			err = finish_sample(rdr);
			break;
		}
	}
	return err ? err : finish_sample(rdr);
}

/* --- The first pass --- */

static int collect_events(struct perf_reader *rdr, struct reader rd)
{
	struct perf_header header;
	struct perf_text line;

	for (size_t number = 1; next_line(&rd, &line); number++) {
		enum line_kind kind = classify(line, &header);

		if (kind == LINE_BAD && !rdr->bad_cnt++)
			rdr->first_bad = number;
		perf_clock_note(&rdr->clock, line);
		if (text_begins(line, UNIT_MARK))
			rdr->unit = perf_text_trim((struct perf_text){
				line.str + strlen(UNIT_MARK), line.len - strlen(UNIT_MARK)});
		if (kind != LINE_HEADER)
			continue;
		rdr->header_cnt++;
		perf_clock_see(&rdr->clock, &header);
		rdr->has_period |= header.period >= 0;
		if (event_of(rdr, &header) == STRTAB_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* 0, or -EBADMSG where this is no such text; @why tells of bad lines in both cases. */
static int judge(const struct perf_reader *rdr, struct buf *why)
{
	if (rdr->events.cnt - 1 > EVENTS_MAX) {
		if (why)
			buf_printf(why, "more than the %d different events that are supported",
				   EVENTS_MAX);
		return -EBADMSG;
	}
	if (!rdr->bad_cnt)
		return 0;
	if (why)
		buf_printf(why,
			   "%zu lines are not what perf script writes and are left out, the first "
			   "is line %zu",
			   rdr->bad_cnt, rdr->first_bad);
	return rdr->header_cnt ? 0 : -EBADMSG;
}

static uint32_t event_unit(const struct perf_reader *rdr, const char *event)
{
	if (rdr->unit.len)
		return profile_stringn(rdr->out, rdr->unit.str, rdr->unit.len);
	/* These count nanoseconds, whatever modifiers follow. */
	if (rdr->has_period && (!strncmp(event, "cpu-clock", strlen("cpu-clock")) ||
				!strncmp(event, "task-clock", strlen("task-clock"))))
		return profile_string(rdr->out, "nanoseconds");
	return profile_string(rdr->out, "count");
}

static int declare_values(struct perf_reader *rdr)
{
	uint32_t event_cnt = (uint32_t)rdr->events.cnt - 1;
	struct profile *out = rdr->out;

	rdr->has_events = event_cnt > 1 || (event_cnt && rdr->has_period);
	rdr->has_count = !(rdr->has_events && event_cnt == 1 &&
			   !strcmp(strtab_get(&rdr->events, 1), "samples"));
	if (rdr->has_count)
		profile_add_value_type(out, "samples", "count");
	for (uint32_t i = 1; i <= event_cnt && rdr->has_events; i++) {
		const char *name = strtab_get(&rdr->events, i);
		uint32_t value = profile_add_value_type(out, name, "");

		if (value != PROFILE_NONE)
			out->value_types[value].unit = event_unit(rdr, name);
	}
	out->default_value = rdr->has_count && rdr->has_events;
	return out->err;
}

int perf_script_decode(const void *data, size_t len, struct profile *out, struct buf *why)
{
	_cleanup_(perf_reader_deinit) struct perf_reader rdr = {.out = out};
	struct reader rd;
	int err;

	buf_init(&rdr.scratch, BUF_NO_MAX);
	reader_init(&rd, data, len);
	err = strtab_init(&rdr.events);
	if (!err)
		err = collect_events(&rdr, rd);
	if (!err)
		err = judge(&rdr, why);
	if (err)
		return err;
	rdr.comm = profile_string(out, "comm");
	rdr.pid = profile_string(out, "pid");
	rdr.tid = profile_string(out, "tid");
	rdr.cpu = profile_string(out, "cpu");
	err = declare_values(&rdr);
	return err ? err : read_samples(&rdr, rd);
}

/* Its first line but for comments is a sample's; with --header there is a frame of comments. */
bool perf_script_sniff(const void *data, size_t len)
{
	static const char head[] = "# ========\n";
	struct perf_header header;
	struct perf_text line;
	struct reader rd;

	if (len >= strlen(head) && !memcmp(data, head, strlen(head)))
		return true;
	reader_init(&rd, data, len);
	while (next_line(&rd, &line)) {
		enum line_kind kind = classify(line, &header);

		if (kind != LINE_END)
			return kind == LINE_HEADER;
	}
	return false;
}
