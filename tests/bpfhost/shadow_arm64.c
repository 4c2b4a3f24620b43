/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aarch64: a call leaves its return address in lr, and the callee saves it where it likes. So an
 * entry's slot is sp at the call, to which it comes back with the return: a return is told by its
 * instruction (ret, or br lr, which nothing else uses), whatever else may jump.
 */
#include "shadow_arch.h"

enum { INSN_BYTES = 4 };

const struct shadow_arch shadow_arch = {
	/* struct rt_sigframe: siginfo, then ucontext with the registers behind fault_address at
	   176. */
	.uc_at = 128,
	.sp_at = 176 + 8 + 31 * 8,
	.ip_at = 176 + 8 + 32 * 8,
	.syscall_bytes = INSN_BYTES,
};

enum instruction shadow_decode(struct space *space, uint64_t ip)
{
	uint32_t insn;

	if (space_read(space, ip, &insn, sizeof(insn)))
		return INSN_OTHER;
	/* bl; blr; blraaz, blrabz; blraa, blrab */
	if ((insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	    (insn & 0xfffff81f) == 0xd63f081f || (insn & 0xfffff800) == 0xd73f0800)
		return INSN_CALL;
	/* ret; br lr; retaa, retab */
	if ((insn & 0xfffffc1f) == 0xd65f0000 || insn == 0xd61f03c0 ||
	    (insn & 0xfffffbff) == 0xd65f0bff)
		return INSN_RETURN;
	if ((insn & 0xffe0001f) == 0xd4000001)
		return INSN_SYSCALL;
	return INSN_OTHER;
}

/* The entry that was returned to, of those called with this sp; where it is none of them a jump
 * left them all. */
static void leave_frames(struct shadow *shadow, size_t first, const struct user_regs_struct *after)
{
	size_t cnt = shadow->cnt;

	while (cnt > first && shadow->entries[cnt - 1].slot == after->sp)
		if (shadow->entries[--cnt].ip == after->pc)
			break;
	shadow->left_cnt += cnt < shadow->cnt && shadow->entries[cnt].ip != after->pc;
	shadow->cnt = cnt;
}

int shadow_arch_step(struct shadow *shadow, struct space *space, enum instruction insn,
		     const struct user_regs_struct *before, const struct user_regs_struct *after)
{
	const struct shadow_entry entry = {.slot = before->sp, .ip = before->pc + INSN_BYTES};
	size_t first = shadow_segment_first(shadow);

	/* Behind a system call a step may end before the instruction. */
	if (after->pc == before->pc && after->sp == before->sp)
		return 0;
	while (shadow->cnt > first && shadow->entries[shadow->cnt - 1].slot < after->sp) {
		shadow->left_cnt++;
		shadow->cnt--;
	}
	if (insn == INSN_RETURN)
		leave_frames(shadow, first, after);
	/* A call of the next instruction only asks where it is. */
	if (insn != INSN_CALL || entry.ip == after->pc || after->regs[30] != entry.ip)
		return 0;
	return shadow_push(shadow, &entry);
}

int shadow_arch_restorer(struct space *space, const struct user_regs_struct *after, uint64_t *out)
{
	*out = after->regs[30];
	return 0;
}
