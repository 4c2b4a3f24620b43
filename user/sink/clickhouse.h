/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet store as a sink: clickhouse://... (clickhouse/url.h). Dictionary rows go first, then
 * samples, then the ledger, so that what the ledger has is all there. Every row's key tells which
 * batch it is of: what is shipped again collapses (clickhouse/schema.h).
 */
#ifndef BPFPROF_SINK_CLICKHOUSE_H
#define BPFPROF_SINK_CLICKHOUSE_H

#include "sink/sink.h"

extern const struct sink_ops clickhouse_sink;

#endif
