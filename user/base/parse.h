/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as people type them. Each returns 0, -EINVAL (not of this form) or -ERANGE (too large),
 * consumes the whole string and leaves @out untouched on failure.
 */
#ifndef BPFPROF_BASE_PARSE_H
#define BPFPROF_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *str, uint64_t *out); /* decimal, or 0x hexadecimal */
int parse_bytes(const char *str, uint64_t *out); /* 4096, 64k, 10M, 2G: powers of 1024 */
int parse_count(const char *str, uint64_t *out); /* 1000, 64k, 10M: powers of 1000 */
int parse_duration_ns(const char *str, uint64_t *out); /* 30, 0.5 (s), 500ms, 20us, 5m, 2h, 7d */

/* What @chr is as a digit of a number with up to 16 of them; UINT32_MAX: it is none. */
static inline uint32_t digit_value(char chr)
{
	if (chr >= '0' && chr <= '9')
		return (uint32_t)(chr - '0');
	if (chr >= 'a' && chr <= 'f')
		return (uint32_t)(chr - 'a') + 10;
	if (chr >= 'A' && chr <= 'F')
		return (uint32_t)(chr - 'A') + 10;
	return UINT32_MAX;
}

/* A sorted set of numbers from "0,2-5": CPUs, pids. */
struct number_set {
	uint32_t *items; /* owned, ascending, distinct */
	size_t cnt, cap;
};

/* Add the list in @str to @set; lists of more than 1 M numbers are -ERANGE. */
int number_set_parse(struct number_set *set, const char *str);
int number_set_add(struct number_set *set, uint32_t number);
bool number_set_has(const struct number_set *set, uint32_t number);
void number_set_deinit(struct number_set *set);

#endif
