/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded changes while the agent runs: the new recording begins where the old one ends.
 */
#include "agent/agent_priv.h"

#include <string.h>

/* Is what @rec has in the kernel where @old has it? */
static bool is_in_place_of(const struct agent_recording *rec, const struct agent_recording *old)
{
	return rec->pin_dir && old->pin_dir && !strcmp(rec->pin_dir, old->pin_dir);
}

/* @old, whose last window was taken, goes. 0 or negative errno, logged. */
static int move_in(struct agent_recording *rec, struct agent_recording *old)
{
	if (!is_in_place_of(rec, old)) {
		agent_recording_end(old);
		return 0;
	}
	agent_recording_close(old);
	return capture_move_in(rec->clock.capture);
}

int agent_switch(struct agent *agent, const struct agent_opts *fresh)
{
	struct agent_recording next, *old = &agent->recording;
	int moved, err = agent_recording_open(agent, fresh, old, &next);

	if (err)
		return err;
	if (old->waits.capture)
		capture_stop(old->waits.capture);
	err = agent_recording_start(&next, old);
	if (err) {
		/* The old one cannot be started again: what it has is stored, and we end. */
		agent->is_broken = true;
		agent_recording_close(&next);
		return err;
	}
	agent_recording_stop(old);
	agent_settle(agent);
	err = agent_take_window(agent, old, true);
	next.waits_until_ns = old->waits_until_ns;
	moved = move_in(&next, old);
	err = err ? err : moved;
	agent->recording = next;
	agent->is_broken = err;
	return err;
}

int agent_switch_waits(struct agent *agent, const struct agent_opts *fresh)
{
	struct agent_recording *rec = &agent->recording;
	struct agent_capture next = {.capture = NULL};
	uint32_t permille = agent_wanted_permille(agent, fresh);
	int err = 0;

	if (permille)
		err = agent_open_waits(agent, fresh, rec->clock.capture, &next);
	if (err)
		return err;
	/* What both see is not to be counted twice, and the gap is that of some system calls. */
	if (rec->waits.capture)
		capture_stop(rec->waits.capture);
	if (next.capture)
		err = agent_start_waits(&next);
	agent_settle(agent);
	if (rec->waits.capture) {
		int taken = agent_take_window(agent, rec, false);

		err = err ? err : taken;
	}
	capture_close(rec->waits.capture);
	rec->waits = next;
	rec->permille = permille;
	return err;
}

bool agent_wants_other_waits(const struct agent *agent)
{
	return agent->recording.permille != agent_wanted_permille(agent, agent->opts);
}
