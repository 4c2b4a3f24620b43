/* SPDX-License-Identifier: Apache-2.0 */
/* The token and the TLS files: read once, when a server starts. */
#ifndef BPFPROF_WEB_SECRETS_H
#define BPFPROF_WEB_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "web/web.h"

enum { WEB_TOKEN_BYTES_MIN = 16, WEB_TOKEN_BYTES_MAX = 1024 };

struct web_secrets {
	char *token; /* owned; NULL: none is asked for */
	char *cert, *key; /* owned: PEM; NULL: no TLS */
};

/*
 * Read the files that @opts names. The token is the file's one line: 16 to 1024 printable
 * characters without spaces. Token and key must be ours or root's, and no other user may read
 * (the token: nor the group) or write them. 0, or negative errno after log_error().
 */
int web_secrets_read(const struct web_opts *opts, struct web_secrets *out);

/* What is in a file of tokens, *owned* (free()); NULL after log_error(): it is not there, larger
 * than 64 KiB, or others may read or change it. */
char *web_secrets_read_tokens(const char *path);

/* Is @token one as above? */
bool web_token_is_fit(const char *token);

/* Is @given, @given_len bytes, that token? In time that does not tell how much of it is right. */
bool web_token_is_equal(const char *token, const char *given, size_t given_len);

/* Overwrite and release. */
void web_secrets_deinit(struct web_secrets *secrets);

/* Does @authorization, a header or NULL, carry the token? In time that does not tell how much of it
 * is right. True where no token is asked for. */
bool web_secrets_allow(const struct web_secrets *secrets, const char *authorization);

#endif
