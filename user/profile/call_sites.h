/* SPDX-License-Identifier: Apache-2.0 */
/* --by caller: stacks of two frames, the function that was entered and the call, become a label. */
#ifndef BPFPROF_PROFILE_CALL_SITES_H
#define BPFPROF_PROFILE_CALL_SITES_H

#include "profile/profile.h"

/*
 * Give each sample the label "caller" with its call's function and line, "main (main.c:12)", or
 * where it is in its image, "[a.out+0x1234]": the second location of its stack. The profile must
 * have its names. 0 or -ENOMEM. Time: linear.
 */
int call_sites_label(struct profile *prof);

#endif
