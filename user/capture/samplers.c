/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a recording, from their names to their books. */
#include "capture/samplers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/loader.h"

static bool is_counter(const struct sampler *sampler)
{
	return sampler->event.spec.kind == EVENT_COUNTER;
}

/* What is asked of all events is nothing that a counter or a tracepoint can answer. */
static int check_calls(struct event *event, const struct capture_opts *opts)
{
	enum event_kind kind = event->spec.kind;
	bool is_function = event_is_probe(kind) && kind != EVENT_USDT;

	if (opts->elapsed && is_function) {
		event->spec.kind = event->sites[0].path ? EVENT_URETPROBE : EVENT_KRETPROBE;
		return 0;
	}
	if (opts->elapsed)
		log_error("event '%s': --elapsed times calls of functions: kprobe:FUNCTION or "
			  "uprobe:PATH:FUNCTION",
			  event->name);
	else if (opts->by & BY_CALLER && (!is_function || event_is_return(kind)))
		log_error("event '%s': --by caller looks at a function's entry: kprobe:FUNCTION or "
			  "uprobe:PATH:FUNCTION",
			  event->name);
	else
		return 0;
	return -EINVAL;
}

/* @spec is *taken*; NULL: the default event. */
static int samplers_add_event(struct samplers *samplers, struct event_spec *spec,
			      const struct event_scope *scope, const struct capture_opts *opts)
{
	_cleanup_(buf_deinit) struct buf why;
	struct sampler *sampler;
	int err = -E2BIG;

	buf_init(&why, BUF_NO_MAX);
	if (samplers->cnt == BP_EVENTS_SAMPLED) {
		assert(spec); /* the default event is the only one */
		buf_printf(&why, "event '%s': at most %d events fit in one recording", spec->text,
			   BP_EVENTS_SAMPLED);
		event_spec_deinit(spec);
	} else {
		err = event_resolve(spec, scope, &samplers->items[samplers->cnt].event, &why);
	}
	if (err) {
		log_error("%s", buf_error_text(&why, err));
		return err;
	}
	sampler = &samplers->items[samplers->cnt++];
	err = check_calls(&sampler->event, opts);
	return err ? err : sampler_exprs_compile(&sampler->event, opts, &sampler->exprs);
}

/* The events of one -e. */
static int samplers_add_text(struct samplers *samplers, const char *text,
			     const struct event_scope *scope, const struct capture_opts *opts)
{
	_cleanup_free_ struct event_spec *specs = NULL;
	_cleanup_(buf_deinit) struct buf why;
	size_t cnt;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = event_parse(text, &specs, &cnt, &why);
	if (err) {
		log_error("%s", buf_error_text(&why, err));
		return err;
	}
	for (size_t i = 0; i < cnt; i++) {
		if (err)
			event_spec_deinit(&specs[i]);
		else
			err = samplers_add_event(samplers, &specs[i], scope, opts);
	}
	return err;
}

int samplers_resolve(struct samplers *samplers, const struct capture_opts *opts)
{
	const struct event_scope scope = {
		.tgid = opts->tgids && opts->tgids->cnt ? (pid_t)opts->tgids->items[0] : 0,
		.freq_hz = opts->freq_hz,
		.freq_is_for_clocks = opts->freq_is_for_clocks,
		.period = opts->period,
	};
	int err = 0;

	samplers->cnt = 0;
	if (opts->waits.is_alone)
		return 0;
	if (!opts->events || !opts->events[0])
		return samplers_add_event(samplers, NULL, &scope, opts);
	for (const char *const *text = opts->events; *text && !err; text++)
		err = samplers_add_text(samplers, *text, &scope, opts);
	if (!err && opts->waits.is_wanted && !samplers->items[0].event.is_clock) {
		log_error("event '%s': threads' time on a CPU is sampled by cpu-clock: name it "
			  "first (-e cpu-clock,%s)",
			  samplers->items[0].event.name, samplers->items[0].event.name);
		err = -EINVAL;
	}
	return err;
}

/* Are its probes all where functions begin? */
static bool is_at_entries(const struct event *event)
{
	for (size_t i = 0; i < event->site_cnt; i++)
		if (!event->sites[i].is_entry)
			return false;
	return event->site_cnt;
}

void samplers_configure(const struct samplers *samplers, const struct capture_opts *opts,
			struct bp_event_config *out)
{
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		const struct event *event = &samplers->items[i].event;
		bool is_counted = event->spec.kind != EVENT_COUNTER;

		/* Of counters only whether there is a period: what it is may change while we
		 * record, and a pinned recording is gone on with nevertheless. */
		out[i] = (struct bp_event_config){
			.is_counted = is_counted,
			.is_return = event_is_return(event->spec.kind),
			.by_caller = !!(opts->by & BY_CALLER),
			.elapsed = opts->elapsed,
			.has_where = !!opts->where,
			.has_weight = !!opts->weight,
			.has_hist = !!opts->hist,
			.is_entry = !event_is_return(event->spec.kind) && is_at_entries(event),
			.period = event->is_freq ? 0
				  : is_counted	 ? event->period
						 : 1,
			.interval_ns =
				event->is_freq && is_counted ? NSEC_PER_SEC / event->freq_hz : 0,
		};
	}
}

/* Where calls are timed their beginnings are probed too, and first. */
static int sampler_attach(struct sampler *sampler, struct loader *loader, uint32_t nr)
{
	const struct probe_pins call_pins = {loader->pins, 'f', nr}, pins = {loader->pins, 'e', nr};
	struct event *event = &sampler->event;
	int call_fd = loader_call_fd(loader, nr), err = 0;

	if (call_fd >= 0)
		err = probes_open(event, call_fd, PROBES_AT_ENTRY, &call_pins,
				  &sampler->call_probes);
	return err ? err
		   : probes_open(event, sampler->prog_fd, PROBES_AT_KIND, &pins, &sampler->probes);
}

int samplers_open(struct samplers *samplers, struct loader *loader, const struct number_set *cpus,
		  const struct number_set *present)
{
	int err = 0;

	for (uint32_t i = 0; i < samplers->cnt && !err; i++) {
		struct sampler *sampler = &samplers->items[i];

		sampler->prog_fd = loader_sampler_fd(loader, i);
		err = books_init(&sampler->books, present,
				 is_counter(sampler) ? loader_idle_fd(loader) : -1);
		if (err)
			return err;
		err = is_counter(sampler)
			      ? perf_events_open(&sampler->counters, &sampler->event, cpus,
						 sampler->prog_fd, loader->pins, i)
			      : sampler_attach(sampler, loader, i);
	}
	return err;
}

static uint64_t program_misses(const struct sampler *sampler)
{
	struct program_stats stats;

	loader_program_stats(sampler->prog_fd, &stats);
	return stats.misses;
}

bool samplers_have_probes(const struct samplers *samplers)
{
	for (uint32_t i = 0; i < samplers->cnt; i++)
		if (!is_counter(&samplers->items[i]))
			return true;
	return false;
}

int samplers_enable(struct samplers *samplers, struct loader *loader)
{
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		struct sampler *sampler = &samplers->items[i];
		int err = 0;

		if (!loader_is_resumed(loader))
			books_start(&sampler->books);
		if (is_counter(sampler))
			err = perf_events_enable(&sampler->counters);
		else if (!loader_is_resumed(loader))
			sampler->misses_before = program_misses(sampler);
		if (err) {
			log_error("enable event '%s': %s", sampler->event.name, strerror(-err));
			return err;
		}
	}
	return 0;
}

void samplers_end_counters(struct samplers *samplers)
{
	for (uint32_t i = 0; i < samplers->cnt; i++)
		if (is_counter(&samplers->items[i]))
			perf_events_end(&samplers->items[i].counters);
}

const struct sampler *samplers_find_like(const struct samplers *samplers,
					 const struct sampler *wanted)
{
	for (uint32_t i = 0; i < samplers->cnt && !is_counter(wanted); i++)
		if (!strcmp(samplers->items[i].event.spec.text, wanted->event.spec.text))
			return &samplers->items[i];
	return NULL;
}

static void sampler_detach(struct sampler *sampler)
{
	probes_close(&sampler->call_probes);
	probes_close(&sampler->probes);
}

void samplers_disable(struct samplers *samplers, struct loader *loader)
{
	loader_set_sampling(loader, false);
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		if (is_counter(&samplers->items[i]))
			perf_events_disable(&samplers->items[i].counters);
		else
			sampler_detach(&samplers->items[i]);
	}
}

void samplers_close(struct samplers *samplers)
{
	for (uint32_t i = 0; i < BP_EVENTS_SAMPLED; i++) {
		struct sampler *sampler = &samplers->items[i];

		perf_events_close(&sampler->counters);
		sampler_detach(sampler);
		books_deinit(&sampler->books);
		sampler_exprs_deinit(&sampler->exprs);
		event_deinit(&sampler->event);
	}
	samplers->cnt = 0;
}

void samplers_cpu_online(struct samplers *samplers, uint32_t cpu)
{
	for (uint32_t i = 0; i < samplers->cnt; i++)
		perf_events_cpu_online(&samplers->items[i].counters, cpu);
}

void samplers_cpu_offline(struct samplers *samplers, uint32_t cpu)
{
	for (uint32_t i = 0; i < samplers->cnt; i++)
		perf_events_cpu_offline(&samplers->items[i].counters, cpu);
}

int samplers_set_freq(struct samplers *samplers, uint64_t freq_hz)
{
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		struct event *event = &samplers->items[i].event;
		int err;

		if (!event_set_freq(event, freq_hz))
			continue;
		err = perf_events_retune(&samplers->items[i].counters);
		if (err) {
			log_error("event '%s' at %llu Hz: %s", event->name,
				  (unsigned long long)freq_hz, strerror(-err));
			return err;
		}
	}
	return 0;
}

void samplers_nudge(struct samplers *samplers)
{
	for (uint32_t i = 0; i < samplers->cnt; i++)
		perf_events_nudge(&samplers->items[i].counters);
}

void samplers_read_ticks(struct samplers *samplers)
{
	for (uint32_t i = 0; i < samplers->cnt; i++)
		perf_events_read_ticks(&samplers->items[i].counters);
}

void samplers_mark_end(struct samplers *samplers)
{
	samplers_read_ticks(samplers);
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		struct sampler *sampler = &samplers->items[i];

		books_mark_end(&sampler->books);
		sampler->misses_end = program_misses(sampler);
		sampler->is_marked = true;
	}
}

uint64_t samplers_add(struct samplers *samplers, uint32_t shard,
		      const struct bp_event_counters *counters)
{
	uint64_t recorded = 0;

	for (uint32_t i = 0; i < samplers->cnt; i++) {
		books_add(&samplers->items[i].books, shard, &counters[i]);
		recorded += counters[i].recorded;
	}
	return recorded;
}

int sampler_close_window(struct sampler *sampler, bool is_at_rest, struct ledger_event *event)
{
	struct program_stats stats;

	loader_program_stats(sampler->prog_fd, &stats);
	if (sampler->is_marked)
		stats.misses = sampler->misses_end;
	sampler->is_marked = false;
	snprintf(event->name, sizeof(event->name), "%s", sampler->event.name);
	snprintf(event->unit, sizeof(event->unit), "samples");
	event->period = sampler->event.period;
	if (!is_at_rest)
		stats.runs = 0;
	if (is_counter(sampler))
		return books_close_window(&sampler->books, &sampler->counters, stats.runs, event);
	return books_close_counted(&sampler->books, stats.runs,
				   stats.misses - sampler->misses_before, event);
}
