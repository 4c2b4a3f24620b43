/* SPDX-License-Identifier: Apache-2.0 */
/* A window of two recordings becomes one. */
#include "agent/agent_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/off_cpu.h"
#include "profile/profile_import.h"

static void free_profile(struct profile *prof)
{
	if (prof)
		profile_deinit(prof);
	free(prof);
}

static void free_ledger(struct ledger *ledger)
{
	if (ledger)
		ledger_deinit(ledger);
	free(ledger);
}

void raw_window_deinit(struct raw_window *raw)
{
	free_profile(raw->prof);
	free_profile(raw->waits);
	free_ledger(raw->ledger);
	free_ledger(raw->waits_ledger);
	free(raw->modules);
	*raw = (struct raw_window){.prof = NULL};
}

int raw_window_take(struct agent_recording *rec, struct raw_window *out)
{
	int err = capture_window(rec->clock.capture, &out->prof, &out->ledger);

	rec->clock.looked_cnt = 0;
	if (err)
		return err;
	capture_origin(rec->clock.capture, &out->origin);
	/* One that may be stored already gets nothing that is not. */
	if (!rec->waits.capture || out->origin.is_again)
		return 0;
	rec->waits.looked_cnt = 0;
	err = capture_window(rec->waits.capture, &out->waits, &out->waits_ledger);
	out->off_cpu = err ? NULL : capture_off_cpu(rec->waits.capture);
	return err;
}

/* For how long no waits were recorded, of the time that the window adds to those before. */
static uint64_t note_absence(struct agent_recording *rec, const struct raw_window *raw)
{
	uint64_t end_ns = raw->origin.end_ns;
	struct capture_origin waits = {.start_ns = end_ns, .end_ns = end_ns};
	uint64_t until_ns = rec->waits_until_ns ? rec->waits_until_ns : raw->origin.start_ns;

	uint64_t absent_ns = 0;

	if (raw->waits)
		capture_origin(rec->waits.capture, &waits);
	if (waits.start_ns > until_ns)
		absent_ns = waits.start_ns - until_ns;
	/* They are stopped a moment before the clock's window ends. */
	if (rec->ends && waits.end_ns < end_ns)
		absent_ns += end_ns - waits.end_ns;
	rec->waits_until_ns = waits.end_ns > until_ns ? waits.end_ns : until_ns;
	return absent_ns;
}

/* A window's cost is what it took itself: capture reads meters that go on. */
static void take_cost(struct agent_capture *part, struct ledger *ledger)
{
	struct ledger_cost *cost = &ledger->cost, now = *cost;

	cost->bpf_run_ns -= part->cost.bpf_run_ns;
	cost->bpf_runs -= part->cost.bpf_runs;
	cost->capture_cpu_ns -= part->cost.capture_cpu_ns;
	part->cost = now;
}

/* Of waits that nobody recorded. */
static void add_absence(struct ledger *ledger, uint64_t absent_ns)
{
	struct ledger_event *event = &ledger->events[ledger->event_cnt++];

	*event = (struct ledger_event){.absent_ns = absent_ns, .sum = {.cpu = -1}};
	snprintf(event->name, sizeof(event->name), "%s", CAPTURE_WAITS_EVENT);
	snprintf(event->unit, sizeof(event->unit), "waits");
}

/* They are of the same time and process, and have memory of their own. */
static int join_ledgers(struct raw_window *raw, uint64_t absent_ns)
{
	struct ledger *waits = raw->waits_ledger, *ledger = raw->ledger;
	uint64_t kernel_bytes = ledger->cost.kernel_bytes + waits->cost.kernel_bytes;
	uint64_t insns = ledger->cost.verifier_insns + waits->cost.verifier_insns;
	int err;

	waits->events[0].absent_ns = absent_ns;
	waits->duration_s = 0;
	waits->cost.capture_cpu_ns = 0;
	err = ledger_merge(ledger, waits);
	ledger->cost.kernel_bytes = kernel_bytes;
	ledger->cost.verifier_insns = insns;
	return err;
}

/* The modules of what was joined, by the mappings of the whole. */
static int join_modules(struct agent_recording *rec, const uint32_t *mappings,
			struct raw_window *raw)
{
	struct module *const *modules;
	size_t cnt;

	raw->module_cnt = raw->prof->mapping_cnt;
	raw->modules = calloc(raw->module_cnt + 1, sizeof(struct module *));
	if (!raw->modules)
		return -ENOMEM;
	modules = capture_modules(rec->clock.capture, &cnt);
	for (size_t i = 0; i < cnt && i < raw->module_cnt; i++)
		raw->modules[i] = modules[i];
	if (!raw->waits)
		return 0;
	modules = capture_modules(rec->waits.capture, &cnt);
	for (size_t i = 0; i < cnt && i < raw->waits->mapping_cnt; i++)
		if (mappings[i] != PROFILE_NONE && !raw->modules[mappings[i]])
			raw->modules[mappings[i]] = modules[i];
	return 0;
}

int raw_window_join(struct agent_recording *rec, bool wants_waits, struct raw_window *raw)
{
	_cleanup_free_ uint32_t *mappings =
		profile_new_column(raw->waits ? raw->waits->mapping_cnt : 0);
	uint64_t absent_ns = note_absence(rec, raw);
	int err = mappings ? 0 : -ENOMEM;

	take_cost(&rec->clock, raw->ledger);
	if (!err && raw->waits) {
		take_cost(&rec->waits, raw->waits_ledger);
		raw->off_cpu->has_all_cpu = !absent_ns;
		err = join_ledgers(raw, absent_ns);
		err = err ? err : off_cpu_join(raw->prof, raw->waits, raw->off_cpu, mappings);
		raw->ledger->stacks.distinct = raw->prof->stack_cnt;
	} else if (!err && wants_waits) {
		add_absence(raw->ledger, absent_ns);
	}
	return err ? err : join_modules(rec, mappings, raw);
}
