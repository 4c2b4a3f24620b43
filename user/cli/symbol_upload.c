/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbol_upload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clickhouse/schema.h"
#include "fleet/fleet_symbols.h"
#include "symbol/symbol_table.h"

/* --- The way --- */

int symbol_uploader_open(struct symbol_uploader *uploader, const char *url,
			 const struct http_opts *http)
{
	const struct sink_opts opts = {
		.host_id = "",
		.bytes_per_s = http->send_bytes_per_s,
		.is_cancelled = http->is_cancelled,
		.arg = http->arg,
	};
	const char *why = "no URL of a fleet's store or of a relay";
	int err = -EINVAL;

	if (relay_symbols_is_url(url))
		return relay_symbols_open(url, &opts, &uploader->relay, uploader->why);
	if (ch_url_is(url))
		err = ch_client_open(url, http, &uploader->client, &why);
	if (err)
		buf_add_str(uploader->why, err == -EINVAL ? why : strerror(-err));
	return err;
}

void symbol_uploader_close(struct symbol_uploader *uploader)
{
	ch_client_close(uploader->client);
	if (uploader->relay)
		remote_close(&uploader->relay->sink);
}

/* --- What is wanted --- */

/* relay_wanted_fn */
static int take_wanted(void *arg, const struct relay_wanted *wanted)
{
	struct fleet_modules *modules = arg;
	struct fleet_module *module;

	if (array_reserve(&modules->items, &modules->cap, modules->cnt + 1,
			  sizeof(*modules->items)))
		return -ENOMEM;
	module = &modules->items[modules->cnt++];
	*module = (struct fleet_module){
		.build_id = strdup(wanted->build_id),
		.path = strdup(wanted->path),
		.why = wanted->needs_lines ? "no_lines" : "no_file",
	};
	return module->build_id && module->path ? 0 : -ENOMEM;
}

int symbol_uploader_wanted(const struct symbol_uploader *uploader, struct fleet_modules *out)
{
	struct relay_symbols ask = {.step = RELAY_SYMBOLS_ASK, .host = uploader->host};
	enum relay_symbols_answer answer;
	int err;

	*out = (struct fleet_modules){.cnt = 0};
	symbol_table_format(ask.format);
	if (!uploader->client)
		return relay_symbols_send(uploader->relay, &ask, &answer, take_wanted, out,
					  uploader->why);
	err = fleet_schema_check(uploader->client, uploader->why);
	return err ? err : fleet_symbols_wanted(uploader->client, ask.format, out);
}

/* --- Uploading --- */

/* @key to the relay, with @table (NULL: it is claimed). 0 with what it answers, or negative errno.
 */
static int send_to_relay(const struct symbol_uploader *uploader, const struct fleet_table_key *key,
			 const struct buf *table, enum relay_symbols_answer *out)
{
	struct relay_symbols symbols = {
		.step = table ? RELAY_SYMBOLS_TABLE : RELAY_SYMBOLS_CLAIM,
		.host = key->host,
		.table = table ? table->data : NULL,
		.table_len = table ? table->len : 0,
	};

	snprintf(symbols.format, sizeof(symbols.format), "%s", key->format);
	snprintf(symbols.build_id, sizeof(symbols.build_id), "%s", key->build_id);
	snprintf(symbols.path, sizeof(symbols.path), "%s", key->path);
	return relay_symbols_send(uploader->relay, &symbols, out, NULL, NULL, uploader->why);
}

static int claim_from_relay(const struct symbol_uploader *uploader,
			    const struct fleet_table_key *key, bool *is_ours)
{
	enum relay_symbols_answer answer = RELAY_SYMBOLS_OURS;
	int err = uploader->is_alone ? 0 : send_to_relay(uploader, key, NULL, &answer);

	*is_ours = !err && answer == RELAY_SYMBOLS_OURS;
	return err;
}

/* Is it for us to do? */
static int claim(const struct symbol_uploader *uploader, const struct fleet_table_key *key,
		 bool *is_ours)
{
	bool is_there;
	int err;

	if (!uploader->client)
		return claim_from_relay(uploader, key, is_ours);
	if (!uploader->is_alone)
		return fleet_symbols_claim(uploader->client, key, is_ours);
	err = fleet_symbols_has(uploader->client, key, &is_there);
	*is_ours = !is_there;
	return err;
}

/* 1; 0: it was there; or negative errno. */
static int put(const struct symbol_uploader *uploader, const struct fleet_table_key *key,
	       const void *data, size_t len, uint64_t *sent_out)
{
	_cleanup_(buf_deinit) struct buf packed;
	enum relay_symbols_answer answer = RELAY_SYMBOLS_STORED;
	int err;

	buf_init(&packed, FLEET_TABLE_BYTES_MAX);
	err = fleet_symbols_pack(key->build_id, data, len, &packed);
	if (err)
		return err;
	if (uploader->client)
		err = fleet_symbols_put(uploader->client, key, packed.data, packed.len);
	else
		err = send_to_relay(uploader, key, &packed, &answer);
	if (err)
		return err;
	*sent_out = packed.len;
	return answer == RELAY_SYMBOLS_STORED;
}

int symbol_upload(const struct symbol_uploader *uploader, const struct module *module,
		  const char *build_id, bool needs_lines, uint64_t *sent_out)
{
	_cleanup_free_ void *data = NULL;
	char format[SYMBOL_TABLE_FORMAT_BYTES];
	const struct fleet_table_key key = {
		.build_id = build_id,
		.path = module->path,
		.format = format,
		.host = uploader->host,
	};
	bool is_ours;
	size_t len;
	int err;

	symbol_table_format(format);
	/* Before the claim, which keeps others from it. */
	if (!symbol_table_is_there(module, uploader->sources, needs_lines))
		return -ENOENT;
	err = claim(uploader, &key, &is_ours);
	if (err || !is_ours)
		return err;
	data = symbol_table_make(module, uploader->sources, needs_lines, &len);
	return data ? put(uploader, &key, data, len, sent_out) : -errno;
}
