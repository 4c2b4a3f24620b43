/* SPDX-License-Identifier: Apache-2.0 */
/* Code that compares texts. */
#ifndef BPFPROF_EVENT_EXPR_TEXT_H
#define BPFPROF_EVENT_EXPR_TEXT_H

#include "event/expr_emit.h"
#include "event/expr_priv.h"

enum { EXPR_CTX_REG = BPF_REG_6 };

struct expr_compiler {
	const struct expr *expr;
	struct expr_emitter em;
	uint8_t needs[EXPR_NODES_MAX]; /* intermediate values of each node */
};

/* Go to where @jumps go unless @text is @literal; of EXPR_POINTED the address is in r0. */
void expr_text_compare(struct expr_compiler *cc, const struct expr_node *text,
		       const struct expr_node *literal, struct expr_jumps *jumps);

#endif
