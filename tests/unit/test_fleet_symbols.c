/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that are uploaded once, beside a server that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hmap.h"
#include "clickhouse/rowbinary.h"
#include "fake_clickhouse.h"
#include "fleet/fleet_symbols.h"

enum { OURS = 7, THEIRS = 8, TABLE_BYTES = 3 << 20 };

static const char FORMAT[] = "names 1.1";

static struct {
	uint64_t holders[2]; /* as they are asked for */
	size_t holder_cnt, row_cnt; /* asked; written */
	struct buf chunks; /* nr, text */
	uint64_t digest, bytes;
	uint32_t chunk_cnt;
	size_t chunk_left_out; /* 0: none */
	size_t cut;
	bool is_there;
} server;

static int number_of(const char *sql, uint64_t *out)
{
	assert_non_null(strstr(sql, "build_id = 'ab\\'cd' AND format = 'names 1.1'"));
	assert_true(server.holder_cnt < 2);
	*out = server.holders[server.holder_cnt++];
	return 0;
}

static int answer(const char *sql, struct buf *out)
{
	if (strstr(sql, "INSERT INTO symbol_tables")) {
		server.row_cnt++;
	} else if (strstr(sql, "SELECT digest, bytes, chunks") && server.is_there) {
		rb_add_u64(out, server.digest);
		rb_add_u64(out, server.bytes);
		rb_add_u32(out, server.chunk_cnt);
	} else if (strstr(sql, "SELECT nr, data")) {
		buf_add(out, server.chunks.data, server.chunks.len);
	} else if (strstr(sql, "FROM modules")) {
		rb_add_str(out, "abcd");
		rb_add_str(out, "/bin/a");
		rb_add_u64(out, 5);
		rb_add_u8(out, 1);
		rb_add_str(out, "ef");
		rb_add_str(out, "/bin/b");
		rb_add_u64(out, 3);
		rb_add_u8(out, 0);
	}
	if (out)
		out->len -= server.cut;
	return 0;
}

/* What comes last in a block of one row is the text, behind its length. */
static int take_chunk(const char *sql, const void *rows, size_t len)
{
	static const char type[] = "data\x06String";
	const char *text = memmem(rows, len, type, sizeof(type) - 1);

	assert_non_null(text);
	text += sizeof(type) - 1;
	server.chunk_cnt++;
	if (server.chunk_cnt == server.chunk_left_out)
		return 0;
	rb_add_u32(&server.chunks, server.chunk_cnt - 1);
	buf_add(&server.chunks, text, len - (size_t)(text - (const char *)rows));
	return 0;
}

static int setup(void **state)
{
	memset(&server, 0, sizeof(server));
	buf_init(&server.chunks, BUF_NO_MAX);
	fake_answer = answer;
	fake_insert = take_chunk;
	fake_number_of = number_of;
	return ch_client_open("clickhouse://fake", NULL, (struct ch_client **)state, NULL);
}

static int teardown(void **state)
{
	buf_deinit(&server.chunks);
	ch_client_close(*state);
	return 0;
}

static const struct fleet_table_key key = {
	.build_id = "ab'cd",
	.path = "/bin/a",
	.format = FORMAT,
	.host = OURS,
};

static void test_wanted(void **state)
{
	struct fleet_modules modules;

	assert_int_equal(fleet_symbols_wanted(*state, FORMAT, &modules), 0);
	assert_int_equal(modules.cnt, 2);
	assert_string_equal(modules.items[0].build_id, "abcd");
	assert_string_equal(modules.items[0].why, "no_lines");
	assert_string_equal(modules.items[1].why, "no_file");
	fleet_modules_deinit(&modules);
	server.cut = 1;
	assert_int_equal(fleet_symbols_wanted(*state, FORMAT, &modules), -EPROTO);
	fleet_modules_deinit(&modules);
}

static bool claims(struct ch_client *client, uint64_t before, uint64_t after)
{
	bool is_ours = false;

	server.holders[0] = before;
	server.holders[1] = after;
	server.holder_cnt = 0;
	server.row_cnt = 0;
	assert_int_equal(fleet_symbols_claim(client, &key, &is_ours), 0);
	return is_ours;
}

static void test_claims(void **state)
{
	bool has;

	/* Nobody, then ourselves; somebody was faster. */
	assert_true(claims(*state, 0, OURS));
	assert_int_equal(server.row_cnt, 1);
	assert_false(claims(*state, 0, THEIRS));
	/* Another one is at it, or has done it; we were, before we were killed. */
	assert_false(claims(*state, THEIRS, 0));
	assert_int_equal(server.row_cnt, 0);
	assert_false(claims(*state, UINT64_MAX, 0));
	assert_true(claims(*state, OURS, 0));

	server.holder_cnt = 0;
	server.holders[0] = UINT64_MAX;
	server.holders[1] = THEIRS;
	assert_int_equal(fleet_symbols_has(*state, &key, &has), 0);
	assert_true(has);
	assert_int_equal(fleet_symbols_has(*state, &key, &has), 0);
	assert_false(has);
}

/* Upload bytes that do not become smaller, in several chunks. */
static char *upload(struct ch_client *client)
{
	char *data = malloc(TABLE_BYTES);
	struct buf packed;
	uint32_t seed = 1;

	assert_non_null(data);
	for (size_t i = 0; i < TABLE_BYTES; i++) {
		seed = seed * 1103515245 + 12345;
		data[i] = (char)(seed >> 16);
	}
	buf_init(&packed, FLEET_TABLE_BYTES_MAX);
	assert_int_equal(fleet_symbols_pack(key.build_id, data, TABLE_BYTES, &packed), 0);
	assert_int_equal(fleet_symbols_put(client, &key, packed.data, packed.len), 0);
	assert_true(packed.len > TABLE_BYTES / 2);
	assert_int_equal(server.row_cnt, 1);
	assert_true(server.chunk_cnt > 2);
	server.bytes = packed.len;
	server.is_there = true;
	buf_deinit(&packed);
	return data;
}

/* The digest that was written in a row is not seen here: it is that of the chunks. */
static void take_digest(void)
{
	struct buf packed;
	struct reader rd;

	buf_init(&packed, BUF_NO_MAX);
	reader_init(&rd, server.chunks.data, server.chunks.len);
	while (!reader_done(&rd)) {
		size_t len;
		const char *text;

		reader_u32(&rd);
		text = rb_text(&rd, &len);
		buf_add(&packed, text, len);
	}
	server.digest = hash_bytes(packed.data, packed.len);
	buf_deinit(&packed);
}

static int get(struct ch_client *client, const char *build_id, struct buf *out)
{
	buf_reset(out);
	return fleet_symbols_get(client, build_id, FORMAT, out);
}

static void test_upload(void **state)
{
	char *data = upload(*state);
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	take_digest();
	assert_int_equal(get(*state, key.build_id, &out), 0);
	assert_int_equal(out.len, TABLE_BYTES);
	assert_memory_equal(out.data, data, TABLE_BYTES);
	/* They are not those of another build. */
	assert_int_equal(get(*state, "other", &out), -EBADMSG);
	server.digest++;
	assert_int_equal(get(*state, key.build_id, &out), -EBADMSG);
	server.digest--;
	server.chunk_cnt++;
	assert_int_equal(get(*state, key.build_id, &out), -EBADMSG);
	server.chunk_cnt--;
	server.bytes = UINT64_MAX;
	assert_int_equal(get(*state, key.build_id, &out), -EBADMSG);
	server.is_there = false;
	assert_int_equal(get(*state, key.build_id, &out), -ENOENT);
	buf_deinit(&out);
	free(data);
}

static void test_packed(void **state)
{
	struct buf packed, out;

	buf_init(&packed, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(fleet_symbols_pack("abcd", "table", 5, &packed), 0);
	assert_int_equal(fleet_symbols_unpack("abcd", packed.data, packed.len, &out), 0);
	assert_string_equal(buf_cstr(&out), "table");
	assert_int_equal(fleet_symbols_unpack("abce", packed.data, packed.len, &out), -EBADMSG);
	assert_int_equal(fleet_symbols_unpack("abcd", packed.data, packed.len - 1, &out), -EBADMSG);
	buf_deinit(&packed);
	buf_deinit(&out);
}

static void test_missing_chunk(void **state)
{
	struct buf out;
	char *data;

	buf_init(&out, BUF_NO_MAX);
	server.chunk_left_out = 2;
	data = upload(*state);
	take_digest();
	assert_int_equal(get(*state, key.build_id, &out), -EBADMSG);
	buf_deinit(&out);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_claims, setup, teardown),
		cmocka_unit_test_setup_teardown(test_upload, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_chunk, setup, teardown),
		cmocka_unit_test(test_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
