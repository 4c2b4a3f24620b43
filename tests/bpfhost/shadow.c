/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, returns and signals from registers before and after: what all architectures share. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "shadow_arch.h"

enum { UC_STACK_AT = 16 /* stack_t in ucontext: sp, flags, size */ };

void shadow_deinit(struct shadow *shadow)
{
	free(shadow->entries);
	free(shadow->segments);
}

int shadow_push(struct shadow *shadow, const struct shadow_entry *entry)
{
	int err = array_reserve(&shadow->entries, &shadow->cap, shadow->cnt + 1, sizeof(*entry));

	if (!err)
		shadow->entries[shadow->cnt++] = *entry;
	return err;
}

static void segments_leave(struct shadow *shadow, uint64_t sp)
{
	while (shadow->segments_cnt) {
		const struct shadow_segment *last = &shadow->segments[shadow->segments_cnt - 1];
		bool is_left =
			last->alt_end ? sp < last->alt_start || sp > last->alt_end : sp >= last->sp;

		if (!is_left)
			return;
		shadow->cnt = last->first;
		shadow->segments_cnt--;
	}
}

size_t shadow_segment_first(const struct shadow *shadow)
{
	return shadow->segments_cnt ? shadow->segments[shadow->segments_cnt - 1].first + 1 : 0;
}

int shadow_step(struct shadow *shadow, struct space *space, enum instruction insn,
		const struct user_regs_struct *before, const struct user_regs_struct *after)
{
	segments_leave(shadow, REGS_SP(after));
	return shadow_arch_step(shadow, space, insn, before, after);
}

int shadow_signal(struct shadow *shadow, struct space *space, const struct user_regs_struct *before,
		  const struct user_regs_struct *after)
{
	struct shadow_segment segment = {.first = shadow->cnt};
	struct shadow_entry interrupted = {.is_exact = true}, restorer = {.slot = REGS_SP(after)};
	uint64_t uc = REGS_SP(after) + shadow_arch.uc_at, stack[3];
	int err;

	if (REGS_IP(after) == REGS_IP(before) ||
	    space_read(space, uc + shadow_arch.sp_at, &segment.sp, sizeof(segment.sp)) ||
	    space_read(space, uc + shadow_arch.ip_at, &interrupted.ip, sizeof(interrupted.ip)) ||
	    space_read(space, uc + UC_STACK_AT, stack, sizeof(stack)) ||
	    shadow_arch_restorer(space, after, &restorer.ip))
		return 0;
	/* A system call may be restarted: its ip is then moved back onto it. */
	if (segment.sp != REGS_SP(before) ||
	    REGS_IP(before) - interrupted.ip > shadow_arch.syscall_bytes)
		return 0;
	interrupted.slot = segment.sp;
	if (REGS_SP(after) - stack[0] < stack[2] && REGS_SP(before) - stack[0] >= stack[2]) {
		segment.alt_start = stack[0];
		segment.alt_end = stack[0] + stack[2];
	}
	err = array_reserve(&shadow->segments, &shadow->segments_cap, shadow->segments_cnt + 1,
			    sizeof(segment));
	if (!err)
		err = shadow_push(shadow, &interrupted);
	if (!err)
		err = shadow_push(shadow, &restorer);
	if (err)
		return err;
	shadow->segments[shadow->segments_cnt++] = segment;
	return 1;
}
