/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access keys of AWS, and where they are, in this order: $AWS_ACCESS_KEY_ID and
 * $AWS_SECRET_ACCESS_KEY (and $AWS_SESSION_TOKEN); the profile $AWS_PROFILE, or "default", of the
 * file $AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials. No server is asked for one.
 */
#ifndef BPFPROF_HTTP_AWS_KEY_H
#define BPFPROF_HTTP_AWS_KEY_H

#include <stddef.h>

#include "base/buf.h"

enum { AWS_KEY_PART_MAX = 256, AWS_TOKEN_MAX = 8192 /* bytes, with the NUL */ };

struct aws_key {
	char id[AWS_KEY_PART_MAX], secret[AWS_KEY_PART_MAX];
	char token[AWS_TOKEN_MAX]; /* of a key that ends some time; "": none */
};

/*
 * The key that the environment names. 0, and *@from, for messages, says where it was; -ENOENT:
 * there is none; -EINVAL: what there is is none; or fs_read_file()'s; @why then has what is wrong,
 * and how to mend it. Who has no use for @out any more forgets it (explicit_bzero()).
 */
int aws_key_find(struct aws_key *out, struct buf *from, struct buf *why);

/*
 * The key of @profile in what a credentials file holds: "[PROFILE]", then "name = value" a line.
 * 0; -ENOENT: no such profile, or no key in it; -EINVAL: a part of it is missing or too long, or
 * has bytes that no key has.
 */
int aws_key_read(const void *data, size_t len, const char *profile, struct aws_key *out);

#endif
