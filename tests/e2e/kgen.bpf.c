/* SPDX-License-Identifier: Apache-2.0 */
/* Two BPF programs as long as each other that only take time, so that one may get the other's
 * place. Beside kgen_load.c. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* What the verifier follows step by step must stay below a million instructions. */
enum { ROUNDS = 1 << 16 };

static __always_inline int take_time(__u32 factor)
{
	volatile __u32 value = factor;

	for (int i = 0; i < ROUNDS; i++)
		value = value * factor;
	return value & 1;
}

SEC("raw_tp")
int kgen_first(void *ctx __attribute__((unused)))
{
	return take_time(0x10001);
}

SEC("raw_tp")
int kgen_second(void *ctx __attribute__((unused)))
{
	return take_time(0x10003);
}

char licence[] SEC("license") = "GPL";
