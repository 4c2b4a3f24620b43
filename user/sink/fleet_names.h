/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What frames, stacks and label sets are called in the fleet store: numbers that every host makes
 * of the same thing alike, so that it is there once, and that do not change when something is
 * shipped again, whatever got its name meanwhile.
 *
 *	frame   code with a build-id: (build-id, address, flags). Other code that had its names when
 *	        it was stored: (path, flags, names): where it lies differs from boot to boot. Other
 *	        code without: (host, generation, number), as nobody else can know what it is
 *	stack   (service, frames from the root on)
 *	source  the host's own: generation << 32 | number
 *
 * The first two are hashes (XXH3, 64 bits).
 */
#ifndef BPFPROF_SINK_FLEET_NAMES_H
#define BPFPROF_SINK_FLEET_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "sink/sink.h"

/* Of a label set: its labels "service" and "version", strings of the dictionary. */
struct fleet_source {
	uint32_t service, version;
	bool is_known;
};

struct fleet_stack {
	uint64_t hash;
	uint32_t service; /* of which it is the hash; STRTAB_NONE: none yet */
};

/* Of one generation. */
struct fleet_names {
	uint64_t host, generation;
	const struct profile *dict; /* borrowed from the last window */
	uint64_t *frames; /* owned: by location; 0: not asked for */
	size_t frame_cap;
	bool *is_late; /* owned: by location: it had no lines when it was stored */
	size_t late_cap;
	size_t late_cnt; /* of the window's list */
	struct fleet_stack *stacks; /* owned: by stack */
	size_t stack_cap;
	struct fleet_source *sources; /* owned: by label set */
	size_t source_cap;
	struct buf scratch;
};

void fleet_names_init(struct fleet_names *names, uint64_t host);
void fleet_names_deinit(struct fleet_names *names);

/* Take over what the dictionary of @window has more; all is forgotten where it is another
 * generation's. 0 or -ENOMEM. */
int fleet_names_update(struct fleet_names *names, const struct sink_window *window);

/* They do not fail but for memory: 0 then. */
uint64_t fleet_frame(struct fleet_names *names, uint32_t location);
uint64_t fleet_stack(struct fleet_names *names, uint32_t service, uint32_t stack);

const struct fleet_source *fleet_source(struct fleet_names *names, uint32_t label_set);

static inline uint64_t fleet_src(const struct fleet_names *names, uint32_t label_set)
{
	return names->generation << 32 | label_set;
}

/* The hash of a store's id. */
uint64_t fleet_host(const char *host_id);

/* The hash of what @batch's kind is. 0 where there is no memory. */
uint64_t fleet_kind(const struct sink_batch *batch);

/* Is @location's address one that means the same on other hosts, and after another boot? */
bool fleet_has_address(const struct profile *dict, uint32_t location);

/* The path of @location's image; of code without a file ("//anon:PID") without the process. */
const char *fleet_path(const struct profile *dict, uint32_t location);

#endif
