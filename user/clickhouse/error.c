/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/reader.h"

/* dbms/src/Common/ErrorCodes.cpp; numbers are never given twice. */
static const struct {
	uint16_t code;
	int err;
} codes[] = {
	{6, -EINVAL}, /* CANNOT_PARSE_TEXT */
	{8, -ENOTSUP}, /* THERE_IS_NO_COLUMN */
	{10, -ENOTSUP}, /* NOT_FOUND_COLUMN_IN_BLOCK */
	{16, -ENOTSUP}, /* NO_SUCH_COLUMN_IN_TABLE */
	{20, -ENOTSUP}, /* NUMBER_OF_COLUMNS_DOESNT_MATCH */
	{26, -EINVAL}, /* CANNOT_PARSE_QUOTED_STRING */
	{27, -EINVAL}, /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
	{33, -EINVAL}, /* CANNOT_READ_ALL_DATA */
	{36, -ENOTSUP}, /* BAD_ARGUMENTS */
	{38, -EINVAL}, /* CANNOT_PARSE_DATE */
	{41, -EINVAL}, /* CANNOT_PARSE_DATETIME */
	{43, -ENOTSUP}, /* ILLEGAL_TYPE_OF_ARGUMENT */
	{46, -ENOTSUP}, /* UNKNOWN_FUNCTION */
	{47, -ENOTSUP}, /* UNKNOWN_IDENTIFIER */
	{53, -EINVAL}, /* TYPE_MISMATCH */
	{60, -ENOENT}, /* UNKNOWN_TABLE */
	{62, -ENOTSUP}, /* SYNTAX_ERROR */
	{69, -EINVAL}, /* ARGUMENT_OUT_OF_BOUND */
	{70, -EINVAL}, /* CANNOT_CONVERT_TYPE */
	{73, -ENOTSUP}, /* UNKNOWN_FORMAT */
	{81, -ENOENT}, /* UNKNOWN_DATABASE */
	{115, -ENOTSUP}, /* UNKNOWN_SETTING */
	{117, -EINVAL}, /* INCORRECT_DATA */
	{128, -EINVAL}, /* TOO_LARGE_ARRAY_SIZE */
	{131, -EINVAL}, /* TOO_LARGE_STRING_SIZE */
	{164, -EACCES}, /* READONLY */
	{192, -EACCES}, /* UNKNOWN_USER */
	{193, -EACCES}, /* WRONG_PASSWORD */
	{194, -EACCES}, /* REQUIRED_PASSWORD */
	{195, -EACCES}, /* IP_ADDRESS_NOT_ALLOWED */
	{291, -EACCES}, /* DATABASE_ACCESS_DENIED */
	{497, -EACCES}, /* ACCESS_DENIED */
	{516, -EACCES}, /* AUTHENTICATION_FAILED */
};

int ch_error_errno(uint32_t code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return codes[i].err;
	return -EAGAIN;
}

/* The first of @len bytes at which @text stands, or NULL. */
static const char *find(const char *data, size_t len, const char *text)
{
	return len ? memmem(data, len, text, strlen(text)) : NULL;
}

/* One line of it: what stands between the exception's class and what was added behind. */
static void take_text(const char *data, size_t len, char out[static CH_ERROR_TEXT_MAX])
{
	static const char *const ends[] = {", e.what()", " (version ", "\n"};
	const char *begin = find(data, len, "DB::Exception: ");
	size_t cnt;

	if (begin) {
		begin += strlen("DB::Exception: ");
		len -= (size_t)(begin - data);
		data = begin;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *end = find(data, len, ends[i]);

		if (end)
			len = (size_t)(end - data);
	}
	cnt = len < CH_ERROR_TEXT_MAX - 1 ? len : CH_ERROR_TEXT_MAX - 1;
	for (size_t i = 0; i < cnt; i++)
		out[i] = (unsigned char)data[i] < ' ' ? ' ' : data[i];
	out[cnt] = '\0';
}

void ch_error_parse(const char *data, size_t len, struct ch_error *out)
{
	const char *begin = find(data, len, "Code: ");
	struct reader rd;
	uint64_t code;

	out->code = 0;
	take_text(data, len, out->text);
	if (begin) {
		begin += strlen("Code: ");
		reader_init(&rd, begin, len - (size_t)(begin - data));
		code = reader_number(&rd, 10);
		if (!rd.err && code <= UINT32_MAX)
			out->code = (uint32_t)code;
	}
	out->err = out->code ? ch_error_errno(out->code) : -EPROTO;
}
