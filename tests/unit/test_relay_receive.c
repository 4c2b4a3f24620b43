/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay answers to messages about symbols, without a server. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fleet/fleet_symbols.h"
#include "relay/relay_receive.h"
#include "scratch.h"
#include "symbol/symbol_table.h"

#define BUILD_ID "00112233aabb"

enum { ONE = 1, OTHER = 2, MAX_BYTES = 16 << 20 };

static char folder[128];

static struct relay relay;

/* This program's names, as a host would send them. */
static struct buf table;

static void make_table(void)
{
	static const struct symbol_sources nowhere = {.debug_dirs = NULL};
	struct module *module = module_of_file("/bin/known", open("/proc/self/exe", O_RDONLY));
	size_t len;
	void *data;

	assert_non_null(module);
	data = symbol_table_make(module, &nowhere, false, &len);
	assert_non_null(data);
	buf_init(&table, BUF_NO_MAX);
	assert_int_equal(fleet_symbols_pack(BUILD_ID, data, len, &table), 0);
	free(data);
	module_free(module);
}

static int set_up(void **state)
{
	memset(&relay, 0, sizeof(relay));
	snprintf(folder, sizeof(folder), "%s/receive-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(folder));
	make_table();
	return relay_tables_open(folder, MAX_BYTES, &relay.tables);
}

static int tear_down(void **state)
{
	relay_tables_close(relay.tables);
	buf_deinit(&table);
	return remove_tree(folder);
}

static struct relay_symbols message_of(enum relay_symbols_step step, uint64_t host)
{
	struct relay_symbols symbols = {.step = step, .host = host};

	symbol_table_format(symbols.format);
	if (step != RELAY_SYMBOLS_ASK)
		memcpy(symbols.build_id, BUILD_ID, sizeof(BUILD_ID));
	if (step == RELAY_SYMBOLS_TABLE) {
		symbols.table = table.data;
		symbols.table_len = table.len;
	}
	return symbols;
}

/* The status that @symbols gets, and where that is 200 the *@out; byte @changed (0: none) of it is
 * another one. */
static int status_of(const struct relay_symbols *symbols, size_t changed,
		     enum relay_symbols_answer *out)
{
	const struct web_host host = {.arg = &relay};
	struct web_site site = {.host = &host};
	struct web_request request = {.method = WEB_POST};
	struct web_reply reply;
	struct buf body;
	int status;

	buf_init(&body, BUF_NO_MAX);
	web_reply_init(&reply);
	assert_int_equal(relay_symbols_write(symbols, &body), 0);
	if (changed)
		body.data[changed] ^= 1;
	request.body = body.data;
	request.body_len = body.len;
	relay_answer_symbols(&site, &request, &reply);
	status = reply.status;
	if (status == 200)
		assert_int_equal(
			relay_answer_read(reply.body.data, reply.body.len, out, NULL, NULL), 0);
	assert_int_equal(status == 503, reply.retry_after_s > 0);
	web_reply_deinit(&reply);
	buf_deinit(&body);
	return status;
}

static enum relay_symbols_answer answer_of(enum relay_symbols_step step, uint64_t host)
{
	const struct relay_symbols symbols = message_of(step, host);
	enum relay_symbols_answer answer = 0;

	assert_int_equal(status_of(&symbols, 0, &answer), 200);
	return answer;
}

static void want(void)
{
	struct fleet_modules wanted = {.cnt = 1, .cap = 1};

	wanted.items = calloc(1, sizeof(*wanted.items));
	assert_non_null(wanted.items);
	wanted.items[0] = (struct fleet_module){
		.build_id = strdup(BUILD_ID), .path = strdup("/bin/a"), .why = "no_file"};
	relay_tables_want(relay.tables, &wanted, clock_monotonic_ns());
}

/* One host makes it, sends it, and it is not wanted any more. */
static void test_steps(void **state)
{
	const struct relay_symbols ask = message_of(RELAY_SYMBOLS_ASK, ONE);

	assert_int_equal(status_of(&ask, 0, NULL), 503);
	want();
	assert_int_equal(answer_of(RELAY_SYMBOLS_ASK, ONE), RELAY_SYMBOLS_WANTED);
	assert_int_equal(answer_of(RELAY_SYMBOLS_CLAIM, ONE), RELAY_SYMBOLS_OURS);
	assert_int_equal(answer_of(RELAY_SYMBOLS_CLAIM, OTHER), RELAY_SYMBOLS_OTHERS);
	assert_int_equal(answer_of(RELAY_SYMBOLS_TABLE, ONE), RELAY_SYMBOLS_STORED);
	assert_int_equal(answer_of(RELAY_SYMBOLS_TABLE, ONE), RELAY_SYMBOLS_OTHERS);
	assert_int_equal(answer_of(RELAY_SYMBOLS_CLAIM, ONE), RELAY_SYMBOLS_OTHERS);
	assert_int_equal(relay_tables_state(relay.tables).cnt, 1);
	assert_int_equal(relay.counts.symbols_received, 7);
	assert_int_equal(relay.counts.symbols_asked, 4);
	assert_int_equal(relay.counts.symbols_stored, 1);
	assert_int_equal(relay.counts.symbols_again, 1);
	assert_int_equal(relay.counts.symbols_refused[RELAY_REFUSED_STORE], 1);
}

static void test_wrong(void **state)
{
	struct relay_symbols wrong = message_of(RELAY_SYMBOLS_TABLE, ONE);

	/* Of the checksum, of the version. */
	assert_int_equal(status_of(&wrong, 40, NULL), 503);
	assert_int_equal(status_of(&wrong, 8, NULL), 415);
	wrong.format[0] = 'N';
	assert_int_equal(status_of(&wrong, 0, NULL), 415);
	/* It is sealed for another file. */
	wrong = message_of(RELAY_SYMBOLS_TABLE, ONE);
	wrong.build_id[0] = '1';
	assert_int_equal(status_of(&wrong, 0, NULL), 400);
	wrong.host = 0;
	assert_int_equal(status_of(&wrong, 0, NULL), 400);
	assert_int_equal(relay_tables_state(relay.tables).cnt, 0);
	assert_int_equal(relay.counts.symbols_refused[RELAY_REFUSED_FORM], 2);
	assert_int_equal(relay.counts.symbols_refused[RELAY_REFUSED_VERSION], 2);
	assert_int_equal(relay.counts.symbols_refused[RELAY_REFUSED_DAMAGED], 1);
}

/* Sealed as it should be, and none that this program makes. */
static void test_no_table(void **state)
{
	struct relay_symbols wrong;

	buf_reset(&table);
	assert_int_equal(fleet_symbols_pack(BUILD_ID, "bytes", 5, &table), 0);
	wrong = message_of(RELAY_SYMBOLS_TABLE, ONE);
	assert_int_equal(status_of(&wrong, 0, NULL), 400);
	assert_int_equal(relay_tables_state(relay.tables).cnt, 0);
}

static void test_no_room(void **state)
{
	struct relay_symbols symbols = message_of(RELAY_SYMBOLS_TABLE, ONE);

	relay_tables_close(relay.tables);
	assert_int_equal(relay_tables_open(folder, table.len, &relay.tables), 0);
	assert_int_equal(status_of(&symbols, 0, NULL), 413);
	assert_int_equal(relay.counts.symbols_refused[RELAY_REFUSED_TOO_LARGE], 1);
	relay_tables_close(relay.tables);
	assert_int_equal(relay_tables_open(folder, table.len + 200, &relay.tables), 0);
	assert_int_equal(relay_tables_put(relay.tables, "ee", table.data, 200), 0);
	assert_int_equal(status_of(&symbols, 0, NULL), 503);
	assert_int_equal(relay.counts.symbols_refused[RELAY_REFUSED_FULL], 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_steps),
		CASE(test_wrong),
		CASE(test_no_table),
		CASE(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
