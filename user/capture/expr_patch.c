/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the slots of expressions. */
#include "capture/expr_patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Which programs may have slots. */
static const struct {
	const char *section;
	enum bpf_prog_type type;
} sections[] = {
	{"kprobe+", BPF_PROG_TYPE_KPROBE},	   {"kretprobe+", BPF_PROG_TYPE_KPROBE},
	{"uprobe+", BPF_PROG_TYPE_KPROBE},	   {"uretprobe+", BPF_PROG_TYPE_KPROBE},
	{"tracepoint+", BPF_PROG_TYPE_TRACEPOINT}, {"tp+", BPF_PROG_TYPE_TRACEPOINT},
	{"perf_event", BPF_PROG_TYPE_PERF_EVENT},
};

enum { SECTIONS = sizeof(sections) / sizeof(*sections) };

_Static_assert((size_t)SECTIONS <= EXPR_PATCH_SECTIONS, "each has a handler");

static const struct bpf_insn to_r0 = {.code = BPF_ALU64 | BPF_MOV | BPF_K};

static bool is_marker(const struct bpf_insn *insn)
{
	return insn->code == to_r0.code && !insn->dst_reg && insn->imm >= BP_EXPR_MARKER &&
	       insn->imm < BP_EXPR_MARKER + BP_EXPR_EVENTS * BP_EXPR_USES;
}

/* Is the slot at @insns, of which @cnt are left, as it was written? */
static bool is_slot(const struct bpf_insn *insns, size_t cnt)
{
	if (cnt <= BP_EXPR_SLOT_INSNS || insns[BP_EXPR_SLOT_INSNS].code != (BPF_JMP | BPF_EXIT) ||
	    insns[2].code != (BPF_JMP | BPF_JEQ | BPF_K))
		return false;
	for (uint32_t i = 3; i < BP_EXPR_SLOT_INSNS; i++)
		if (memcmp(&insns[i], &to_r0, sizeof(to_r0)))
			return false;
	return true;
}

/* @code, and the jump behind it to the slot's exit: over the filler, which no verifier follows. */
static void fill(struct bpf_insn *slot, const struct expr_code *code)
{
	struct bpf_insn *end = slot + code->cnt;
	uint32_t left = BP_EXPR_SLOT_INSNS - code->cnt - BP_EXPR_END_INSNS;

	memcpy(slot, code->insns, code->cnt * sizeof(*slot));
	end[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1};
	end[1] = (struct bpf_insn){
		.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_1, .off = (int16_t)left};
	for (uint32_t i = 0; i < left; i++)
		end[2 + i] = to_r0;
}

int expr_patch_insns(struct expr_patch *patch, struct bpf_insn *insns, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		uint32_t id, event, use;

		if (!is_marker(&insns[i]))
			continue;
		id = (uint32_t)insns[i].imm - BP_EXPR_MARKER;
		event = id / BP_EXPR_USES;
		use = id % BP_EXPR_USES;
		if (!is_slot(&insns[i], cnt - i))
			return -EINVAL;
		if (patch->codes[event][use]) {
			fill(&insns[i], patch->codes[event][use]);
			patch->filled[event][use]++;
		}
		i += BP_EXPR_SLOT_INSNS;
	}
	return 0;
}

/* libbpf's callback before each program is loaded. */
static int prepare(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct expr_patch *patch = (struct expr_patch *)cookie;
	size_t cnt = bpf_program__insn_cnt(prog);
	_cleanup_free_ struct bpf_insn *insns = calloc(cnt, sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), cnt * sizeof(*insns));
	err = expr_patch_insns(patch, insns, cnt);
	if (err)
		log_error("BPF program '%s': the place for expressions is not as it should be",
			  bpf_program__name(prog));
	return err ? err : bpf_program__set_insns(prog, insns, cnt);
}

void expr_patch_abandon(struct expr_patch *patch)
{
	while (patch->handler_cnt)
		libbpf_unregister_prog_handler(patch->handlers[--patch->handler_cnt]);
}

/*
 * libbpf 1.1 frees its table of handlers with the last of them, and goes on using it ("libbpf: Fix
 * realloc API handling in zero-sized edge cases", 1.3). So one of no section of ours stays.
 */
static int keep_table(void)
{
	static bool is_kept;
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts);
	int handler;

	if (is_kept)
		return 0;
	handler = libbpf_register_prog_handler("bpfprof_none", BPF_PROG_TYPE_UNSPEC, 0, &opts);
	is_kept = handler >= 0;
	return handler < 0 ? handler : 0;
}

int expr_patch_begin(struct expr_patch *patch)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare,
		    .cookie = (long)patch);

	if (keep_table())
		return -ENOMEM;
	memset(patch->filled, 0, sizeof(patch->filled));
	patch->handler_cnt = 0;
	for (uint32_t i = 0; i < SECTIONS; i++) {
		int handler = libbpf_register_prog_handler(sections[i].section, sections[i].type, 0,
							   &opts);

		if (handler < 0) {
			log_error("expressions: libbpf: section '%s': %s", sections[i].section,
				  strerror(-handler));
			expr_patch_abandon(patch);
			return handler;
		}
		patch->handlers[patch->handler_cnt++] = handler;
	}
	return 0;
}

int expr_patch_end(struct expr_patch *patch)
{
	expr_patch_abandon(patch);
	for (uint32_t event = 0; event < BP_EXPR_EVENTS; event++)
		for (uint32_t use = 0; use < BP_EXPR_USES; use++)
			if (patch->codes[event][use] && !patch->filled[event][use]) {
				log_error("expressions: no program that was loaded has a place for "
					  "that of event %u",
					  event);
				return -ENOENT;
			}
	return 0;
}
