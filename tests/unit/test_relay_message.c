/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to relays: what is read is what was written, and what is not right is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/seal.h"
#include "clickhouse/native_read.h"
#include "clickhouse/rowbinary.h"
#include "relay/relay_aside.h"
#include "relay/relay_known.h"
#include "relay_fixture.h"

static int set_up(void **state)
{
	static struct relay_fixture relay;

	relay_fixture_init(&relay);
	*state = &relay;
	return 0;
}

static int tear_down(void **state)
{
	relay_fixture_deinit(*state);
	return 0;
}

static void assert_blocks(const struct fleet_blocks *one, const struct fleet_blocks *other)
{
	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++) {
		struct buf left, right;

		buf_init(&left, BUF_NO_MAX);
		buf_init(&right, BUF_NO_MAX);
		assert_int_equal(native_encode(&one->of[i], &left), 0);
		assert_int_equal(native_encode(&other->of[i], &right), 0);
		assert_int_equal(left.len, right.len);
		assert_memory_equal(left.data, right.data, left.len);
		buf_deinit(&left);
		buf_deinit(&right);
	}
}

static int read_message(struct relay_fixture *relay, const void *data, size_t len)
{
	struct relay_head head;
	int err;

	assert_int_equal(fleet_blocks_reset(&relay->read), 0);
	err = relay_message_read(data, len, &head, &relay->read);
	if (err)
		return err;
	assert_int_equal(head.epoch, relay->head.epoch);
	assert_int_equal(head.first_seq, relay->head.first_seq);
	assert_string_equal(head.id, relay->head.id);
	assert_string_equal(head.name, relay->head.name);
	return 0;
}

static void test_read_is_written(void **state)
{
	struct relay_fixture *relay = *state;

	assert_true(relay->blocks.of[FLEET_SAMPLES].row_cnt > 0);
	assert_true(relay->blocks.of[FLEET_STACKS].row_cnt > 0);
	assert_int_equal(read_message(relay, relay->message.data, relay->message.len), 0);
	assert_blocks(&relay->blocks, &relay->read);
}

/* Exactly as long as it is told, so that a sanitizer sees what is read beyond. */
static void test_cut(void **state)
{
	struct relay_fixture *relay = *state;

	for (size_t len = 0; len < relay->message.len; len++) {
		char *cut = malloc(len ? len : 1);

		memcpy(cut, relay->message.data, len);
		assert_int_equal(read_message(relay, cut, len),
				 len < sizeof(struct seal) ? -EBADMSG : -EILSEQ);
		free(cut);
	}
}

static void seal_again(struct buf *message)
{
	const uint64_t checksum = seal_checksum(message->data, message->len);

	memcpy(message->data + offsetof(struct seal, checksum), &checksum, sizeof(checksum));
}

static void test_changed(void **state)
{
	struct relay_fixture *relay = *state;
	struct buf *message = &relay->message;

	for (size_t i = sizeof(struct seal); i < message->len; i++) {
		message->data[i] ^= 0x41;
		assert_int_equal(read_message(relay, message->data, message->len), -EILSEQ);
		message->data[i] ^= 0x41;
	}
	message->data[0] ^= 1;
	assert_int_equal(read_message(relay, message->data, message->len), -EBADMSG);
	message->data[0] ^= 1;
	message->data[offsetof(struct seal, format)] ^= 1;
	assert_int_equal(read_message(relay, message->data, message->len), -ESTALE);
	message->data[offsetof(struct seal, format)] ^= 1;
	message->data[offsetof(struct seal, rules)] ^= 1;
	assert_int_equal(read_message(relay, message->data, message->len), -ESTALE);
}

/* Bytes behind the last block, a block that is none. */
static void test_sealed_but_wrong(void **state)
{
	struct relay_fixture *relay = *state;
	struct buf *message = &relay->message;

	buf_add_char(message, 'x');
	seal_again(message);
	assert_int_equal(read_message(relay, message->data, message->len), -EBADMSG);
	message->len -= 8;
	seal_again(message);
	assert_int_equal(read_message(relay, message->data, message->len), -EBADMSG);
}

/* --- Who may --- */

static bool is_alpha(void *arg, const char *name, size_t len)
{
	return len == strlen("alpha") && !memcmp(name, "alpha", len);
}

static bool is_beta(void *arg, const char *name, size_t len)
{
	return len == strlen("beta") && !memcmp(name, "beta", len);
}

static void must_refuse(const struct relay_head *head, const struct fleet_blocks *blocks,
			relay_may_fn *may, int wanted, const char *text)
{
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(relay_message_check(head, blocks, may, NULL, &why), wanted);
	if (text && !strstr(buf_cstr(&why), text))
		fail_msg("'%s' is not in '%s'", text, buf_cstr(&why));
	buf_deinit(&why);
}

static void test_hosts(void **state)
{
	struct relay_fixture *relay = *state;
	struct relay_head head = relay->head;

	must_refuse(&head, &relay->blocks, is_alpha, 0, NULL);
	must_refuse(&head, &relay->blocks, is_beta, -EACCES, "may not speak for host 'alpha'");
	/* It says that it is beta, and what it tells of is alpha. */
	snprintf(head.name, sizeof(head.name), "beta");
	must_refuse(&head, &relay->blocks, is_beta, -EACCES, "may not speak for host 'alpha'");
	assert_int_equal(native_reset(&relay->blocks.of[FLEET_HOSTS]), 0);
	must_refuse(&head, &relay->blocks, is_beta, -EACCES, "may not speak for host 'alpha'");
	head = relay->head;
	snprintf(head.id, sizeof(head.id), "another");
	must_refuse(&head, &relay->blocks, is_alpha, -EACCES, "of another host");
	for (size_t i = FLEET_HOSTS; i < FLEET_BATCHES; i++)
		assert_int_equal(native_reset(&relay->blocks.of[i]), 0);
	must_refuse(&head, &relay->blocks, is_alpha, -EACCES, "table batches are of another host");
}

/* --- Its ledger --- */

static void test_rows_without_ledger(void **state)
{
	struct relay_fixture *relay = *state;

	assert_int_equal(native_reset(&relay->blocks.of[FLEET_BATCHES]), 0);
	must_refuse(&relay->head, &relay->blocks, is_alpha, -EBADMSG, "the ledger has 0 rows");
}

static void test_ledger_without_rows(void **state)
{
	struct relay_fixture *relay = *state;

	assert_int_equal(native_reset(&relay->blocks.of[FLEET_SAMPLES]), 0);
	must_refuse(&relay->head, &relay->blocks, is_alpha, -EBADMSG, "the samples 0 with 0");
}

/* Rows of the ledger for which @keep is true. */
static void keep_ledger(struct relay_fixture *relay, const bool *keep)
{
	assert_int_equal(native_append(&relay->read.of[FLEET_BATCHES],
				       &relay->blocks.of[FLEET_BATCHES], keep),
			 0);
	assert_int_equal(native_reset(&relay->blocks.of[FLEET_BATCHES]), 0);
	assert_int_equal(native_append(&relay->blocks.of[FLEET_BATCHES],
				       &relay->read.of[FLEET_BATCHES], NULL),
			 0);
}

static void test_ledger_without_window(void **state)
{
	struct relay_fixture *relay = *state;

	assert_int_equal(relay->blocks.of[FLEET_BATCHES].row_cnt, 3);
	keep_ledger(relay, (const bool[]){true, true, false});
	must_refuse(&relay->head, &relay->blocks, is_alpha, -EBADMSG, "no row of window 17");
}

static void test_ledger_without_batch(void **state)
{
	struct relay_fixture *relay = *state;

	keep_ledger(relay, (const bool[]){false, true, true});
	must_refuse(&relay->head, &relay->blocks, is_alpha, -EBADMSG, "window 17 is not whole");
}

static void test_sum(void **state)
{
	struct relay_fixture *relay = *state;
	struct native_block *samples = &relay->blocks.of[FLEET_SAMPLES];
	const size_t n = native_column_of(samples->table, "n");

	samples->data[n].data[0]++;
	must_refuse(&relay->head, &relay->blocks, is_alpha, -EBADMSG, "in sum, the samples");
}

/* --- Many of them together --- */

/* The same twice, one of them with its rows turned round, and words in another order. */
static void test_append(void **state)
{
	struct relay_fixture *relay = *state;

	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++) {
		const struct native_block *from = &relay->blocks.of[i];
		struct native_block *to = &relay->read.of[i];
		bool *keep = calloc(from->row_cnt + 1, sizeof(*keep));

		/* One by one, from the last on. */
		for (uint64_t row = from->row_cnt; row; row--) {
			keep[row - 1] = true;
			assert_int_equal(native_append(to, from, keep), 0);
			keep[row - 1] = false;
		}
		assert_int_equal(native_append(to, from, NULL), 0);
		assert_int_equal(to->row_cnt, 2 * from->row_cnt);
		free(keep);
	}
	for (uint64_t row = 0; row < relay->blocks.of[FLEET_SAMPLES].row_cnt; row++) {
		const struct native_block *from = &relay->blocks.of[FLEET_SAMPLES];
		const struct native_block *to = &relay->read.of[FLEET_SAMPLES];
		const size_t stack = native_column_of(from->table, "stack");

		for (uint64_t half = 0; half < 2; half++) {
			const uint64_t at = half ? from->row_cnt + row : from->row_cnt - row - 1;

			assert_string_equal(native_word(from, 0, row), native_word(to, 0, at));
			assert_int_equal(native_number(from, stack, row),
					 native_number(to, stack, at));
		}
	}
	must_refuse(&relay->head, &relay->read, is_alpha, -EBADMSG, NULL); /* turned round */
}

/* Of the dictionary what was sent is not sent again, but for frames that got their names. */
static void test_known(void **state)
{
	struct relay_fixture *relay = *state;
	struct native_block *frames = &relay->blocks.of[FLEET_FRAMES];
	const size_t named = native_column_of(frames->table, "named");
	struct relay_known known;
	bool *keep;

	relay_known_init(&known);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < FLEET_BLOCK_CNT; i++) {
			const struct native_block *block = &relay->blocks.of[i];
			const bool is_dict =
				i == FLEET_FRAMES || i == FLEET_STACKS || i == FLEET_SOURCES;

			assert_int_equal(relay_known_choose(&known, i, block, &keep), 0);
			assert_int_equal(keep != NULL, is_dict);
			for (uint64_t row = 0; keep && row < block->row_cnt; row++)
				assert_int_equal(keep[row], !pass);
			free(keep);
		}
	frames->data[named].data[0]++;
	assert_int_equal(relay_known_choose(&known, FLEET_FRAMES, frames, &keep), 0);
	assert_true(keep[0]);
	assert_false(keep[1]);
	free(keep);
	relay_known_forget(&known);
	assert_int_equal(relay_known_choose(&known, FLEET_FRAMES, frames, &keep), 0);
	assert_true(keep[1]);
	free(keep);
	relay_known_deinit(&known);
}

/* --- What is given up --- */

static void test_tombstones(void **state)
{
	struct relay_fixture *relay = *state;
	const struct native_block *ledger = &relay->blocks.of[FLEET_BATCHES];
	struct native_block *out = &relay->read.of[FLEET_BATCHES];
	const struct sink_window lost = fixture_lost(18);
	struct reader reasons;
	size_t len;
	uint64_t samples = 0;

	assert_int_equal(fleet_fill(&relay->filler, NULL, &lost, 1, &relay->blocks), 0);
	for (size_t i = 0; i < 2 * SINK_THREADS; i++)
		samples += (uint64_t)(relay->fix.cpu_values[2 * i] + relay->fix.off_values[i]);
	assert_int_equal(relay_aside_tombstones(ledger, out), 0);
	assert_int_equal(out->row_cnt, 2);
	assert_int_equal(native_number(out, native_column_of(out->table, "seq"), 0), 17);
	assert_int_equal(native_number(out, native_column_of(out->table, "rows"), 0), 0);
	assert_int_equal(native_number(out, native_column_of(out->table, "windows"), 0), 1);
	assert_int_equal(native_number(out, native_column_of(out->table, "lost_samples"), 0),
			 samples);
	assert_int_equal(native_number(out, native_column_of(out->table, "windows"), 1), 3);
	assert_int_equal(native_number(out, native_column_of(out->table, "lost_samples"), 1), 99);
	reasons = native_texts(out, native_column_of(out->table, "reason"));
	assert_non_null(rb_text(&reasons, &len));
	assert_true(len > 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_read_is_written),
		CASE(test_cut),
		CASE(test_changed),
		CASE(test_sealed_but_wrong),
		CASE(test_hosts),
		CASE(test_rows_without_ledger),
		CASE(test_ledger_without_rows),
		CASE(test_ledger_without_window),
		CASE(test_ledger_without_batch),
		CASE(test_sum),
		CASE(test_append),
		CASE(test_known),
		CASE(test_tombstones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
