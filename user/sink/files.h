/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as a sink: "file:/DIR" (or "file:///DIR"), with the objects of each window below DIR
 * (sink/objects.h).
 *
 * A file is complete and on the disk before it has its name. The same window gets the same name
 * again, and replaces what is there: every sample is there once. DIR may be a symbolic link; what
 * is in it is never followed.
 */
#ifndef BPFPROF_SINK_FILES_H
#define BPFPROF_SINK_FILES_H

#include "sink/sink.h"

extern const struct sink_ops files_sink;

#endif
