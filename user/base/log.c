/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the person at the terminal. */
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"

static _Atomic enum log_level current_level = LOG_NORMAL;
static atomic_bool is_error_told;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_get_level(void)
{
	return current_level;
}

/*
 * Messages quote names that others chose (paths, symbols): control bytes must neither steer the
 * terminal nor forge a line, hence '?' for them and the prefix on every line. libbpf's messages end
 * with a newline and the verifier's hold many.
 */
static void add_lines(struct buf *out, const char *prefix, const char *text)
{
	buf_add_str(out, prefix);
	for (; *text; text++) {
		unsigned char chr = (unsigned char)*text;

		if (chr == '\n' && !text[1])
			break;
		if (chr == '\n') {
			buf_add_char(out, '\n');
			buf_add_str(out, prefix);
		} else {
			buf_add_char(out, (chr < 0x20 && chr != '\t') || chr == 0x7f ? '?' : *text);
		}
	}
	buf_add_char(out, '\n');
}

/* One write() per message, so that those of several threads do not mix. Leaves errno alone. */
static void log_va(const char *prefix, const char *fmt, va_list args)
{
	_cleanup_free_ char *text = NULL;
	int saved_errno = errno;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	add_lines(&out, prefix, text ? text : fmt);
	if (!out.err)
		fwrite(out.data, 1, out.len, stderr);
	else
		fputs(fmt, stderr);
	buf_deinit(&out);
	errno = saved_errno;
}

void log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_va("bpfprof: ", fmt, args);
	va_end(args);
	atomic_store(&is_error_told, true);
}

bool log_error_is_told(void)
{
	return atomic_load(&is_error_told);
}

void log_warn(const char *fmt, ...)
{
	va_list args;

	if (current_level < LOG_NORMAL)
		return;
	va_start(args, fmt);
	log_va("bpfprof: warning: ", fmt, args);
	va_end(args);
}

void log_info(const char *fmt, ...)
{
	va_list args;

	if (current_level < LOG_NORMAL)
		return;
	va_start(args, fmt);
	log_va("bpfprof: ", fmt, args);
	va_end(args);
}

void log_debug(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_debug_va(fmt, args);
	va_end(args);
}

void log_debug_va(const char *fmt, va_list args)
{
	if (current_level >= LOG_VERBOSE)
		log_va("bpfprof: ", fmt, args);
}
