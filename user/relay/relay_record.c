/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_record.h"

#include <errno.h>
#include <string.h>

#include "base/hmap.h"
#include "base/reader.h"

static const uint8_t magic[] = {'B', 'P', 'F', 'R'};

/* As it stands in a segment. */
struct head {
	uint8_t magic[sizeof(magic)];
	uint32_t len; /* of the message */
	uint64_t checksum; /* XXH3-64 of all behind it, mixed with the length */
	struct relay_record record;
};

_Static_assert(sizeof(struct head) == RELAY_RECORD_HEAD_BYTES, "no padding");

enum { SUMMED_AT = offsetof(struct head, record) };

/* @summed: what is behind the checksum, of a message of @len bytes. */
static uint64_t checksum_of(const void *summed, uint32_t len)
{
	return hash_mix(hash_bytes(summed, sizeof(struct relay_record) + len), len);
}

void relay_record_add(struct buf *out, const struct relay_record *record, const void *message,
		      size_t len)
{
	const size_t at = out->len;
	struct head head = {.len = (uint32_t)len, .record = *record};

	memcpy(head.magic, magic, sizeof(magic));
	buf_add(out, &head, sizeof(head));
	buf_add(out, message, len);
	if (out->err)
		return;
	head.checksum = checksum_of(out->data + at + SUMMED_AT, head.len);
	memcpy(out->data + at, &head, sizeof(head));
}

int relay_record_read(const void *data, size_t len, size_t at, struct relay_found *out)
{
	const void *bytes, *summed;
	struct reader rd;
	struct head head;

	reader_init(&rd, data, len);
	reader_seek(&rd, at);
	bytes = reader_bytes(&rd, sizeof(head));
	if (!bytes)
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.magic, magic, sizeof(magic)) != 0 || head.len > RELAY_RECORD_BYTES_MAX)
		return -EBADMSG;
	reader_seek(&rd, at + SUMMED_AT);
	summed = reader_bytes(&rd, sizeof(head.record) + head.len);
	if (!summed || checksum_of(summed, head.len) != head.checksum)
		return -EBADMSG;
	*out = (struct relay_found){
		.record = head.record, .at = at, .end = at + sizeof(head) + head.len};
	return 0;
}

int relay_record_find(const void *data, size_t len, size_t at, struct relay_found *out)
{
	const uint8_t *bytes = data, *next;

	while (at < len) {
		if (!relay_record_read(data, len, at, out))
			return 0;
		next = memmem(bytes + at + 1, len - at - 1, magic, sizeof(magic));
		if (!next)
			return -ENOENT;
		at = (size_t)(next - bytes);
	}
	return -ENOENT;
}
