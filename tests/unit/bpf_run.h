/* SPDX-License-Identifier: Apache-2.0 */
/* The code of an expression in the kernel that runs us, by BPF_PROG_TEST_RUN of a program of raw
 * tracepoints: its context is what is given, 12 words. */
#ifndef BPFPROF_TESTS_BPF_RUN_H
#define BPFPROF_TESTS_BPF_RUN_H

#include <bpf/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/expr_code.h"

/* The code as a program that returns the low or the high half; negative errno. */
static inline int kernel_load_half(const struct expr_code *code, bool high)
{
	struct bpf_insn insns[EXPR_CODE_MAX + 2];
	uint32_t cnt = code->cnt;

	memcpy(insns, code->insns, cnt * sizeof(*insns));
	if (high)
		insns[cnt++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_RSH | BPF_K, .imm = 32};
	insns[cnt++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "expr", "GPL", insns, cnt, NULL);
}

static inline uint32_t kernel_run_half(int fd, const void *ctx, uint32_t bytes)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = bytes);

	assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
	return opts.retval;
}

/* What @code gives for each of the @cnt contexts of @bytes at @ctxs. */
static inline void kernel_run(const struct expr_code *code, const void *ctxs, uint32_t bytes,
			      uint32_t cnt, uint64_t *out)
{
	int low = kernel_load_half(code, false), high = kernel_load_half(code, true);

	assert_true(low >= 0 && high >= 0);
	for (uint32_t i = 0; i < cnt; i++) {
		const void *ctx = (const char *)ctxs + (size_t)i * bytes;

		out[i] = (uint64_t)kernel_run_half(high, ctx, bytes) << 32 |
			 kernel_run_half(low, ctx, bytes);
	}
	close(low);
	close(high);
}

/* As root, on a kernel that can. */
static inline bool kernel_may_load(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct expr_code nothing = {.cnt = 1};
	bool may;
	int fd;

	nothing.insns[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K};
	fd = kernel_load_half(&nothing, false);
	may = fd >= 0 && !bpf_prog_test_run_opts(fd, &opts);
	if (fd >= 0)
		close(fd);
	return may;
}

#endif
