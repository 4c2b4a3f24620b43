/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a USDT note's argument string, by base/reader.h: anybody's file has them. */
#include "event/usdt_args.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/reader.h"

/* The next word; blanks between brackets are part of it. Empty at the end. */
static struct reader next_word(struct reader *rd)
{
	const char *start;
	bool in_brackets = false;
	size_t len = 0, left;

	while (reader_accept(rd, ' ') || reader_accept(rd, '\t'))
		;
	start = (const char *)rd->pos;
	left = reader_left(rd);
	for (; len < left && (in_brackets || (start[len] != ' ' && start[len] != '\t')); len++) {
		if (start[len] == '[')
			in_brackets = true;
		else if (start[len] == ']')
			in_brackets = false;
	}
	return reader_sub(rd, len);
}

uint32_t usdt_arg_cnt(const char *args)
{
	struct reader rd;
	uint32_t cnt = 0;

	reader_init(&rd, args, strlen(args));
	for (struct reader word = next_word(&rd); reader_left(&word); word = next_word(&rd))
		cnt++;
	return cnt;
}

static void skip_blanks(struct reader *rd)
{
	while (reader_accept(rd, ' '))
		;
}

/* A number with a sign, decimal or hexadecimal. False, and nothing read, where there is none. */
static bool read_number(struct reader *rd, int64_t *out)
{
	const struct reader before = *rd;
	bool is_negative = reader_accept(rd, '-');
	uint64_t value;
	int base = 10;

	if (!is_negative)
		reader_accept(rd, '+');
	if (reader_left(rd) > 2 && rd->pos[0] == '0' && (rd->pos[1] | 0x20) == 'x') {
		reader_skip(rd, 2);
		base = 16;
	}
	value = reader_number(rd, base);
	if (rd->err) {
		*rd = before;
		return false;
	}
	*out = (int64_t)(is_negative ? -value : value);
	return true;
}

/* A register's name and its offset. */
static int read_register(struct reader *rd, enum event_arch arch, uint16_t *out)
{
	const char *name = (const char *)rd->pos;
	size_t len = 0, left = reader_left(rd);
	uint32_t off;

	while (len < left && isalnum((unsigned char)name[len]))
		len++;
	reader_skip(rd, len);
	if (!len)
		return -EINVAL;
	if (arch_reg_find(arch, name, len, &off))
		return -ENOTSUP;
	*out = (uint16_t)off;
	return 0;
}

/* log2 of an index's factor. */
static int scale_shift(int64_t scale, uint8_t *out)
{
	for (uint8_t shift = 0; shift < 4; shift++)
		if (scale == 1 << shift) {
			*out = shift;
			return 0;
		}
	return -EINVAL;
}

/* Behind an opening parenthesis: "%base)", "%base,%index)", ",%index,8)". */
static int x86_memory(struct reader *rd, struct usdt_arg *arg)
{
	int64_t scale = 1;
	int err;

	arg->kind = USDT_DEREF;
	arg->has_base = reader_accept(rd, '%');
	/* A global variable's: only a linker knows how far it is. */
	if (arg->has_base && reader_left(rd) > 2 && !memcmp(rd->pos, "rip", 3))
		return -ENOTSUP;
	err = arg->has_base ? read_register(rd, EVENT_ARCH_X86_64, &arg->reg_off) : 0;
	if (!err && reader_accept(rd, ',')) {
		arg->kind = USDT_DEREF_INDEX;
		err = reader_accept(rd, '%') ? read_register(rd, EVENT_ARCH_X86_64, &arg->index_off)
					     : -EINVAL;
		if (!err && reader_accept(rd, ',') && !read_number(rd, &scale))
			err = -EINVAL;
		if (!err)
			err = scale_shift(scale, &arg->index_shift);
	}
	if (!err && (!reader_accept(rd, ')') || (!arg->has_base && arg->kind == USDT_DEREF)))
		err = -EINVAL;
	return err;
}

static int x86_place(struct reader *rd, struct usdt_arg *arg)
{
	if (reader_accept(rd, '%')) {
		arg->kind = USDT_REG;
		/* %fs:16 is a thread's own variable. */
		return read_register(rd, EVENT_ARCH_X86_64, &arg->reg_off);
	}
	if (reader_accept(rd, '$')) {
		arg->kind = USDT_CONST;
		return read_number(rd, &arg->value) ? 0 : -ENOTSUP;
	}
	read_number(rd, &arg->value);
	/* A symbol's name, or a bare address. */
	return reader_accept(rd, '(') ? x86_memory(rd, arg) : -ENOTSUP;
}

/* Behind an opening bracket: "x1]", "x1, 8]", "x1, x2, lsl 3]". */
static int arm64_memory(struct reader *rd, struct usdt_arg *arg)
{
	int64_t shift = 0;
	int err;

	arg->kind = USDT_DEREF;
	arg->has_base = true;
	err = read_register(rd, EVENT_ARCH_ARM64, &arg->reg_off);
	if (!err && reader_accept(rd, ',')) {
		skip_blanks(rd);
		reader_accept(rd, '#');
		if (!read_number(rd, &arg->value)) {
			arg->kind = USDT_DEREF_INDEX;
			err = read_register(rd, EVENT_ARCH_ARM64, &arg->index_off);
		}
	}
	if (!err && arg->kind == USDT_DEREF_INDEX && reader_accept(rd, ',')) {
		skip_blanks(rd);
		/* An index of half a register is extended, which nobody has been seen to need. */
		if (reader_left(rd) < 4 || memcmp(rd->pos, "lsl ", 4))
			return -ENOTSUP;
		reader_skip(rd, 4);
		reader_accept(rd, '#');
		if (!read_number(rd, &shift) || shift < 0 || shift > 3)
			return -EINVAL;
		arg->index_shift = (uint8_t)shift;
	}
	return err ? err : reader_accept(rd, ']') ? 0 : -EINVAL;
}

static int arm64_place(struct reader *rd, struct usdt_arg *arg)
{
	if (reader_accept(rd, '['))
		return arm64_memory(rd, arg);
	if (reader_left(rd) == 3 && (!memcmp(rd->pos, "xzr", 3) || !memcmp(rd->pos, "wzr", 3))) {
		reader_skip(rd, 3);
		arg->kind = USDT_CONST;
		return 0;
	}
	reader_accept(rd, '#');
	if (read_number(rd, &arg->value)) {
		arg->kind = USDT_CONST;
		return 0;
	}
	arg->kind = USDT_REG;
	return read_register(rd, EVENT_ARCH_ARM64, &arg->reg_off);
}

/* "-4@"; a word without it, as the first implementations wrote them, has a register's size. */
static int read_size(struct reader *rd, struct usdt_arg *arg)
{
	int64_t size;

	arg->size = 8;
	if (!memchr(rd->pos, '@', reader_left(rd)))
		return 0;
	if (!read_number(rd, &size))
		return -EINVAL;
	/* "8f@%xmm0" */
	if (reader_accept(rd, 'f'))
		return -ENOTSUP;
	if (size < -8 || size > 8)
		return -ENOTSUP;
	arg->is_signed = size < 0;
	size = arg->is_signed ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -ENOTSUP;
	arg->size = (uint8_t)size;
	return reader_accept(rd, '@') ? 0 : -EINVAL;
}

static int parse_word(struct reader *rd, enum event_arch arch, struct usdt_arg *arg)
{
	int err = read_size(rd, arg);

	if (!err)
		err = arch == EVENT_ARCH_X86_64 ? x86_place(rd, arg) : arm64_place(rd, arg);
	return !err && !reader_done(rd) ? -EINVAL : err;
}

/* A constant as a number of its size is. */
static void cut_constant(struct usdt_arg *arg)
{
	uint32_t shift = 64 - 8 * arg->size;
	uint64_t bits = (uint64_t)arg->value << shift;

	arg->value = arg->is_signed ? (int64_t)bits >> shift : (int64_t)(bits >> shift);
}

int usdt_arg_parse(const char *args, uint32_t index, enum event_arch arch, struct usdt_arg *out,
		   struct buf *why)
{
	struct usdt_arg arg = {0};
	struct reader rd, word;
	const char *text;
	int len, err;

	reader_init(&rd, args, strlen(args));
	word = next_word(&rd);
	for (uint32_t i = 0; i < index && reader_left(&word); i++)
		word = next_word(&rd);
	if (!reader_left(&word)) {
		uint32_t cnt = usdt_arg_cnt(args);

		buf_printf(why, "the probe has %u argument%s", cnt, cnt == 1 ? "" : "s");
		return -ENOENT;
	}
	text = (const char *)word.pos;
	len = reader_left(&word) < 64 ? (int)reader_left(&word) : 64;
	err = parse_word(&word, arch, &arg);
	if (err) {
		buf_printf(why, "the probe's argument %u is at '%.*s', %s", index, len, text,
			   err == -ENOTSUP ? "where it cannot be read: only general registers, "
					     "memory beside them and constants can"
					   : "which is no place that we know");
		return err;
	}
	if (arg.kind == USDT_CONST)
		cut_constant(&arg);
	*out = arg;
	return 0;
}
