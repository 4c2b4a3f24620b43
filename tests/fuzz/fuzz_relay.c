/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a relay reads: a message of an agent, a segment of its spool, a file of tokens, a message
 * about symbols, and what it answers to that; the first byte chooses. Messages get the seal that
 * they should have, and are then what they are written as again; the records of a segment lie one
 * behind the other within it; no token is in an error.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/seal.h"
#include "clickhouse/native_read.h"
#include "clickhouse/schema.h"
#include "fleet/fleet_symbols.h"
#include "relay/relay_aside.h"
#include "relay/relay_known.h"
#include "relay/relay_record.h"
#include "relay/relay_tokens.h"
#include "sink/relay_message.h"
#include "sink/relay_symbols.h"
#include "symbol/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool may(void *arg, const char *name, size_t len)
{
	uint64_t *sum = arg;

	for (size_t i = 0; i < len; i++)
		*sum += (unsigned char)name[i];
	return true;
}

/* All of them twice in @twice, which are as many again of what is new of the dictionary. */
static void check_merge(const struct fleet_blocks *blocks, struct fleet_blocks *twice)
{
	struct relay_known known;

	relay_known_init(&known);
	for (size_t i = 0; i < 2 * FLEET_BLOCK_CNT; i++) {
		const struct native_block *from = &blocks->of[i % FLEET_BLOCK_CNT];
		struct native_block *to = &twice->of[i % FLEET_BLOCK_CNT];
		_cleanup_free_ bool *keep = NULL;

		if (!relay_known_choose(&known, i % FLEET_BLOCK_CNT, from, &keep) &&
		    !native_append(to, from, keep) && !keep && i >= FLEET_BLOCK_CNT &&
		    to->row_cnt != 2 * from->row_cnt)
			abort();
	}
	relay_known_deinit(&known);
}

static void check_written(const struct relay_head *head, const struct fleet_blocks *blocks)
{
	struct fleet_blocks again;
	struct relay_head other;
	struct buf message;

	buf_init(&message, BUF_NO_MAX);
	if (fleet_blocks_init(&again) || relay_message_write(head, blocks, &message) ||
	    relay_message_read(message.data, message.len, &other, &again) ||
	    other.epoch != head->epoch || strcmp(other.id, head->id) != 0 ||
	    strcmp(other.name, head->name) != 0)
		abort();
	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++)
		if (again.of[i].row_cnt != blocks->of[i].row_cnt)
			abort();
	fleet_blocks_deinit(&again);
	buf_deinit(&message);
}

/* @data behind @seal, with its checksum: *owned*, *@len of them. */
static uint8_t *seal_data(struct seal seal, const uint8_t *data, size_t size, size_t *len)
{
	uint8_t *message = malloc(sizeof(seal) + size);

	if (!message)
		abort();
	*len = sizeof(seal) + size;
	memcpy(message, &seal, sizeof(seal));
	memcpy(message + sizeof(seal), data, size);
	seal.checksum = seal_checksum(message, *len);
	memcpy(message, &seal, sizeof(seal));
	return message;
}

static void check_message(const uint8_t *data, size_t size)
{
	const struct seal seal = {.magic = {'B', 'P', 'F', 'R', 'E', 'L', 'A', 'Y'},
				  .format = RELAY_MESSAGE_VERSION,
				  .rules = FLEET_SCHEMA_VERSION};
	size_t len;
	_cleanup_free_ uint8_t *message = seal_data(seal, data, size, &len);
	struct fleet_blocks blocks, other;
	struct relay_head head;
	struct buf why;
	uint64_t sum = 0;

	if (fleet_blocks_init(&blocks) || fleet_blocks_init(&other))
		abort();
	buf_init(&why, BUF_NO_MAX);
	if (!relay_message_read(message, len, &head, &blocks)) {
		check_written(&head, &blocks);
		check_merge(&blocks, &other);
		if (relay_message_check(&head, &blocks, may, &sum, &why) && !why.len)
			abort();
		if (fleet_blocks_reset(&other) ||
		    relay_aside_tombstones(&blocks.of[FLEET_BATCHES], &other.of[FLEET_BATCHES]))
			abort();
	}
	fleet_blocks_deinit(&blocks);
	fleet_blocks_deinit(&other);
	buf_deinit(&why);
}

/* As a relay takes it apart, and it is written to its disk under its build-id. */
static void check_symbols(const uint8_t *data, size_t size)
{
	const struct seal seal = {.magic = {'B', 'P', 'F', 'S', 'Y', 'M', 'B', 'S'},
				  .format = RELAY_SYMBOLS_VERSION,
				  .rules = FLEET_SCHEMA_VERSION};
	size_t len;
	_cleanup_free_ uint8_t *message = seal_data(seal, data, size, &len);
	struct relay_symbols symbols;
	struct name_table table;
	struct buf again, plain;

	if (relay_symbols_read(message, len, &symbols))
		return;
	buf_init(&again, BUF_NO_MAX);
	buf_init(&plain, BUF_NO_MAX);
	if (strspn(symbols.build_id, "0123456789abcdef") != strlen(symbols.build_id) ||
	    (!*symbols.build_id && symbols.step != RELAY_SYMBOLS_ASK) ||
	    relay_symbols_write(&symbols, &again) || again.len > len ||
	    relay_symbols_read(again.data, again.len, &symbols))
		abort();
	if (symbols.step == RELAY_SYMBOLS_TABLE &&
	    !fleet_symbols_unpack(symbols.build_id, symbols.table, symbols.table_len, &plain))
		symbol_table_read(plain.data, plain.len, &table);
	buf_deinit(&again);
	buf_deinit(&plain);
}

static int write_wanted(void *arg, const struct relay_wanted *wanted)
{
	relay_answer_add(wanted->build_id, wanted->path, wanted->needs_lines, arg);
	return 0;
}

static void check_answer(const uint8_t *data, size_t size)
{
	const struct seal seal = {.magic = {'B', 'P', 'F', 'W', 'A', 'N', 'T', 'S'},
				  .format = RELAY_SYMBOLS_VERSION,
				  .rules = FLEET_SCHEMA_VERSION};
	size_t len;
	_cleanup_free_ uint8_t *answer = seal_data(seal, data, size, &len);
	enum relay_symbols_answer what, other;
	struct buf again, rows;

	buf_init(&again, BUF_NO_MAX);
	buf_init(&rows, BUF_NO_MAX);
	if (!relay_answer_read(answer, len, &what, write_wanted, &rows)) {
		relay_answer_begin(what, &again);
		buf_add(&again, rows.data, rows.len);
		if (relay_answer_end(&again) ||
		    relay_answer_read(again.data, again.len, &other, NULL, NULL) || other != what)
			abort();
	}
	buf_deinit(&again);
	buf_deinit(&rows);
}

static void check_segment(const uint8_t *data, size_t size)
{
	struct relay_found found, again;
	size_t at = 0;

	while (!relay_record_find(data, size, at, &found)) {
		if (found.at < at || found.end > size ||
		    found.end < found.at + RELAY_RECORD_HEAD_BYTES ||
		    relay_record_read(data, size, found.at, &again) || again.end != found.end)
			abort();
		at = found.end;
	}
}

static void check_tokens(const uint8_t *data, size_t size)
{
	struct relay_token_list list;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (!relay_token_list_parse(strndup((const char *)data, size), &list, &why)) {
		for (size_t i = 0; i < list.cnt; i++) {
			const char *token = list.items[i].token;

			if (!relay_token_list_allow(&list, token, strlen(token), NULL))
				abort();
		}
		relay_token_list_deinit(&list);
	} else if (!why.len) {
		abort();
	}
	buf_deinit(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 5) {
	case 0:
		check_message(data + 1, size - 1);
		break;
	case 1:
		check_segment(data + 1, size - 1);
		break;
	case 2:
		check_tokens(data + 1, size - 1);
		break;
	case 3:
		check_symbols(data + 1, size - 1);
		break;
	default:
		check_answer(data + 1, size - 1);
	}
	return 0;
}
