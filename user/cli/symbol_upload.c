/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbol_upload.h"

#include <errno.h>

#include "base/cleanup.h"
#include "fleet/fleet_symbols.h"
#include "symbol/symbol_table.h"

/* Is it for us to do? */
static int claim(const struct symbol_uploader *uploader, const struct fleet_table_key *key,
		 bool *is_ours)
{
	bool is_there;
	int err;

	if (!uploader->is_alone)
		return fleet_symbols_claim(uploader->client, key, is_ours);
	err = fleet_symbols_has(uploader->client, key, &is_there);
	*is_ours = !is_there;
	return err;
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
	if (!data)
		return -errno;
	err = fleet_symbols_put(uploader->client, &key, data, len, sent_out);
	return err ? err : 1;
}
