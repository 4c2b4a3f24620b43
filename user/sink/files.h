/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as a sink: "file:/DIR" (or "file:///DIR"), with one pprof for each service, kind and
 * window, which is a minute where nothing has cut it:
 *
 *	DIR/SERVICE/KIND/20261125T010200Z-HOST-ID-SEQ.pb.gz
 *
 * The name sorts by time. HOST is the host's name, ID the beginning of the hash of its store's id,
 * SEQ the window's number in it, so that several hosts can share DIR. In names of services, kinds
 * and hosts bytes other than letters, digits, '_', '-' and '.' (not the first) are %XX; what has no
 * name is "(none)".
 *
 * A file is complete and on the disk before it has its name. The same window gets the same name
 * again, and replaces what is there: every sample is there once. DIR may be a symbolic link; what
 * is in it is never followed. Of windows that are lost DIR/(lost)/START-ID-SEQ.json tells.
 */
#ifndef BPFPROF_SINK_FILES_H
#define BPFPROF_SINK_FILES_H

#include "base/buf.h"
#include "sink/sink.h"

extern const struct sink_ops files_sink;

/* Append @name as the name of a file or a part of one: what is written above, at most 120 bytes;
 * longer ones end in a hash. Different names stay different. */
void files_add_name(struct buf *out, const char *name);

#endif
