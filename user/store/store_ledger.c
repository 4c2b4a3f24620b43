/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers as they are stored: the JSON of profile/ledger.h, compressed. */
#include <errno.h>

#include "base/cleanup.h"
#include "store/blob.h"
#include "store/store_priv.h"

int store_pack_ledger(const struct ledger *ledger, uint64_t seq, int level, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf json;

	buf_init(&json, BUF_NO_MAX);
	ledger_to_json(ledger, &json);
	return blob_pack(&json, blob_place(BLOB_LEDGER, seq, 0), level, out);
}

int store_unpack_ledger(const void *data, size_t len, uint64_t seq, struct ledger *out)
{
	_cleanup_(buf_deinit) struct buf json;
	int err;

	buf_init(&json, BLOB_MAX_BYTES);
	err = blob_unpack(data, len, blob_place(BLOB_LEDGER, seq, 0), &json);
	return err ? err : ledger_from_json(buf_cstr(&json), json.len, out);
}
