/* SPDX-License-Identifier: Apache-2.0 */
/* --where, --weight and --hist: compiled for each event that they are asked of. */
#ifndef BPFPROF_CAPTURE_SAMPLER_EXPRS_H
#define BPFPROF_CAPTURE_SAMPLER_EXPRS_H

#include "event/event.h"
#include "event/expr_code.h"

struct capture_opts;

struct sampler_exprs {
	struct expr_code *codes[BP_EXPR_USES]; /* owned; NULL: not asked for */
};

/* Compile what @opts ask of @event. 0, or negative errno after log_error(). @exprs is to be
 * sampler_exprs_deinit()ed also on failure. */
int sampler_exprs_compile(const struct event *event, const struct capture_opts *opts,
			  struct sampler_exprs *exprs);
void sampler_exprs_deinit(struct sampler_exprs *exprs);

#endif
