/* SPDX-License-Identifier: Apache-2.0 */
/* The ring's reader: records in order, unfinished and dropped ones, the seam, and what stays until
 * it is released. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/ring_reader.h"

enum { BYTES = 64 };

/* A ring as the kernel has it: what is written to one half of data stands in the other too. */
struct fake {
	uint64_t consumer, producer;
	_Alignas(8) uint8_t data[2 * BYTES];
	struct ring_reader reader;
};

static void fake_init(struct fake *fake, uint64_t begin)
{
	memset(fake, 0, sizeof(*fake));
	fake->consumer = fake->producer = begin;
	fake->reader = (struct ring_reader){
		.consumer = &fake->consumer,
		.producer = &fake->producer,
		.data = fake->data,
		.bytes = BYTES,
		.pos = begin,
	};
}

static void fake_byte(struct fake *fake, uint64_t at, uint8_t byte)
{
	fake->data[at % BYTES] = fake->data[at % BYTES + BYTES] = byte;
}

/* A record of @len times @fill, its head with @flags. Returns where it begins. */
static uint64_t fake_write(struct fake *fake, uint32_t len, uint32_t flags, uint8_t fill)
{
	uint32_t head[2] = {len | flags, 0};
	uint64_t at = fake->producer;

	for (uint32_t i = 0; i < sizeof(head); i++)
		fake_byte(fake, at + i, ((uint8_t *)head)[i]);
	for (uint32_t i = 0; i < len; i++)
		fake_byte(fake, at + 8 + i, fill);
	fake->producer = at + (len + 8 + 7) / 8 * 8;
	return at;
}

static void assert_next(struct fake *fake, uint64_t wanted_at, uint32_t wanted_len, uint8_t fill)
{
	const uint8_t *bytes;
	const void *data;
	uint64_t at;
	uint32_t len;

	assert_int_equal(ring_reader_next(&fake->reader, &data, &len, &at), 1);
	assert_int_equal(at, wanted_at);
	assert_int_equal(len, wanted_len);
	bytes = data;
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], fill);
}

static int next_is(struct fake *fake)
{
	const void *data;
	uint64_t at;
	uint32_t len;

	return ring_reader_next(&fake->reader, &data, &len, &at);
}

static void test_in_order(void **state)
{
	struct fake fake;
	uint64_t first, second;

	fake_init(&fake, 0);
	assert_int_equal(next_is(&fake), 0);
	first = fake_write(&fake, 5, 0, 1);
	fake_write(&fake, 3, BPF_RINGBUF_DISCARD_BIT, 9);
	second = fake_write(&fake, 8, 0, 2);
	assert_next(&fake, first, 5, 1);
	assert_next(&fake, second, 8, 2);
	assert_int_equal(next_is(&fake), 0);
}

/* A record that is being written stops what comes behind it, too. */
static void test_unfinished(void **state)
{
	struct fake fake;
	uint64_t first, second;

	fake_init(&fake, 0);
	first = fake_write(&fake, 4, BPF_RINGBUF_BUSY_BIT, 1);
	second = fake_write(&fake, 4, 0, 2);
	assert_int_equal(next_is(&fake), 0);
	fake_byte(&fake, first + 3, 0);
	assert_next(&fake, first, 4, 1);
	assert_next(&fake, second, 4, 2);
}

static void *finish_later(void *arg)
{
	struct fake *fake = arg;

	usleep(20000);
	__atomic_store_n((uint32_t *)fake->data, 4, __ATOMIC_RELEASE);
	return NULL;
}

/* ... and is waited for, with those behind it, where all of a time is wanted. */
static void test_unfinished_is_waited_for(void **state)
{
	struct fake fake;
	const void *data;
	uint64_t at, end;
	uint32_t len;
	pthread_t thread;

	fake_init(&fake, 0);
	fake_write(&fake, 4, BPF_RINGBUF_BUSY_BIT, 1);
	fake_write(&fake, 4, 0, 2);
	end = ring_reader_end(&fake.reader);
	assert_int_equal(pthread_create(&thread, NULL, finish_later, &fake), 0);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(ring_reader_next_before(&fake.reader, end, &data, &len, &at), 1);
		assert_int_equal(*(const uint8_t *)data, i);
	}
	pthread_join(thread, NULL);
	fake_write(&fake, 4, BPF_RINGBUF_BUSY_BIT, 3);
	assert_int_equal(ring_reader_next_before(&fake.reader, end, &data, &len, &at), 0);
}

static void test_over_the_seam(void **state)
{
	struct fake fake;
	uint64_t at;

	fake_init(&fake, 10 * BYTES + 40);
	at = fake_write(&fake, 30, 0, 7);
	assert_next(&fake, at, 30, 7);
}

/* What was read and not released is read again by who comes after. */
static void test_held(void **state)
{
	struct fake fake;
	uint64_t first, second;

	fake_init(&fake, 0);
	first = fake_write(&fake, 4, 0, 1);
	second = fake_write(&fake, 4, 0, 2);
	assert_next(&fake, first, 4, 1);
	assert_int_equal(ring_reader_held_bytes(&fake.reader), 32);
	fake.reader.pos = fake.consumer;
	assert_next(&fake, first, 4, 1);
	assert_next(&fake, second, 4, 2);
	ring_reader_release(&fake.reader, second);
	assert_int_equal(fake.consumer, second);
	ring_reader_release(&fake.reader, first);
	assert_int_equal(fake.consumer, second);
	fake.reader.pos = fake.consumer;
	assert_next(&fake, second, 4, 2);
	ring_reader_release(&fake.reader, UINT64_MAX);
	assert_int_equal(fake.consumer, fake.producer);
	assert_int_equal(ring_reader_held_bytes(&fake.reader), 0);
}

static void test_damaged(void **state)
{
	struct fake fake;

	fake_init(&fake, 0);
	fake_write(&fake, 4, 0, 1);
	fake_byte(&fake, 0, 60);
	assert_int_equal(next_is(&fake), -EBADMSG);
	assert_int_equal(fake.reader.pos, 0);
	fake.producer = BYTES + 8;
	assert_int_equal(next_is(&fake), -EBADMSG);
	fake_init(&fake, 16);
	fake.producer = 8;
	assert_int_equal(next_is(&fake), -EBADMSG);
	fake_init(&fake, 4);
	fake.producer = 16;
	assert_int_equal(next_is(&fake), -EBADMSG);
}

/* A file in the kernel's layout: the reader's page, the writer's, the data twice. */
static void test_open(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uint64_t consumer = 8, producer = 24;
	const uint32_t head[2] = {3, 0};
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct ring_reader reader;
	uint64_t released;
	const void *data;
	uint64_t at;
	uint32_t len;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(4 * page)), 0);
	assert_int_equal(pwrite(fd, &consumer, 8, 0), 8);
	assert_int_equal(pwrite(fd, &producer, 8, (off_t)page), 8);
	assert_int_equal(pwrite(fd, head, 8, (off_t)(2 * page + 8)), 8);
	assert_int_equal(pwrite(fd, "abc", 3, (off_t)(2 * page + 16)), 3);
	assert_int_equal(ring_reader_open(&reader, fd, (uint32_t)page), 0);
	assert_int_equal(ring_reader_held_bytes(&reader), 16);
	assert_int_equal(ring_reader_next(&reader, &data, &len, &at), 1);
	assert_int_equal(at, 8);
	assert_int_equal(len, 3);
	assert_memory_equal(data, "abc", 3);
	ring_reader_release(&reader, UINT64_MAX);
	assert_int_equal(pread(fd, &released, 8, 0), 8);
	assert_int_equal(released, 24);
	ring_reader_close(&reader);
	/* Closing twice does no harm. */
	ring_reader_close(&reader);
	close(fd);
}

/* No map at all, and one of which the reader's page may not be written. */
static void test_open_refused(void **state)
{
	struct ring_reader reader;
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ring_reader_open(&reader, -1, BYTES), -EBADF);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_int_equal(ring_reader_open(&reader, fd, BYTES), -EPERM);
	ring_reader_close(&reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_unfinished_is_waited_for),
		cmocka_unit_test(test_over_the_seam),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_open_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
