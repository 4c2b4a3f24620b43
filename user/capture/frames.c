/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the kernel side to locations of the profile. */
#include "capture/frames.h"

#include <stdio.h>

#include "base/array.h"
#include "capture/drain.h"

enum { PROFILE_STACKS_MAX = 1 << 18, PROFILE_FRAMES_MAX = 1 << 22 };

const char *stack_outcome_name(uint32_t outcome)
{
	static const char *const names[] = {
#define BP_STACK_OUTCOME(id, name, help) name,
#include "outcomes.def"
	};

	return outcome < BP_STACK_OUTCOME_CNT ? names[outcome] : "unknown";
}

const char *loss_name(uint32_t loss)
{
	static const char *const names[] = {
#define BP_LOSS(id, name, help) name,
#include "outcomes.def"
	};

	return loss < BP_LOSS_CNT ? names[loss] : "unknown";
}

static bool outcome_is_truncation(uint32_t outcome)
{
	return outcome != BP_STACK_COMPLETE && outcome != BP_STACK_NO_USER_STACK &&
	       outcome != BP_STACK_NOT_ASKED;
}

/* Remember which module stands behind mapping @mapping. */
static void note_module(struct drain *drain, uint32_t mapping, struct module *module)
{
	if (mapping == PROFILE_NONE || array_reserve(&drain->modules, &drain->module_cap,
						     mapping + 1, sizeof(*drain->modules)))
		return;
	while (drain->module_cnt <= mapping)
		drain->modules[drain->module_cnt++] = NULL;
	if (!drain->modules[mapping])
		drain->modules[mapping] = module;
}

/* The mapping of the JIT code of @who's process. */
static uint32_t jit_mapping(struct drain *drain, const struct bp_who *who)
{
	struct jit_process *process = jit_find(&drain->jit, who->tgid, who->start_ns);

	if (!process) {
		if (drain->anon_mapping == PROFILE_NONE)
			drain->anon_mapping = profile_mapping(drain->prof, "//anon", "");
		return drain->anon_mapping;
	}
	if (process->mapping == PROFILE_NONE) {
		process->mapping = profile_mapping(drain->prof, process->module->path, "");
		note_module(drain, process->mapping, process->module);
	}
	return process->mapping;
}

static uint32_t user_location(struct drain *drain, uint64_t frame, const struct bp_who *who)
{
	struct exe_entry *exe;
	uint32_t mapping;

	if (frame & BP_FRAME_RAW)
		return profile_location(drain->prof, jit_mapping(drain, who), frame & ~BP_FRAME_RAW,
					LOCATION_JIT);
	exe = exes_find(&drain->exes, bp_frame_exe(frame));
	if (!exe) {
		if (drain->unknown_mapping == PROFILE_NONE)
			drain->unknown_mapping = profile_mapping(drain->prof, "[unknown]", "");
		return profile_location(drain->prof, drain->unknown_mapping, bp_frame_off(frame),
					0);
	}
	exe->is_used = true;
	mapping = profile_mapping(drain->prof, exe->module->path, exe->build_id_hex);
	note_module(drain, mapping, exe->module);
	return profile_location(drain->prof, mapping, exe_vaddr(exe, bp_frame_off(frame)), 0);
}

/* Of code that has been elsewhere, or not at all, before: the mapping tells it from what was there
 * then. */
static uint32_t kernel_mapping(struct drain *drain, uint64_t ip)
{
	const char *owner = drain->kernel
				    ? kernel_map_owner(drain->kernel, ip, drain->epoch_start_ns,
						       drain->epoch_end_ns)
				    : NULL;
	char path[KERNEL_OWNER_BYTES + 2]; /* brackets, and the NUL that is counted */

	if (!owner)
		return drain->kernel_mapping;
	snprintf(path, sizeof(path), "[%.*s]", KERNEL_OWNER_BYTES - 1, owner);
	return profile_mapping(drain->prof, path, "");
}

uint32_t user_frame_slot(uint32_t i)
{
	return i < BP_FRAMES_LEAF ? i : BP_FRAMES_LEAF + (i - BP_FRAMES_LEAF) % BP_FRAMES_ROOT;
}

/* How many frames next to the leaf and next to the root are shown. */
static void user_frames_kept(const struct drain *drain, uint32_t total, uint32_t *leaf,
			     uint32_t *root)
{
	uint32_t max = drain->max_depth && drain->max_depth < BP_FRAMES_USER ? drain->max_depth
									     : BP_FRAMES_USER;

	if (total <= max) {
		*leaf = total;
		*root = 0;
		return;
	}
	*root = max / 2 < BP_FRAMES_ROOT ? max / 2 : BP_FRAMES_ROOT;
	*leaf = max - *root < BP_FRAMES_LEAF ? max - *root : BP_FRAMES_LEAF;
}

/* The addresses of JIT code differ from run to run: without a bound a long recording would grow
 * with them. */
static bool profile_is_full(const struct profile *prof)
{
	return prof->stack_cnt >= PROFILE_STACKS_MAX ||
	       prof->stack_location_cnt >= PROFILE_FRAMES_MAX;
}

static void add_synthetic(struct drain *drain, uint32_t *locations, uint32_t *cnt, const char *name)
{
	locations[(*cnt)++] = profile_named_location(drain->prof, name, LOCATION_SYNTHETIC);
}

bool stack_has_raw(const struct bp_stack *stack, const __u64 *frames)
{
	for (uint32_t i = 0; i < stack->user_cnt; i++)
		if (frames[stack->kernel_cnt + i] & BP_FRAME_RAW)
			return true;
	return false;
}

uint32_t frames_to_stack(struct drain *drain, const struct bp_stack *stack, const __u64 *frames,
			 const struct bp_who *who)
{
	uint32_t locations[BP_FRAMES_MAX + 2], cnt = 0, total = stack->user_total, leaf, root;
	const __u64 *user = frames + stack->kernel_cnt;
	char name[64];

	if (stack->kernel_cnt + total > drain->deepest)
		drain->deepest = stack->kernel_cnt + total;
	if (profile_is_full(drain->prof)) {
		add_synthetic(drain, locations, &cnt, "[truncated: profile_full]");
		drain->full_stack = profile_stack(drain->prof, locations, cnt);
		return drain->full_stack;
	}
	/* bpf_get_stack() gives return addresses for all but the first: move them onto the call. */
	for (uint32_t i = 0; i < stack->kernel_cnt && i < BP_FRAMES_KERNEL; i++) {
		uint64_t ip = frames[i] - !!i;

		locations[cnt++] = profile_location(drain->prof, kernel_mapping(drain, ip), ip,
						    LOCATION_KERNEL);
	}
	user_frames_kept(drain, total, &leaf, &root);
	for (uint32_t i = 0; i < leaf; i++)
		locations[cnt++] = user_location(drain, user[user_frame_slot(i)], who);
	if (leaf + root < total) {
		snprintf(name, sizeof(name), "[%u frames elided]", total - leaf - root);
		add_synthetic(drain, locations, &cnt, name);
	}
	for (uint32_t i = total - root; i < total; i++)
		locations[cnt++] = user_location(drain, user[user_frame_slot(i)], who);
	if (outcome_is_truncation(stack->outcome)) {
		snprintf(name, sizeof(name), "[truncated: %s]", stack_outcome_name(stack->outcome));
		add_synthetic(drain, locations, &cnt, name);
	}
	return profile_stack(drain->prof, locations, cnt);
}
