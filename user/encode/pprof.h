/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers of pprof's profile.proto (google/pprof, proto/profile.proto), for its writer and
 * its reader. A pprof file is one gzip-compressed Profile message; every text in it is an index
 * into string_table, whose element 0 is "".
 */
#ifndef BPFPROF_ENCODE_PPROF_H
#define BPFPROF_ENCODE_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"

enum pprof_profile_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14
};

enum pprof_value_type_field { PPROF_VALUE_TYPE_TYPE = 1, PPROF_VALUE_TYPE_UNIT = 2 };

enum pprof_sample_field {
	PPROF_SAMPLE_LOCATION_ID = 1,
	PPROF_SAMPLE_VALUE = 2,
	PPROF_SAMPLE_LABEL = 3
};

enum pprof_label_field {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_STR = 2,
	PPROF_LABEL_NUM = 3,
	PPROF_LABEL_NUM_UNIT = 4
};

enum pprof_mapping_field {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILENAME = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINE_NUMBERS = 9,
	PPROF_MAPPING_HAS_INLINE_FRAMES = 10
};

enum pprof_location_field {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING_ID = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4,
	/*
	 * Ours: enum profile_location_flags, written only where they do not follow from the mapping
	 * and the name. Readers that do not know a field skip it.
	 */
	PPROF_LOCATION_BPFPROF_FLAGS = 1000
};

enum pprof_line_field { PPROF_LINE_FUNCTION_ID = 1, PPROF_LINE_LINE = 2 };

enum pprof_function_field {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILENAME = 4,
	PPROF_FUNCTION_START_LINE = 5
};

/* The flags that a location of @prof with this mapping and this name of its only function ("" when
 * it has not exactly one) has by rule: pprof itself knows no such flags. */
uint16_t pprof_implied_flags(const struct profile *prof, uint32_t mapping, const char *name);

/* pprof_decode() of decode.h for data that is not compressed. */
int pprof_read(const void *data, size_t len, struct profile *out, struct buf *why);

#endif
