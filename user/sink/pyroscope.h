/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope as a sink: pyroscope+http://... (sink/remote.h), at least once. Each window is one
 * request, or as many as are small enough, of push.v1.PusherService/Push over the Connect protocol
 * (grafana/pyroscope, api/push/v1/push.proto; field numbers below), with a pprof for each set of
 * labels that are not of a thread:
 *
 *	__name__       process_cpu for the kind cpu, else the kind's name (off_cpu)
 *	service_name   the label service; "unknown_service" without one
 *	host           the label host; the store's id without one
 *	...            the other labels of the series, at most 30 in all
 *
 * Samples have no labels: Pyroscope would make series of them. A profile has at most 16,000 samples
 * and 4 MiB before it is compressed, as Pyroscope's defaults want it (pkg/validation/limits.go).
 * Pyroscope takes two profiles of one series and nanosecond for one, when it compacts: so no two
 * profiles of a window begin at the same nanosecond, and what is sent twice is the same.
 */
#ifndef BPFPROF_SINK_PYROSCOPE_H
#define BPFPROF_SINK_PYROSCOPE_H

#include "sink/sink.h"

extern const struct sink_ops pyroscope_sink;

#endif
