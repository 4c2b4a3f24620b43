/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a profile is headed with: as the options say, or made from the profile. Texts
 * are as recorded, not cleaned. */
#ifndef BPFPROF_ENCODE_CAPTION_H
#define BPFPROF_ENCODE_CAPTION_H

#include <stdint.h>

#include "base/buf.h"
#include "encode/encoder.h"

/* The value that is shown first, PROFILE_NONE: the profile has none. */
uint32_t caption_value(const struct profile *prof, const struct encoder_opts *opts);

/* "cpu-clock flame graph" */
void caption_add_title(struct buf *out, const struct profile *prof,
		       const struct encoder_opts *opts);

/* The event, its rate, how long, when. */
void caption_add_subtitle(struct buf *out, const struct profile *prof,
			  const struct encoder_opts *opts);

#endif
