/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where objects are put:
 *
 *	s3://[KEY:SECRET@]BUCKET[/PREFIX][?endpoint=http(s)://HOST[:PORT]][&region=REGION][&ca=FILE]
 *
 * KEY, SECRET, PREFIX and what is behind '?' may have %XX; in a secret '/' has to be %2F. Without
 * an endpoint it is AWS: https://BUCKET.s3.REGION.amazonaws.com, or /BUCKET below s3.REGION... for
 * a bucket whose name has a dot, which no wildcard of a certificate matches. At an endpoint it is
 * /BUCKET. A region that the URL does not have is $AWS_REGION's, or $AWS_DEFAULT_REGION's, or
 * us-east-1.
 */
#ifndef BPFPROF_SINK_S3_URL_H
#define BPFPROF_SINK_S3_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/url.h"

struct s3_url {
	struct http_authority at; /* its host is the bucket; user and password are key and secret */
	char prefix[HTTP_URL_PART_MAX]; /* without '/' at its ends; "": none */
	struct http_authority endpoint; /* host and port; host "": AWS */
	bool is_tls;
	char region[HTTP_URL_PART_MAX]; /* the environment's, where the URL has none */
	char ca_file[HTTP_URL_PART_MAX];
};

/* NULL; or what is wrong with @text (static), and @out is not to be used. */
const char *s3_url_parse(const char *text, struct s3_url *out);

/* Append what it is called: without who asks, and without what may change (region, ca). */
void s3_url_print(const struct s3_url *url, struct buf *out);

/* Append the header Host. */
void s3_url_add_host(const struct s3_url *url, struct buf *out);

/* Append the path of what is below the prefix, as it is sent, without a '/' at its end. */
void s3_url_add_path(const struct s3_url *url, struct buf *out);

#endif
