/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clickhouse/client.h"
#include "clickhouse/fleet_cluster.h"
#include "clickhouse/schema.h"
#include "sink/fleet_fill.h"

enum { TIMEOUT_MS = 120000 /* of an insert: servers that merge take their time */ };

struct fleet_sink {
	struct sink sink;
	struct ch_client *client; /* owned */
	struct fleet_filler filler;
	struct fleet_blocks blocks;
	bool is_checked; /* the server's schema is ours */
};

static void sink_free(struct sink *sink)
{
	struct fleet_sink *fleet = (struct fleet_sink *)sink;

	fleet_blocks_deinit(&fleet->blocks);
	fleet_filler_deinit(&fleet->filler);
	ch_client_close(fleet->client);
	free(fleet);
}

static int name_sink(const char *url, struct buf *out, struct buf *why)
{
	struct ch_url parsed;
	const char *reason;
	int err = ch_url_parse(url, &parsed, &reason);

	if (err)
		buf_add_str(why, reason);
	else
		ch_url_print(&parsed, out);
	return err;
}

static int open_sink(const char *url, const struct sink_opts *opts, struct sink **out,
		     struct buf *why)
{
	const struct http_opts http = {
		.timeout_ms = TIMEOUT_MS,
		.send_bytes_per_s = opts->bytes_per_s,
		.is_cancelled = opts->is_cancelled,
		.arg = opts->arg,
	};
	struct fleet_sink *fleet = calloc(1, sizeof(*fleet));
	const char *reason = NULL;
	int err;

	if (!fleet)
		return -ENOMEM;
	err = ch_client_open(url, &http, &fleet->client, &reason);
	if (err) {
		buf_add_str(why, err == -ENOSYS ? http_missing() : reason ? reason : "no memory");
		free(fleet);
		return err;
	}
	fleet_filler_init(&fleet->filler, opts->host_id);
	err = fleet_blocks_init(&fleet->blocks);
	if (err) {
		sink_free(&fleet->sink);
		return err;
	}
	*out = &fleet->sink;
	return 0;
}

static int check(struct fleet_sink *fleet, struct buf *why)
{
	uint32_t replicas = 0;
	int err = fleet_schema_check(fleet->client, why);

	if (err)
		return err;
	err = fleet_cluster_use(fleet->client, &replicas);
	if (err)
		ch_client_explain(fleet->client, why);
	fleet->is_checked = !err;
	fleet->filler.tells_all = replicas > 1;
	return err;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	struct fleet_sink *fleet = (struct fleet_sink *)sink;
	int err = fleet->is_checked ? 0 : check(fleet, why);

	if (err)
		return err;
	err = fleet_blocks_reset(&fleet->blocks);
	if (!err)
		err = fleet_fill(&fleet->filler, fleet->client, windows, cnt, &fleet->blocks);
	if (!err)
		err = fleet_blocks_insert(&fleet->blocks, fleet->client, &sink->counts.dict_rows);
	sink->counts.rows = fleet->filler.rows;
	sink->counts.sent_bytes = ch_client_traffic(fleet->client).sent_bytes;
	if (!err) {
		fleet->filler.tells_all = false;
		for (size_t i = 0; i < cnt; i++)
			sink->counts.windows += windows[i].window_cnt;
		return 0;
	}
	fleet_filler_forget(&fleet->filler);
	fleet->is_checked = false;
	if (err == -ENOMEM)
		buf_add_str(why, "no memory");
	else if (err == -ERANGE)
		buf_add_str(why, "its time is after 2106");
	else
		ch_client_explain(fleet->client, why);
	return err == -ERANGE ? -EINVAL : err;
}

const struct sink_ops clickhouse_sink = {
	.is_url = ch_url_is,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = sink_free,
	.lost_told = "the fleet's ledger says so",
};
