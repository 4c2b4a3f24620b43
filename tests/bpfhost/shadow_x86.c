/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: a call pushes its return address. */
#include "shadow_arch.h"

enum {
	INSN_BYTES_MAX = 15,
};

const struct shadow_arch shadow_arch = {
	/* What the kernel pushes for a signal, from the handler's sp: return address, ucontext. */
	.uc_at = 8,
	.sp_at = 40 + 15 * 8,
	.ip_at = 40 + 16 * 8,
	.syscall_bytes = 2,
};

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					   0x66, 0x67, 0xf0, 0xf2, 0xf3};

	for (size_t i = 0; i < sizeof(prefixes); i++)
		if (byte == prefixes[i])
			return true;
	return (byte & 0xf0) == 0x40; /* REX */
}

enum instruction shadow_decode(struct space *space, uint64_t ip)
{
	uint8_t code[INSN_BYTES_MAX + 1] = {0};
	size_t i = 0;

	/* Fewer bytes where the mapping ends. */
	for (size_t len = sizeof(code); space_read(space, ip, code, len) && len > 1; len--)
		;
	while (i < INSN_BYTES_MAX - 1 && is_prefix(code[i]))
		i++;
	if (code[i] == 0xe8)
		return INSN_CALL;
	if (code[i] == 0xff && ((code[i + 1] >> 3 & 7) == 2 || (code[i + 1] >> 3 & 7) == 3))
		return INSN_CALL;
	if ((code[i] & 0xf8) == 0x58)
		return INSN_POP;
	if (code[i] == 0x0f && code[i + 1] == 0x05)
		return INSN_SYSCALL;
	return INSN_OTHER;
}

/* Forget the entries that the stack pointer has left behind. */
static void entries_trim(struct shadow *shadow, struct space *space, bool is_pop,
			 const struct user_regs_struct *after)
{
	size_t first = shadow_segment_first(shadow);

	while (shadow->cnt > first) {
		struct shadow_entry *last = &shadow->entries[shadow->cnt - 1];
		uint64_t word = 0;
		bool is_same;

		if (last->slot >= after->rsp && !last->is_in_register)
			return;
		is_same = !space_read(space, last->slot, &word, sizeof(word)) && word == last->ip;
		if (is_same && last->is_in_register && after->rsp == last->slot) {
			last->is_in_register = false;
			return;
		}
		/* Memory may change meanwhile: vfork()'s child returns over it. */
		if ((last->is_in_register || (is_pop && is_same)) && after->rsp == last->slot + 8 &&
		    after->rip != last->ip) {
			last->is_in_register = true;
			return;
		}
		shadow->left_cnt += after->rip != last->ip;
		shadow->cnt--;
		is_pop = false;
	}
}

int shadow_arch_step(struct shadow *shadow, struct space *space, enum instruction insn,
		     const struct user_regs_struct *before, const struct user_regs_struct *after)
{
	struct shadow_entry entry = {.slot = after->rsp};

	entries_trim(shadow, space, insn == INSN_POP, after);
	if (insn != INSN_CALL || after->rsp != before->rsp - 8 ||
	    space_read(space, after->rsp, &entry.ip, sizeof(entry.ip)))
		return 0;
	/* A call of the next instruction only asks where it is. */
	if (entry.ip - before->rip - 1 >= INSN_BYTES_MAX || entry.ip == after->rip)
		return 0;
	return shadow_push(shadow, &entry);
}

int shadow_arch_restorer(struct space *space, const struct user_regs_struct *after, uint64_t *out)
{
	return space_read(space, after->rsp, out, sizeof(*out));
}
