/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that a program of waits can do: on, off and runnable time of each thread. Beside
 * stamp.c.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* What is looked at of the kernel's. */
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

struct times {
	__u64 since_ns, wake_ns;
	__u64 on_ns, off_ns, runnable_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct times);
} times SEC(".maps");

/* Threads that are new: those that were there before are none of the measurement's. */
SEC("tp_btf/sched_process_fork")
int stamp_fork(__u64 *ctx)
{
	bpf_task_storage_get(&times, (struct task_struct *)ctx[1], NULL,
			     BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

SEC("tp_btf/sched_switch")
int stamp_switch(__u64 *ctx)
{
	struct times *prev = bpf_task_storage_get(&times, (struct task_struct *)ctx[1], NULL, 0);
	struct times *next = bpf_task_storage_get(&times, (struct task_struct *)ctx[2], NULL, 0);
	__u64 now_ns = bpf_ktime_get_ns();

	if (prev) {
		prev->on_ns += now_ns - prev->since_ns;
		prev->since_ns = now_ns;
	}
	if (next) {
		__u64 woken_ns = next->wake_ns > next->since_ns ? next->wake_ns : now_ns;

		next->off_ns += woken_ns - next->since_ns;
		next->runnable_ns += now_ns - woken_ns;
		next->since_ns = now_ns;
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int stamp_wakeup(__u64 *ctx)
{
	struct times *woken = bpf_task_storage_get(&times, (struct task_struct *)ctx[0], NULL, 0);

	if (woken)
		woken->wake_ns = bpf_ktime_get_ns();
	return 0;
}

char licence[] SEC("license") = "GPL";
