/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_programs: prints how many BPF programs the kernel holds at the moment, whoever holds them. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	union bpf_attr attr = {.start_id = 0};
	unsigned int cnt = 0;

	while (syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)) == 0) {
		attr.start_id = attr.next_id;
		cnt++;
	}
	if (errno != ENOENT) {
		perror("bpf_programs: BPF_PROG_GET_NEXT_ID");
		return 1;
	}
	printf("%u\n", cnt);
	return 0;
}
