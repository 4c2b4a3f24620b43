/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

static const struct {
	const char *text;
	bool is_tls;
} schemes[] = {
	{"clickhouse://", false},
	{"clickhouses://", true},
};

enum { SCHEME_CNT = sizeof(schemes) / sizeof(*schemes) };

bool ch_url_is(const char *text)
{
	return !strncmp(text, "clickhouse:", 11) || !strncmp(text, "clickhouses:", 12);
}

/* @len bytes of @text into @out; %XX are decoded, NUL is refused. */
static bool take_part(const char *text, size_t len, char out[static CH_URL_PART_MAX])
{
	size_t cnt = 0;

	for (size_t i = 0; i < len; i++, cnt++) {
		uint32_t chr = (unsigned char)text[i];

		if (cnt + 1 == CH_URL_PART_MAX)
			return false;
		if (chr == '%') {
			uint32_t high = i + 2 < len ? digit_value(text[i + 1]) : 16;
			uint32_t low = i + 2 <= len - 1 ? digit_value(text[i + 2]) : 16;

			if (high > 15 || low > 15)
				return false;
			chr = high << 4 | low;
			i += 2;
		}
		if (chr < ' ' || chr == 0x7f)
			return false;
		out[cnt] = (char)chr;
	}
	out[cnt] = '\0';
	return true;
}

/* What a name in SQL and in a URL may be without quotes. */
static bool is_name(const char *text)
{
	for (; *text; text++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.",
			    *text))
			return false;
	return true;
}

static const char *take_user(const char *text, size_t len, struct ch_url *url)
{
	const char *colon = memchr(text, ':', len);
	size_t user_len = colon ? (size_t)(colon - text) : len;

	if (!take_part(text, user_len, url->user))
		return "the user is too long, or has a '%' without two digits behind it";
	if (colon && !take_part(colon + 1, len - user_len - 1, url->password))
		return "the password is too long, or has a '%' without two digits behind it";
	return NULL;
}

static const char *take_host(const char *text, size_t len, struct ch_url *url)
{
	const char *bracket = len && *text == '[' ? memchr(text, ']', len) : NULL;
	size_t host_len = bracket ? (size_t)(bracket - text) + 1 : strcspn(text, ":/?");
	char port[CH_URL_PART_MAX];
	uint64_t number;

	if (host_len > len)
		host_len = len;
	if (!host_len || !take_part(text, host_len, url->host) ||
	    !is_name(bracket ? "" : url->host) || strpbrk(url->host, "@/?# "))
		return "the host is missing, or is none";
	if (host_len == len)
		return NULL;
	if (text[host_len] != ':' || !take_part(text + host_len + 1, len - host_len - 1, port) ||
	    parse_u64(port, &number) || !number || number > UINT16_MAX)
		return "the port is no number from 1 to 65535";
	url->port = (uint16_t)number;
	return NULL;
}

static const char *take_tail(const char *text, struct ch_url *url)
{
	size_t len = strcspn(text, "?");

	if (*text == '/' && len > 1) {
		if (!take_part(text + 1, len - 1, url->database) || !is_name(url->database))
			return "the database's name has other characters than letters, digits and "
			       "'_'";
	}
	text += len;
	if (!*text)
		return NULL;
	if (strncmp(text, "?ca=", 4) != 0 || !take_part(text + 4, strlen(text + 4), url->ca_file))
		return "behind '?' only ca=FILE is known";
	return NULL;
}

static bool take_environment(const char *name, char out[static CH_URL_PART_MAX])
{
	const char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (*out || !value)
		return true;
	if (len >= CH_URL_PART_MAX || strpbrk(value, "\r\n"))
		return false;
	memcpy(out, value, len + 1);
	return true;
}

static const char *parse(const char *text, struct ch_url *url)
{
	size_t len = strcspn(text, "/?");
	const char *why, *at = NULL;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '@')
			at = text + i;
	if (at) {
		why = take_user(text, (size_t)(at - text), url);
		if (why)
			return why;
		len -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	why = take_host(text, len, url);
	if (!why)
		why = take_tail(text + len, url);
	if (!why && !take_environment("CLICKHOUSE_USER", url->user))
		why = "$CLICKHOUSE_USER is too long, or has a line break";
	if (!why && !take_environment("CLICKHOUSE_PASSWORD", url->password))
		why = "$CLICKHOUSE_PASSWORD is too long, or has a line break";
	return why;
}

int ch_url_parse(const char *text, struct ch_url *out, const char **why)
{
	struct ch_url url = {.database = CH_DATABASE};
	size_t i = 0;

	while (i < SCHEME_CNT && strncmp(text, schemes[i].text, strlen(schemes[i].text)) != 0)
		i++;
	*why = "it does not begin with clickhouse:// or clickhouses://";
	if (i == SCHEME_CNT)
		return -EINVAL;
	url.is_tls = schemes[i].is_tls;
	url.port = url.is_tls ? CH_PORT_TLS : CH_PORT;
	*why = parse(text + strlen(schemes[i].text), &url);
	if (*why)
		return -EINVAL;
	if (!*url.user)
		strncpy(url.user, "default", sizeof(url.user) - 1);
	*out = url;
	return 0;
}

void ch_url_print(const struct ch_url *url, struct buf *out)
{
	buf_printf(out, "clickhouse%s://%s:%u/%s", url->is_tls ? "s" : "", url->host, url->port,
		   url->database);
}
