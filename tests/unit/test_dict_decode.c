/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of a dictionary: they come again, come in the wrong order, are cut, or lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode/protobuf.h"
#include "store/dict.h"

/* Three payloads: code with a stack and labels; more of each, and a mapping that became wider; a
 * name for a location of the first. */
enum { PAYLOADS = 3 };

struct fixture {
	struct dict dict;
	uint32_t mapping, unnamed;
	struct buf payloads[PAYLOADS];
};

static void take_payload(struct fixture *fixture, size_t nr)
{
	buf_init(&fixture->payloads[nr], BUF_NO_MAX);
	dict_encode(&fixture->dict, &fixture->payloads[nr]);
	assert_int_equal(fixture->payloads[nr].err, 0);
	assert_int_equal(dict_set_saved(&fixture->dict), 0);
}

static void add_code(struct fixture *fixture, const char *name, uint64_t address)
{
	struct profile *prof = &fixture->dict.prof;
	struct profile_line line = {profile_function(prof, name, name, "x.c", 1), 2};
	struct profile_label labels[] = {
		{.key = profile_string(prof, "comm"), .str = profile_string(prof, name)},
		{.key = profile_string(prof, "pid"), .str = PROFILE_NONE, .num = -5},
	};
	uint32_t stack[2];

	stack[0] = profile_location_lines(prof, fixture->mapping, address, 0, &line, 1);
	stack[1] = fixture->unnamed;
	profile_stack(prof, stack, 2);
	profile_stack(prof, stack + 1, 1);
	profile_labels(prof, labels, 2);
	assert_int_equal(prof->err, 0);
}

static void widen(struct fixture *fixture)
{
	struct profile *prof = &fixture->dict.prof;
	struct profile_mapping mapping = prof->mappings[fixture->mapping];
	uint64_t shift;

	mapping.limit += 0x1000;
	assert_int_equal(profile_mapping_add(prof, &mapping, &shift), fixture->mapping);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct profile_mapping mapping = {.start = 0x1000, .limit = 0x2000};
	struct profile_line line;
	struct profile *prof;
	uint64_t shift;

	assert_non_null(fixture);
	assert_int_equal(dict_init(&fixture->dict), 0);
	prof = &fixture->dict.prof;
	mapping.path = profile_string(prof, "/bin/x");
	mapping.build_id = profile_string(prof, "aa");
	fixture->mapping = profile_mapping_add(prof, &mapping, &shift);
	fixture->unnamed = profile_location(prof, fixture->mapping, 0x1800, 0);
	add_code(fixture, "first", 0x1100);
	take_payload(fixture, 0);
	add_code(fixture, "second", 0x1200);
	widen(fixture);
	take_payload(fixture, 1);
	line = (struct profile_line){0, 3};
	dict_name(&fixture->dict, fixture->unnamed, &line, 1);
	take_payload(fixture, 2);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < PAYLOADS; i++)
		buf_deinit(&fixture->payloads[i]);
	dict_deinit(&fixture->dict);
	free(fixture);
	return 0;
}

static int decode(struct dict *dict, const struct buf *bytes)
{
	struct reader rd;

	reader_init(&rd, bytes->data, bytes->len);
	return dict_decode(dict, &rd);
}

static void check_equal(const struct dict *dict, const struct dict *wanted)
{
	const struct dict_mark mark = dict_mark_of(dict), wanted_mark = dict_mark_of(wanted);
	const struct profile *prof = &dict->prof;

	assert_memory_equal(&mark, &wanted_mark, sizeof(mark));
	for (uint32_t i = 0; i < mark.strings; i++)
		assert_string_equal(profile_str(prof, i), profile_str(&wanted->prof, i));
	for (uint32_t i = 0; i < mark.mappings; i++)
		assert_true(dict_mapping_is_same(&prof->mappings[i], &wanted->prof.mappings[i]));
	assert_memory_equal(prof->functions, wanted->prof.functions,
			    mark.functions * sizeof(*prof->functions));
	for (uint32_t i = 0; i < mark.locations; i++) {
		assert_int_equal(prof->locations[i].address, wanted->prof.locations[i].address);
		assert_string_equal(profile_location_name(prof, i, 0),
				    profile_location_name(&wanted->prof, i, 0));
	}
	assert_memory_equal(prof->stack_locations, wanted->prof.stack_locations,
			    wanted->prof.stack_location_cnt * sizeof(*prof->stack_locations));
	assert_int_equal(prof->labels[1].num, -5);
}

static void test_in_order(void **state)
{
	struct fixture *fixture = *state;
	struct dict dict, grown;

	assert_int_equal(dict_init(&dict), 0);
	for (size_t i = 0; i < PAYLOADS; i++)
		assert_int_equal(decode(&dict, &fixture->payloads[i]), 0);
	check_equal(&dict, &fixture->dict);
	/* What came before may come again; names that are there already stay. */
	for (size_t i = 0; i < PAYLOADS; i++)
		assert_int_equal(decode(&dict, &fixture->payloads[i]), 0);
	check_equal(&dict, &fixture->dict);
	assert_int_equal(dict.named_cnt, 1);
	assert_int_equal(dict_init(&grown), 0);
	assert_int_equal(dict_intern(&dict, &grown), 0);
	check_equal(&grown, &fixture->dict);
	assert_false(dict_has_news(&grown));
	dict_deinit(&grown);
	dict_deinit(&dict);
}

/* What a compiler leaves between the members of a mapping is no change to store. */
static void test_padding(void **state)
{
	struct fixture *fixture = *state;
	struct profile_mapping *mapping = &fixture->dict.prof.mappings[fixture->mapping];
	const size_t end = offsetof(struct profile_mapping, flags) + sizeof(mapping->flags);
	struct buf before, after;

	buf_init(&before, BUF_NO_MAX);
	buf_init(&after, BUF_NO_MAX);
	assert_false(dict_has_news(&fixture->dict));
	dict_encode(&fixture->dict, &before);
	memset((char *)mapping + end, 0x5a, sizeof(*mapping) - end);
	assert_false(dict_has_news(&fixture->dict));
	dict_encode(&fixture->dict, &after);
	assert_int_equal(after.len, before.len);
	buf_deinit(&before);
	buf_deinit(&after);
}

static void test_wrong_order(void **state)
{
	struct fixture *fixture = *state;
	struct dict dict;

	assert_int_equal(dict_init(&dict), 0);
	assert_int_equal(decode(&dict, &fixture->payloads[1]), -EBADMSG);
	assert_int_equal(decode(&dict, &fixture->payloads[2]), -EBADMSG);
	assert_int_equal(dict.prof.location_cnt, 0);
	dict_deinit(&dict);
}

/* A payload of @len bytes at @body as chunks have it. */
static void wrap(const char *body, size_t len, struct buf *out)
{
	buf_reset(out);
	pb_add_varint(out, len);
	buf_add(out, body, len);
}

/* Of each payload every beginning, and one byte too much, as if that were all of it. */
static void test_cut(void **state)
{
	struct fixture *fixture = *state;
	struct buf cut;

	buf_init(&cut, BUF_NO_MAX);
	for (size_t nr = 0; nr < PAYLOADS; nr++) {
		const struct buf *whole = &fixture->payloads[nr];
		const size_t head = whole->len > 128 ? 2 : 1, full = whole->len - head;

		for (size_t len = 0; len <= full + 1; len++) {
			struct dict dict;

			assert_int_equal(dict_init(&dict), 0);
			for (size_t i = 0; i < nr; i++)
				assert_int_equal(decode(&dict, &fixture->payloads[i]), 0);
			/* Behind the content a buffer has a NUL. */
			wrap(whole->data + head, len, &cut);
			assert_int_equal(decode(&dict, &cut), len == full ? 0 : -EBADMSG);
			dict_deinit(&dict);
		}
	}
	buf_deinit(&cut);
}

/* Whatever one byte becomes: accepted or not, what is there can be followed, and be made to grow
 * unless it has something twice. */
static void test_flipped(void **state)
{
	struct fixture *fixture = *state;
	struct buf *bytes = &fixture->payloads[0];

	for (size_t at = 0; at < bytes->len; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct dict dict, grown;
			int err;

			assert_int_equal(dict_init(&dict), 0);
			assert_int_equal(dict_init(&grown), 0);
			bytes->data[at] ^= (char)(1 << bit);
			err = decode(&dict, bytes);
			bytes->data[at] ^= (char)(1 << bit);
			assert_true(!err || err == -EBADMSG);
			if (!err) {
				err = dict_intern(&dict, &grown);
				assert_true(!err || err == -EBADMSG);
			}
			dict_deinit(&dict);
			dict_deinit(&grown);
		}
}

/* A payload with these counts of what is added, and then @body. */
static int decode_made(const uint8_t *added, const char *body, size_t len)
{
	struct buf payload, bytes;
	struct dict dict;
	int err;

	assert_int_equal(dict_init(&dict), 0);
	buf_init(&payload, BUF_NO_MAX);
	buf_init(&bytes, BUF_NO_MAX);
	buf_add(&payload, "\1\0\0\0\0\0", 6); /* there is one string, "" */
	buf_add(&payload, added, 6);
	buf_add(&payload, body, len);
	wrap(payload.data, payload.len, &bytes);
	err = decode(&dict, &bytes);
	dict_deinit(&dict);
	buf_deinit(&payload);
	buf_deinit(&bytes);
	return err;
}

static void test_lies(void **state)
{
	static const struct {
		uint8_t added[6]; /* strings, mappings, functions, locations, stacks, label sets */
		const char *body;
		size_t len;
		int err;
	} cases[] = {
		/* no mapping changed, no name given */
		{{0}, "\0\0", 2, 0},
		/* a string, and one with a NUL in it */
		{{1}, "\1a\0\0", 4, 0},
		{{1}, "\1\0\0\0", 4, -EBADMSG},
		/* more of it than there are bytes */
		{{100}, "\1a\0\0", 4, -EBADMSG},
		/* a mapping that changed and is not there, and more than there are bytes */
		{{0}, "\1\0\0\0\0\0\0", 7, -EBADMSG},
		{{0}, "\x7f\0\0\0\0\0\0", 7, -EBADMSG},
		/* a function whose name is string -1 */
		{{0, 0, 1}, "\0\1\0\0\0\0", 6, -EBADMSG},
		{{0, 0, 1}, "\0\0\0\0\0\0", 6, 0},
		/* a name for a location that is not there */
		{{0}, "\0\1\0\0", 4, -EBADMSG},
		/* a location in no mapping, without lines; with more lines than there are bytes;
		 * with one of a function that is not there */
		{{0, 0, 0, 1}, "\0\0\0\0\0\0", 6, 0},
		{{0, 0, 0, 1}, "\0\0\0\0\x7f\0", 6, -EBADMSG},
		{{0, 0, 0, 1}, "\0\0\0\0\1\0\0\0", 8, -EBADMSG},
		/* of mapping 0, which is not there */
		{{0, 0, 0, 1}, "\0\1\0\0\0\0", 6, -EBADMSG},
		/* an empty stack; one that keeps a frame of the one before; one of a frame that is
		 * not there; one of more frames than there are bytes */
		{{0, 0, 0, 0, 1}, "\0\0\0\0", 4, 0},
		{{0, 0, 0, 0, 1}, "\0\0\1\0", 4, -EBADMSG},
		{{0, 0, 0, 0, 1}, "\0\0\0\1\0", 5, -EBADMSG},
		{{0, 0, 0, 0, 1}, "\0\0\0\x7f\0", 5, -EBADMSG},
		/* an empty set of labels; one of more than there are bytes; a key that is not
		 * there; a text that is not there; a number's unit that is not there */
		{{0, 0, 0, 0, 0, 1}, "\0\0\0", 3, 0},
		{{0, 0, 0, 0, 0, 1}, "\0\0\x7f", 3, -EBADMSG},
		{{0, 0, 0, 0, 0, 1}, "\0\0\1\1\1", 5, -EBADMSG},
		{{0, 0, 0, 0, 0, 1}, "\0\0\1\0\2", 5, -EBADMSG},
		{{0, 0, 0, 0, 0, 1}, "\0\0\1\0\1", 5, 0},
		{{0, 0, 0, 0, 0, 1}, "\0\0\1\0\0\2\1", 7, -EBADMSG},
		{{0, 0, 0, 0, 0, 1}, "\0\0\1\0\0\2\0", 7, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err = decode_made(cases[i].added, cases[i].body, cases[i].len);

		if (err != cases[i].err)
			fail_msg("case %zu: %d", i, err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_padding, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flipped, set_up, tear_down),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
