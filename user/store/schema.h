/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a store, and how one of an older version becomes one of this. Each version is a
 * step from the one before, so that a new store is made, and any older one migrated, by the same
 * statements.
 */
#ifndef BPFPROF_STORE_SCHEMA_H
#define BPFPROF_STORE_SCHEMA_H

#include <stdint.h>

#include <sqlite3.h>

enum { SCHEMA_VERSION = 3 };

/* The version of @db, 0 where it is empty. 0; -EPROTO: not a store; or negative errno. */
int schema_version(sqlite3 *db, uint64_t *out);

/* Bring @db from the version it has to @version, in one transaction: to SCHEMA_VERSION but in
 * tests. 0, -EPROTO: it is newer; or negative errno. */
int schema_migrate(sqlite3 *db, uint32_t version);

#endif
