/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ExportProfilesServiceRequest of opentelemetry-proto 1.11.0, so that Pyroscope and Parca take
 * it (both read more into it than the specification says):
 *
 *	resource   a series: service.name, service.version, host.name, host.id, container.id,
 *	           k8s.pod.uid and its other labels by their keys, which stand in it
 *	profile    one for each value type. Of samples that stand for a period of CPU time their
 *	           number, with the period: Pyroscope makes its process_cpu of that; and the time,
 *	           where it is not just that many periods (Pyroscope calls it cpu). Others have a
 *	           period type that is empty but there, and no period
 *	sample     (stack, labels that are not of the series: thread.name, thread.id ...) -> a value
 *	dictionary tables whose element 0 is the zero value, and which have nothing twice
 *
 * A profile's id is made of the store, the window and the place in it: the same when it is sent
 * again.
 */
#ifndef BPFPROF_SINK_OTLP_MESSAGE_H
#define BPFPROF_SINK_OTLP_MESSAGE_H

#include <stddef.h>

#include "base/buf.h"
#include "sink/pieces.h"
#include "sink/sink.h"

/* Append the request for @cnt > 0 pieces of @window. How many profiles it has: without any it is
 * not worth sending; or negative errno. */
int otlp_encode(const struct sink_window *window, const struct sink_piece *pieces, size_t cnt,
		const char *host_id, struct buf *out);

#endif
