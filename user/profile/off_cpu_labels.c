/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/off_cpu_labels.h"

#include <string.h>

static const char who_key[] = "bpfprof.who", wait_key[] = "bpfprof.wait",
		  waker_key[] = "bpfprof.waker";

static struct profile_label number_label(struct profile *prof, const char *key, uint64_t number)
{
	return (struct profile_label){
		.key = profile_string(prof, key),
		.str = PROFILE_NONE,
		.num = (int64_t)number,
		.num_unit = STRTAB_EMPTY,
	};
}

uint32_t off_cpu_labels(struct profile *prof, uint32_t who_set, enum off_cpu_state state,
			uint32_t log2_ns, uint64_t waker)
{
	const struct profile_label labels[] = {
		number_label(prof, who_key, who_set),
		number_label(prof, wait_key, (uint64_t)state << 8 | log2_ns),
		number_label(prof, waker_key, waker),
	};

	return profile_labels(prof, labels, sizeof(labels) / sizeof(*labels));
}

uint32_t off_cpu_who(const struct profile *prof, uint32_t label_set)
{
	const struct profile_label_set *set = &prof->label_sets[label_set];

	for (uint32_t i = set->first; i < set->first + set->cnt; i++) {
		const struct profile_label *label = &prof->labels[i];

		if (!strcmp(profile_str(prof, label->key), who_key) && label->num >= 0 &&
		    (uint64_t)label->num < prof->label_set_cnt)
			return (uint32_t)label->num;
	}
	return label_set;
}

bool off_cpu_read_labels(const struct profile *prof, uint32_t set, struct off_cpu_wait *out)
{
	const struct profile_label_set *labels = &prof->label_sets[set];
	bool is_wait = false;

	for (uint32_t i = 0; i < labels->cnt; i++) {
		const struct profile_label *label = &prof->labels[labels->first + i];
		const char *key = profile_str(prof, label->key);

		if (!strcmp(key, who_key)) {
			out->who_set = (uint32_t)label->num;
		} else if (!strcmp(key, waker_key)) {
			out->waker = (uint64_t)label->num;
		} else if (!strcmp(key, wait_key)) {
			out->state = (enum off_cpu_state)(label->num >> 8);
			out->log2_ns = label->num & 0xff;
			is_wait = true;
		}
	}
	return is_wait;
}
