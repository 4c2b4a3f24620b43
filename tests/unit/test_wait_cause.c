/* SPDX-License-Identifier: Apache-2.0 */
/* What threads wait for: stacks of real waits, of other kernels, and every rule of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/wait_cause.h"

enum { FRAMES_MAX = 64, TEXT_MAX = 2048 };

/* A stack from one string: names separated by blanks, leaf first; "-" has none. */
struct stack {
	char text[TEXT_MAX];
	const char *names[FRAMES_MAX];
	size_t cnt;
};

struct wait_case {
	const char *cause, *stack;
};

#define SYSCALL " do_syscall_64 entry_SYSCALL_64_after_hwframe"
#define KTHREAD " kthread ret_from_fork ret_from_fork_asm"
#define ARM64_SYSCALL " invoke_syscall el0_svc_common.constprop.0 do_el0_svc el0_svc el0t_64_sync"
#define RETURN_TO_USER " get_signal arch_do_signal_or_restart exit_to_user_mode_loop" SYSCALL

static void parse(struct stack *stack, const char *text)
{
	char *rest = NULL;

	assert_true(snprintf(stack->text, sizeof(stack->text), "%s", text) < TEXT_MAX);
	stack->cnt = 0;
	for (char *name = strtok_r(stack->text, " ", &rest); name;
	     name = strtok_r(NULL, " ", &rest)) {
		assert_true(stack->cnt < FRAMES_MAX);
		stack->names[stack->cnt++] = strcmp(name, "-") == 0 ? NULL : name;
	}
}

static const char *cause_of(const char *text)
{
	struct stack stack;

	parse(&stack, text);
	return wait_cause(stack.names, stack.cnt);
}

static size_t begin_of(const char *text)
{
	struct stack stack;

	parse(&stack, text);
	return wait_stack_begin(stack.names, stack.cnt);
}

/* @prefix is put before each of the stacks. */
static void check(const char *prefix, const struct wait_case *cases, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		char text[TEXT_MAX];

		snprintf(text, sizeof(text), "%s%s", prefix, cases[i].stack);
		if (strcmp(cause_of(text), cases[i].cause) != 0)
			print_error("%s\n", text);
		assert_string_equal(cause_of(text), cases[i].cause);
	}
}

#define CHECK(prefix, cases) check(prefix, cases, sizeof(cases) / sizeof(*cases))

/* What follows __schedule in stacks taken at sched_switch from programs made to wait so, x86-64,
 * Linux 6.18. */
static const struct wait_case real_waits[] = {
	{"futex",
	 "schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex" SYSCALL},
	{"futex", "rt_mutex_schedule rt_mutex_slowlock_block.constprop.0"
		  " rt_mutex_wait_proxy_lock futex_lock_pi do_futex __x64_sys_futex" SYSCALL},
	{"sleep", "schedule do_nanosleep hrtimer_nanosleep common_nsleep"
		  " __x64_sys_clock_nanosleep" SYSCALL},
	{"sleep", "schedule do_nanosleep hrtimer_nanosleep __x64_sys_nanosleep" SYSCALL},
	{"epoll",
	 "schedule schedule_hrtimeout_range_clock do_epoll_wait __x64_sys_epoll_wait" SYSCALL},
	{"poll", "schedule schedule_hrtimeout_range_clock poll_schedule_timeout.constprop.0"
		 " do_sys_poll __x64_sys_poll" SYSCALL},
	{"poll", "schedule schedule_hrtimeout_range_clock poll_schedule_timeout.constprop.0"
		 " do_sys_poll __x64_sys_ppoll" SYSCALL},
	{"select", "schedule schedule_hrtimeout_range_clock poll_schedule_timeout.constprop.0"
		   " do_select core_sys_select do_pselect.constprop.0 __x64_sys_pselect6" SYSCALL},
	{"pipe", "schedule anon_pipe_read vfs_read ksys_read" SYSCALL},
	{"pipe", "schedule anon_pipe_write vfs_write ksys_write" SYSCALL},
	{"pipe", "schedule wait_for_partner fifo_open do_dentry_open vfs_open path_openat"
		 " do_filp_open do_sys_openat2 __x64_sys_openat" SYSCALL},
	{"pipe", "schedule pipe_wait_readable ipipe_prep.part.0 do_splice __do_splice"
		 " __x64_sys_splice" SYSCALL},
	{"unix socket", "schedule schedule_timeout unix_stream_read_generic unix_stream_recvmsg"
			" sock_recvmsg sock_read_iter vfs_read ksys_read" SYSCALL},
	{"unix socket", "schedule schedule_timeout __skb_wait_for_more_packets __unix_dgram_recvmsg"
			" sock_recvmsg __sys_recvfrom __x64_sys_recvfrom" SYSCALL},
	{"unix socket", "schedule schedule_timeout sock_alloc_send_pskb unix_stream_sendmsg"
			" sock_write_iter vfs_write ksys_write" SYSCALL},
	{"unix socket",
	 "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_datagram"
	 " skb_recv_datagram unix_accept do_accept __sys_accept4 __x64_sys_accept" SYSCALL},
	{"network", "schedule schedule_timeout inet_csk_accept inet_accept do_accept"
		    " __sys_accept4 __x64_sys_accept" SYSCALL},
	{"network", "schedule schedule_timeout wait_woken sk_wait_data tcp_recvmsg_locked"
		    " tcp_recvmsg sock_recvmsg __sys_recvfrom __x64_sys_recvfrom" SYSCALL},
	{"network", "schedule schedule_timeout wait_woken sk_stream_wait_memory"
		    " tcp_sendmsg_locked tcp_sendmsg __sys_sendto __x64_sys_sendto" SYSCALL},
	{"network", "schedule schedule_timeout wait_woken __inet_stream_connect"
		    " inet_stream_connect __sys_connect __x64_sys_connect" SYSCALL},
	{"network", "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_udp"
		    " udp_recvmsg sock_recvmsg __sys_recvfrom __x64_sys_recvfrom" SYSCALL},
	{"network", "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_datagram"
		    " skb_recv_datagram netlink_recvmsg sock_recvmsg __sys_recvfrom"
		    " __x64_sys_recvfrom" SYSCALL},
	{"network", "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_datagram"
		    " skb_recv_datagram packet_recvmsg sock_recvmsg __sys_recvfrom"
		    " __x64_sys_recvfrom" SYSCALL},
	{"network", "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_datagram"
		    " skb_recv_datagram raw_recvmsg sock_recvmsg __sys_recvfrom"
		    " __x64_sys_recvfrom" SYSCALL},
	{"disk I/O", "schedule schedule_timeout io_schedule_timeout __iomap_dio_rw iomap_dio_rw"
		     " ext4_file_read_iter vfs_read __x64_sys_pread64" SYSCALL},
	{"disk I/O", "schedule schedule_timeout io_schedule_timeout __iomap_dio_rw iomap_dio_rw"
		     " ext4_file_write_iter vfs_write __x64_sys_pwrite64" SYSCALL},
	{"disk I/O", "schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_read"
		     " vfs_read __x64_sys_pread64" SYSCALL},
	{"page fault", "schedule io_schedule folio_wait_bit_common filemap_read_folio filemap_fault"
		       " __do_fault do_fault __handle_mm_fault handle_mm_fault exc_page_fault"
		       " asm_exc_page_fault"},
	{"fsync", "schedule io_schedule folio_wait_bit folio_wait_writeback"
		  " __filemap_fdatawait_range file_write_and_wait_range"
		  " generic_buffers_fsync_noflush ext4_fsync_nojournal.constprop.0"
		  " ext4_sync_file do_fsync __x64_sys_fsync" SYSCALL},
	{"fsync",
	 "schedule schedule_timeout io_schedule_timeout wait_for_completion_io_timeout"
	 " submit_bio_wait blkdev_issue_flush ext4_sync_file do_fsync __x64_sys_fsync" SYSCALL},
	{"fsync", "schedule io_schedule bit_wait_io __wait_on_bit_lock"
		  " out_of_line_wait_on_bit_lock __sync_dirty_buffer ext4_write_inode"
		  " ext4_fsync_nojournal.constprop.0 ext4_sync_file do_fsync"
		  " __x64_sys_fdatasync" SYSCALL},
	{"fsync", "schedule schedule_timeout wait_for_completion __flush_workqueue ext4_sync_fs"
		  " sync_filesystem __x64_sys_syncfs" SYSCALL},
	{"fsync", "schedule wb_wait_for_completion __writeback_inodes_sb_nr sync_filesystem"
		  " __x64_sys_syncfs" SYSCALL},
	{"fsync", "schedule io_schedule folio_wait_bit folio_wait_writeback"
		  " __filemap_fdatawait_range filemap_fdatawait_keep_errors sync_bdevs"
		  " ksys_sync __x64_sys_sync" SYSCALL},
	{"fsync", "schedule io_schedule rq_qos_wait wbt_wait __rq_qos_throttle"
		  " blk_mq_submit_bio __submit_bio submit_bio_noacct_nocheck ext4_io_submit"
		  " ext4_do_writepages ext4_writepages do_writepages filemap_fdatawrite_wbc"
		  " __filemap_fdatawrite_range file_write_and_wait_range"
		  " generic_buffers_fsync_noflush ext4_fsync_nojournal.constprop.0"
		  " ext4_sync_file __do_sys_msync" SYSCALL},
	{"fsync",
	 "schedule io_schedule folio_wait_bit folio_wait_writeback"
	 " __filemap_fdatawait_range file_fdatawait_range __x64_sys_sync_file_range" SYSCALL},
	{"child", "schedule do_wait kernel_wait4" SYSCALL},
	{"child", "schedule do_wait kernel_waitid __do_sys_waitid" SYSCALL},
	{"child", "schedule schedule_timeout __wait_for_common wait_for_completion_state"
		  " kernel_clone __x64_sys_vfork" SYSCALL},
	{"signal", "schedule sigsuspend.isra.0 __x64_sys_rt_sigsuspend" SYSCALL},
	{"signal", "schedule __x64_sys_pause" SYSCALL},
	{"signal", "schedule schedule_hrtimeout_range_clock do_sigtimedwait.isra.0"
		   " __x64_sys_rt_sigtimedwait" SYSCALL},
	{"signal", "schedule signalfd_read_iter vfs_read ksys_read" SYSCALL},
	{"terminal",
	 "schedule schedule_timeout wait_woken n_tty_read tty_read vfs_read ksys_read" SYSCALL},
	{"terminal", "schedule schedule_timeout wait_woken n_tty_write file_tty_write.isra.0"
		     " vfs_write ksys_write" SYSCALL},
	{"eventfd", "schedule do_wait_intr_irq eventfd_read vfs_read ksys_read" SYSCALL},
	{"eventfd", "schedule do_wait_intr_irq eventfd_write vfs_write ksys_write" SYSCALL},
	{"inotify", "schedule schedule_timeout wait_woken inotify_read vfs_read ksys_read" SYSCALL},
	{"timer", "schedule do_wait_intr_irq timerfd_read_iter vfs_read ksys_read" SYSCALL},
	{"file lock", "schedule locks_lock_inode_wait __do_sys_flock" SYSCALL},
	{"file lock", "schedule fcntl_setlk do_fcntl __x64_sys_fcntl" SYSCALL},
	{"semaphore", "schedule schedule_hrtimeout_range_clock __do_semtimedop do_semtimedop"
		      " __x64_sys_semtimedop" SYSCALL},
	{"message queue", "schedule do_msgrcv" SYSCALL},
	{"message queue", "schedule do_msgsnd" SYSCALL},
	{"message queue", "schedule schedule_hrtimeout_range_clock wq_sleep do_mq_timedreceive"
			  " __x64_sys_mq_timedreceive" SYSCALL},
	{"message queue", "schedule schedule_hrtimeout_range_clock wq_sleep do_mq_timedsend"
			  " __x64_sys_mq_timedsend" SYSCALL},
	{"io_uring", "schedule io_cqring_wait __do_sys_io_uring_enter" SYSCALL},
	{"io_uring", "schedule io_sq_thread ret_from_fork ret_from_fork_asm"},
	{"aio", "schedule read_events do_io_getevents __x64_sys_io_getevents" SYSCALL},
	{"stopped", "schedule do_signal_stop get_signal arch_do_signal_or_restart"
		    " exit_to_user_mode_loop" SYSCALL},
	{"stopped", "schedule ptrace_stop get_signal arch_do_signal_or_restart"
		    " exit_to_user_mode_loop" SYSCALL},
	{"stopped",
	 "schedule ptrace_stop ptrace_do_notify ptrace_notify syscall_trace_enter" SYSCALL},
	{"userfaultfd", "schedule handle_userfault __handle_mm_fault handle_mm_fault exc_page_fault"
			" asm_exc_page_fault"},
	{"userfaultfd", "schedule userfaultfd_read_iter vfs_read ksys_read" SYSCALL},
	{"seccomp notify", "schedule schedule_timeout __wait_for_common"
			   " wait_for_completion_interruptible seccomp_do_user_notification.isra.0"
			   " __seccomp_filter syscall_trace_enter" SYSCALL},
	{"seccomp notify", "schedule recv_wait_event seccomp_notify_ioctl __x64_sys_ioctl" SYSCALL},
	{"yield", "schedule __x64_sys_sched_yield" SYSCALL},
	{"preempted", "schedule irqentry_exit_to_user_mode asm_sysvec_apic_timer_interrupt"},
	{"preempted", "__cond_resched read_zero vfs_read ksys_read" SYSCALL},
	{"preempted", "__cond_resched generic_perform_write ext4_buffered_write_iter vfs_write"
		      " ksys_write" SYSCALL},
	{"preempted", "schedule exit_to_user_mode_loop" SYSCALL},
	{"preempted", "schedule exit_to_user_mode_loop ret_from_fork ret_from_fork_asm"},
	{"preempted", "schedule irqentry_exit_to_user_mode asm_exc_page_fault"},
	{"kernel lock", "schedule schedule_preempt_disabled rwsem_down_write_slowpath"
			" down_write_killable __vm_munmap __x64_sys_munmap" SYSCALL},
	{"kernel lock", "schedule schedule_preempt_disabled rwsem_down_write_slowpath down_write"
			" path_openat do_filp_open do_sys_openat2 __x64_sys_openat" SYSCALL},
	{"kernel work", "schedule schedule_timeout wait_for_completion synchronize_rcu_normal"
			" __x64_sys_membarrier" SYSCALL},
	{"kernel work",
	 "schedule schedule_timeout wait_for_completion synchronize_rcu_normal"
	 " rcu_sync_enter percpu_down_write cgroup_procs_write_start"
	 " __cgroup1_procs_write.isra.0 kernfs_fop_write_iter vfs_write ksys_write" SYSCALL},
	{"exit", "do_task_dead do_exit do_group_exit get_signal arch_do_signal_or_restart"
		 " exit_to_user_mode_loop" SYSCALL},
	{"exit", "schedule schedule_timeout wait_for_completion synchronize_rcu_normal"
		 " packet_release sock_close __fput task_work_run do_exit do_group_exit"
		 " get_signal arch_do_signal_or_restart exit_to_user_mode_loop" SYSCALL},
	{"exit",
	 "schedule schedule_timeout wait_for_completion exit_aio __mmput do_exit"
	 " do_group_exit get_signal arch_do_signal_or_restart exit_to_user_mode_loop" SYSCALL},
	{"kernel log", "schedule devkmsg_read vfs_read ksys_read" SYSCALL},
	{"idle kthread", "schedule schedule_timeout kcompactd" KTHREAD},
	{"idle kthread", "schedule schedule_timeout rcu_gp_fqs_loop rcu_gp_kthread" KTHREAD},
	{"idle kthread", "schedule rcu_gp_kthread" KTHREAD},
	{"idle kthread", "schedule smpboot_thread_fn" KTHREAD},
	{"idle kthread", "schedule schedule_timeout kdamond_fn" KTHREAD},
	{"idle kthread", "schedule rcu_tasks_one_gp rcu_tasks_kthread" KTHREAD},
	{"kernel work", "schedule schedule_timeout wait_for_completion synchronize_rcu_normal"
			" rcu_tasks_wait_gp rcu_tasks_one_gp rcu_tasks_kthread" KTHREAD},
	{"idle kthread", "schedule worker_thread" KTHREAD},
	{"disk I/O", "schedule schedule_timeout io_schedule_timeout wait_for_completion_io_timeout"
		     " submit_bio_wait blkdev_issue_discard ext4_free_blocks ext4_ext_map_blocks"
		     " ext4_map_blocks ext4_convert_unwritten_extents"
		     " ext4_convert_unwritten_io_end_vec ext4_end_io_end ext4_end_io_rsv_work"
		     " process_one_work worker_thread" KTHREAD},
	{"kernel work", "schedule virtballoon_free_page_report page_reporting_cycle"
			" page_reporting_process process_one_work worker_thread" KTHREAD},
};

static void test_real_waits(void **state)
{
	CHECK("__schedule ", real_waits);
	/* As a BPF program sees them, and as /proc/PID/stack shows them: without the scheduler. */
	CHECK("bpf_prog_e39c889f685bb593_sw bpf_trace_run4 __schedule ", real_waits);
	CHECK("", real_waits);
}

/* As the sources of older kernels and of arm64 have them. */
static const struct wait_case other_kernels[] = {
	{"futex", "schedule futex_wait_queue_me futex_wait do_futex __x64_sys_futex" SYSCALL},
	{"futex", "schedule rt_mutex_slowlock_block rt_mutex_wait_proxy_lock futex_lock_pi.isra.0 "
		  "do_futex" SYSCALL},
	{"futex",
	 "schedule __rt_mutex_slowlock rt_mutex_wait_proxy_lock futex_lock_pi do_futex" SYSCALL},
	{"epoll", "schedule schedule_hrtimeout_range_clock schedule_hrtimeout_range ep_poll "
		  "do_epoll_wait __arm64_sys_epoll_pwait" ARM64_SYSCALL},
	{"select", "schedule schedule_hrtimeout_range poll_schedule_timeout.constprop.0 do_select "
		   "compat_core_sys_select __ia32_compat_sys_select do_int80_syscall_32"},
	{"pipe", "schedule pipe_wait_readable pipe_read new_sync_read vfs_read ksys_read "
		 "__arm64_sys_read" ARM64_SYSCALL},
	{"network", "schedule schedule_timeout wait_woken sk_wait_data tcp_recvmsg inet6_recvmsg "
		    "sock_read_iter new_sync_read vfs_read" SYSCALL},
	{"disk I/O", "schedule io_schedule wait_on_page_bit_common generic_file_buffered_read "
		     "ext4_file_read_iter new_sync_read vfs_read" SYSCALL},
	{"disk I/O", "schedule schedule_timeout wait_for_completion xfs_buf_iowait "
		     "__xfs_buf_submit xfs_buf_read_map xfs_dir_lookup xfs_vn_lookup" SYSCALL},
	{"page fault", "schedule io_schedule __lock_page_or_retry filemap_fault ext4_filemap_fault "
		       "__do_fault handle_mm_fault do_page_fault do_translation_fault do_mem_abort "
		       "el0_da el0_sync_handler el0_sync"},
	{"preempted",
	 "preempt_schedule_irq arm64_preempt_schedule_irq el1_irq kmem_cache_alloc pipe_write"},
	{"preempted", "preempt_schedule_irq raw_irqentry_exit_cond_resched irqentry_exit "
		      "sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt copy_page "
		      "do_wp_page handle_mm_fault exc_page_fault asm_exc_page_fault"},
	{"preempted", "schedule do_notify_resume el0_interrupt __el0_irq_handler_common "
		      "el0t_64_irq_handler el0t_64_irq"},
	{"preempted", "schedule el0_svc el0t_64_sync_handler el0t_64_sync"},
	{"preempted", "schedule exit_to_user_mode_prepare syscall_exit_to_user_mode" SYSCALL},
	{"preempted",
	 "schedule xfer_to_guest_mode_handle_work vcpu_run kvm_vcpu_ioctl __x64_sys_ioctl" SYSCALL},
	{"stopped", "schedule __refrigerator get_signal arch_do_signal_or_restart "
		    "exit_to_user_mode_prepare" SYSCALL},
	{"stopped", "schedule get_signal do_notify_resume el0_svc el0t_64_sync"},
	{"io_uring", "schedule schedule_timeout io_wqe_worker ret_from_fork"},
	{"child",
	 "schedule schedule_timeout wait_for_completion_killable _do_fork __do_sys_vfork" SYSCALL},
	{"terminal", "schedule schedule_timeout wait_woken n_tty_read tty_read __vfs_read vfs_read "
		     "__se_sys_read" SYSCALL},
	{"kvm",
	 "schedule kvm_vcpu_block kvm_arch_vcpu_ioctl_run kvm_vcpu_ioctl __x64_sys_ioctl" SYSCALL},
	{"idle kthread", "schedule worker_thread kthread ret_from_fork"},
	{"idle kthread", "schedule schedule_timeout xfsaild kthread ret_from_fork"},
	{"idle kthread", "schedule kswapd_try_to_sleep kswapd kthread ret_from_fork"},
	{"idle kthread", "schedule kthreadd ret_from_fork"},
	{"nfs", "schedule rpc_wait_bit_killable __rpc_execute rpc_execute nfs4_call_sync_sequence "
		"nfs4_proc_getattr vfs_statx" SYSCALL},
	{"fuse",
	 "schedule request_wait_answer fuse_simple_request fuse_lookup_name path_openat" SYSCALL},
	{"fuse server", "schedule fuse_dev_do_read fuse_dev_read vfs_read" SYSCALL},
	{"journal",
	 "schedule wait_transaction_locked add_transaction_credits start_this_handle "
	 "jbd2__journal_start __ext4_journal_start_sb ext4_dirty_inode ext4_create" SYSCALL},
	{"memory",
	 "schedule schedule_timeout io_schedule_timeout congestion_wait shrink_inactive_list "
	 "shrink_lruvec try_to_free_pages __alloc_pages_nodemask handle_mm_fault exc_page_fault"},
	{"dirty throttling", "schedule schedule_timeout io_schedule_timeout balance_dirty_pages "
			     "balance_dirty_pages_ratelimited_flags generic_perform_write "
			     "ext4_file_write_iter vfs_write" SYSCALL},
	{"fsync", "schedule jbd2_log_wait_commit jbd2_complete_transaction ext4_sync_file "
		  "vfs_fsync_range do_fsync __arm64_sys_fsync" ARM64_SYSCALL},
};

static void test_other_kernels(void **state)
{
	CHECK("__schedule ", other_kernels);
	CHECK("", other_kernels);
	CHECK("__switch_to __schedule ", other_kernels);
}

/* Several answers in one stack. */
static const struct wait_case precedence[] = {
	/* contention is no wait for what the lock protects */
	{"kernel lock",
	 "schedule_preempt_disabled __mutex_lock.constprop.0 pipe_read vfs_read" SYSCALL},
	{"kernel lock", "schedule_preempt_disabled rwsem_down_read_slowpath down_read "
			"lock_mm_and_find_vma do_user_addr_fault exc_page_fault"},
	{"kernel lock",
	 "schedule_preempt_disabled __mutex_lock ep_send_events do_epoll_wait" SYSCALL},
	{"kernel lock", "schedule schedule_timeout __down_common __down down xfs_buf_lock "
			"xfs_buf_find xfs_iread" SYSCALL},
	{"kernel lock", "schedule __lock_sock lock_sock_nested tcp_recvmsg inet_recvmsg" SYSCALL},
	{"kernel lock", "schedule percpu_down_write cgroup_attach_lock" SYSCALL},
	{"preempted", "__cond_resched mutex_lock pipe_read vfs_read" SYSCALL},
	{"preempted",
	 "__cond_resched down_read do_user_addr_fault exc_page_fault asm_exc_page_fault"},
	/* a fault goes before all that brings the page, and before the call that touched it */
	{"page fault", "io_schedule folio_wait_bit_common __folio_lock_or_retry do_swap_page "
		       "handle_mm_fault exc_page_fault copy_page_to_iter pipe_read" SYSCALL},
	{"page fault", "request_wait_answer fuse_simple_request fuse_read_folio filemap_fault "
		       "handle_mm_fault exc_page_fault"},
	{"page fault", "rpc_wait_bit_killable __rpc_execute nfs_readpage filemap_fault "
		       "handle_mm_fault do_page_fault do_mem_abort el0_da"},
	{"page fault",
	 "kvm_async_pf_task_wait_schedule __kvm_handle_async_pf exc_page_fault asm_exc_page_fault"},
	{"memory", "schedule_timeout io_schedule_timeout reclaim_throttle shrink_node "
		   "try_to_free_pages handle_mm_fault exc_page_fault"},
	{"memory", "rwsem_down_read_slowpath down_read rmap_walk_file shrink_folio_list "
		   "shrink_lruvec try_to_free_pages pipe_write" SYSCALL},
	{"memory",
	 "io_schedule bit_wait_io xfs_reclaim_inode shrink_slab balance_pgdat kswapd" KTHREAD},
	{"dirty throttling", "schedule_timeout io_schedule_timeout balance_dirty_pages_ratelimited "
			     "fault_dirty_shared_page handle_mm_fault exc_page_fault"},
	/* calls that wait on anything */
	{"poll", "schedule_timeout wait_woken fuse_file_poll do_sys_poll __x64_sys_poll" SYSCALL},
	{"fsync",
	 "request_wait_answer fuse_simple_request fuse_fsync vfs_fsync_range do_fsync" SYSCALL},
	{"file lock", "rpc_wait_bit_killable __rpc_execute nfs4_proc_lock do_setlk nfs_lock "
		      "fcntl_setlk do_fcntl" SYSCALL},
	/* what it waits for goes before how */
	{"disk I/O", "schedule_timeout io_schedule_timeout __wait_for_common "
		     "wait_for_completion_io submit_bio_wait blkdev_issue_flush"},
	{"nfs", "io_schedule folio_wait_bit_common filemap_read nfs_file_read vfs_read" SYSCALL},
	{"writeback", "io_schedule folio_wait_bit_common folio_wait_writeback ext4_write_begin "
		      "generic_perform_write" SYSCALL},
	{"network", "schedule_timeout wait_woken sk_stream_wait_memory tcp_sendmsg_locked "
		    "tcp_sendmsg splice_to_socket splice_direct_to_actor do_sendfile" SYSCALL},
	{"pipe", "pipe_wait_writable anon_pipe_write splice_from_pipe do_splice" SYSCALL},
	/* equals: nearest the leaf */
	{"stopped",
	 "ptrace_stop ptrace_do_notify ptrace_notify do_exit do_group_exit" RETURN_TO_USER},
	{"network", "schedule_timeout tcp_sendmsg_locked tcp_sendmsg xprt_transmit "
		    "rpc_async_schedule process_one_work worker_thread" KTHREAD},
	/* on the way back to user space, the call is over */
	{"network", "schedule_timeout sk_stream_wait_close inet_release __fput task_work_run "
		    "syscall_exit_to_user_mode pipe_write" SYSCALL},
	{"other", "some_release __fput task_work_run irqentry_exit_to_user_mode handle_mm_fault "
		  "asm_exc_page_fault"},
	{"exit", "fuse_flush filp_close do_exit do_group_exit" RETURN_TO_USER},
	{"exit",
	 "schedule_preempt_disabled rwsem_down_write_slowpath down_write exit_mm do_exit" SYSCALL},
	{"exit", "pipe_write __kernel_write do_coredump" RETURN_TO_USER},
	/* idle only where the thread's own function sleeps */
	{"idle kthread", "ext4_lazyinit_thread" KTHREAD},
	{"disk I/O", "io_schedule ext4_lazyinit_thread" KTHREAD},
	{"sleep", "schedule_timeout msleep some_thread" KTHREAD},
	{"kernel work", "some_work process_one_work worker_thread" KTHREAD},
	{"other", "some_step some_thread" KTHREAD},
	{"other", "some_ioctl __x64_sys_ioctl" SYSCALL},
};

static void test_precedence(void **state)
{
	CHECK("", precedence);
	CHECK("__schedule schedule ", precedence);
}

static void test_begin(void **state)
{
	static const struct {
		size_t begin;
		const char *stack;
	} cases[] = {
		{0, ""},
		{0, "futex_do_wait do_futex"},
		{0, "__schedule schedule do_wait"},
		{2, "bpf_prog_e39c889f685bb593_sw bpf_trace_run4 __schedule schedule do_wait"},
		{4, "bpf_prog_1_x bpf_trace_run3 __bpf_trace_sched_switch __traceiter_sched_switch "
		    "__schedule.constprop.0 schedule do_wait"},
		{1, "__switch_to schedule do_wait"},
		{4, "irq_work_run sysvec_irq_work asm_sysvec_irq_work finish_task_switch.isra.0 "
		    "__schedule schedule do_wait"},
		{5, "do_handle_IPI ipi_handler handle_percpu_devid_irq el1_interrupt "
		    "finish_task_switch schedule do_wait"},
		{1,
		 "bpf_prog_1_x preempt_schedule_irq irqentry_exit asm_sysvec_apic_timer_interrupt"},
		{3, "irq_work_run sysvec_irq_work asm_sysvec_irq_work finish_task_switch.isra.0 "
		    "schedule_tail ret_from_fork"},
		{1, "- __schedule schedule do_wait"},
		/* not the scheduler's */
		{0, "schedule_timeout schedule_tail __scheduled do_wait"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(begin_of(cases[i].stack), cases[i].begin);
	/* The profiler's own frames and the interrupt's tell nothing. */
	assert_string_equal(cause_of("mutex_lock bpf_prog_1_x asm_sysvec_irq_work "
				     "finish_task_switch __schedule schedule do_wait"),
			    "child");
}

static void test_spellings(void **state)
{
	static const char *const nanosleep[] = {
		"__x64_sys_nanosleep",
		"__ia32_sys_nanosleep",
		"__arm64_sys_nanosleep",
		"__se_sys_nanosleep",
		"__do_sys_nanosleep",
		"__x64_sys_nanosleep_time32",
		"__se_compat_sys_nanosleep",
		"compat_sys_nanosleep",
		"sys_nanosleep",
		"__arm64_compat_sys_nanosleep",
		"__ia32_compat_sys_nanosleep",
		"ksys_nanosleep",
		"__do_sys_nanosleep.isra.0",
		"__pfx___x64_sys_nanosleep",
		"__sys_nanosleep",
		"__x32_compat_sys_nanosleep",
		"do_nanosleep.constprop.0.isra.0",
		"do_nanosleep.cold",
		"do_nanosleep.part.0",
		"__pfx_do_nanosleep",
		"do_nanosleep.llvm.12345",
	};
	static const char *const module[] = {"tcp_recvmsg [net]"};

	for (size_t i = 0; i < sizeof(nanosleep) / sizeof(*nanosleep); i++)
		assert_string_equal(wait_cause(&nanosleep[i], 1), "sleep");
	assert_string_equal(wait_cause(module, 1), "network");
	assert_string_equal(cause_of("do_nanosleeper"), "other");
	assert_string_equal(cause_of("do_nanoslee"), "other");
	assert_string_equal(cause_of("do_nanosleep_time32"), "other");
	assert_string_equal(cause_of("__x64_do_nanosleep"), "other");
}

static void test_no_names(void **state)
{
	static const char *const empty[] = {"", NULL, ""};

	assert_string_equal(wait_cause(NULL, 0), "unknown");
	assert_int_equal(wait_stack_begin(NULL, 0), 0);
	assert_string_equal(wait_cause(empty, 3), "unknown");
	assert_int_equal(wait_stack_begin(empty, 3), 0);
	assert_string_equal(cause_of("- do_wait -"), "child");
	assert_string_equal(cause_of("__schedule"), "other");
	assert_string_equal(cause_of("__schedule schedule"), "other");
	assert_string_equal(cause_of("0"), "other");
	assert_string_equal(cause_of("zzz"), "other");
}

struct rule {
	const char *function, *rank, *id;
};

static const struct rule exact_rules[] = {
#define WAIT_EXACT(function, rank, id) {#function, #rank, #id},
#include "profile/wait_rules.def"
};

static const struct rule prefix_rules[] = {
#define WAIT_PREFIX(start, rank, id) {#start, #rank, #id},
#include "profile/wait_rules.def"
};

static const struct {
	const char *id, *name;
} cause_names[] = {
#define WAIT_CAUSE(id, name) {#id, name},
#include "profile/wait_rules.def"
};

enum {
	EXACT_CNT = sizeof(exact_rules) / sizeof(*exact_rules),
	PREFIX_CNT = sizeof(prefix_rules) / sizeof(*prefix_rules),
	CAUSE_CNT = sizeof(cause_names) / sizeof(*cause_names),
};

static const char *cause_name(const char *id)
{
	for (size_t i = 0; i < CAUSE_CNT; i++)
		if (strcmp(cause_names[i].id, id) == 0)
			return cause_names[i].name;
	fail_msg("%s", id);
	return NULL;
}

/* @rule alone in a stack of unknown functions, called @function there. */
static void check_rule(const struct rule *rule, const char *function)
{
	bool caller_only = strcmp(rule->rank, "CALLER") == 0 || strcmp(rule->rank, "RETURN") == 0;
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "__schedule schedule %s some_caller", function);
	assert_string_equal(cause_of(text), cause_name(rule->id));
	snprintf(text, sizeof(text), "__schedule schedule callee inner %s some_caller", function);
	assert_string_equal(cause_of(text), caller_only ? "other" : cause_name(rule->id));
}

static void test_every_rule(void **state)
{
	char function[TEXT_MAX];

	for (size_t i = 0; i < EXACT_CNT; i++) {
		check_rule(&exact_rules[i], exact_rules[i].function);
		snprintf(function, sizeof(function), "%s.isra.0", exact_rules[i].function);
		check_rule(&exact_rules[i], function);
	}
	for (size_t i = 0; i < PREFIX_CNT; i++) {
		check_rule(&prefix_rules[i], prefix_rules[i].function);
		snprintf(function, sizeof(function), "%s~any", prefix_rules[i].function);
		check_rule(&prefix_rules[i], function);
	}
}

static void test_order(void **state)
{
	for (size_t i = 1; i < EXACT_CNT; i++)
		assert_true(strcmp(exact_rules[i - 1].function, exact_rules[i].function) < 0);
	for (size_t i = 1; i < PREFIX_CNT; i++) {
		const char *before = prefix_rules[i - 1].function;

		assert_true(strcmp(before, prefix_rules[i].function) < 0);
		assert_int_not_equal(strncmp(before, prefix_rules[i].function, strlen(before)), 0);
	}
}

/* No cause without a rule, and no two of one name. */
static void test_causes(void **state)
{
	for (size_t i = 0; i < CAUSE_CNT; i++) {
		bool used = false;

		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(cause_names[i].name, cause_names[j].name);
		for (size_t j = 0; j < EXACT_CNT && !used; j++)
			used = strcmp(exact_rules[j].id, cause_names[i].id) == 0;
		for (size_t j = 0; j < PREFIX_CNT && !used; j++)
			used = strcmp(prefix_rules[j].id, cause_names[i].id) == 0;
		assert_true(used);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_waits), cmocka_unit_test(test_other_kernels),
		cmocka_unit_test(test_precedence), cmocka_unit_test(test_begin),
		cmocka_unit_test(test_spellings),  cmocka_unit_test(test_no_names),
		cmocka_unit_test(test_every_rule), cmocka_unit_test(test_order),
		cmocka_unit_test(test_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
