/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S3, and what speaks like it, as a sink: s3://BUCKET/PREFIX (sink/s3_url.h), with the objects of
 * each window (sink/objects.h) as BUCKET's objects PREFIX/SERVICE/KIND/..., of 1,024 bytes at most,
 * as S3 wants names to be. Each is put by one request, which takes 5 GiB (a minute of a service has
 * kilobytes). Requests are signed (http/aws_sign.h), and have Content-MD5: what is damaged on the
 * way is refused, and sent again.
 *
 * An object is there whole or not at all, and what is put again replaces the same one: every sample
 * is there once. The key is the URL's, or is looked for (http/aws_key.h) anew for each round, as it
 * may have been renewed.
 */
#ifndef BPFPROF_SINK_S3_H
#define BPFPROF_SINK_S3_H

#include "sink/sink.h"

extern const struct sink_ops s3_sink;

#endif
