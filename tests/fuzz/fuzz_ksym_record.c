/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a ring's records of kernel code, and the map that they and a text of symbols make.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/kernel_map.h"

static const char base[] = "ffffffff81000000 T core\n"
			   "ffffffff81001000 T _etext\n"
			   "ffffffffc0000000 t function\t[module]\n"
			   "ffffffffc0100000 t bpf_prog_x\t[bpf]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void take(struct kernel_map *map, const struct ksym_record *record)
{
	if (record->kind == KSYM_RECORD_CAME)
		kernel_map_came(map, record, record->time_ns / 2);
	else if (record->kind == KSYM_RECORD_WENT)
		kernel_map_went(map, record);
	else if (record->kind == KSYM_RECORD_LOST)
		kernel_map_add(map, kallsyms_parse(base, sizeof(base) - 1), 1000);
}

/* Whoever is named as the owner has a name there. */
static void look(const struct kernel_map *map, const struct ksym_record *record)
{
	const char *owner = kernel_map_owner(map, record->ip, record->time_ns / 2, record->time_ns);
	struct kernel_name found;

	if (owner && (!*owner || kernel_map_find(map, record->ip, owner, &found)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct kernel_map *map = kernel_map_new();
	struct ksym_record record = {0};
	struct reader rd;

	if (!map || kernel_map_add(map, kallsyms_parse(base, sizeof(base) - 1), 0))
		abort();
	reader_init(&rd, data, len);
	while (ksym_record_next(&rd, &record)) {
		if ((record.kind == KSYM_RECORD_CAME || record.kind == KSYM_RECORD_WENT) &&
		    strlen(record.name) > len)
			abort();
		take(map, &record);
		look(map, &record);
	}
	kernel_map_forget(map, record.time_ns);
	kernel_map_free(map);
	return 0;
}
