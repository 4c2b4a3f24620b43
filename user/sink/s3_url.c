/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/s3_url.h"

#include <stdlib.h>
#include <string.h>

#include "encode/text.h"

enum { BUCKET_MIN = 3, BUCKET_MAX = 63, HTTP_PORT = 80, HTTPS_PORT = 443 };

static const char scheme[] = "s3://";

/* --- Parts --- */

/* Of a path that no program takes for another one: "", "." and ".." are no parts of it. */
static bool is_prefix(const char *prefix)
{
	size_t len;

	if (!*prefix)
		return true;
	for (;; prefix += len + 1) {
		len = strcspn(prefix, "/");
		if (!len || (len == 1 && *prefix == '.') || (len == 2 && !memcmp(prefix, "..", 2)))
			return false;
		if (!prefix[len])
			return true;
	}
}

static const char *take_prefix(const char *text, size_t len, struct s3_url *out)
{
	if (memchr(text, '@', len))
		return "there is a '@' behind the bucket: a '/' in the secret has to be %2F, and a "
		       "'@' in the prefix %40";
	while (len && text[len - 1] == '/')
		len--;
	if (len && *text == '/') {
		text++;
		len--;
	}
	if (!http_url_decode(text, len, out->prefix) ||
	    !text_is_utf8(out->prefix, strlen(out->prefix)))
		return "the prefix is longer than 255 bytes, or is no UTF-8";
	return is_prefix(out->prefix) ? NULL : "the prefix has a part that is empty, '.' or '..'";
}

static const char *take_endpoint(const char *text, struct s3_url *out)
{
	const char *rest = text;
	size_t len;

	out->is_tls = !strncmp(text, "https://", 8);
	if (!out->is_tls && strncmp(text, "http://", 7) != 0)
		return "the endpoint does not begin with http:// or https://";
	rest += out->is_tls ? 8 : 7;
	len = strcspn(rest, "/");
	if (rest[len] && rest[len + 1])
		return "the endpoint has a path: the bucket and the prefix are behind s3://";
	if (memchr(rest, '@', len))
		return "the endpoint has a user: the key and its secret are in front of the "
		       "bucket";
	out->endpoint.port = out->is_tls ? HTTPS_PORT : HTTP_PORT;
	/* The host is signed, and a link's zone is not sent with it. */
	if (http_authority_parse(rest, len, &out->endpoint) || strchr(out->endpoint.host, '%'))
		return "the endpoint's host or port is none";
	return NULL;
}

static const char *take_option(const char *text, size_t len, struct s3_url *out)
{
	static const char wrong[] = "behind '?' only endpoint=URL, region=NAME and ca=FILE are "
				    "known, with '&' between them";
	char endpoint[HTTP_URL_PART_MAX];

	if (len > 9 && !strncmp(text, "endpoint=", 9))
		return http_url_decode(text + 9, len - 9, endpoint) ? take_endpoint(endpoint, out)
								    : wrong;
	if (len > 7 && !strncmp(text, "region=", 7))
		return http_url_decode(text + 7, len - 7, out->region) ? NULL : wrong;
	if (len > 3 && !strncmp(text, "ca=", 3))
		return http_url_decode(text + 3, len - 3, out->ca_file) ? NULL : wrong;
	return wrong;
}

static const char *take_region(struct s3_url *out)
{
	static const char *const variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
	bool is_right = true;

	for (size_t i = 0; i < 2 && !*out->region; i++)
		is_right = is_right && http_url_take_environment(variables[i], out->region);
	if (!*out->region)
		memcpy(out->region, "us-east-1", sizeof("us-east-1"));
	return is_right && http_url_is_name(out->region) ? NULL : "the region's name is none";
}

static const char *check_bucket(const struct http_authority *at)
{
	const size_t len = strlen(at->host);

	if (at->port)
		return "there is a port behind the bucket: name the server by "
		       "?endpoint=http://HOST:PORT";
	if (!http_url_is_name(at->host) || len < BUCKET_MIN || len > BUCKET_MAX ||
	    strspn(at->host, "-._"))
		return "the bucket's name has not 3 to 63 letters, digits, '-' and '.'";
	if (!*at->user != !*at->password)
		return "the key or its secret is missing: KEY:SECRET@";
	return NULL;
}

const char *s3_url_parse(const char *text, struct s3_url *out)
{
	const char *why = NULL, *rest = text + strlen(scheme);
	size_t len;

	*out = (struct s3_url){.is_tls = true};
	if (strncmp(text, scheme, strlen(scheme)) != 0)
		return "it does not begin with s3://";
	len = strcspn(rest, "/?");
	why = http_authority_parse(rest, len, &out->at);
	rest += len;
	len = strcspn(rest, "?");
	if (!why)
		why = check_bucket(&out->at);
	if (!why)
		why = take_prefix(rest, len, out);
	rest += len;
	while (*rest && !why) {
		len = strcspn(++rest, "&");
		why = take_option(rest, len, out);
		rest += len;
	}
	return why ? why : take_region(out);
}

/* --- What comes of them --- */

void s3_url_print(const struct s3_url *url, struct buf *out)
{
	buf_printf(out, "%s%s%s", scheme, url->at.host, *url->prefix ? "/" : "");
	http_url_add_path(out, url->prefix);
	if (*url->endpoint.host)
		buf_printf(out, "?endpoint=http%s://%s:%u", url->is_tls ? "s" : "",
			   url->endpoint.host, url->endpoint.port);
}

/* Is the bucket a part of the path? */
static bool is_path_style(const struct s3_url *url)
{
	return *url->endpoint.host || strchr(url->at.host, '.');
}

void s3_url_add_host(const struct s3_url *url, struct buf *out)
{
	if (*url->endpoint.host) {
		buf_add_str(out, url->endpoint.host);
		if (url->endpoint.port != (url->is_tls ? HTTPS_PORT : HTTP_PORT))
			buf_printf(out, ":%u", url->endpoint.port);
		return;
	}
	if (!is_path_style(url))
		buf_printf(out, "%s.", url->at.host);
	buf_printf(out, "s3.%s.amazonaws.com%s", url->region,
		   strncmp(url->region, "cn-", 3) ? "" : ".cn");
}

void s3_url_add_path(const struct s3_url *url, struct buf *out)
{
	if (is_path_style(url))
		buf_printf(out, "/%s", url->at.host);
	if (*url->prefix)
		buf_add_char(out, '/');
	http_url_add_path(out, url->prefix);
}
