/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of requests to AWS and to what speaks like it, version 4, as S3 wants them ("Signature
 * Calculations for the Authorization Header: Transferring Payload in a Single Chunk" of the S3 API
 * Reference): the path is signed as it is sent, each byte of it that is not unreserved being %XX
 * once (other services want that twice), and the body by its SHA-256.
 *
 * libcurl has signatures too (CURLOPT_AWS_SIGV4). But 7.88, which Debian 12 has, tells S3 no
 * x-amz-content-sha256, without which it takes nothing, and signs an "Expect:" that is not sent;
 * and what other versions sign differs.
 */
#ifndef BPFPROF_HTTP_AWS_SIGN_H
#define BPFPROF_HTTP_AWS_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/aws_key.h"

struct aws_header {
	const char *name; /* in small letters */
	const char *value; /* without spaces at its ends */
};

/* A request without a query. All of it is borrowed. */
struct aws_request {
	const char *method; /* "PUT" */
	const char *path; /* from '/' on, as it is sent */
	/* Those that are signed, by name: "host" and all of "x-amz-" at least. */
	const struct aws_header *headers;
	size_t header_cnt;
	const char *body_sha256; /* hexadecimal, as x-amz-content-sha256 has it */
	const char *time; /* "20261125T010203Z", as x-amz-date has it */
	const char *region, *service; /* "eu-west-1", "s3" */
};

/* Append the value of the header Authorization by which @key signs @request. Errors are @out's. */
void aws_sign(const struct aws_request *request, const struct aws_key *key, struct buf *out);

#endif
