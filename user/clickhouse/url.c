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

/* The first has the user before it, for all. */
static const char *take_hosts(const char *text, size_t len, struct ch_url *url)
{
	const char *const end = text + len, *const at = memrchr(text, '@', len);
	const char *comma = memchr(at ? at : text, ',', (size_t)(end - (at ? at : text)));
	const char *why = NULL;

	while (!why && url->host_cnt < CH_URL_HOSTS_MAX) {
		struct http_authority one = {.port = url->is_tls ? CH_PORT_TLS : CH_PORT};
		struct ch_host *host = &url->hosts[url->host_cnt];

		why = http_authority_parse(text, (size_t)((comma ? comma : end) - text), &one);
		if (!url->host_cnt++) {
			memcpy(url->user, one.user, sizeof(url->user));
			memcpy(url->password, one.password, sizeof(url->password));
		}
		memcpy(host->name, one.host, sizeof(host->name));
		host->port = one.port;
		explicit_bzero(&one, sizeof(one));
		if (!comma)
			return why;
		text = comma + 1;
		comma = memchr(text, ',', (size_t)(end - text));
	}
	return why ? why : "it has more than 16 hosts";
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
	for (size_t i = 0; i < url->host_cnt; i++)
		buf_printf(out, "%s%s:%u", i ? "," : "", url->hosts[i].name, url->hosts[i].port);
	buf_printf(out, "/%s", url->database);
}
