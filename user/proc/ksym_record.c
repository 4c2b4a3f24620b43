/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a perf ring, one behind the other. */
#include "proc/ksym_record.h"

#include <linux/perf_event.h>

/* "u64 addr; u32 len; u16 ksym_type; u16 flags; char name[]; struct sample_id", the last of which
 * is the time alone. Names are padded with zeroes to 8 bytes. */
static void read_ksymbol(struct reader *body, struct ksym_record *out)
{
	uint16_t flags;

	out->ip = reader_u64(body);
	out->code_bytes = reader_u32(body);
	reader_u16(body);
	flags = reader_u16(body);
	out->kind =
		flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? KSYM_RECORD_WENT : KSYM_RECORD_CAME;
	out->name = reader_cstr(body, NULL);
	if (!body->err && reader_left(body) >= sizeof(out->time_ns))
		reader_skip(body, reader_left(body) - sizeof(out->time_ns));
	out->time_ns = reader_u64(body);
}

bool ksym_record_next(struct reader *rd, struct ksym_record *out)
{
	struct ksym_record record = {.kind = KSYM_RECORD_OTHER};
	struct reader body;
	uint32_t type;
	uint16_t size;

	if (reader_done(rd))
		return false;
	type = reader_u32(rd);
	reader_u16(rd);
	size = reader_u16(rd);
	if (size < sizeof(struct perf_event_header))
		reader_fail(rd);
	if (rd->err)
		return false;
	body = reader_sub(rd, size - sizeof(struct perf_event_header));
	if (type == PERF_RECORD_KSYMBOL)
		read_ksymbol(&body, &record);
	else if (type == PERF_RECORD_LOST)
		record.kind = KSYM_RECORD_LOST;
	if (body.err)
		reader_fail(rd);
	if (rd->err)
		return false;
	*out = record;
	return true;
}
