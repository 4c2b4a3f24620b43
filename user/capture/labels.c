/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: comm always, the rest as --by asks. */
#include "capture/labels.h"

#include <string.h>

#include "capture/capture.h"

enum { LABELS_MAX = 12 };

struct label_list {
	struct profile_label items[LABELS_MAX];
	size_t cnt;
};

static void add_str(struct profile *prof, struct label_list *list, const char *key,
		    const char *value, size_t max)
{
	list->items[list->cnt++] = (struct profile_label){
		.key = profile_string(prof, key),
		.str = profile_stringn(prof, value, strnlen(value, max)),
	};
}

static void add_num(struct profile *prof, struct label_list *list, const char *key, int64_t value)
{
	list->items[list->cnt++] = (struct profile_label){
		.key = profile_string(prof, key),
		.str = PROFILE_NONE,
		.num = value,
		.num_unit = STRTAB_EMPTY,
	};
}

uint32_t labels_of(struct profile *prof, const struct bp_who *who, uint32_t by)
{
	struct label_list list = {.cnt = 0};

	add_str(prof, &list, "comm", who->comm, sizeof(who->comm));
	if (by & BY_PROCESS)
		add_str(prof, &list, "process", who->process, sizeof(who->process));
	if (by & BY_PID)
		add_num(prof, &list, "pid", who->tgid);
	if (by & BY_START)
		add_num(prof, &list, "start", (int64_t)who->start_ns);
	if (by & BY_TID)
		add_num(prof, &list, "tid", who->tid);
	if (by & BY_UID)
		add_num(prof, &list, "uid", who->uid);
	if (by & BY_CPU)
		add_num(prof, &list, "cpu", (int64_t)who->cpu - 1);
	if (by & BY_CGROUP)
		add_num(prof, &list, "cgroup", who->cgroup_id);
	return profile_labels(prof, list.items, list.cnt);
}

uint32_t labels_of_event(struct profile *prof, uint32_t label_set, const char *event)
{
	const struct profile_label_set set = prof->label_sets[label_set];
	struct label_list list = {.cnt = 0};

	for (uint32_t i = 0; i < set.cnt && list.cnt + 1 < LABELS_MAX; i++)
		list.items[list.cnt++] = prof->labels[set.first + i];
	add_str(prof, &list, "event", event, SIZE_MAX);
	return profile_labels(prof, list.items, list.cnt);
}
