/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, before it is opened as a store: nothing is made, written or renamed. */
#ifndef BPFPROF_STORE_STORE_PROBE_H
#define BPFPROF_STORE_STORE_PROBE_H

#include <stdint.h>

struct store_probe {
	uint64_t version; /* of the file's schema; 0: a database without tables */
	uint64_t own_version; /* which this program reads and writes */
};

/*
 * Look at the file @path ("sqlite:" before it is accepted). 0; -ENOENT, -EACCES: it is not there,
 * may not be read; -EISDIR, -EMEDIUMTYPE: no regular file; -EBADMSG: no database, or one whose
 * first page is damaged; -EPROTO: another program's database; or negative errno. Not logged.
 */
int store_probe(const char *path, struct store_probe *out);

#endif
