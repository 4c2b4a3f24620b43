/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signature is the HMAC of a text by a key, both of which are made in steps:
 *
 *	canonical request  a line each: method, path, query, headers, their names, SHA-256 of
 *	                   the body
 *	string to sign     algorithm, time, scope (DAY/REGION/SERVICE/aws4_request), SHA-256 of
 *	                   that
 *	signing key        "AWS4" and the secret, then HMACs of the scope's parts one by the other
 */
#include "http/aws_sign.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"

enum { DAY_CHARS = 8, HEX_BYTES = 2 * SHA256_BYTES + 1 };

static const char algorithm[] = "AWS4-HMAC-SHA256", terminator[] = "aws4_request";

static void add_scope(struct buf *out, const struct aws_request *request)
{
	buf_add(out, request->time, DAY_CHARS);
	buf_printf(out, "/%s/%s/%s", request->region, request->service, terminator);
}

static void add_names(struct buf *out, const struct aws_request *request)
{
	for (size_t i = 0; i < request->header_cnt; i++)
		buf_printf(out, "%s%s", i ? ";" : "", request->headers[i].name);
}

static void add_canonical(struct buf *out, const struct aws_request *request)
{
	buf_printf(out, "%s\n%s\n\n", request->method, request->path);
	for (size_t i = 0; i < request->header_cnt; i++)
		buf_printf(out, "%s:%s\n", request->headers[i].name, request->headers[i].value);
	buf_add_char(out, '\n');
	add_names(out, request);
	buf_printf(out, "\n%s", request->body_sha256);
}

static void add_string_to_sign(struct buf *out, const struct aws_request *request)
{
	_cleanup_(buf_deinit) struct buf canonical;
	uint8_t digest[SHA256_BYTES];
	char hex[HEX_BYTES];

	buf_init(&canonical, BUF_NO_MAX);
	add_canonical(&canonical, request);
	if (canonical.err)
		out->err = canonical.err;
	sha256(canonical.data, canonical.len, digest);
	hex_format(digest, sizeof(digest), hex);
	buf_printf(out, "%s\n%s\n", algorithm, request->time);
	add_scope(out, request);
	buf_printf(out, "\n%s", hex);
}

static void make_key(const struct aws_request *request, const struct aws_key *key,
		     uint8_t out[SHA256_BYTES])
{
	const char *const steps[] = {request->region, request->service, terminator};
	char secret[sizeof("AWS4") + sizeof(key->secret)] = "AWS4";

	memcpy(secret + strlen("AWS4"), key->secret, sizeof(key->secret));
	sha256_hmac(secret, strlen(secret), request->time, DAY_CHARS, out);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		sha256_hmac(out, SHA256_BYTES, steps[i], strlen(steps[i]), out);
	explicit_bzero(secret, sizeof(secret));
}

void aws_sign(const struct aws_request *request, const struct aws_key *key, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;
	uint8_t signing_key[SHA256_BYTES], signature[SHA256_BYTES];
	char hex[HEX_BYTES];

	buf_init(&text, BUF_NO_MAX);
	add_string_to_sign(&text, request);
	if (text.err) {
		out->err = text.err;
		return;
	}
	make_key(request, key, signing_key);
	sha256_hmac(signing_key, sizeof(signing_key), text.data, text.len, signature);
	explicit_bzero(signing_key, sizeof(signing_key));
	hex_format(signature, sizeof(signature), hex);
	buf_printf(out, "%s Credential=%s/", algorithm, key->id);
	add_scope(out, request);
	buf_add_str(out, ", SignedHeaders=");
	add_names(out, request);
	buf_printf(out, ", Signature=%s", hex);
}
