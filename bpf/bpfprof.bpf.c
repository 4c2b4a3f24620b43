/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one translation unit of the kernel side: headers in the order of the data flow. */
#include "shim.bpf.h"

#include "abi.h"

#include "maps.bpf.h"
#include "copy.bpf.h"
#include "compat.bpf.h"
#include "scratch.bpf.h"
#include "exe.bpf.h"
#include "vma.bpf.h"
#include "rows.bpf.h"
#include "task.bpf.h"
#include "unwind.bpf.h"
#include "aggregate.bpf.h"
#include "filter.bpf.h"
#include "weight.bpf.h"
#include "kernel_memo.bpf.h"
#include "thread_time.bpf.h"
#include "thread.bpf.h"
#include "user_memo.bpf.h"
#include "sample.bpf.h"
#include "entry_oncpu.bpf.h"
#include "entry_probe.bpf.h"
#include "kernel_stack.bpf.h"
#include "entry_sched.bpf.h"
#include "entry_waker.bpf.h"
#include "entry_threads.bpf.h"
#include "entry_fork.bpf.h"
#include "entry_module.bpf.h"
#include "entry_admin.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
