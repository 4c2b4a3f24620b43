/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most telling frame names the wait.
 *
 * A stack holds several answers at once. A page fault that waits for the disk is
 *
 *	__schedule schedule io_schedule folio_wait_bit_common filemap_fault __do_fault
 *	handle_mm_fault exc_page_fault asm_exc_page_fault
 *
 * "disk I/O" by its leaf and "page fault" by its root; who reads a flame graph has the frames for
 * the mechanism and wants to be told what the thread was about. Each function of wait_rules.def
 * therefore has a rank. The highest rank in the stack wins; among equals, the frame nearest the
 * leaf. From the least telling to the most:
 *
 *	HINT	only a part of the kernel: ext4_*, sock_recvmsg. Better than nothing.
 *	MEANS	how it waits, whatever for: io_schedule, wait_for_completion, msleep.
 *	OBJECT	what it waits for: pipe_read, unix_*, do_futex, fuse_*, nfs_*.
 *	CALL	calls that wait on objects of any kind: poll over a socket is poll; fsync, file
 *		locks. What lies below them is their implementation.
 *	FAULT	the thread asked for nothing, it touched memory: goes before the disk, FUSE or
 *		NFS that the page comes from, and before the pipe_read that touched it.
 *	LOCK	contention. A pipe_read that waits in mutex_lock() waits for no data: another
 *		thread holds what this one needs, and that is what there is to fix. Likewise
 *		under faults and calls.
 *	DEBT	the thread is made to work or to wait for the state of the whole machine:
 *		reclaim, dirty pages. The locks and disks below only tell how.
 *	FATE	it stops or ends; nothing that it does then is a wait of its own.
 *
 * Three ranks stand outside that order:
 *
 *	SCHEDULER  ways into the scheduler, passed over: schedule_timeout, wait_woken.
 *	CALLER	counts only directly behind those. A thread whose schedule() is called by
 *		__cond_resched gave up the CPU and waits for nothing else, even if mutex_lock
 *		called __cond_resched; worker_thread is idle there, and at work anywhere else.
 *	RETURN	like CALLER; and the way back to user space begins here (signals, closing of
 *		files), so what was entered for further out, a system call or a page fault, is
 *		over.
 *
 * A kernel thread's own function says that it is idle where it calls the scheduler itself: the
 * frame between scheduler and kthread().
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "profile/wait_cause.h"

enum wait_rank {
	RANK_NONE,
	RANK_HINT,
	RANK_MEANS,
	RANK_OBJECT,
	RANK_CALL,
	RANK_FAULT,
	RANK_LOCK,
	RANK_DEBT,
	RANK_FATE,
	RANK_SCHEDULER, /* from here on: outside the order */
	RANK_CALLER,
	RANK_RETURN,
};

enum wait_cause_id {
#define WAIT_CAUSE(id, name) WAIT_##id,
#include "profile/wait_rules.def"
};

static const char *const cause_names[] = {
#define WAIT_CAUSE(id, name) [WAIT_##id] = name,
#include "profile/wait_rules.def"
};

struct wait_rule {
	const char *name;
	uint8_t len; /* of name */
	uint8_t rank; /* enum wait_rank */
	uint8_t cause; /* enum wait_cause_id */
};

#define WAIT_RULE(function, rank, id) {#function, sizeof(#function) - 1, RANK_##rank, WAIT_##id},

static const struct wait_rule exact_rules[] = {
#define WAIT_EXACT WAIT_RULE
#include "profile/wait_rules.def"
};

static const struct wait_rule prefix_rules[] = {
#define WAIT_PREFIX WAIT_RULE
#include "profile/wait_rules.def"
};

static const struct wait_rule no_rule = {"", 0, RANK_NONE, WAIT_OTHER};

/* A function as the rules spell it; not terminated. */
struct wait_name {
	const char *text;
	size_t len;
};

static const char *skip_prefix(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* "sys_NAME..." inside of a system call's function; NULL if @symbol is none. */
static const char *system_call(const char *symbol)
{
	static const char *const wrappers[] = {
		"__x64_", "__arm64_", "__ia32_", "__x32_", "__se_", "__do_", "__", "k", "",
	};

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
		const char *rest = skip_prefix(symbol, wrappers[i]), *native;

		if (!rest)
			continue;
		native = skip_prefix(rest, "compat_");
		if (native)
			rest = native;
		if (strncmp(rest, "sys_", 4) == 0)
			return rest;
	}
	return NULL;
}

static void drop_suffix(struct wait_name *name, const char *suffix)
{
	size_t len = strlen(suffix);

	if (name->len > len && memcmp(name->text + name->len - len, suffix, len) == 0)
		name->len -= len;
}

static struct wait_name wait_name(const char *symbol)
{
	struct wait_name name = {symbol ? symbol : "", 0};
	const char *rest = skip_prefix(name.text, "__pfx_"), *call;

	if (rest)
		name.text = rest;
	call = system_call(name.text);
	if (call)
		name.text = call;
	name.len = strcspn(name.text, ". \t"); /* ".isra.0", " [module]" */
	if (call) {
		drop_suffix(&name, "_time32");
		drop_suffix(&name, "_time64");
	}
	return name;
}

static bool starts_with(struct wait_name name, const struct wait_rule *rule)
{
	return name.len >= rule->len && memcmp(name.text, rule->name, rule->len) == 0;
}

static bool is_above(const struct wait_rule *rule, struct wait_name name)
{
	int order = memcmp(rule->name, name.text, rule->len < name.len ? rule->len : name.len);

	return order ? order > 0 : rule->len > name.len;
}

/*
 * The last rule in order that is not above @name; NULL: all are. That is where an equal one must
 * be; and a prefix of it too, as whatever lies between a prefix and its extension starts with the
 * prefix.
 */
static const struct wait_rule *last_not_above(const struct wait_rule *rules, size_t cnt,
					      struct wait_name name)
{
	size_t low = 0, high = cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (is_above(&rules[mid], name))
			high = mid;
		else
			low = mid + 1;
	}
	return low ? &rules[low - 1] : NULL;
}

/* Never NULL. */
static const struct wait_rule *rule_of(const char *symbol)
{
	struct wait_name name = wait_name(symbol);
	const struct wait_rule *rule;

	rule = last_not_above(exact_rules, sizeof(exact_rules) / sizeof(*exact_rules), name);
	if (rule && rule->len == name.len && starts_with(name, rule))
		return rule;
	rule = last_not_above(prefix_rules, sizeof(prefix_rules) / sizeof(*prefix_rules), name);
	if (rule && starts_with(name, rule))
		return rule;
	return &no_rule;
}

static bool is_function(struct wait_name name, const char *function)
{
	return name.len == strlen(function) && memcmp(name.text, function, name.len) == 0;
}

static bool enters_scheduler(struct wait_name name)
{
	static const char preempt[] = "preempt_schedule";

	return is_function(name, "__schedule") || is_function(name, "schedule") ||
	       (name.len >= sizeof(preempt) - 1 &&
		memcmp(name.text, preempt, sizeof(preempt) - 1) == 0);
}

size_t wait_stack_begin(const char *const *names, size_t cnt)
{
	size_t switched = cnt;

	for (size_t i = 0; i < cnt; i++) {
		struct wait_name name = wait_name(names[i]);

		if (enters_scheduler(name))
			return i;
		if (switched == cnt && is_function(name, "finish_task_switch"))
			switched = i;
	}
	return switched < cnt ? switched : 0;
}

static bool has_names(const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (names[i] && *names[i])
			return true;
	return false;
}

/* What only the scheduler's own caller, @names[0], can tell; NULL: nothing. */
static const struct wait_rule *caller_rule(const char *const *names, size_t cnt)
{
	const struct wait_rule *rule = rule_of(names[0]);

	if (rule->rank == RANK_CALLER || rule->rank == RANK_RETURN)
		return rule;
	if (rule->rank <= RANK_HINT && cnt > 1 && is_function(wait_name(names[1]), "kthread"))
		return rule_of(names[1]);
	return NULL;
}

static const struct wait_rule *most_telling_rule(const char *const *names, size_t cnt)
{
	const struct wait_rule *best = &no_rule;

	for (size_t i = 0; i < cnt; i++) {
		const struct wait_rule *rule = rule_of(names[i]);

		if (rule->rank == RANK_RETURN)
			break;
		if (rule->rank < RANK_SCHEDULER && rule->rank > best->rank)
			best = rule;
	}
	return best;
}

const char *wait_cause(const char *const *names, size_t cnt)
{
	size_t i = wait_stack_begin(names, cnt);
	const struct wait_rule *rule = NULL;

	if (!has_names(names, cnt))
		return "unknown";
	while (i < cnt && rule_of(names[i])->rank == RANK_SCHEDULER)
		i++;
	if (i < cnt)
		rule = caller_rule(names + i, cnt - i);
	if (!rule)
		rule = most_telling_rule(names + i, cnt - i);
	return cause_names[rule->cause];
}
