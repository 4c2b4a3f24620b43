/* SPDX-License-Identifier: Apache-2.0 */
#include "hosts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "profile/ledger.h"

enum {
	MINUTE_S = 60,
	WINDOWS = 6, /* that an agent puts together */
	WINDOW_S = MINUTE_S / WINDOWS,
	KNUTH_MAX = 30, /* means above it are as good as normally distributed */
};

/* What a label set of a host is. */
struct set_key {
	uint32_t recorded, service, version;
};

struct sim_host {
	struct fleet_filler filler;
	char name[32];
	uint64_t random; /* of the host */
	uint32_t *services; /* owned: of the catalogue */
	struct profile dict; /* the recording's, with the host's own label sets */
	struct profile_label *labels; /* owned */
	size_t label_cnt, label_cap;
	struct profile_label_set *sets; /* owned */
	size_t set_cnt, set_cap;
	struct set_key *keys; /* owned */
	size_t key_cap;
	struct hmap key_index;
	struct sink_row *rows; /* owned: of one minute */
	size_t row_cnt, row_cap;
	int64_t *values; /* owned */
	size_t value_cnt, value_cap;
};

/* --- Chance --- */

static uint64_t next_random(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return hash_mix(hash_mix(0, *state), *state >> 32);
}

/* [0, 1) */
static double next_share(uint64_t *state)
{
	return (double)(next_random(state) >> 11) / (double)(UINT64_C(1) << 53);
}

/* How often it happened, where @mean is what is to be expected. */
static int64_t next_poisson(uint64_t *state, double mean)
{
	double product = 1, normal;
	int64_t cnt = -1;

	if (mean <= KNUTH_MAX) {
		for (; product > exp(-mean); cnt++)
			product *= next_share(state);
		return cnt < 0 ? 0 : cnt;
	}
	normal = sqrt(-2 * log(1 - next_share(state))) * cos(2 * M_PI * next_share(state));
	normal = round(mean + sqrt(mean) * normal);
	return normal > 0 ? (int64_t)normal : 0;
}

/* --- Services --- */

static bool has_service(const struct sim_host *host, size_t cnt, uint32_t service)
{
	for (size_t i = 0; i < cnt; i++)
		if (host->services[i] == service)
			return true;
	return false;
}

static uint32_t pick_service(const struct sim *sim, uint64_t *state)
{
	const double at = next_share(state) * sim->weights[sim->opts.service_cnt - 1];
	uint32_t nr = 0;

	while (nr + 1 < sim->opts.service_cnt && sim->weights[nr] <= at)
		nr++;
	return nr;
}

static int init_host(struct sim *sim, size_t nr)
{
	struct sim_host *host = &sim->hosts[nr];
	char id[FLEET_HOST_ID_MAX];
	uint64_t state;

	host->random = hash_mix(hash_mix(0, sim->opts.seed), nr + 1);
	snprintf(host->name, sizeof(host->name), "sim-%05zu", nr + 1);
	snprintf(id, sizeof(id), "%016llx-%08zx", (unsigned long long)host->random, nr + 1);
	fleet_filler_init(&host->filler, id);
	hmap_init(&host->key_index);
	host->services = calloc(sim->opts.per_host, sizeof(*host->services));
	if (!host->services)
		return -ENOMEM;
	state = host->random;
	for (size_t i = 0; i < sim->opts.per_host; i++) {
		uint32_t service = pick_service(sim, &state);

		/* The next that is free: nobody has one twice. */
		while (has_service(host, i, service))
			service = (uint32_t)((service + 1) % sim->opts.service_cnt);
		host->services[i] = service;
	}
	profile_string(&sim->recording->dict, host->name);
	return sim->recording->dict.err;
}

static int name_services(struct sim *sim)
{
	const struct recording *recording = sim->recording;
	struct profile *dict = &sim->recording->dict;
	char name[128];

	for (size_t i = 0; i < sim->opts.service_cnt; i++) {
		const char *base =
			profile_str(dict, recording->services[i % recording->service_cnt]);

		sim->weights[i] = (i ? sim->weights[i - 1] : 0) + 1.0 / (double)(i + 1);
		snprintf(name, sizeof(name), "%.100s-%zu", *base ? base : "none", i + 1);
		sim->services[i] = profile_string(dict, name);
	}
	for (size_t i = 0; i < sim->version_cnt; i++) {
		snprintf(name, sizeof(name), "r%zu", i + 1);
		sim->versions[i] = profile_string(dict, name);
	}
	return dict->err;
}

/* @service's on @host at @minute. */
static uint32_t version_of(const struct sim *sim, const struct sim_host *host, uint32_t service,
			   uint64_t minute)
{
	const uint64_t of_service = hash_mix(hash_mix(1, sim->opts.seed), service) % SIM_ROLL_MIN;
	const uint64_t of_host = hash_mix(host->random, service) % SIM_ROLLOUT_MIN;

	return (uint32_t)((minute + of_service + SIM_ROLLOUT_MIN - of_host) / SIM_ROLL_MIN);
}

int sim_init(struct sim *sim, const struct sim_opts *opts, struct recording *recording)
{
	int err;

	*sim = (struct sim){
		.opts = *opts,
		.recording = recording,
		.version_cnt = (opts->minute_cnt + 2 * SIM_ROLL_MIN) / SIM_ROLL_MIN + 1,
	};
	sim->services = calloc(opts->service_cnt, sizeof(*sim->services));
	sim->weights = calloc(opts->service_cnt, sizeof(*sim->weights));
	sim->versions = calloc(sim->version_cnt, sizeof(*sim->versions));
	sim->hosts = calloc(opts->host_cnt, sizeof(*sim->hosts));
	if (!sim->services || !sim->weights || !sim->versions || !sim->hosts)
		return -ENOMEM;
	err = name_services(sim);
	for (size_t i = 0; i < opts->host_cnt && !err; i++)
		err = init_host(sim, i);
	return err;
}

void sim_deinit(struct sim *sim)
{
	for (size_t i = 0; sim->hosts && i < sim->opts.host_cnt; i++) {
		struct sim_host *host = &sim->hosts[i];

		fleet_filler_deinit(&host->filler);
		hmap_deinit(&host->key_index);
		free(host->services);
		free(host->labels);
		free(host->sets);
		free(host->keys);
		free(host->rows);
		free(host->values);
	}
	free(sim->hosts);
	free(sim->services);
	free(sim->weights);
	free(sim->versions);
}

/* --- Label sets --- */

static bool is_key(const void *owner, uint32_t index, const void *key)
{
	return !memcmp(&((const struct sim_host *)owner)->keys[index], key, sizeof(struct set_key));
}

static int add_set(const struct sim *sim, struct sim_host *host, const struct set_key *key)
{
	const struct profile *dict = &sim->recording->dict;
	const struct profile_label_set *recorded = &dict->label_sets[key->recorded];
	const uint32_t texts[PLAYED_CNT] = {
		[PLAYED_HOST] = strtab_find(&dict->strings, host->name, strlen(host->name)),
		[PLAYED_SERVICE] = sim->services[key->service],
		[PLAYED_VERSION] = sim->versions[key->version],
	};

	if (array_reserve(&host->labels, &host->label_cap, host->label_cnt + recorded->cnt,
			  sizeof(*host->labels)) ||
	    array_reserve(&host->sets, &host->set_cap, host->set_cnt + 1, sizeof(*host->sets)) ||
	    array_reserve(&host->keys, &host->key_cap, host->set_cnt + 1, sizeof(*host->keys)))
		return -ENOMEM;
	host->sets[host->set_cnt] =
		(struct profile_label_set){(uint32_t)host->label_cnt, recorded->cnt};
	host->keys[host->set_cnt] = *key;
	for (uint32_t i = 0; i < recorded->cnt; i++) {
		struct profile_label label = dict->labels[recorded->first + i];

		for (int k = 0; k < PLAYED_CNT; k++)
			if (label.key == sim->recording->played[k])
				label.str = texts[k];
		host->labels[host->label_cnt++] = label;
	}
	host->set_cnt++;
	return 0;
}

static int label_set_of(const struct sim *sim, struct sim_host *host, const struct set_key *key,
			uint32_t *out)
{
	const uint64_t hash =
		hash_mix(hash_mix(hash_mix(0, key->recorded), key->service), key->version);
	int err;

	*out = hmap_find(&host->key_index, hash, is_key, host, key);
	if (*out != HMAP_NONE)
		return 0;
	*out = (uint32_t)host->set_cnt;
	err = add_set(sim, host, key);
	return err ? err : hmap_insert(&host->key_index, hash, *out);
}

/* --- Minutes --- */

/* The counts of @recorded as they may have come on another host: the first value varies, the others
 * follow. */
static void vary(const int64_t *recorded, uint32_t cnt, uint64_t *state, int64_t *out)
{
	out[0] = next_poisson(state, (double)recorded[0]);
	for (uint32_t i = 1; i < cnt; i++)
		out[i] = recorded[0] ? (int64_t)((__int128)recorded[i] * out[0] / recorded[0]) : 0;
}

/* What @host's service @nr has of @kind in @minute. */
static int add_service(struct sim *sim, struct sim_host *host, uint32_t nr, uint32_t kind,
		       uint64_t minute)
{
	const struct recording *recording = sim->recording;
	const uint32_t service = host->services[nr];
	const uint32_t value_cnt = recording->kinds[kind].types.value_type_cnt;
	const uint32_t played = (uint32_t)((minute + host->random) % recording->minute_cnt);
	uint64_t state = hash_mix(hash_mix(hash_mix(host->random, service), minute), kind);
	struct set_key key = {.service = service,
			      .version = version_of(sim, host, service, minute)};
	size_t cnt;
	const struct recorded_row *rows = recording_rows(
		recording, played, service % (uint32_t)recording->service_cnt, kind, &cnt);
	int err = array_reserve(&host->rows, &host->row_cap, host->row_cnt + cnt,
				sizeof(*host->rows));

	if (!err)
		err = array_reserve(&host->values, &host->value_cap,
				    host->value_cnt + cnt * value_cnt, sizeof(*host->values));
	for (size_t i = 0; i < cnt && !err; i++) {
		int64_t *values = host->values + host->value_cnt;
		struct sink_row *row = &host->rows[host->row_cnt];

		vary(recording->values + rows[i].value_at, value_cnt, &state, values);
		if (!values[0])
			continue;
		key.recorded = rows[i].label_set;
		row->stack = rows[i].stack;
		err = label_set_of(sim, host, &key, &row->label_set);
		host->row_cnt++;
		host->value_cnt += value_cnt;
	}
	return err;
}

/* Where the rows of each kind begin, and their values. */
struct extent {
	size_t row, value;
};

static int add_kinds(struct sim *sim, struct sim_host *host, uint64_t minute, struct extent *firsts)
{
	int err = 0;

	host->row_cnt = 0;
	host->value_cnt = 0;
	for (uint32_t kind = 0; kind < sim->recording->kind_cnt && !err; kind++) {
		firsts[kind] = (struct extent){host->row_cnt, host->value_cnt};
		for (uint32_t i = 0; i < sim->opts.per_host && !err; i++)
			err = add_service(sim, host, i, kind, minute);
	}
	firsts[sim->recording->kind_cnt] = (struct extent){host->row_cnt, host->value_cnt};
	return err;
}

static uint64_t count_samples(const struct sink_batch *batch)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < batch->row_cnt; i++)
		sum += (uint64_t)batch->values[i * batch->types->value_type_cnt];
	return sum;
}

/* Nothing is lost on these hosts. */
static void add_event(const char *name, const struct sink_batch *batch, struct ledger *ledger)
{
	struct ledger_event *event = &ledger->events[ledger->event_cnt];

	if (ledger->event_cnt == LEDGER_EVENTS_MAX)
		return;
	ledger->event_cnt++;
	ledger_copy_name(event->name, sizeof(event->name), name);
	event->sum.cpu = -1;
	event->sum.recorded = count_samples(batch);
	event->sum.ran = event->sum.recorded;
	event->sum.ticks = event->sum.recorded;
}

/* Rows lie where they are to stay now. */
static size_t make_batches(const struct sim *sim, const struct sim_host *host,
			   const struct extent *firsts, struct sink_batch *out,
			   struct ledger *ledger)
{
	size_t cnt = 0;

	for (uint32_t kind = 0; kind < sim->recording->kind_cnt; kind++) {
		const struct recorded_kind *recorded = &sim->recording->kinds[kind];
		const size_t row_cnt = firsts[kind + 1].row - firsts[kind].row;

		if (!row_cnt)
			continue;
		out[cnt] = (struct sink_batch){
			.kind = recorded->name,
			.event = recorded->event,
			.types = &recorded->types,
			.rows = host->rows + firsts[kind].row,
			.values = host->values + firsts[kind].value,
			.row_cnt = row_cnt,
		};
		if (*recorded->event)
			add_event(recorded->event, &out[cnt], ledger);
		cnt++;
	}
	return cnt;
}

/* The same, whoever else there is. */
static struct sink_window window_of(const struct sim *sim, const struct sim_host *host,
				    uint64_t minute)
{
	const uint64_t start_s =
		sim->opts.start_s + minute * MINUTE_S + host->random / SIM_ROLL_MIN % WINDOW_S;

	return (struct sink_window){
		.seq = start_s,
		.last_seq = start_s + MINUTE_S - WINDOW_S,
		.prev_seq = minute ? start_s - WINDOW_S : 0,
		.start_ns = start_s * NSEC_PER_SEC,
		.end_ns = (start_s + MINUTE_S) * NSEC_PER_SEC,
		.covered_ns = MINUTE_S * NSEC_PER_SEC,
		.window_cnt = WINDOWS,
		.boot_id = host->filler.id,
		.instance = 1,
		.epoch = minute * WINDOWS,
		.last_epoch = minute * WINDOWS + WINDOWS - 1,
		.generation = 1,
		.dict = &host->dict,
	};
}

/* The host's minute as a window of an agent's sink, into its arguments. */
static int make_window(struct sim *sim, struct sim_host *host, uint64_t minute,
		       struct sink_batch *batches, struct ledger *ledger, struct sink_window *out)
{
	struct extent firsts[RECORDED_KINDS_MAX + 1];
	int err = add_kinds(sim, host, minute, firsts);

	if (err)
		return err;
	host->dict = sim->recording->dict;
	host->dict.labels = host->labels;
	host->dict.label_cnt = host->label_cnt;
	host->dict.label_sets = host->sets;
	host->dict.label_set_cnt = host->set_cnt;
	*out = window_of(sim, host, minute);
	out->batches = batches;
	out->batch_cnt = make_batches(sim, host, firsts, batches, ledger);
	out->ledger = ledger;
	return 0;
}

int sim_fill(struct sim *sim, size_t nr, uint64_t minute, const struct sim_target *target,
	     struct sim_filled *filled)
{
	const uint64_t begin_ns = clock_thread_cpu_ns();
	struct sim_host *host = &sim->hosts[nr];
	const uint64_t rows = host->filler.rows;
	struct sink_batch batches[RECORDED_KINDS_MAX];
	struct sink_window window;
	struct ledger ledger;
	uint64_t made_ns;
	int err;

	ledger_init(&ledger);
	err = make_window(sim, host, minute, batches, &ledger, &window);
	made_ns = clock_thread_cpu_ns();
	host->filler.shared = target->known;
	if (!err)
		err = fleet_fill(&host->filler, target->client, &window, 1, target->blocks);
	filled->filling_ns += clock_thread_cpu_ns() - made_ns;
	filled->making_ns += made_ns - begin_ns;
	filled->rows += host->filler.rows - rows;
	for (size_t i = 0; !err && i < window.batch_cnt; i++)
		filled->samples += count_samples(&batches[i]);
	ledger_deinit(&ledger);
	return err;
}
