/* SPDX-License-Identifier: Apache-2.0 */
/* What clients write into headers. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "web/query.h"

enum { TOKEN_BYTES_MAX = 4096 };

/* A part of a header; borrowed. */
struct span {
	const char *at;
	size_t len;
};

static struct span trim(struct span span)
{
	while (span.len && (*span.at == ' ' || *span.at == '\t')) {
		span.at++;
		span.len--;
	}
	while (span.len && strchr(" \t", span.at[span.len - 1]))
		span.len--;
	return span;
}

/* What is before the next @end in *@rest, which is moved past it; trimmed. */
static struct span take_part(struct span *rest, char end)
{
	const char *found = memchr(rest->at, end, rest->len);
	struct span part = {rest->at, found ? (size_t)(found - rest->at) : rest->len};
	size_t used = part.len + (found ? 1 : 0);

	rest->at += used;
	rest->len -= used;
	return trim(part);
}

static bool span_is(struct span span, const char *text)
{
	return span.len == strlen(text) && !strncasecmp(span.at, text, span.len);
}

/* Is @param "q=0", "q=0.0" ...? */
static bool forbids(struct span param)
{
	if (param.len < 3 || strncasecmp(param.at, "q=", 2) || param.at[2] != '0')
		return false;
	for (size_t i = 3; i < param.len; i++)
		if (param.at[i] != '.' && param.at[i] != '0')
			return false;
	return true;
}

bool web_accept_names(const char *accept, const char *type)
{
	struct span rest = {accept, accept ? strlen(accept) : 0};

	while (rest.len) {
		struct span item = take_part(&rest, ',');
		bool is_type = span_is(take_part(&item, ';'), type);

		while (is_type && item.len)
			if (forbids(take_part(&item, ';')))
				is_type = false;
		if (is_type)
			return true;
	}
	return false;
}

bool web_etag_matches(const char *header, const char *etag)
{
	struct span rest = {header, header ? strlen(header) : 0};

	while (rest.len) {
		struct span tag = take_part(&rest, ',');

		if (tag.len > 2 && !strncmp(tag.at, "W/", 2)) {
			tag.at += 2;
			tag.len -= 2;
		}
		if (span_is(tag, "*") ||
		    (tag.len == strlen(etag) && !memcmp(tag.at, etag, tag.len)))
			return true;
	}
	return false;
}

/* What is behind the scheme @scheme and its spaces, or NULL. */
static const char *credentials_of(const char *header, const char *scheme)
{
	size_t len = strlen(scheme);

	if (strncasecmp(header, scheme, len) || header[len] != ' ')
		return NULL;
	return header + len + strspn(header + len, " ");
}

bool web_token_of(const char *authorization, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text = {0};
	const char *given, *colon;

	if (!authorization)
		return false;
	given = credentials_of(authorization, "Bearer");
	if (given) {
		buf_add_str(out, given);
		return !out->err && out->len;
	}
	given = credentials_of(authorization, "Basic");
	if (!given)
		return false;
	buf_init(&text, TOKEN_BYTES_MAX);
	if (base64_decode(given, &text))
		return false;
	colon = memchr(buf_cstr(&text), ':', text.len);
	if (!colon)
		return false;
	buf_add(out, colon + 1, text.len - (size_t)(colon + 1 - text.data));
	return !out->err && out->len;
}

/* "127.0.0.1" or what is between the brackets of "[::1]". */
static bool is_address(struct span name)
{
	if (name.len > 2 && name.at[0] == '[' && name.at[name.len - 1] == ']') {
		for (size_t i = 1; i + 1 < name.len; i++)
			if (digit_value(name.at[i]) > 15 && name.at[i] != ':' && name.at[i] != '.')
				return false;
		return true;
	}
	for (size_t i = 0; i < name.len; i++)
		if (digit_value(name.at[i]) > 9 && name.at[i] != '.')
			return false;
	return name.len > 0;
}

bool web_host_is_plain(const char *host)
{
	struct span name = {host, host ? strlen(host) : 0};
	const char *colon = host ? strrchr(host, ':') : NULL;

	/* Names end at the port; an IPv6 address has colons of its own, in brackets. */
	if (colon && !strchr(colon, ']'))
		name.len = (size_t)(colon - host);
	return span_is(name, "localhost") || is_address(name);
}
