/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile as JSON, whole: what json.c writes, json_decode.c reads as the same profile. Made for
 * programs: `jq`, a few lines of Python, a database. The schema that files are checked against is
 * tests/golden/profile.schema.json.
 *
 *	{
 *	"format": "bpfprof", "version": 1,
 *	"time_ns": start in UTC, "duration_ns": N,              0: unknown
 *	"period": N, "period_type": {"type": "cpu", "unit": "nanoseconds"},
 *	"value_types": [{"type": "samples", "unit": "count"}, ...],
 *	"default_value": index of the one that is shown first,
 *	"comments": ["...", ...],
 *	"ledger": {...},                                        if any, as --stats writes it
 *	"mappings": [{"path": "/bin/app", "build_id": "01ab", "start": "0x1000",
 *		"limit": "0x9000", "file_offset": "0x0",
 *		"has": ["functions", "files", "lines", "inlines"]}, ...],
 *	"functions": [{"name": "f(int)", "system_name": "_Z1fi",
 *		"file": "f.cc", "start_line": 3}, ...],
 *	"locations": [{"mapping": index, "address": "0x1234",
 *		"flags": ["kernel", "jit", "waker", "synthetic"],
 *		"lines": [{"function": index, "line": 7}, ...]}, ...],  innermost call first
 *	"stacks": [[index of a location, ...], ...],            leaf first
 *	"label_sets": [[{"key": "comm", "str": "app"},
 *		{"key": "tid", "num": 5, "unit": ""}], ...],
 *	"samples": [{"stack": index, "labels": index,
 *		"values": [one per value type]}, ...]
 *	}
 *
 * Indices count from 0. Numbers are integers of 64 bits, beyond what a double holds; addresses are
 * hexadecimal strings. What is unknown or empty is left out. A profile without samples has
 * "samples": []. Readers skip keys that they do not know; "ledger" is there for other programs, our
 * reader takes it from the comments.
 */
#ifndef BPFPROF_ENCODE_JSON_PROFILE_H
#define BPFPROF_ENCODE_JSON_PROFILE_H

#include <stdint.h>

enum { JSON_PROFILE_VERSION = 1 };

#define JSON_PROFILE_FORMAT "bpfprof"

/* A bit of a flags word, in the file a string of an array. */
struct json_flag {
	const char *name;
	uint32_t bit;
};

/* Both end with a NULL name. */
extern const struct json_flag json_mapping_flags[], json_location_flags[];

#endif
