/* SPDX-License-Identifier: Apache-2.0 */
#include "event/probe_slide.h"

#include <errno.h>

/* What is known of a function before its entry is walked. */
struct jumps {
	bool is_whole; /* all of it could be decoded */
	uint64_t to_begin; /* one bit for each of the first 64 bytes: jumped to from inside */
};

_Static_assert(SLIDE_MAX_BYTES == 64, "one bit of jumps.to_begin for each byte");

static struct jumps find_jumps(const struct code_range *function)
{
	struct jumps jumps = {0};
	size_t off = 0;

	while (off < function->len) {
		struct insn insn;

		if (insn_x86_decode(function->bytes + off, function->len - off,
				    function->vaddr + off, &insn))
			return jumps;
		if (insn.has_target && insn.target - function->vaddr < SLIDE_MAX_BYTES)
			jumps.to_begin |= 1ULL << (insn.target - function->vaddr);
		off += insn.len;
	}
	jumps.is_whole = true;
	return jumps;
}

/* A walk along the entry. */
struct walk {
	const struct code_range *function;
	const struct slide_opts *opts;
	struct jumps jumps;
	struct probe_place here;
	const char *end; /* why it goes no further */
};

static bool may_probe(const struct insn *insn)
{
	return insn->probe == PROBE_EMULATED || insn->probe == PROBE_STEPPED;
}

/* Account for @insn and go behind it; false, with walk->end, where that must not be. */
static bool step(struct walk *walk, const struct insn *insn)
{
	struct probe_place *here = &walk->here;
	uint32_t args = insn->written & INSN_X86_ARGS;

	if (!walk->jumps.is_whole)
		walk->end = "the function's code cannot be followed to its end";
	else if (walk->jumps.to_begin & 1ULL << here->off)
		walk->end = "the function jumps back to here";
	else if (insn->flow == INSN_COND && !walk->opts->may_pass_exit)
		walk->end = "a conditional branch follows";
	else if (insn->flow != INSN_NEXT && insn->flow != INSN_COND)
		walk->end = "the straight path ends";
	else if (!insn->sp_is_known)
		walk->end = "the stack pointer is set";
	else if (walk->opts->keep_sp && insn->sp_delta)
		walk->end = "the stack pointer moves";
	else if (walk->opts->keep_args && args)
		walk->end = "an argument register changes";
	else if (here->off + insn->len >= SLIDE_MAX_BYTES)
		walk->end = "too far from the entry";
	else if (walk->jumps.to_begin & 1ULL << (here->off + insn->len))
		walk->end = "the function jumps behind it";
	if (walk->end)
		return false;
	here->off += insn->len;
	here->sp_moved += insn->sp_delta;
	here->args_changed |= args;
	here->passed_exit |= insn->flow == INSN_COND;
	return true;
}

static int decode_here(const struct walk *walk, struct insn *out)
{
	const struct code_range *function = walk->function;
	uint32_t off = walk->here.off;

	if (off >= function->len)
		return -ENODATA;
	return insn_x86_decode(function->bytes + off, function->len - off, function->vaddr + off,
			       out);
}

static void describe(const struct probe_place *place, const struct insn *first, struct buf *text)
{
	const char *cost = place->probe == PROBE_EMULATED ? "emulated" : "single-stepped";

	if (!place->off) {
		buf_printf(text, "at the entry, %s", cost);
		return;
	}
	buf_printf(text, "%u bytes behind the entry, %s (the entry: %s)", place->off, cost,
		   first->why ? first->why : "single-stepped");
	if (place->passed_exit)
		buf_add_str(text, "; calls that leave by the branch before it are not seen");
}

int probe_slide(const struct code_range *function, const struct slide_opts *opts,
		struct probe_place *out, struct buf *text)
{
	struct walk walk = {.function = function, .opts = opts};
	struct insn first = {0}, insn;
	struct probe_place best = {0};
	bool has_place = false;

	if (decode_here(&walk, &first)) {
		buf_add_str(text, "no instruction begins at the entry");
		return -EBADMSG;
	}
	walk.jumps = find_jumps(function);
	while (!decode_here(&walk, &insn)) {
		if (may_probe(&insn) && (!has_place || insn.probe == PROBE_EMULATED)) {
			best = walk.here;
			best.probe = insn.probe;
			has_place = true;
		}
		if ((has_place && best.probe == PROBE_EMULATED) || !step(&walk, &insn))
			break;
	}
	if (!has_place) {
		buf_printf(text, "%s, and behind it there is no other place: %s", first.why,
			   walk.end ? walk.end : "the function ends");
		return -EOPNOTSUPP;
	}
	best.cost_ns = probe_cost_ns(best.probe);
	describe(&best, &first, text);
	*out = best;
	return 0;
}
