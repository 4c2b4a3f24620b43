/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may send to a relay, and for which hosts: a file of lines "HOSTGLOB TOKEN", several of which
 * may have one token. Lines that begin with '#' are comments.
 */
#ifndef BPFPROF_RELAY_RELAY_TOKENS_H
#define BPFPROF_RELAY_RELAY_TOKENS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"

struct relay_token {
	const char *glob, *token; /* borrowed from the list's text */
};

/* What a file says. */
struct relay_token_list {
	char *text; /* owned; cut into strings */
	struct relay_token *items; /* owned */
	size_t cnt, cap;
};

/*
 * Cut @text (NUL-terminated, *taken* in any case). 0; -EINVAL with "line N: what is wrong" in @why,
 * which has no token; -ENOMEM.
 */
int relay_token_list_parse(char *text, struct relay_token_list *out, struct buf *why);
void relay_token_list_deinit(struct relay_token_list *list); /* overwrites the tokens */

/* Is @token, @len bytes, one of the list's; with @host (NULL: whichever) of a line whose glob
 * matches it? In time that does not tell how much of a token is right. */
bool relay_token_list_allow(const struct relay_token_list *list, const char *token, size_t len,
			    const char *host);

/* The file's list, which changes when that does. Any thread may ask. */
struct relay_tokens {
	pthread_rwlock_t lock;
	const char *path; /* borrowed; NULL: whoever comes near may send for every host */
	struct relay_token_list list;
	struct stat seen; /* the file that was read last */
};

/* 0, or negative errno after log_error(). */
int relay_tokens_open(const char *path, struct relay_tokens *out);
void relay_tokens_close(struct relay_tokens *tokens);

/* Read it again where it is another one; @is_told: in any case. What is wrong with it changes
 * nothing, after log_error(). */
void relay_tokens_refresh(struct relay_tokens *tokens, bool is_told);

/* May who sends the header @authorization (NULL: none) send at all, or for @host (NULL: any)? */
bool relay_tokens_allow(struct relay_tokens *tokens, const char *authorization, const char *host);

#endif
