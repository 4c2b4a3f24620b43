/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that never were. Each runs some services of a catalogue, popular ones on more hosts (Zipf's
 * law with exponent 1); a service does what one of the recording does, minute by minute, each host
 * at another minute of it, with counts that vary as those of samples do (Poisson). Every
 * SIM_ROLL_MIN minutes a service gets a new version, which hosts take up one after the other within
 * SIM_ROLLOUT_MIN.
 *
 * Whatever is random is a hash of the seed and of what it is about: a host's minute is the same
 * whoever else there is, and however often it is played.
 */
#ifndef BPFPROF_TOOLS_FLEET_SIM_HOSTS_H
#define BPFPROF_TOOLS_FLEET_SIM_HOSTS_H

#include "recording.h"
#include "sink/fleet_fill.h"

enum { SIM_ROLL_MIN = 180, SIM_ROLLOUT_MIN = 30 };

struct sim_opts {
	uint64_t host_cnt, minute_cnt;
	uint64_t service_cnt; /* of the catalogue */
	uint64_t per_host; /* of them on each host */
	uint64_t seed;
	uint64_t start_s; /* UTC, of a minute */
};

struct sim_host;

struct sim {
	struct sim_opts opts;
	struct recording *recording; /* borrowed */
	uint32_t *services; /* owned; strings: names of the catalogue */
	uint32_t *versions; /* owned; strings */
	size_t version_cnt;
	struct sim_host *hosts; /* owned */
	double *weights; /* owned: of the catalogue's services, added up */
};

/* @opts: per_host at most service_cnt. 0 or -ENOMEM; release with sim_deinit() in either case. */
int sim_init(struct sim *sim, const struct sim_opts *opts, struct recording *recording);
void sim_deinit(struct sim *sim);

/* What sim_fill() has added, and the CPU time that it took. */
struct sim_filled {
	uint64_t rows, samples; /* samples: what the kinds' first values sum up to */
	uint64_t making_ns; /* to play the hosts */
	uint64_t filling_ns; /* what their sinks do then: names, questions, rows */
};

/* To whom a host tells its minutes. */
struct sim_target {
	struct ch_client *client; /* borrowed, as blocks and known */
	struct fleet_blocks *blocks;
	/* What the server has of stacks and frames, for all hosts that tell this target, as a relay
	 * knows it. NULL: each host finds out for itself. */
	struct fleet_known *known;
};

/* Add the @minute of host @nr to the target's blocks, and to *@filled. Hosts of different targets
 * may be filled at once. 0 or negative errno as fleet_fill(). */
int sim_fill(struct sim *sim, size_t nr, uint64_t minute, const struct sim_target *target,
	     struct sim_filled *filled);

#endif
