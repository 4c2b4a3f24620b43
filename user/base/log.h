/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the person at the terminal, all on stderr, one line each: "bpfprof: <text>".
 * The level, and whether an error was told, are the program's only globals. Lower layers stay
 * silent and return errno values; the layer that knows the object's name logs once, as
 * `log_error("elf: open '%s': %s", path, strerror(err))`. Control bytes in a message become '?';
 * each line of one of several is prefixed. errno stays as it is.
 */
#ifndef BPFPROF_BASE_LOG_H
#define BPFPROF_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum log_level {
	LOG_QUIET, /* errors only (-q) */
	LOG_NORMAL, /* errors, warnings, info */
	LOG_VERBOSE, /* and debug (-v) */
};

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Has log_error() been called? Who ends the program can then leave it at that. */
bool log_error_is_told(void);

void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug_va(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

#endif
