/* SPDX-License-Identifier: Apache-2.0 */
/* What S3 answers where it refuses: <Error> of the S3 API Reference ("Error responses"), XML. */
#ifndef BPFPROF_SINK_S3_ANSWER_H
#define BPFPROF_SINK_S3_ANSWER_H

#include <stddef.h>

/* Each "" where it is not there, one line of UTF-8, cut where it is longer. */
struct s3_answer {
	char code[64]; /* "NoSuchBucket" */
	char message[256];
	char region[64], endpoint[128]; /* where the bucket is */
	char request_time[48], server_time[48]; /* where they differ */
};

/* 0; -EBADMSG: it is no <Error>, and @out is empty; -ENOMEM. */
int s3_answer_read(const void *data, size_t len, struct s3_answer *out);

#endif
