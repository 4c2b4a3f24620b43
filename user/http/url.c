/* SPDX-License-Identifier: Apache-2.0 */
#include "http/url.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

bool http_url_decode(const char *text, size_t len, char out[static HTTP_URL_PART_MAX])
{
	size_t cnt = 0;

	for (size_t i = 0; i < len; i++, cnt++) {
		uint32_t chr = (unsigned char)text[i];

		if (cnt + 1 == HTTP_URL_PART_MAX)
			return false;
		if (chr == '%') {
			const uint32_t high = len - i > 2 ? digit_value(text[i + 1]) : UINT32_MAX;
			const uint32_t low = len - i > 2 ? digit_value(text[i + 2]) : UINT32_MAX;

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

void http_url_add(struct buf *out, const char *text)
{
	for (; *text; text++) {
		const char one[] = {*text, '\0'};

		if (http_url_is_name(one))
			buf_add_char(out, *text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
	}
}

void http_url_add_path(struct buf *out, const char *text)
{
	size_t len;

	for (; *text; text += len) {
		const char one[] = {*text, '\0'};

		len = strspn(text, "/~");
		buf_add(out, text, len);
		if (len)
			continue;
		http_url_add(out, one);
		len = 1;
	}
}

bool http_url_is_name(const char *text)
{
	for (; *text; text++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.",
			    *text))
			return false;
	return true;
}

bool http_url_take_environment(const char *name, char out[static HTTP_URL_PART_MAX])
{
	const char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (*out || !value)
		return true;
	if (len >= HTTP_URL_PART_MAX || strpbrk(value, "\r\n"))
		return false;
	memcpy(out, value, len + 1);
	return true;
}

static const char *take_user(const char *text, size_t len, struct http_authority *out)
{
	const char *colon = memchr(text, ':', len);
	size_t user_len = colon ? (size_t)(colon - text) : len;

	if (!http_url_decode(text, user_len, out->user))
		return "the user is too long, or has a '%' without two digits behind it";
	if (colon && !http_url_decode(colon + 1, len - user_len - 1, out->password))
		return "the password is too long, or has a '%' without two digits behind it";
	return NULL;
}

/* "[ADDRESS]" or, of a link, "[ADDRESS%ZONE]". */
static bool is_bracketed_address(const char *host)
{
	size_t len = 1 + strspn(host + 1, "0123456789abcdefABCDEF:.");
	char zone[HTTP_URL_PART_MAX] = "";

	if (len == 1)
		return false;
	if (host[len] == '%') {
		const size_t zone_len = strcspn(host + len + 1, "]");

		memcpy(zone, host + len + 1, zone_len);
		len += 1 + zone_len;
	}
	return http_url_is_name(zone) && !strcmp(host + len, "]");
}

static const char *take_host(const char *text, size_t len, struct http_authority *out)
{
	const char *bracket = len && *text == '[' ? memchr(text, ']', len) : NULL;
	size_t host_len = bracket ? (size_t)(bracket - text) + 1 : strcspn(text, ":/?");
	char port[HTTP_URL_PART_MAX];
	uint64_t number;

	if (host_len > len)
		host_len = len;
	if (!host_len || !http_url_decode(text, host_len, out->host) ||
	    !(bracket ? is_bracketed_address(out->host) : http_url_is_name(out->host)))
		return "the host is missing, or is none";
	if (host_len == len)
		return NULL;
	if (text[host_len] != ':' ||
	    !http_url_decode(text + host_len + 1, len - host_len - 1, port) ||
	    parse_u64(port, &number) || !number || number > UINT16_MAX)
		return "the port is no number from 1 to 65535";
	out->port = (uint16_t)number;
	return NULL;
}

const char *http_authority_parse(const char *text, size_t len, struct http_authority *out)
{
	const char *why, *at = NULL;

	*out = (struct http_authority){.port = out->port};
	for (size_t i = 0; i < len; i++)
		if (text[i] == '@')
			at = text + i;
	if (at) {
		why = take_user(text, (size_t)(at - text), out);
		if (why)
			return why;
		len -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	return take_host(text, len, out);
}

/* What separates them are the commas behind the user. */
const char *http_hosts_parse(const char *text, size_t len, struct http_authority *first,
			     struct http_host hosts[static HTTP_HOSTS_MAX], size_t *cnt)
{
	const char *const end = text + len, *const at = memrchr(text, '@', len);
	const char *comma = memchr(at ? at : text, ',', (size_t)(end - (at ? at : text)));
	const uint16_t port = first->port;
	const char *why = NULL;

	for (*cnt = 0; !why && *cnt < HTTP_HOSTS_MAX; ++*cnt) {
		struct http_authority one = {.port = port};

		why = http_authority_parse(text, (size_t)((comma ? comma : end) - text), &one);
		memcpy(hosts[*cnt].name, one.host, sizeof(one.host));
		hosts[*cnt].port = one.port;
		if (!*cnt)
			*first = one;
		explicit_bzero(&one, sizeof(one));
		if (!comma) {
			++*cnt;
			return why;
		}
		text = comma + 1;
		comma = memchr(text, ',', (size_t)(end - text));
	}
	return why ? why : "it has more than 16 hosts";
}

void http_hosts_print(const struct http_host *hosts, size_t cnt, struct buf *out)
{
	for (size_t i = 0; i < cnt; i++) {
		const size_t len = strcspn(hosts[i].name, "%");
		const char *zone = hosts[i].name[len] ? hosts[i].name + len + 1 : NULL;

		buf_printf(out, "%s%.*s%s%s:%u", i ? "," : "", (int)len, hosts[i].name,
			   zone ? "%25" : "", zone ? zone : "", hosts[i].port);
	}
}

/* Where the password of the URL whose authority begins at @text is; *@len_out bytes. NULL: none. */
static const char *find_password(const char *text, size_t *len_out)
{
	const char *at = memrchr(text, '@', strcspn(text, "/?\"' \t\r\n"));
	const char *colon = at ? memchr(text, ':', (size_t)(at - text)) : NULL;

	if (!colon || colon + 1 == at)
		return NULL;
	*len_out = (size_t)(at - colon - 1);
	return colon + 1;
}

void http_url_add_hidden(struct buf *out, const char *text)
{
	const char *scheme, *password;
	size_t len;

	while ((scheme = strstr(text, "://"))) {
		const char *end = scheme + 3;

		password = find_password(end, &len);
		buf_add(out, text, (size_t)((password ? password : end) - text));
		if (password)
			buf_add_str(out, "***");
		text = password ? password + len : end;
	}
	buf_add_str(out, text);
}
