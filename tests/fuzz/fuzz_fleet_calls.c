/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fleet's server answers of trees of roll-ups: to who reads them, and to who makes them of
 * sums. The first byte chooses; then come, behind their length in two bytes, the answers to what is
 * asked of the ledger, by a thread of its own; then all others. Each is behind its length in two
 * bytes, in the order in which they are asked for. Whatever they are, the flame graph of them can
 * be made.
 */
#include <stdint.h>

#include "clickhouse/rollup_trees.h"
#include "clickhouse/schema.h"
#include "encode/flame.h"
#include "fleet/fleet.h"
#include "fuzz_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOON_S = 1795176000, HOUR_S = 3600, MAKES = 1, OF_NO_LABEL = 2, OF_SAMPLES = 4 };

static struct reader ledger_answers;

static int answer(const char *sql, struct buf *out)
{
	const bool is_of_ledger = strstr(sql, "cityHash64(host, seq)") ||
				  strstr(sql, "uniqExact(host)") || strstr(sql, "lost_samples");

	return take_answer(is_of_ledger ? &ledger_answers : &answers, out);
}

static int take_rows(const char *sql, const void *rows, size_t len)
{
	return 0;
}

static void make_trees(void)
{
	const struct rollup_span span = {
		.start_s = NOON_S, .length_s = HOUR_S, .built = 9, .rows = 2};
	struct rollup_spans spans = {.cnt = 0};
	struct ch_client *client;

	if (ch_client_open("clickhouse://fake", NULL, &client, NULL))
		abort();
	if (!rollup_trees_make(client, &span))
		rollup_trees_done(client, HOUR_S, NOON_S, NOON_S + HOUR_S, &spans);
	free(spans.items);
	ch_client_close(client);
}

static void draw(const struct profile_calls *calls)
{
	struct flame_tree tree;

	if (flame_build_calls(calls, "service", true, &tree))
		return;
	if (!tree.nodes[0].total)
		abort();
	flame_deinit(&tree);
}

static void read_trees(unsigned int which)
{
	static const char *const by[] = {"service", NULL};
	static const char *const none[] = {NULL};
	const struct store_query query = {.from_ns = NOON_S * UINT64_C(1000000000),
					  .to_ns = (NOON_S + HOUR_S) * UINT64_C(1000000000),
					  .by = which & OF_NO_LABEL ? none : by};
	struct store_source *source;
	struct profile_calls calls;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (fleet_open("clickhouse://fake", &source, &why))
		abort();
	if (!store_source_calls(source, &query, which & OF_SAMPLES ? "samples" : NULL, &calls, NULL,
				NULL)) {
		draw(&calls);
		profile_calls_deinit(&calls);
	}
	store_source_close(source);
	buf_deinit(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	fake_answer = answer;
	fake_insert = take_rows;
	fake_number = FLEET_SCHEMA_VERSION;
	reader_init(&answers, data + 1, size - 1);
	ledger_answers = reader_sub(&answers, reader_u16(&answers));
	if (answers.err)
		return 0;
	if (data[0] & MAKES)
		make_trees();
	else
		read_trees(data[0]);
	return 0;
}
