/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `perf script`, which stackcollapse-perf, speedscope, Firefox Profiler and others
 * read: for each sample a line that says whose it is, then its frames, leaf first.
 *
 *	app 17/18 [001] 12.000000300:         10 cpu:
 *		            1234 parse (inlined)
 *		            1234 work (/usr/bin/app)
 *
 * A stack of value 10 is written once, with the period 10. Where the profile has times
 * (profile/timeline.h), samples stand in their order, each with its own. Where it has none, the
 * time of a stack is the sum of the values before it (ns; other values count as us), the stacks of
 * a thread stand together, and so readers that draw a time line give each stack its value as its
 * width. The comment at the top says so. Stacks whose value is not above 0 are left out.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/frames.h"
#include "encode/perf_clock.h"
#include "encode/text.h"
#include "profile/timeline.h"

static const size_t PERF_BYTES_MAX = 1ULL << 32;

struct row {
	uint64_t time_ns; /* 0 where no times were kept */
	int64_t pid, tid, cpu;
	uint32_t process; /* text of the --by frame, STRTAB_NONE none */
	uint32_t sample;
};

struct writer {
	const struct profile *prof;
	struct frames frames;
	struct row *rows; /* owned */
	size_t row_cnt;
	uint32_t value;
	bool has_times;
	uint64_t time_ns; /* without: the sum so far */
	struct buf *out;
};

static void writer_deinit(struct writer *writer)
{
	frames_deinit(&writer->frames);
	free(writer->rows);
}

/* The number that the label @key of @label_set is, or @otherwise. */
static int64_t label_number(const struct profile *prof, uint32_t label_set, const char *key,
			    int64_t otherwise)
{
	const struct profile_label_set *set = &prof->label_sets[label_set];

	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &prof->labels[set->first + i];

		if (label->str == PROFILE_NONE && !strcmp(profile_str(prof, label->key), key))
			return label->num;
	}
	return otherwise;
}

static int compare_rows(const void *left_ptr, const void *right_ptr)
{
	const struct row *left = left_ptr, *right = right_ptr;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->sample > right->sample) - (left->sample < right->sample);
}

static uint32_t process_text(const struct frames *frames, uint32_t label_set)
{
	uint32_t item = frames->processes[label_set];

	return item == PROFILE_NONE ? STRTAB_NONE : frames->items[item].name;
}

/* The samples that are written, by time and thread. */
static int collect_rows(struct writer *writer)
{
	const struct profile *prof = writer->prof;

	writer->rows = calloc(prof->sample_cnt + 1, sizeof(*writer->rows));
	if (!writer->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->sample_cnt; i++) {
		uint32_t set = prof->samples[i].label_set;
		struct row *row = &writer->rows[writer->row_cnt];

		if (prof->values[(size_t)i * prof->value_type_cnt + writer->value] <= 0)
			continue;
		row->tid = label_number(prof, set, "tid", label_number(prof, set, "pid", 0));
		row->pid = label_number(prof, set, "pid", row->tid);
		row->cpu = label_number(prof, set, "cpu", 0);
		row->cpu = row->cpu < 0 ? 0 : row->cpu;
		row->process = process_text(&writer->frames, set);
		row->sample = i;
		row->time_ns = 0;
		writer->has_times |= timeline_time(prof, set, &row->time_ns);
		writer->row_cnt++;
	}
	qsort(writer->rows, writer->row_cnt, sizeof(*writer->rows), compare_rows);
	return 0;
}

/* Text without blanks. */
static void add_word(struct buf *out, const char *str, size_t len)
{
	size_t begin = out->len;

	text_add_frame(out, str, len);
	for (size_t i = begin; i < out->len; i++)
		if (out->data[i] == ' ')
			out->data[i] = '_';
}

/* What runs. One that looks like a comment, a frame or, "1.5: ", a time would not be read. */
static void add_process(struct writer *writer, const struct row *row)
{
	struct buf *out = writer->out;
	size_t begin = out->len;
	const char *name = "[unknown]";

	if (row->process != STRTAB_NONE)
		name = strtab_get(&writer->frames.names, row->process);
	text_add_frame(out, name, strlen(name));
	if (out->len > begin && (out->data[begin] == '#' || out->data[begin] == ' '))
		out->data[begin] = '_';
	for (size_t i = begin; i < out->len; i++)
		if (out->data[i] == ':' && (i + 1 == out->len || out->data[i + 1] == ' '))
			out->data[i] = '_';
}

static void add_event(struct writer *writer)
{
	const struct profile *prof = writer->prof;
	const char *type = profile_str(prof, prof->value_types[writer->value].type);

	add_word(writer->out, *type ? type : "samples", *type ? strlen(type) : 7);
}

static void add_module(struct writer *writer, const struct frame *frame)
{
	static const char deleted[] = " (deleted)";
	const struct profile *prof = writer->prof;
	const char *path = "[unknown]";
	size_t len, tail = strlen(deleted);

	if (frame->is_inlined)
		path = "inlined";
	else if (frame->mapping != PROFILE_NONE)
		path = profile_str(prof, prof->mappings[frame->mapping].path);
	else if (frame->flags & LOCATION_KERNEL)
		path = "[kernel.kallsyms]";
	else if (frame->flags & LOCATION_JIT)
		path = "//anon";
	len = strlen(path);
	if (len > tail && !strcmp(path + len - tail, deleted))
		len -= tail;
	add_word(writer->out, path, len);
}

static void add_frame(struct writer *writer, const struct frame *frame)
{
	const char *name = frames_name(&writer->frames, frame);

	buf_printf(writer->out, "\t%16" PRIx64 " ", frame->address);
	text_add_frame(writer->out, name, strlen(name));
	buf_add_str(writer->out, " (");
	add_module(writer, frame);
	buf_add_str(writer->out, ")\n");
}

static void add_time(struct writer *writer, uint64_t row_ns, uint64_t value)
{
	const struct profile *prof = writer->prof;
	const char *unit = profile_str(prof, prof->value_types[writer->value].unit);
	uint64_t scale = strcmp(unit, "nanoseconds") ? NSEC_PER_USEC : 1, step;
	uint64_t time_ns = writer->has_times ? row_ns : writer->time_ns;

	buf_printf(writer->out, "%llu.%09llu:", time_ns / NSEC_PER_SEC, time_ns % NSEC_PER_SEC);
	if (__builtin_mul_overflow(value, scale, &step) ||
	    __builtin_add_overflow(writer->time_ns, step, &writer->time_ns))
		writer->time_ns = UINT64_MAX;
}

static int add_row(struct writer *writer, const struct row *row)
{
	const struct profile *prof = writer->prof;
	int64_t value = prof->values[(size_t)row->sample * prof->value_type_cnt + writer->value];
	const struct frames *frames = &writer->frames;
	int err = frames_stack(&writer->frames, &prof->samples[row->sample]);

	if (err)
		return err;
	add_process(writer, row);
	buf_printf(writer->out, " %" PRId64 "/%" PRId64 " [%03" PRId64 "] ", row->pid, row->tid,
		   row->cpu);
	add_time(writer, row->time_ns, (uint64_t)value);
	buf_printf(writer->out, " %10" PRId64 " ", value);
	add_event(writer);
	buf_add_str(writer->out, ": \n");
	for (size_t i = frames->stack_cnt; i-- > 0;)
		if (!frames->items[frames->stack[i]].is_process)
			add_frame(writer, &frames->items[frames->stack[i]]);
	/* Readers drop samples without a frame. */
	if (!prof->stacks[prof->samples[row->sample].stack].cnt)
		buf_printf(writer->out, "\t%16x [no stack] ([unknown])\n", 0);
	buf_add_char(writer->out, '\n');
	return writer->out->len > PERF_BYTES_MAX ? -EFBIG : writer->out->err;
}

/* What the times are, for people and for our reader. */
static void add_clock(struct writer *writer)
{
	uint64_t bucket_ns = timeline_bucket_ns(writer->prof);

	if (!writer->has_times) {
		buf_add_str(writer->out,
			    PERF_CLOCK_NONE "a time here is the sum of the values before it\n");
		return;
	}
	buf_add_str(writer->out, "# times are since the recording's start, of buckets this wide\n");
	buf_printf(writer->out, PERF_CLOCK_BUCKET "%llu\n",
		   (unsigned long long)(bucket_ns ? bucket_ns : TIMELINE_BUCKET_NS));
}

/* Readers know the file by the first line. */
static void add_head(struct writer *writer)
{
	struct buf *out = writer->out;
	const char *unit = "";

	if (writer->value != PROFILE_NONE)
		unit = profile_str(writer->prof, writer->prof->value_types[writer->value].unit);
	buf_add_str(out, "# ========\n# written by bpfprof\n");
	add_clock(writer);
	if (writer->value != PROFILE_NONE) {
		buf_add_str(out, "# unit: ");
		add_word(out, unit, strlen(unit));
		buf_add_char(out, '\n');
	}
	if (!writer->row_cnt)
		buf_add_str(out, "# empty: nothing was sampled\n");
	else if (writer->row_cnt < writer->prof->sample_cnt)
		buf_printf(out, "# %zu stacks without a value above 0 are left out\n",
			   writer->prof->sample_cnt - writer->row_cnt);
	buf_add_str(out, "# ========\n#\n\n");
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	_cleanup_(writer_deinit) struct writer writer = {.prof = prof, .out = out};
	int err = encoder_pick_value(prof, opts, &writer.value);

	if (!err)
		err = frames_init(&writer.frames, prof, opts->by);
	if (!err && writer.value != PROFILE_NONE)
		err = collect_rows(&writer);
	if (err)
		return err;
	add_head(&writer);
	for (size_t i = 0; i < writer.row_cnt && !err; i++)
		err = add_row(&writer, &writer.rows[i]);
	return err ? err : out->err;
}

const struct encoder encoder_perf_script = {
	.name = "perf-script",
	.extension = ".perf.txt",
	.help = "text as of perf script, for what reads that; times with record --timeline",
	.is_one_value = true,
	.encode = encode,
};
