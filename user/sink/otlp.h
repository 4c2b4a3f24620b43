/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP profiles over HTTP as a sink: otlp+http://... (sink/remote.h), at least once. Messages are
 * those of opentelemetry-proto 1.11.0 (opentelemetry/proto/profiles/v1development, which is alpha);
 * receivers made from 1.9 or earlier number the fields of a sample in another way, and would read
 * its attributes as its values.
 *
 * What a receiver answers other than 2xx, 429, 502, 503 and 504 is a refusal (docs of OTLP/HTTP,
 * "Failures"), but for what is about who asks, and where (remote_post()).
 */
#ifndef BPFPROF_SINK_OTLP_H
#define BPFPROF_SINK_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/sink.h"

extern const struct sink_ops otlp_sink;

/*
 * What a receiver says of what it took (ExportProfilesServiceResponse): how many profiles it threw
 * away, and append why to @text. 0, or -EBADMSG: it is no such message.
 */
int otlp_read_answer(const void *data, size_t len, uint64_t *rejected, struct buf *text);

#endif
