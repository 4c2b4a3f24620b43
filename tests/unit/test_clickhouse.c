/* SPDX-License-Identifier: Apache-2.0 */
/* A ClickHouse server without one: its URL, its errors, its format. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clickhouse/client.h"
#include "clickhouse/error.h"
#include "clickhouse/fleet_cluster.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "clickhouse/url.h"

static int set_up(void **state)
{
	unsetenv("CLICKHOUSE_USER");
	unsetenv("CLICKHOUSE_PASSWORD");
	return 0;
}

static void must_parse(const char *text, struct ch_url *out)
{
	const char *why;

	if (ch_url_parse(text, out, &why))
		fail_msg("'%s': %s", text, why);
}

static void test_url(void **state)
{
	struct ch_url url;

	must_parse("clickhouse://db.example", &url);
	assert_string_equal(url.hosts[0].name, "db.example");
	assert_int_equal(url.hosts[0].port, 8123);
	assert_string_equal(url.database, "bpfprof");
	assert_string_equal(url.user, "default");
	assert_string_equal(url.password, "");
	assert_false(url.is_tls);
	must_parse("clickhouses://me:p%40s:s@[::1]:9443/fleet_1?ca=/etc/ssl/ca.pem", &url);
	assert_true(url.is_tls);
	assert_string_equal(url.hosts[0].name, "[::1]");
	assert_int_equal(url.hosts[0].port, 9443);
	assert_string_equal(url.user, "me");
	assert_string_equal(url.password, "p@s:s");
	assert_string_equal(url.database, "fleet_1");
	assert_string_equal(url.ca_file, "/etc/ssl/ca.pem");
	/* The last '@' ends the password. */
	must_parse("clickhouse://me:a@b@host/", &url);
	assert_string_equal(url.password, "a@b");
	assert_string_equal(url.hosts[0].name, "host");
	assert_string_equal(url.database, "bpfprof");
}

static void test_url_hosts(void **state)
{
	struct ch_url url;

	must_parse("clickhouse://me:a,b@db1,[::2]:9000,db3:1/fleet", &url);
	assert_int_equal(url.host_cnt, 3);
	assert_string_equal(url.hosts[0].name, "db1");
	assert_int_equal(url.hosts[0].port, 8123);
	assert_string_equal(url.hosts[1].name, "[::2]");
	assert_int_equal(url.hosts[1].port, 9000);
	assert_string_equal(url.hosts[2].name, "db3");
	assert_int_equal(url.hosts[2].port, 1);
	assert_string_equal(url.database, "fleet");
	assert_string_equal(url.password, "a,b");
	must_parse("clickhouse://[fe80::a:1%25eth0],db", &url);
	assert_string_equal(url.hosts[0].name, "[fe80::a:1%eth0]");
	must_parse("clickhouse://1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g", &url);
	assert_int_equal(url.host_cnt, 16);
	assert_string_equal(url.hosts[15].name, "g");
}

static void test_url_environment(void **state)
{
	struct ch_url url;

	setenv("CLICKHOUSE_USER", "agent", 1);
	setenv("CLICKHOUSE_PASSWORD", "secret", 1);
	must_parse("clickhouse://host", &url);
	assert_string_equal(url.user, "agent");
	assert_string_equal(url.password, "secret");
	must_parse("clickhouse://me@host", &url);
	assert_string_equal(url.user, "me");
	assert_string_equal(url.password, "secret");
	setenv("CLICKHOUSE_PASSWORD", "two\r\nheaders: 1", 1);
	assert_int_equal(ch_url_parse("clickhouse://host", &url, &(const char *){NULL}), -EINVAL);
	set_up(NULL);
}

static void test_url_refused(void **state)
{
	static const char *const texts[] = {
		"clickhouse:host",
		"clickhouse://",
		"clickhouse:///db",
		"http://host",
		"clickhouse://host:0",
		"clickhouse://host:65536",
		"clickhouse://host:x",
		"clickhouse://a b",
		"clickhouse://host/a b",
		"clickhouse://host/`a",
		"clickhouse://host?cb=x",
		"clickhouse://u%2:p@host",
		"clickhouse://u%zz@host",
		"clickhouse://u%0d%0a@host",
		"clickhouse://[::1/db",
		"clickhouse://[]",
		"clickhouse://[db%2C%2C]",
		"clickhouse://[::1%5D]",
		"clickhouse://[fe80::1%25a,b]",
		"clickhouse://a,/db",
		"clickhouse://,a",
		"clickhouse://a,,b",
		"clickhouse://1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h",
	};
	struct ch_url url;
	const char *why;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		why = NULL;
		if (ch_url_parse(texts[i], &url, &why) != -EINVAL || !why)
			fail_msg("'%s' is taken", texts[i]);
	}
}

static void test_url_print(void **state)
{
	struct ch_url url;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	must_parse("clickhouses://me:secret@host/db", &url);
	ch_url_print(&url, &out);
	assert_string_equal(buf_cstr(&out), "clickhouses://host:8443/db");
	buf_reset(&out);
	must_parse("clickhouse://me:secret@a,b:9/db", &url);
	ch_url_print(&url, &out);
	assert_string_equal(buf_cstr(&out), "clickhouse://a:8123,b:9/db");
	buf_reset(&out);
	must_parse("clickhouse://[fe80::a:1%25eth0]", &url);
	ch_url_print(&url, &out);
	assert_string_equal(buf_cstr(&out), "clickhouse://[fe80::a:1%25eth0]:8123/bpfprof");
	buf_deinit(&out);
}

static void assert_error(const char *answer, int err, uint32_t code, const char *text)
{
	struct ch_error error;

	ch_error_parse(answer, strlen(answer), &error);
	assert_int_equal(error.err, err);
	assert_int_equal(error.code, code);
	assert_string_equal(error.text, text);
}

static void test_errors(void **state)
{
	assert_error("Code: 193, e.displayText() = DB::Exception: Wrong password for user me, "
		     "e.what() = DB::Exception\n",
		     -EACCES, 193, "Wrong password for user me");
	assert_error("Code: 60. DB::Exception: Table a.b doesn't exist. (UNKNOWN_TABLE) (version "
		     "24.8.1.1 (official build))\n",
		     -ENOENT, 60, "Table a.b doesn't exist. (UNKNOWN_TABLE)");
	assert_error("Code: 252. DB::Exception: Too many parts\n", -EAGAIN, 252, "Too many parts");
	assert_error("Code: 33. DB::Exception: Cannot read all data\n", -EINVAL, 33,
		     "Cannot read all data");
	assert_error("<html>no</html>\nmore", -EPROTO, 0, "<html>no</html>");
	assert_error("", -EPROTO, 0, "");
	assert_error("Code: x", -EPROTO, 0, "Code: x");
	assert_error("Code: 99999999999", -EPROTO, 0, "Code: 99999999999");
}

static void test_rows(void **state)
{
	int64_t items[4];
	struct reader rd;
	struct buf out;
	size_t len;

	buf_init(&out, BUF_NO_MAX);
	rb_add_u8(&out, 200);
	rb_add_u16(&out, 0x1234);
	rb_add_u32(&out, 0xfedcba98);
	rb_add_i64(&out, -2);
	rb_add_str(&out, "a name");
	rb_add_len(&out, 3);
	for (int64_t i = 0; i < 3; i++)
		rb_add_i64(&out, -i);
	assert_memory_equal(out.data,
			    "\xc8\x34\x12\x98\xba\xdc\xfe\xfe\xff\xff\xff\xff\xff\xff\xff"
			    "\x06"
			    "a name\x03",
			    23);
	reader_init(&rd, out.data, out.len);
	assert_int_equal(reader_u8(&rd), 200);
	assert_int_equal(reader_u16(&rd), 0x1234);
	assert_int_equal(reader_u32(&rd), 0xfedcba98);
	assert_int_equal((int64_t)reader_u64(&rd), -2);
	assert_memory_equal(rb_text(&rd, &len), "a name", 6);
	assert_int_equal(len, 6);
	rb_i64_array(&rd, items, 4);
	assert_int_equal(items[2], -2);
	assert_int_equal(items[3], 0);
	assert_true(reader_done(&rd) && !rd.err);
	buf_deinit(&out);
}

/* Lengths that the bytes cannot hold. */
static void test_rows_cut(void **state)
{
	static const char text[] = "\x05"
				   "abcd",
			  array[] = "\x02\x01\x02\x03\x04\x05\x06\x07",
			  huge[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
	int64_t item;
	struct reader rd;
	size_t len;

	reader_init(&rd, text, sizeof(text) - 1);
	assert_null(rb_text(&rd, &len));
	assert_int_equal(len, 0);
	assert_int_equal(rd.err, -EBADMSG);
	reader_init(&rd, array, sizeof(array) - 1);
	rb_i64_array(&rd, &item, 1);
	assert_int_equal(item, 0);
	assert_int_equal(rd.err, -EBADMSG);
	reader_init(&rd, huge, sizeof(huge) - 1);
	assert_int_equal(rb_array(&rd, 1), 0);
	assert_int_equal(rd.err, -EBADMSG);
	reader_init(&rd, huge, sizeof(huge) - 1);
	assert_null(rb_text(&rd, &len));
}

static void test_quoted(void **state)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	ch_add_quoted(&out, "it's \\ \0", 8);
	assert_string_equal(buf_cstr(&out), "'it\\'s \\\\ \\0'");
	buf_deinit(&out);
}

static void test_create(void **state)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < fleet_table_cnt; i++)
		if (!strcmp(fleet_tables[i].name, "hosts"))
			fleet_add_create(&fleet_tables[i], &out);
	assert_string_equal(buf_cstr(&out),
			    "CREATE TABLE IF NOT EXISTS hosts (host UInt64, id String, name "
			    "String, seen DateTime('UTC')) ENGINE = ReplacingMergeTree(seen) "
			    "PRIMARY KEY (host) ORDER BY (host)");
	buf_deinit(&out);
}

/* What the two tables of a cluster are; every table has a column that says which shard. */
static void test_create_on_cluster(void **state)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < fleet_table_cnt; i++) {
		const struct fleet_table *table = &fleet_tables[i];

		assert_non_null(table->shard);
		if (!strstr(table->columns, table->shard))
			fail_msg("%s: it has no column '%s'", table->name, table->shard);
		if (strcmp(table->name, "hosts") != 0)
			continue;
		fleet_cluster_add_local(table, "fleet", "main", &out);
		buf_add_char(&out, '\n');
		fleet_cluster_add_distributed(table, "fleet", "main", &out);
	}
	assert_string_equal(
		buf_cstr(&out),
		"CREATE TABLE IF NOT EXISTS `fleet`.hosts_local ON CLUSTER 'main' "
		"(host UInt64, id String, name String, seen DateTime('UTC')) ENGINE = "
		"ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/fleet/hosts', "
		"'{replica}', seen) PRIMARY KEY (host) ORDER BY (host)\n"
		"CREATE TABLE IF NOT EXISTS `fleet`.hosts ON CLUSTER 'main' (host "
		"UInt64, id String, name String, seen DateTime('UTC')) ENGINE = "
		"Distributed('main', 'fleet', 'hosts_local', host)");
	buf_deinit(&out);
}

static void test_cluster_names(void **state)
{
	assert_true(fleet_cluster_is_name("main-2_x.y"));
	assert_false(fleet_cluster_is_name(""));
	assert_false(fleet_cluster_is_name("a'b"));
	assert_false(fleet_cluster_is_name("a b"));
	assert_false(fleet_cluster_is_name("0123456789012345678901234567890123456789012345678901234"
					   "567890123"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_url, set_up),
		cmocka_unit_test_setup(test_url_hosts, set_up),
		cmocka_unit_test_setup(test_url_environment, set_up),
		cmocka_unit_test_setup(test_url_refused, set_up),
		cmocka_unit_test_setup(test_url_print, set_up),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_rows_cut),
		cmocka_unit_test(test_quoted),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_create_on_cluster),
		cmocka_unit_test(test_cluster_names),
	};

	return cmocka_run_group_tests_name("clickhouse", tests, NULL, NULL);
}
