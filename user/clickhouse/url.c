/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/url.h"

#include <errno.h>
#include <string.h>

#include "http/url.h"

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

static const char *take_hosts(const char *text, size_t len, struct ch_url *url)
{
	struct http_authority first = {.port = url->is_tls ? CH_PORT_TLS : CH_PORT};
	const char *why = http_hosts_parse(text, len, &first, url->hosts, &url->host_cnt);

	memcpy(url->user, first.user, sizeof(url->user));
	memcpy(url->password, first.password, sizeof(url->password));
	explicit_bzero(&first, sizeof(first));
	return why;
}

static const char *take_tail(const char *text, struct ch_url *url)
{
	size_t len = strcspn(text, "?");

	if (*text == '/' && len > 1) {
		if (!http_url_decode(text + 1, len - 1, url->database) ||
		    !http_url_is_name(url->database))
			return "the database's name has other characters than letters, digits and "
			       "'_'";
	}
	text += len;
	if (!*text)
		return NULL;
	if (strncmp(text, "?ca=", 4) != 0 ||
	    !http_url_decode(text + 4, strlen(text + 4), url->ca_file))
		return "behind '?' only ca=FILE is known";
	return NULL;
}

static const char *parse(const char *text, struct ch_url *url)
{
	const size_t len = strcspn(text, "/?");
	const char *why = take_hosts(text, len, url);

	if (!why)
		why = take_tail(text + len, url);
	if (!why && !http_url_take_environment("CLICKHOUSE_USER", url->user))
		why = "$CLICKHOUSE_USER is too long, or has a line break";
	if (!why && !http_url_take_environment("CLICKHOUSE_PASSWORD", url->password))
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
	buf_printf(out, "clickhouse%s://", url->is_tls ? "s" : "");
	http_hosts_print(url->hosts, url->host_cnt, out);
	buf_printf(out, "/%s", url->database);
}
