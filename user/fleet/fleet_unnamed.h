/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a fleet's store that lack names or lines though they have a build-id, to be named where
 * debug files are: on no host of the fleet, maybe. Each is there once for every day; what it gets
 * is one more row for that day (clickhouse/fleet_frame.h), so that nothing that refers to it has to
 * be touched, and writing it twice, or a part of it, changes nothing else.
 *
 *	fleet_unnamed_modules()		which files have such frames
 *	fleet_unnamed_read()		the frames of some of them, as a profile
 *	...				whose locations get lines, and mappings MAPPING_HAS_LINES
 *	fleet_unnamed_write()		what is better than before, and what is known of the files
 */
#ifndef BPFPROF_FLEET_FLEET_UNNAMED_H
#define BPFPROF_FLEET_FLEET_UNNAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "clickhouse/client.h"
#include "profile/profile.h"

/* Days since 1970 (UTC), both included. */
struct fleet_days {
	uint16_t first, last;
};

/* The days that [@from_ns, @to_ns] (CLOCK_REALTIME; UINT64_MAX: all that there are) has a part of.
 */
struct fleet_days fleet_days_of(uint64_t from_ns, uint64_t to_ns);

/* A file by its build-id. */
struct fleet_module {
	char *build_id, *path; /* owned; the path is one of those that hosts had it under */
	uint64_t lacking; /* frames that lack names or lines, once for each day */
	uint64_t bettered; /* of these, that fleet_unnamed_write() was given better ones for */
	const char *why; /* why not all, as it is to be remembered: a word; "": they did */
};

struct fleet_modules {
	struct fleet_module *items; /* owned */
	size_t cnt, cap;
};

/* Those of @days, the most frames first. 0 or negative errno as ch_client_query(); release with
 * fleet_modules_deinit() in either case. */
int fleet_unnamed_modules(struct ch_client *client, const struct fleet_days *days,
			  struct fleet_modules *out);
void fleet_modules_deinit(struct fleet_modules *modules);

/* Append the row that comes: build-id, path, frames. 0 or -ENOMEM; what is not there is an error of
 * @rd. */
int fleet_modules_take(struct fleet_modules *modules, struct reader *rd);

struct fleet_unnamed_frame {
	uint64_t frame;
	uint32_t location; /* of the profile */
	uint16_t day;
	uint8_t named; /* of the row that is there */
};

struct fleet_unnamed {
	struct profile prof; /* mappings without flags */
	struct fleet_unnamed_frame *frames; /* owned */
	size_t cnt, cap;
};

/* Of @days, those of the @cnt modules. 0 or negative errno; release with fleet_unnamed_deinit() in
 * either case. */
int fleet_unnamed_read(struct ch_client *client, const struct fleet_days *days,
		       const struct fleet_module *modules, size_t cnt, struct fleet_unnamed *out);
void fleet_unnamed_deinit(struct fleet_unnamed *unnamed);

/*
 * Write what became of the @cnt modules; then a row for each frame whose location is named better
 * than before, and for those of mappings with MAPPING_HAS_LINES that are not, so that they are not
 * looked for again. 0 or negative errno: some of it may be there then, and what is not is found to
 * be lacking the next time.
 */
int fleet_unnamed_write(struct ch_client *client, struct fleet_unnamed *unnamed,
			struct fleet_module *modules, size_t cnt);

#endif
