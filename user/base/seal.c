/* SPDX-License-Identifier: Apache-2.0 */
/* Joining the parts of a file below its seal. */
#include "base/seal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hmap.h"

void *seal_join(const struct seal_part *parts, size_t cnt, size_t *len)
{
	uint8_t *file, *pos;
	size_t bytes = 0;
	uint64_t checksum;

	for (size_t i = 0; i < cnt; i++)
		bytes += parts[i].len;
	assert(bytes >= sizeof(struct seal));
	file = pos = malloc(bytes);
	if (!file)
		return NULL;
	for (size_t i = 0; i < cnt; i++) {
		if (parts[i].len)
			memcpy(pos, parts[i].data, parts[i].len);
		pos += parts[i].len;
	}
	checksum = seal_checksum(file, bytes);
	memcpy(file + offsetof(struct seal, checksum), &checksum, sizeof(checksum));
	*len = bytes;
	return file;
}

int seal_check(const struct seal *seal, const struct seal *wanted)
{
	if (memcmp(seal->magic, wanted->magic, sizeof(seal->magic)) != 0)
		return -EBADMSG;
	return seal->format == wanted->format && seal->rules == wanted->rules ? 0 : -ESTALE;
}

uint64_t seal_checksum(const void *file, size_t len)
{
	return hash_bytes((const uint8_t *)file + sizeof(struct seal), len - sizeof(struct seal));
}
