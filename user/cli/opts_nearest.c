/* SPDX-License-Identifier: Apache-2.0 */
/* The option nearest to a mistyped one. */
#include "cli/opts.h"

#include "base/nearest.h"

static void offer_table(struct nearest *nearest, const struct opt *table)
{
	for (const struct opt *opt = table; opt->kind != OPT_END; opt++)
		if (opt->kind != OPT_GROUP && opt->long_name)
			nearest_offer(nearest, opt->long_name);
}

const char *opts_nearest(const struct opts_spec *spec, const char *name)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	offer_table(&nearest, spec->options);
	offer_table(&nearest, opts_common);
	return nearest.best;
}
