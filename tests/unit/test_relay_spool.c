/* SPDX-License-Identifier: Apache-2.0 */
/* A relay's spool: what it has taken is there, wherever it was cut off or damaged. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "relay/relay_counts.h"
#include "relay/relay_spool.h"
#include "scratch.h"

#define RECEIVED_NS (1000 * NSEC_PER_SEC)

enum { MAX_BYTES = 64 << 10, TRIES_MAX = 1000 };

/* In the place of base/log.c: what is damaged here, byte by byte, is told each time. */
void log_error(const char *fmt, ...)
{
}

void log_warn(const char *fmt, ...)
{
}

void log_debug(const char *fmt, ...)
{
}

static char folder[128], spool_path[160];

static int set_up(void **state)
{
	snprintf(folder, sizeof(folder), "%s/spool-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(folder));
	snprintf(spool_path, sizeof(spool_path), "%s/spool", folder);
	return 0;
}

static int tear_down(void **state)
{
	return remove_tree(folder);
}

static struct relay_spool *must_open(uint64_t max_bytes, uint64_t max_age_ns)
{
	const struct relay_spool_opts opts = {
		.path = spool_path, .max_bytes = max_bytes, .max_age_ns = max_age_ns};
	struct relay_spool *spool = NULL;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (relay_spool_open(&opts, &spool, &why))
		fail_msg("%s", buf_cstr(&why));
	buf_deinit(&why);
	return spool;
}

/* Message number @nr: it has as many bytes as it says. */
static int append(struct relay_spool *spool, uint64_t nr)
{
	const struct relay_record record = {
		.received_ns = RECEIVED_NS + nr * NSEC_PER_SEC, .first_seq = nr, .last_seq = nr};
	char bytes[256];

	memset(bytes, (int)('a' + nr % 26), sizeof(bytes));
	return relay_spool_append(spool, &record, bytes, 40 + nr % 200);
}

/* The next message's number; 0: there is none. */
static uint64_t next(struct relay_spool *spool)
{
	struct relay_record record;
	struct buf message;
	int got;

	buf_init(&message, BUF_NO_MAX);
	got = relay_spool_next(spool, &record, &message);
	assert_true(got >= 0);
	if (got) {
		assert_int_equal(message.len, 40 + record.first_seq % 200);
		for (size_t i = 0; i < message.len; i++)
			assert_int_equal(message.data[i], 'a' + record.first_seq % 26);
	}
	buf_deinit(&message);
	return got ? record.first_seq : 0;
}

/* A segment that is removed and still open keeps its room on the disk. */
static void assert_none_removed(void)
{
	char link[64], target[256];

	for (int fd = 0; fd < 64; fd++) {
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strstr(target, "segment-") && strstr(target, "(deleted)"))
			fail_msg("'%s' is still open", target);
	}
}

static void test_order(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0);

	assert_int_equal(next(spool), 0);
	for (uint64_t nr = 1; nr <= 5; nr++)
		assert_int_equal(append(spool, nr), 0);
	assert_int_equal(next(spool), 1);
	assert_int_equal(next(spool), 2);
	relay_spool_rewind(spool);
	assert_int_equal(next(spool), 1);
	relay_spool_done(spool);
	assert_int_equal(relay_spool_state(spool).records, 4);
	assert_int_equal(relay_spool_state(spool).oldest_ns, RECEIVED_NS + 2 * NSEC_PER_SEC);
	assert_int_equal(next(spool), 2);
	assert_int_equal(next(spool), 3);
	relay_spool_rewind(spool);
	relay_spool_close(spool);

	/* What is shipped stays shipped, what is not comes again. */
	spool = must_open(MAX_BYTES, 0);
	assert_int_equal(relay_spool_state(spool).records, 4);
	assert_int_equal(append(spool, 6), 0);
	for (uint64_t nr = 2; nr <= 6; nr++)
		assert_int_equal(next(spool), nr);
	assert_int_equal(next(spool), 0);
	relay_spool_done(spool);
	assert_int_equal(relay_spool_state(spool).records, 0);
	assert_int_equal(relay_spool_state(spool).oldest_ns, 0);
	relay_spool_close(spool);
	spool = must_open(MAX_BYTES, 0);
	assert_int_equal(next(spool), 0);
	assert_int_equal(relay_spool_state(spool).bytes, 0);
	relay_spool_close(spool);
}

/* It takes and gives for ever, and never has more than it may. */
static void test_bounded(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0);
	uint64_t taken = 0, given = 0, refused = 0;

	for (uint64_t i = 0; i < 4 * TRIES_MAX; i++) {
		int err = append(spool, taken + 1);

		assert_true(!err || err == -EDQUOT);
		taken += !err;
		refused += err != 0;
		assert_true(relay_spool_state(spool).bytes <= MAX_BYTES);
		if (i % 1000 < 500)
			continue;
		for (int k = 0; k < 2 && next(spool); k++)
			given++;
		relay_spool_done(spool);
	}
	assert_true(refused > 0);
	while (next(spool))
		given++;
	relay_spool_done(spool);
	assert_int_equal(given, taken);
	assert_none_removed();
	assert_int_equal(append(spool, 1), 0);
	relay_spool_close(spool);
}

static void test_too_old(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 60 * NSEC_PER_SEC);

	assert_int_equal(append(spool, 1), 0);
	assert_int_equal(append(spool, 61), 0);
	assert_int_equal(append(spool, 62), -ETIME);
	assert_int_equal(relay_spool_room(spool, 1, RECEIVED_NS + 62 * NSEC_PER_SEC), -ETIME);
	assert_int_equal(next(spool), 1);
	relay_spool_done(spool);
	assert_int_equal(append(spool, 62), 0);
	relay_spool_close(spool);
}

static void test_epoch(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0);
	const uint64_t epoch = relay_spool_epoch(spool);
	uint64_t renewed;

	assert_true(epoch);
	relay_spool_close(spool);
	spool = must_open(MAX_BYTES, 0);
	assert_int_equal(relay_spool_epoch(spool), epoch);
	relay_spool_close(spool);
	assert_int_equal(remove_tree(spool_path), 0);
	spool = must_open(MAX_BYTES, 0);
	assert_true(relay_spool_epoch(spool) && relay_spool_epoch(spool) != epoch);
	renewed = relay_spool_epoch(spool);
	relay_spool_renew_epoch(spool);
	assert_true(relay_spool_epoch(spool) != renewed);
	renewed = relay_spool_epoch(spool);
	relay_spool_close(spool);
	spool = must_open(MAX_BYTES, 0);
	assert_int_equal(relay_spool_epoch(spool), renewed);
	relay_spool_close(spool);
}

static void test_one_relay(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0), *second = NULL;
	const struct relay_spool_opts opts = {.path = spool_path, .max_bytes = MAX_BYTES};
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(relay_spool_open(&opts, &second, &why), -EBUSY);
	assert_non_null(strstr(buf_cstr(&why), "another relay has it"));
	buf_deinit(&why);
	relay_spool_close(spool);
}

static void test_quarantine(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0);
	struct relay_record record = {.nr = 1, .host = 2, .first_seq = 3};
	struct buf message;
	int err = 0;

	buf_init(&message, BUF_NO_MAX);
	for (int i = 0; i < 4000; i++)
		buf_add_char(&message, 'x');
	for (record.nr = 0; !err && record.nr < TRIES_MAX; record.nr++)
		err = relay_spool_put_aside(spool, &record, &message);
	assert_int_equal(err, -EDQUOT);
	assert_int_equal(record.nr, MAX_BYTES / 4 / 4000 + 1);
	relay_spool_close(spool);
	/* It is as full when it is opened again. */
	spool = must_open(MAX_BYTES, 0);
	assert_int_equal(relay_spool_put_aside(spool, &record, &message), -EDQUOT);
	relay_spool_close(spool);
	buf_deinit(&message);
}

/* --- A crash --- */

/* The only segment that there is. */
static void segment_path(char out[static 256])
{
	for (int nr = 0; nr < 100; nr++) {
		snprintf(out, 256, "%s/segment-%016x", spool_path, nr);
		if (!access(out, F_OK))
			return;
	}
	fail_msg("there is no segment");
}

static void write_segment(const void *data, size_t len)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/segment-%016x", spool_path, 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* Three messages, as a segment has them. */
static void make_segment(struct buf *out)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0);
	char path[256];

	for (uint64_t nr = 1; nr <= 3; nr++)
		assert_int_equal(append(spool, nr), 0);
	relay_spool_close(spool);
	segment_path(path);
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(fs_read_file(path, out), 0);
	assert_int_equal(out->len, 3 * RELAY_RECORD_HEAD_BYTES + 41 + 42 + 43);
	assert_int_equal(remove_tree(spool_path), 0);
	assert_int_equal(mkdir(spool_path, 0700), 0);
}

static size_t whole_records(size_t len)
{
	size_t end = 0, cnt = 0;

	for (size_t nr = 1; nr <= 3; nr++) {
		end += RELAY_RECORD_HEAD_BYTES + 40 + nr;
		cnt += end <= len;
	}
	return cnt;
}

static void test_cut_at_every_byte(void **state)
{
	struct buf segment;

	make_segment(&segment);
	for (size_t len = 0; len <= segment.len; len++) {
		const size_t whole = whole_records(len);
		struct relay_spool *spool;

		write_segment(segment.data, len);
		spool = must_open(MAX_BYTES, 0);
		assert_int_equal(relay_spool_state(spool).records, whole);
		assert_int_equal(relay_spool_state(spool).damaged_bytes, 0);
		assert_int_equal(append(spool, 9), 0);
		for (uint64_t nr = 1; nr <= whole; nr++)
			assert_int_equal(next(spool), nr);
		assert_int_equal(next(spool), 9);
		assert_int_equal(next(spool), 0);
		relay_spool_close(spool);
		/* What was cut off is gone for good, and nothing else is. */
		spool = must_open(MAX_BYTES, 0);
		assert_int_equal(relay_spool_state(spool).torn_bytes, 0);
		assert_int_equal(relay_spool_state(spool).records, whole + 1);
		relay_spool_close(spool);
		assert_int_equal(remove_tree(spool_path), 0);
		assert_int_equal(mkdir(spool_path, 0700), 0);
	}
	buf_deinit(&segment);
}

/* Of the three the one that the byte is of is lost, and the loss is counted. */
static void test_damaged_at_every_byte(void **state)
{
	struct buf segment;

	make_segment(&segment);
	for (size_t at = 0; at < segment.len; at++) {
		const size_t hit = whole_records(at) + 1;
		struct relay_spool_state found;
		struct relay_spool *spool;

		segment.data[at] ^= 0x15;
		write_segment(segment.data, segment.len);
		segment.data[at] ^= 0x15;
		spool = must_open(MAX_BYTES, 0);
		found = relay_spool_state(spool);
		assert_int_equal(found.records, 2);
		assert_int_equal(found.damaged_bytes + found.torn_bytes,
				 RELAY_RECORD_HEAD_BYTES + 40 + hit);
		for (uint64_t nr = 1; nr <= 3; nr++)
			if (nr != hit)
				assert_int_equal(next(spool), nr);
		assert_int_equal(next(spool), 0);
		relay_spool_close(spool);
		assert_int_equal(remove_tree(spool_path), 0);
		assert_int_equal(mkdir(spool_path, 0700), 0);
	}
	buf_deinit(&segment);
}

/* While a relay runs, too. */
static void test_damaged_meanwhile(void **state)
{
	struct relay_spool *spool = must_open(MAX_BYTES, 0);
	char path[256];
	int fd;

	for (uint64_t nr = 1; nr <= 3; nr++)
		assert_int_equal(append(spool, nr), 0);
	segment_path(path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "?", 1, RELAY_RECORD_HEAD_BYTES + 41 + 70), 1);
	close(fd);
	assert_int_equal(next(spool), 1);
	assert_int_equal(next(spool), 3);
	assert_int_equal(relay_spool_state(spool).damaged_bytes, RELAY_RECORD_HEAD_BYTES + 42);
	assert_int_equal(next(spool), 0);
	relay_spool_close(spool);
}

static void test_cursor_is_garbage(void **state)
{
	static const char *const texts[] = {"", "0", "ffffffffffffffff ffffffffffffffff 0",
					    "nonsense, and more of it than a cursor has, by far"};
	char path[256];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct relay_spool *spool = must_open(MAX_BYTES, 0);
		int fd;

		assert_int_equal(append(spool, i + 1), 0);
		relay_spool_close(spool);
		snprintf(path, sizeof(path), "%s/cursor", spool_path);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
		close(fd);
		spool = must_open(MAX_BYTES, 0);
		assert_int_equal(next(spool), i + 1);
		relay_spool_done(spool);
		relay_spool_close(spool);
	}
}

/* --- What it tells --- */

static void test_metrics(void **state)
{
	static const char *const lines[] = {
		"bpfprof_relay_received_total 5\n",
		"# TYPE bpfprof_relay_received_total counter\n",
		"bpfprof_relay_refused_total{reason=\"spool_full\"} 2\n",
		"bpfprof_relay_refused_total{reason=\"memory\"} 0\n",
		"bpfprof_relay_spool_messages 1\n",
		"bpfprof_relay_spool_oldest_seconds 9.5\n",
		"bpfprof_relay_insert_seconds 0.25\n",
		"bpfprof_relay_symbols_refused_total{reason=\"too_large\"} 0\n",
		"bpfprof_relay_symbols_refused_total{reason=\"form\"} 3\n",
		"bpfprof_relay_symbols_waiting 4\n",
		"bpfprof_relay_build_info{version=\"",
	};
	struct relay_spool *spool = must_open(MAX_BYTES, 0);
	struct relay_counts counts = {.received = 5, .insert_ns = NSEC_PER_SEC / 4};
	const struct relay_tables_state tables = {.cnt = 4};
	struct relay_spool_state now;
	struct buf text;

	assert_int_equal(append(spool, 1), 0);
	now = relay_spool_state(spool);
	counts.refused[RELAY_REFUSED_FULL] = 2;
	counts.symbols_refused[RELAY_REFUSED_FORM] = 3;
	buf_init(&text, BUF_NO_MAX);
	assert_int_equal(relay_counts_format(&counts, &now, &tables,
					     RECEIVED_NS + NSEC_PER_SEC + 19 * NSEC_PER_SEC / 2,
					     &text),
			 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (!strstr(buf_cstr(&text), lines[i]))
			fail_msg("'%s' is not in '%s'", lines[i], buf_cstr(&text));
	buf_deinit(&text);
	relay_spool_close(spool);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_order),
		CASE(test_bounded),
		CASE(test_too_old),
		CASE(test_epoch),
		CASE(test_one_relay),
		CASE(test_quarantine),
		CASE(test_cut_at_every_byte),
		CASE(test_damaged_at_every_byte),
		CASE(test_damaged_meanwhile),
		CASE(test_cursor_is_garbage),
		CASE(test_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
