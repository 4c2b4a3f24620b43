/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, returns and signals from registers before and after. */
#include "shadow.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

enum {
	INSN_BYTES_MAX = 15,
	/* In what the kernel pushes for a signal, from the handler's sp: return address, ucontext.
	 */
	UC_AT = 8,
	UC_STACK_AT = 16, /* stack_t: sp, flags, size */
	UC_RSP_AT = 40 + 15 * 8,
	UC_RIP_AT = 40 + 16 * 8,
};

void shadow_deinit(struct shadow *shadow)
{
	free(shadow->entries);
	free(shadow->segments);
}

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

static int entry_push(struct shadow *shadow, const struct shadow_entry *entry)
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

static size_t segment_first(const struct shadow *shadow)
{
	return shadow->segments_cnt ? shadow->segments[shadow->segments_cnt - 1].first + 1 : 0;
}

/* Forget the entries that the stack pointer has left behind. */
static void entries_trim(struct shadow *shadow, struct space *space, bool is_pop,
			 const struct user_regs_struct *after)
{
	size_t first = segment_first(shadow);

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

int shadow_step(struct shadow *shadow, struct space *space, enum instruction insn,
		const struct user_regs_struct *before, const struct user_regs_struct *after)
{
	struct shadow_entry entry = {.slot = after->rsp};

	segments_leave(shadow, after->rsp);
	entries_trim(shadow, space, insn == INSN_POP, after);
	if (insn != INSN_CALL || after->rsp != before->rsp - 8 ||
	    space_read(space, after->rsp, &entry.ip, sizeof(entry.ip)))
		return 0;
	/* A call of the next instruction only asks where it is. */
	if (entry.ip - before->rip - 1 >= INSN_BYTES_MAX || entry.ip == after->rip)
		return 0;
	return entry_push(shadow, &entry);
}

int shadow_signal(struct shadow *shadow, struct space *space, const struct user_regs_struct *before,
		  const struct user_regs_struct *after)
{
	struct shadow_segment segment = {.first = shadow->cnt};
	struct shadow_entry interrupted = {.is_exact = true}, restorer = {.slot = after->rsp};
	uint64_t uc = after->rsp + UC_AT, stack[3];
	int err;

	if (after->rip == before->rip ||
	    space_read(space, uc + UC_RSP_AT, &segment.sp, sizeof(segment.sp)) ||
	    space_read(space, uc + UC_RIP_AT, &interrupted.ip, sizeof(interrupted.ip)) ||
	    space_read(space, uc + UC_STACK_AT, stack, sizeof(stack)) ||
	    space_read(space, after->rsp, &restorer.ip, sizeof(restorer.ip)))
		return 0;
	/* A system call may be restarted: its ip is then moved back onto it. */
	if (segment.sp != before->rsp || before->rip - interrupted.ip > 2)
		return 0;
	interrupted.slot = segment.sp;
	if (after->rsp - stack[0] < stack[2] && before->rsp - stack[0] >= stack[2]) {
		segment.alt_start = stack[0];
		segment.alt_end = stack[0] + stack[2];
	}
	err = array_reserve(&shadow->segments, &shadow->segments_cap, shadow->segments_cnt + 1,
			    sizeof(segment));
	if (!err)
		err = entry_push(shadow, &interrupted);
	if (!err)
		err = entry_push(shadow, &restorer);
	if (err)
		return err;
	shadow->segments[shadow->segments_cnt++] = segment;
	return 1;
}
