/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A64: instructions of 4 bytes, classified by masks. What the kernel emulates, steps and refuses is
 * the rule of arch/arm64/kernel/probes/decode-insn.c; the encodings are those of the Arm
 * Architecture Reference Manual, C4.1.
 */
#include <errno.h>

#include "event/insn.h"

enum { ARM64_BYTES = 4 };

struct mask {
	uint32_t bits, value;
	enum probe_class probe;
	enum insn_flow flow;
};

/* The first that fits. */
static const struct mask masks[] = {
	{0xfffff01f, 0xd503201f, PROBE_STEPPED, INSN_NEXT}, /* hints: nop, bti, paciasp */
	{0xff000010, 0x54000000, PROBE_EMULATED, INSN_COND}, /* b.cond */
	{0x7e000000, 0x34000000, PROBE_EMULATED, INSN_COND}, /* cbz, cbnz */
	{0x7e000000, 0x36000000, PROBE_EMULATED, INSN_COND}, /* tbz, tbnz */
	{0xfc000000, 0x14000000, PROBE_EMULATED, INSN_JUMP}, /* b */
	{0xfc000000, 0x94000000, PROBE_EMULATED, INSN_CALL}, /* bl */
	{0xfffffc1f, 0xd65f0000, PROBE_EMULATED, INSN_END}, /* ret */
	{0xfffffc1f, 0xd61f0000, PROBE_EMULATED, INSN_END}, /* br */
	{0xfffffc1f, 0xd63f0000, PROBE_EMULATED, INSN_CALL}, /* blr */
	{0xfe000000, 0xd6000000, PROBE_REFUSED, INSN_END}, /* eret, authenticated branches */
	{0x1f000000, 0x10000000, PROBE_EMULATED, INSN_NEXT}, /* adr, adrp */
	{0xbf000000, 0x18000000, PROBE_EMULATED, INSN_NEXT}, /* ldr literal */
	{0xff000000, 0x98000000, PROBE_EMULATED, INSN_NEXT}, /* ldrsw literal */
	{0x3f000000, 0x08000000, PROBE_REFUSED, INSN_NEXT}, /* exclusive loads and stores */
	{0xff000000, 0xd4000000, PROBE_REFUSED, INSN_END}, /* svc, hvc, brk, hlt */
	{0xfff00000, 0xd5300000, PROBE_STEPPED, INSN_NEXT}, /* mrs */
	{0xff000000, 0xd5000000, PROBE_REFUSED, INSN_NEXT}, /* msr, barriers, other hints */
	{0xffff0000, 0x00000000, PROBE_REFUSED, INSN_END}, /* udf */
};

static int64_t displacement(uint32_t word, unsigned int low, unsigned int bits)
{
	uint64_t field = word >> low & ((1u << bits) - 1);
	uint64_t sign = 1ULL << (bits - 1);

	return (int64_t)((field ^ sign) - sign) * ARM64_BYTES;
}

static void set_target(uint32_t word, uint64_t vaddr, struct insn *out)
{
	int64_t disp;

	if ((word & 0x7c000000) == 0x14000000)
		disp = displacement(word, 0, 26);
	else if ((word & 0x7e000000) == 0x36000000)
		disp = displacement(word, 5, 14);
	else if (out->flow == INSN_COND)
		disp = displacement(word, 5, 19);
	else
		return;
	out->has_target = true;
	out->target = vaddr + (uint64_t)disp;
}

/* `nop`, which the kernel skips, alone among the hints; bti and pointer authentication are stepped.
 */
enum { NOP = (int)0xd503201fu };

int insn_arm64_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out)
{
	uint32_t word;

	if (len < ARM64_BYTES)
		return -ENODATA;
	if (vaddr % ARM64_BYTES)
		return -EINVAL;
	word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
	*out = (struct insn){.len = ARM64_BYTES, .probe = PROBE_STEPPED};
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		if ((word & masks[i].bits) == masks[i].value) {
			out->probe = masks[i].probe;
			out->flow = masks[i].flow;
			break;
		}
	}
	if (word == (uint32_t)NOP)
		out->probe = PROBE_EMULATED;
	if (out->probe == PROBE_REFUSED)
		out->why = "the kernel puts no probe on such an instruction";
	out->written = UINT32_MAX; /* registers are not told apart: probes stay at the entry */
	set_target(word, vaddr, out);
	return 0;
}
