/* SPDX-License-Identifier: Apache-2.0 */
/* Who a sample belongs to, as labels of the profile. */
#ifndef BPFPROF_CAPTURE_LABELS_H
#define BPFPROF_CAPTURE_LABELS_H

#include "abi.h"
#include "profile/profile.h"

/* The label set of @who with the fields in @by (enum capture_by; 0 is BY_COMM). PROFILE_NONE on
 * -ENOMEM. */
uint32_t labels_of(struct profile *prof, const struct bp_who *who, uint32_t by);

/* The labels of @label_set and "event". PROFILE_NONE on -ENOMEM. */
uint32_t labels_of_event(struct profile *prof, uint32_t label_set, const char *event);

#endif
