/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a store that was made before FLEET_SCHEMA_MINUTES, whose rows had their second within
 * the hour in one column, into the table as it is now. Such a table steps aside under another name
 * while the tables are made, and its rows are copied hour by hour. What is cut short is done again
 * from its beginning: a row that is copied twice meets itself.
 */
#ifndef BPFPROF_CLICKHOUSE_FLEET_RELAYOUT_H
#define BPFPROF_CLICKHOUSE_FLEET_RELAYOUT_H

#include "clickhouse/client.h"

/*
 * Samples that are laid out as before step aside; others stay. @cluster: whose tables they are, "":
 * of a single server. 0 or negative errno as ch_client_query().
 */
int fleet_relayout_begin(struct ch_client *client, const char *cluster);

/*
 * What stepped aside, if anything did, into samples, which is said for each hour; then it is
 * dropped. Errors as above.
 */
int fleet_relayout_end(struct ch_client *client, const char *cluster);

#endif
