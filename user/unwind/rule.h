/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: what abi_unwind.h says a row's upper half means. Almost every state of a CFI program has
 * an inline form; the others become a struct bp_rule in the executable's own list, each once.
 */
#ifndef BPFPROF_UNWIND_RULE_H
#define BPFPROF_UNWIND_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_unwind.h"
#include "base/hmap.h"
#include "unwind/cfi_parse.h"
#include "unwind/cfi_state.h"

/* In every list, at these places. */
enum {
	RULE16_GAP = BP_RULE16_ESCAPE | 0,
	RULE16_UNSUPPORTED = BP_RULE16_ESCAPE | 1,
};

struct rule_set {
	const struct cfi_arch *arch;
	struct bp_rule *items; /* owned */
	size_t cnt, cap; /* at most BP_RULES_MAX */
	struct hmap by_content;
	bool tracks_bx; /* rules say where rbx is saved; set before the first rule */
	bool needs_bx; /* some rule finds its CFA by rbx */
	size_t refused_cnt; /* rules that found the list full */
	int err; /* -ENOMEM, sticky; what was returned since is RULE16_UNSUPPORTED */
};

/* 0 or -ENOMEM. */
int rule_set_init(struct rule_set *set, const struct cfi_arch *arch);
void rule_set_deinit(struct rule_set *set);

/*
 * The rule that @state of a function of @cie amounts to, as the upper half of a row: inline, or an
 * index into the list (appended when new). What no rule can say is RULE16_UNSUPPORTED; an
 * unrecoverable frame pointer alone is not: it is BP_SAVE_UNDEFINED.
 */
uint16_t rule16_of_state(struct rule_set *set, const struct cfi_cie *cie,
			 const struct cfi_state *state);

/* The upper half of a row for @rule, inline or appended to the list when it is new. */
uint16_t rule16_put(struct rule_set *set, const struct bp_rule *rule);

/* Write @rule16 out in full: the inverse, used by the stepper in userspace and by tests. */
void rule16_decode(const struct rule_set *set, uint16_t rule16, struct bp_rule *out);

static inline bool rule16_is_inline(uint16_t rule16)
{
	return !(rule16 & BP_RULE16_ESCAPE);
}

#endif
