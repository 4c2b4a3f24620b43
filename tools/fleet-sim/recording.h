/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host recorded, to be played again: the minutes of its store, cut into services. Which host
 * it was, and which version of a service, is taken out: who plays it says so.
 */
#ifndef BPFPROF_TOOLS_FLEET_SIM_RECORDING_H
#define BPFPROF_TOOLS_FLEET_SIM_RECORDING_H

#include "profile/profile.h"

enum { RECORDED_KINDS_MAX = 16 };

/* Labels whose values are the player's. */
enum played_label { PLAYED_HOST, PLAYED_SERVICE, PLAYED_VERSION, PLAYED_CNT };

struct recorded_kind {
	char name[64], event[64];
	struct profile types;
};

struct recorded_row {
	uint32_t minute, service, kind; /* sorted by them */
	uint32_t stack, label_set; /* of the recording's dictionary */
	size_t value_at;
};

struct recording {
	struct profile dict; /* its label sets have the played labels, with the value "" */
	uint32_t played[PLAYED_CNT]; /* strings: their keys */
	struct recorded_kind kinds[RECORDED_KINDS_MAX];
	uint32_t kind_cnt;
	uint32_t minute_cnt;
	uint32_t *services; /* owned; strings: as they were called */
	size_t service_cnt, service_cap;
	struct recorded_row *rows; /* owned */
	size_t row_cnt, row_cap;
	int64_t *values; /* owned */
	size_t value_cnt, value_cap;
	size_t *firsts; /* owned: where the rows of (minute, service, kind) begin, and their end */
};

/* The store @path. 0 or negative errno after log_error(); release with recording_deinit() in either
 * case. */
int recording_init(struct recording *recording, const char *path);
void recording_deinit(struct recording *recording);

/* The rows of @service in @minute that are of @kind. Borrowed. */
const struct recorded_row *recording_rows(const struct recording *recording, uint32_t minute,
					  uint32_t service, uint32_t kind, size_t *cnt);

#endif
