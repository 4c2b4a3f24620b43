/* SPDX-License-Identifier: Apache-2.0 */
/* How long the code of the BPF programs is that are loaded: /proc/kallsyms tells where it begins.
 */
#ifndef BPFPROF_CAPTURE_BPF_CODE_H
#define BPFPROF_CAPTURE_BPF_CODE_H

#include <stddef.h>
#include <stdint.h>

struct bpf_code {
	uint64_t *ends; /* owned: the first address behind each function, in no order */
	size_t cnt, cap;
};

/* Ask the kernel, by id; *@out is *owned* (bpf_code_deinit()). Where we may not ask
 * (CAP_SYS_ADMIN), or addresses are hidden, it is empty. 0 or -ENOMEM. */
int bpf_code_read(struct bpf_code *out);
void bpf_code_deinit(struct bpf_code *code);

#endif
