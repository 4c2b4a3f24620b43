/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile: the centre of the program. Capture adds frames by (mapping, address), symbolization
 * gives each distinct location its functions and lines once, encoders turn the whole into bytes.
 * It knows neither BPF nor /proc.
 *
 * Columns, not objects: every entity is an index (u32) into an array of this struct, PROFILE_NONE
 * means "none". Entities are interned: adding an equal one gives the known index. Nothing is ever
 * removed; a filter makes a new profile.
 *
 *	sample = (stack, labels) -> one value per value type
 *	stack = locations, leaf first          labels = sorted (key, string | number) pairs
 *	location = (mapping, address, flags) -> lines, innermost inlined call first
 *	line = (function, line)                function = (name, system name, file, start line)
 *
 * Failure (memory, or ids running out) is sticky in `err`: adders then return PROFILE_NONE and
 * change nothing; adders given PROFILE_NONE where an index is required also return PROFILE_NONE.
 * Check profile.err once per batch.
 */
#ifndef BPFPROF_PROFILE_PROFILE_H
#define BPFPROF_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hmap.h"
#include "base/strtab.h"

enum { PROFILE_NONE = UINT32_MAX, PROFILE_VALUES_MAX = 24 };

struct profile_value_type {
	uint32_t type; /* string: "samples", "cpu" */
	uint32_t unit; /* string: "count", "nanoseconds", "bytes" */
};

enum profile_mapping_flags {
	MAPPING_HAS_FUNCTIONS = 1 << 0,
	MAPPING_HAS_FILENAMES = 1 << 1,
	MAPPING_HAS_LINES = 1 << 2,
	MAPPING_HAS_INLINES = 1 << 3,
};

/* One executable image (ELF file, "[kernel.kallsyms]", "[vdso]", "//anon"), addressed by its own
 * vaddrs. Equal (path, build-id) are one. */
struct profile_mapping {
	uint64_t start, limit, file_off;
	uint32_t path; /* string: as the process saw it */
	uint32_t build_id; /* string: lowercase hex, or "" */
	uint32_t flags; /* enum profile_mapping_flags */
};

struct profile_function {
	uint32_t name; /* string: demangled */
	uint32_t system_name; /* string: as in the symbol table */
	uint32_t file; /* string: source file, or "" */
	uint32_t start_line; /* 0 unknown */
};

struct profile_line {
	uint32_t function;
	uint32_t line; /* 0 unknown */
};

enum profile_location_flags {
	LOCATION_KERNEL = 1 << 0,
	LOCATION_JIT = 1 << 1,
	LOCATION_WAKER = 1 << 2,
	LOCATION_SYNTHETIC = 1 << 3, /* not code; what it is, its name says: synthetic.h */
};

struct profile_location {
	uint64_t
		address; /* vaddr in the mapping; already inside the call instruction for callers */
	uint32_t mapping; /* or PROFILE_NONE */
	uint32_t first_line; /* index into lines */
	uint16_t line_cnt; /* 0: not symbolized, or no symbol known */
	uint16_t flags; /* enum profile_location_flags */
};

struct profile_stack {
	uint32_t first; /* index into stack_locations */
	uint32_t cnt;
};

struct profile_label {
	uint32_t key; /* string: "comm", "pid", "tid", "process", "cpu", "cgroup", ... */
	uint32_t str; /* string, or PROFILE_NONE for a numeric label */
	int64_t num;
	uint32_t num_unit; /* string, "" unless numeric with a unit */
};

struct profile_label_set {
	uint32_t first; /* index into labels */
	uint32_t cnt;
};

struct profile_sample {
	uint32_t stack;
	uint32_t label_set;
	/* its values: values[sample index * value_type_cnt .. ] */
};

struct profile {
	struct strtab strings;

	struct profile_value_type value_types[PROFILE_VALUES_MAX];
	uint32_t value_type_cnt;
	uint32_t default_value; /* index of the one that one-value formats write */
	struct profile_value_type period_type;
	int64_t period; /* 0 unknown */
	uint64_t time_ns; /* UTC start */
	uint64_t duration_ns;

	struct profile_mapping *mappings;
	size_t mapping_cnt, mapping_cap;
	struct profile_function *functions;
	size_t function_cnt, function_cap;
	struct profile_location *locations;
	size_t location_cnt, location_cap;
	struct profile_line *lines;
	size_t line_cnt, line_cap;
	struct profile_stack *stacks;
	size_t stack_cnt, stack_cap;
	uint32_t *stack_locations;
	size_t stack_location_cnt, stack_location_cap;
	struct profile_label *labels;
	size_t label_cnt, label_cap;
	struct profile_label_set *label_sets;
	size_t label_set_cnt, label_set_cap;
	struct profile_sample *samples;
	size_t sample_cnt, sample_cap;
	int64_t *values;
	size_t value_cnt, value_cap;
	uint32_t *comments; /* strings; one of them is the ledger's JSON, see ledger.h */
	size_t comment_cnt, comment_cap;

	struct hmap mapping_index, function_index, location_index, stack_index, label_set_index,
		sample_index;
	int err;
};

int profile_init(struct profile *prof); /* 0 or -ENOMEM */
void profile_deinit(struct profile *prof);

uint32_t profile_string(struct profile *prof, const char *str);
uint32_t profile_stringn(struct profile *prof, const char *str, size_t len);
const char *profile_str(const struct profile *prof,
			uint32_t id); /* borrowed; "" for PROFILE_NONE */

/* Declare a value type; only while there are no samples (else, or beyond PROFILE_VALUES_MAX, err is
 * -EINVAL). Returns its index. Not interned: files with two equal ones exist. */
uint32_t profile_add_value_type(struct profile *prof, const char *type, const char *unit);

uint32_t profile_mapping(struct profile *prof, const char *path, const char *build_id_hex);

/* Is @path that of memory without a file: "//anon", or "//anon:PID" for one process' JIT code? */
bool profile_path_is_anon(const char *path);

/*
 * A mapping as it stands in a file or in another profile (strings: ids of @prof). When the image is
 * known already under another load bias, its range is widened and *@shift_out is what has to be
 * added to the addresses of the newcomer's locations so that they mean the same code; else it is 0.
 * has_* flags stay only where both have them. Images without a file ("[vdso]", "//anon") are never
 * shifted.
 */
uint32_t profile_mapping_add(struct profile *prof, const struct profile_mapping *mapping,
			     uint64_t *shift_out);

uint32_t profile_function(struct profile *prof, const char *name, const char *system_name,
			  const char *file, uint32_t start_line);

/* The same from string ids of @prof. */
uint32_t profile_function_add(struct profile *prof, const struct profile_function *function);

/* A frame that is not symbolized yet. Interned by (mapping, address, flags). */
uint32_t profile_location(struct profile *prof, uint32_t mapping, uint64_t address, uint16_t flags);

/* A frame known only by its name (folded input, "[truncated: x]"): a location without mapping whose
 * one line is function @name. */
uint32_t profile_named_location(struct profile *prof, const char *name, uint16_t flags);

/* A complete location as read from a file, lines included; interned by all of it. */
uint32_t profile_location_lines(struct profile *prof, uint32_t mapping, uint64_t address,
				uint16_t flags, const struct profile_line *lines, size_t line_cnt);

/* Give @location its lines (symbolization): innermost first. Once per location: one that has lines
 * keeps them. */
void profile_set_lines(struct profile *prof, uint32_t location, const struct profile_line *lines,
		       size_t line_cnt);

/* Move @location, which has no lines yet, into @mapping: what it belongs to may show only when it
 * is named. Where there is an equal one in @mapping, both stay. */
void profile_set_mapping(struct profile *prof, uint32_t location, uint32_t mapping);

/* @locations: leaf first. */
uint32_t profile_stack(struct profile *prof, const uint32_t *locations, size_t cnt);

/* @labels in any order; sorted and interned. cnt 0 is the empty set. */
uint32_t profile_labels(struct profile *prof, const struct profile_label *labels, size_t cnt);

/* Add @values (value_type_cnt of them) to the sample (@stack, @label_set); sums stop at the ends of
 * int64_t. Returns its index. */
uint32_t profile_sample(struct profile *prof, uint32_t stack, uint32_t label_set,
			const int64_t *values);

void profile_add_comment(struct profile *prof, const char *text);

/* Make @ledger the profile's ledger: the comment "bpfprof-ledger: {json}", in the place of any that
 * is there. 0 or -ENOMEM. */
struct ledger;
int profile_set_ledger(struct profile *prof, const struct ledger *ledger);

/* The profile's ledger, the sum where it has several (other tools' merges keep both). @out is
 * initialised by the call on success. 0, -ENOENT, -ENOMEM, -E2BIG as ledger_merge(). Comments that
 * only look like a ledger are not one. */
int profile_get_ledger(const struct profile *prof, struct ledger *out);

/* Append ledger_format_line() of the profile's ledger. False, and nothing, where it has none. */
bool profile_format_ledger(const struct profile *prof, struct buf *out);

/* Two values together; the sum stops at the ends of the type. */
static inline int64_t profile_value_sum(int64_t left, int64_t right)
{
	int64_t sum;

	if (__builtin_add_overflow(left, right, &sum))
		return right > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

/* The same of @left without @right. */
static inline int64_t profile_value_difference(int64_t left, int64_t right)
{
	int64_t difference;

	if (__builtin_sub_overflow(left, right, &difference))
		return left > right ? INT64_MAX : INT64_MIN;
	return difference;
}

/* Sum of value @value over all samples. */
int64_t profile_total(const struct profile *prof, uint32_t value);

/* Index of the value type called @type ("cpu"), or PROFILE_NONE. */
uint32_t profile_find_value(const struct profile *prof, const char *type);

/* The function name of the @depth-th line (0 = innermost) of a location, or "" when it has none.
 * Borrowed. */
const char *profile_location_name(const struct profile *prof, uint32_t location, uint32_t line);

/* Has the location no line, or one with no better name than its address, as "[libc.so.6+0x1f00]"?
 */
bool profile_location_is_bare(const struct profile *prof, uint32_t location);

/*
 * Merge @src into @dst. Value types are matched by (type, unit); an empty @dst takes @src's.
 * Returns 0, -ENOMEM, or -EINVAL when the value types differ (the caller says which; @dst is then
 * unchanged), -E2BIG when the ledgers have too many events together. Times become the earliest
 * start, durations the span that both cover in sum as pprof does (added), the period the larger
 * one; ledger comments are added up (ledger_merge), other comments kept once each. Time is linear
 * in @src, and merging is associative.
 */
int profile_merge(struct profile *dst, const struct profile *src);

/* Copy to @dst (initialised, empty) the samples for which @keep says true. */
typedef bool profile_keep_fn(const struct profile *prof, uint32_t sample, void *arg);
int profile_filter(const struct profile *src, profile_keep_fn *keep, void *arg,
		   struct profile *dst);

#endif
