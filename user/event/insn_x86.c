/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of x86-64 instructions, by one table for each opcode map.
 *
 * [prefixes] [REX | VEX | EVEX | XOP] [escape] opcode [ModRM [SIB] [displacement]] [immediate]
 */
#include "event/insn_x86.h"

#include <errno.h>
#include <string.h>

/*
 * What follows an opcode: '.' nothing, 'm' ModRM, 'b' ModRM and a byte, 'z' ModRM and 4 bytes (2
 * with 66), '1' a byte, '4' 4 bytes (2 with 66), 'w' 2 bytes, 'e' 3 bytes, 'v' 4 bytes (2 with 66,
 * 8 with REX.W), 'o' an address, 'j' 1 byte and 'J' 4 bytes relative to the next instruction, 'g'
 * and 'G' ModRM and an immediate for /0 and /1 alone, 'x' not an instruction of this mode.
 */
static const char one_byte[] = "mmmm14xxmmmm14xx" /* 00 */
			       "mmmm14xxmmmm14xx"
			       "mmmm14xxmmmm14xx" /* 20 */
			       "mmmm14xxmmmm14xx"
			       "xxxxxxxxxxxxxxxx" /* 40: REX */
			       "................"
			       "xxxmxxxx4z1b...." /* 60 */
			       "jjjjjjjjjjjjjjjj"
			       "bzxbmmmmmmmmmmmm" /* 80 */
			       "..........x....."
			       "oooo....14......" /* a0 */
			       "11111111vvvvvvvv"
			       "bbw.xxbze.w..1x." /* c0 */
			       "mmmmxxx.mmmmmmmm"
			       "jjjj1111JJxj...." /* e0 */
			       "x.xx..gG......mm";

static const char two_byte[] = "mmmmx.....x.xm.b" /* 00 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmxxxxmmmmmmmm" /* 20 */
			       "......x.xxxxxxxx"
			       "mmmmmmmmmmmmmmmm" /* 40 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm" /* 60 */
			       "bbbbmmm.mmxxmmmm"
			       "JJJJJJJJJJJJJJJJ" /* 80 */
			       "mmmmmmmmmmmmmmmm"
			       "...mbmxx...mbmmm" /* a0 */
			       "mmmmmmmmmmbmmmmm"
			       "mmbmbbbm........" /* c0 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm" /* e0 */
			       "mmmmmmmmmmmmmmmm";

/* The next byte; 0 with an error noted behind the end. */
static uint8_t take(struct x86_parts *parts)
{
	uint8_t byte = parts->pos < parts->len ? parts->code[parts->pos] : 0;

	parts->pos++;
	return byte;
}

static bool take_prefix(struct x86_parts *parts, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		parts->has_66 = true;
		return true;
	case 0x67:
		parts->has_67 = true;
		return true;
	case 0xf0:
		parts->has_lock = true;
		return true;
	case 0xf2:
		parts->has_repne = true;
		return true;
	case 0xf3:
		parts->has_rep = true;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
		parts->has_segment = true;
		return true;
	case 0x64:
	case 0x65:
		return true;
	default:
		return false;
	}
}

static void set_map(struct x86_parts *parts, unsigned int number)
{
	static const enum insn_map maps[] = {MAP_OTHER, MAP_0F,	   MAP_0F38, MAP_0F3A,
					     MAP_OTHER, MAP_OTHER, MAP_OTHER};

	parts->is_bad = number == 0 || number == 4 || number > 6;
	parts->map = parts->is_bad ? MAP_OTHER : maps[number];
}

/* The three or four bytes of C4, 62 and 8F: their R, X, B and W are REX's, R, X and B inverted. */
static void take_long_vector(struct x86_parts *parts, uint8_t escape)
{
	uint8_t first = take(parts), second = take(parts);

	parts->rex = 0x40 | (~first >> 5 & 7) | (second >> 7) << 3;
	parts->vvvv = ~second >> 3 & 15;
	if (escape == 0x8f) {
		parts->vector = VECTOR_XOP;
		parts->map = MAP_OTHER;
		parts->is_bad = (first & 31) > 10;
		/* Only map 9 has no immediate; map 10's is of 4 bytes. */
		parts->imm_bytes = (first & 31) == 8 ? 1 : (first & 31) == 10 ? 4 : 0;
	} else if (escape == 0x62) {
		parts->vector = VECTOR_EVEX;
		set_map(parts, first & 7);
		take(parts);
	} else {
		parts->vector = VECTOR_VEX;
		set_map(parts, first & 31);
	}
	parts->opcode = take(parts);
}

static void take_short_vector(struct x86_parts *parts)
{
	uint8_t first = take(parts);

	parts->vector = VECTOR_VEX;
	parts->map = MAP_0F;
	parts->rex = 0x40 | (~first >> 5 & 4);
	parts->vvvv = ~first >> 3 & 15;
	parts->opcode = take(parts);
}

static void take_escaped(struct x86_parts *parts)
{
	parts->map = MAP_0F;
	parts->opcode = take(parts);
	if (parts->opcode != 0x38 && parts->opcode != 0x3a)
		return;
	parts->map = parts->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	parts->opcode = take(parts);
}

static void take_opcode(struct x86_parts *parts)
{
	uint8_t byte;

	do {
		byte = take(parts);
	} while (take_prefix(parts, byte) && parts->pos < INSN_X86_MAX_BYTES);
	if (byte >> 4 == 4) {
		parts->rex = byte;
		byte = take(parts);
	}
	if (byte == 0x0f) {
		take_escaped(parts);
	} else if (byte == 0xc5) {
		take_short_vector(parts);
	} else if (byte == 0xc4 || byte == 0x62 ||
		   (byte == 0x8f && parts->pos < parts->len &&
		    (parts->code[parts->pos] & 31) >= 8)) {
		take_long_vector(parts, byte);
	} else {
		parts->opcode = byte;
	}
}

/* ModRM with its SIB and displacement. */
static void take_modrm(struct x86_parts *parts)
{
	unsigned int mod, low;
	bool has_disp32;

	parts->has_modrm = true;
	parts->modrm = take(parts);
	mod = parts->modrm >> 6;
	low = parts->modrm & 7;
	parts->reg = (uint8_t)(x86_group(parts) | (parts->rex & 4) << 1);
	parts->rm = (uint8_t)(low | (parts->rex & 1) << 3);
	if (mod == 3 || (parts->map == MAP_0F && parts->opcode >> 2 == 0x20 >> 2))
		return; /* mov of control and debug registers: whatever mod says */
	has_disp32 = mod == 2 || (mod == 0 && low == 5);
	if (low == 4)
		has_disp32 = (take(parts) & 7) == 5 && mod == 0 ? true : has_disp32;
	parts->pos += has_disp32 ? 4 : mod == 1;
}

static char form_of(const struct x86_parts *parts)
{
	switch (parts->map) {
	case MAP_ONE:
		return one_byte[parts->opcode];
	case MAP_0F:
		if (parts->vector == VECTOR_NONE)
			return two_byte[parts->opcode];
		if (parts->vector == VECTOR_VEX && parts->opcode == 0x77)
			return '.';
		if (parts->opcode != 0x77 && two_byte[parts->opcode] == 'b' &&
		    (parts->opcode >> 4 == 7 || parts->opcode >> 4 == 12))
			return 'b';
		return 'm';
	case MAP_0F3A:
		return 'b';
	default:
		return 'm';
	}
}

static uint8_t immediate_bytes(const struct x86_parts *parts, char form)
{
	bool is_wide = parts->rex & 8;
	uint8_t word = parts->has_66 && !is_wide ? 2 : 4;

	switch (form) {
	case '1':
	case 'b':
	case 'j':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'J':
		return 4;
	case '4':
	case 'z':
		return word;
	case 'v':
		return is_wide ? 8 : word;
	case 'o':
		return parts->has_67 ? 4 : 8;
	case 'g':
		return x86_group(parts) < 2;
	case 'G':
		return x86_group(parts) < 2 ? word : 0;
	default:
		return parts->imm_bytes;
	}
}

static void take_immediate(struct x86_parts *parts, char form)
{
	uint64_t value = 0;
	unsigned int bits;

	parts->imm_bytes = immediate_bytes(parts, form);
	/* extrq and insertq of SSE4a: two bytes. */
	if (parts->vector == VECTOR_NONE && parts->map == MAP_0F && parts->opcode == 0x78 &&
	    (parts->has_66 || parts->has_repne))
		parts->imm_bytes = 2;
	for (unsigned int i = 0; i < parts->imm_bytes; i++)
		value |= (uint64_t)take(parts) << 8 * i;
	bits = 8 * parts->imm_bytes;
	if (bits && bits < 64)
		value = (value ^ 1ULL << (bits - 1)) - (1ULL << (bits - 1));
	parts->imm = (int64_t)value;
}

static int take_all(struct x86_parts *parts)
{
	char form;

	take_opcode(parts);
	if (parts->pos > parts->len)
		return -ENODATA;
	form = form_of(parts);
	if (form == 'x' || parts->is_bad)
		return -EINVAL;
	/* On some processors alone, 66 makes this displacement 16 bits wide. */
	if (form == 'J' && parts->has_66 && !(parts->rex & 8))
		return -EINVAL;
	if (strchr("mbzgG", form))
		take_modrm(parts);
	/* A ModRM that is not there does not say what follows; that all is too long may be sure. */
	if (parts->pos > parts->len && parts->pos <= INSN_X86_MAX_BYTES)
		return -ENODATA;
	take_immediate(parts, form);
	if (parts->pos > INSN_X86_MAX_BYTES)
		return -EINVAL;
	return parts->pos > parts->len ? -ENODATA : 0;
}

static void set_target(const struct x86_parts *parts, struct insn *out)
{
	out->has_target = true;
	out->target = parts->vaddr + parts->pos + (uint64_t)parts->imm;
}

/* Opcodes without an escape after which control does not simply go on. */
static void set_flow_one(const struct x86_parts *parts, struct insn *out)
{
	uint8_t opcode = parts->opcode;

	if (opcode >> 4 == 7 || (opcode >= 0xe0 && opcode <= 0xe3)) {
		out->flow = INSN_COND;
		set_target(parts, out);
	} else if (opcode == 0xe8) {
		out->flow = INSN_CALL;
		set_target(parts, out);
	} else if (opcode == 0xe9 || opcode == 0xeb) {
		out->flow = INSN_JUMP;
		set_target(parts, out);
	} else if (opcode == 0xff && (x86_group(parts) == 2 || x86_group(parts) == 3)) {
		out->flow = INSN_CALL;
	} else if (opcode == 0xff && (x86_group(parts) == 4 || x86_group(parts) == 5)) {
		out->flow = INSN_END;
	} else if ((opcode & 0xf6) == 0xc2 || opcode == 0xcf || opcode == 0xcc || opcode == 0xcd ||
		   opcode == 0xf1 || opcode == 0xf4) {
		out->flow = INSN_END;
	}
}

static void set_flow(const struct x86_parts *parts, struct insn *out)
{
	if (parts->vector != VECTOR_NONE)
		return;
	if (parts->map == MAP_ONE) {
		set_flow_one(parts, out);
	} else if (parts->map == MAP_0F && parts->opcode >> 4 == 8) {
		out->flow = INSN_COND;
		set_target(parts, out);
	} else if (parts->map == MAP_0F &&
		   (parts->opcode == 0x0b || parts->opcode == 0xb9 || parts->opcode == 0xff)) {
		out->flow = INSN_END;
	}
}

/* What the instructions of prologues do to the stack pointer. */
static void set_stack(const struct x86_parts *parts, struct insn *out)
{
	uint8_t opcode = parts->opcode;

	out->sp_is_known = true;
	if (!(out->written & 1 << INSN_X86_SP))
		return;
	if (parts->map == MAP_ONE && parts->vector == VECTOR_NONE && !parts->has_66) {
		if (opcode >> 3 == 0x50 >> 3 || opcode == 0x68 || opcode == 0x6a) {
			out->sp_delta = -8;
			return;
		}
		if (opcode >> 3 == 0x58 >> 3 && (opcode != 0x5c || parts->rex & 1)) {
			out->sp_delta = 8;
			return;
		}
		if ((opcode == 0x81 || opcode == 0x83) && x86_rm_is_reg(parts) && parts->rex & 8 &&
		    (x86_group(parts) == 0 || x86_group(parts) == 5)) {
			out->sp_delta = (int32_t)(x86_group(parts) ? -parts->imm : parts->imm);
			return;
		}
	}
	out->sp_is_known = false;
}

int insn_x86_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out)
{
	struct x86_parts parts = {.code = code, .len = len, .vaddr = vaddr};
	int err = take_all(&parts);

	if (err)
		return err;
	*out = (struct insn){.len = (uint8_t)parts.pos, .flow = INSN_NEXT};
	out->probe = x86_probe_class(&parts, &out->why);
	out->written = x86_written(&parts);
	set_flow(&parts, out);
	set_stack(&parts, out);
	return 0;
}
