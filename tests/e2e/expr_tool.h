/* SPDX-License-Identifier: Apache-2.0 */
/* What expr.bpf.c tells expr_tool.c. */
#ifndef BPFPROF_TESTS_EXPR_TOOL_H
#define BPFPROF_TESTS_EXPR_TOOL_H

#include <linux/types.h>

struct expr_sums {
	__u64 ran, kept, weight;
};

#endif
