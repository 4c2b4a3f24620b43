/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent in small, to be killed: records with pins, and its store is a file to which each window
 * is appended and synced before it is committed:
 *
 *	BOOT INSTANCE EPOCH SAMPLES TICKS RAN RECORDED FILTERED LOST NEVER_RAN DURATION_MS MISSING
 *
 * and only told of as "again" where it was stored already. MISSING counts the frames in
 * executables that nobody knows.
 *
 *	pins_agent DIR STORE INTERVAL_MS LEASE_MS SECONDS OPTION... EVENT...
 *
 * ends after SECONDS (0: never), as a process does whose recording goes on. With the name "detach"
 * for STORE the recordings of DIR are ended. Options:
 *
 *	-c	by CPU: another configuration
 *	-n	the kernel's names are wanted
 *	-s	small shards, so that much goes through the ring
 *	-w	waits
 *	-r	the rate of clocks is another after each window
 *	-x	after the second window a recording by CPU (-c) takes the place of this one
 *	-k MOMENT	die by SIGKILL when it is "started", "handed", "stored" or "committed", or
 *		of the other one "opened", "taken" (the old one has a last window) or "moved"
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"

struct agent {
	const char *store;
	const char *die_at; /* NULL: nowhere */
	uint64_t interval_ns, until_ns;
	bool changes_rate;
	struct capture_opts *other; /* what is to take the place; NULL: nothing */
};

static void origin_text(const struct capture_origin *origin, char out[128])
{
	snprintf(out, 128, "%s %016llx %llu ", origin->boot_id,
		 (unsigned long long)origin->instance, (unsigned long long)origin->epoch);
}

static int store_has(const char *path, const char *origin)
{
	char line[512];
	FILE *file = fopen(path, "r");
	int found = 0;

	while (file && fgets(line, sizeof(line), file))
		found |= !strncmp(line, origin, strlen(origin));
	if (file)
		fclose(file);
	return found;
}

static void maybe_die(const struct agent *agent, const char *moment)
{
	if (agent->die_at && !strcmp(agent->die_at, moment))
		kill(getpid(), SIGKILL);
}

static int store_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ssize_t len = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)len) != len || fsync(fd)) {
		perror(path);
		exit(1);
	}
	return close(fd);
}

static uint64_t sample_sum(const struct profile *prof)
{
	uint32_t column = profile_find_value(prof, "samples");
	uint64_t sum = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++)
		sum += (uint64_t)prof->values[i * prof->value_type_cnt + column];
	return sum;
}

/* Frames in executables that nobody knows any more. */
static size_t nameless_frames(const struct profile *prof)
{
	size_t cnt = 0;

	for (size_t i = 0; i < prof->location_cnt; i++) {
		uint32_t mapping = prof->locations[i].mapping;

		cnt += mapping != PROFILE_NONE &&
		       !strcmp(profile_str(prof, prof->mappings[mapping].path), "[unknown]");
	}
	return cnt;
}

static void store_window(const struct agent *agent, const char *origin, const struct profile *prof,
			 struct ledger *ledger)
{
	const struct ledger_row *row = &ledger->events[0].sum;
	char text[512];

	if (!ledger_balances(ledger, NULL))
		fprintf(stderr, "pins_agent: the books of %s do not balance\n", origin);
	if (store_has(agent->store, origin)) {
		fprintf(stderr, "pins_agent: %s again\n", origin);
		return;
	}
	snprintf(text, sizeof(text), "%s%llu %llu %llu %llu %llu %llu %llu %llu %zu\n", origin,
		 (unsigned long long)sample_sum(prof), (unsigned long long)row->ticks,
		 (unsigned long long)row->ran, (unsigned long long)row->recorded,
		 (unsigned long long)row->filtered,
		 (unsigned long long)ledger_reasons_sum(&row->lost),
		 (unsigned long long)(row->never_ran_busy + row->never_ran_idle),
		 (unsigned long long)prof->duration_ns / 1000000, nameless_frames(prof));
	store_line(agent->store, text);
}

static int window(const struct agent *agent, struct capture *cap)
{
	struct capture_origin origin;
	struct profile *prof;
	struct ledger *ledger;
	char text[128];
	int err = capture_window(cap, &prof, &ledger);

	if (err)
		return err;
	capture_origin(cap, &origin);
	origin_text(&origin, text);
	maybe_die(agent, "handed");
	store_window(agent, text, prof, ledger);
	maybe_die(agent, "stored");
	profile_deinit(prof);
	free(prof);
	ledger_deinit(ledger);
	free(ledger);
	err = capture_commit(cap);
	maybe_die(agent, "committed");
	return err;
}

/* agent->other in the place of *@cap. */
static int change(const struct agent *agent, struct capture **cap)
{
	struct capture *old = *cap;
	int err;

	agent->other->replaces = old;
	err = capture_open(agent->other, cap);
	if (err)
		return err;
	maybe_die(agent, "opened");
	err = capture_take_over(*cap, old);
	maybe_die(agent, "taken");
	if (!err)
		err = window(agent, old);
	capture_close(old);
	if (!err)
		err = capture_move_in(*cap);
	maybe_die(agent, "moved");
	return err;
}

static int after_window(const struct agent *agent, struct capture **cap, unsigned int nr)
{
	static const uint64_t rates_hz[] = {49, 197, 99};

	if (agent->other && nr == 2)
		return change(agent, cap);
	if (agent->changes_rate)
		return capture_set_freq(*cap, rates_hz[nr % 3]);
	return 0;
}

static int run(const struct agent *agent, struct capture **cap)
{
	int err = capture_start(*cap, -1);

	if (!err)
		maybe_die(agent, "started");
	for (unsigned int nr = 1; !err && clock_monotonic_ns() < agent->until_ns; nr++) {
		uint64_t deadline_ns = clock_monotonic_ns() + agent->interval_ns;

		if (deadline_ns > agent->until_ns)
			deadline_ns = agent->until_ns;
		err = capture_run(*cap, deadline_ns, -1);
		if (err == CAPTURE_EPOCH_FULL)
			fprintf(stderr, "pins_agent: the window ends early\n");
		if (err >= 0)
			err = window(agent, *cap);
		if (!err)
			err = after_window(agent, cap, nr);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct capture_opts opts = {.no_kernel_names = true};
	struct agent agent = {.until_ns = UINT64_MAX};
	struct capture_opts other;
	struct capture *cap;
	int arg = 6, err;

	if (argc < 7)
		return 2;
	opts.pin_dir = argv[1];
	agent.store = argv[2];
	agent.interval_ns = strtoull(argv[3], NULL, 10) * NSEC_PER_MSEC;
	opts.lease_ns = strtoull(argv[4], NULL, 10) * NSEC_PER_MSEC;
	for (; argv[arg] && argv[arg][0] == '-'; arg++) {
		if (!strcmp(argv[arg], "-c"))
			opts.by = BY_COMM | BY_CPU;
		else if (!strcmp(argv[arg], "-n"))
			opts.no_kernel_names = false;
		else if (!strcmp(argv[arg], "-s"))
			opts.max_kernel_bytes = 1 << 20;
		else if (!strcmp(argv[arg], "-w"))
			opts.waits.is_wanted = true;
		else if (!strcmp(argv[arg], "-r"))
			agent.changes_rate = true;
		else if (!strcmp(argv[arg], "-x"))
			agent.other = &other;
		else if (!strcmp(argv[arg], "-k"))
			agent.die_at = argv[++arg];
	}
	opts.events = (const char *const *)&argv[arg];
	opts.is_forced = true;
	other = opts;
	other.by = BY_COMM | BY_CPU;
	err = strcmp(agent.store, "detach") ? capture_open(&opts, &cap)
					    : capture_detach_pinned(opts.pin_dir);
	if (err || !strcmp(agent.store, "detach"))
		return err ? 3 : 0;
	if (strtoull(argv[5], NULL, 10))
		agent.until_ns = clock_monotonic_ns() + strtoull(argv[5], NULL, 10) * NSEC_PER_SEC;
	err = run(&agent, &cap);
	if (err)
		fprintf(stderr, "pins_agent: %s\n", strerror(-err));
	capture_close(cap);
	return err ? 1 : 0;
}
