/* SPDX-License-Identifier: Apache-2.0 */
/* From an option's text to what goes into the event's programs. */
#include "capture/sampler_exprs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "capture/capture.h"

static void expr_freep(struct expr **expr)
{
	expr_free(*expr);
}

static int compile(const char *text, const struct expr_env *env, struct expr_code **out,
		   struct buf *why)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct expr_code *code;
	int err = expr_parse(text, env, &expr, why);

	if (err)
		return err;
	code = malloc(sizeof(*code));
	if (!code)
		return -ENOMEM;
	err = expr_compile(expr, code, why);
	if (err)
		free(code);
	else
		*out = code;
	return err;
}

/* The places of a USDT probe have their arguments each somewhere else. */
static int check_usdt(const struct event *event, struct buf *why)
{
	for (size_t i = 1; i < event->site_cnt; i++)
		if (strcmp(event->sites[i].usdt_args, event->sites[0].usdt_args)) {
			buf_add_str(why, "its places have their arguments in different registers: "
					 "expressions are for one place");
			return -EOPNOTSUPP;
		}
	return 0;
}

/* A counter has nothing to weigh or to count by. */
static int check_use(const struct event *event, enum bp_expr_use use, struct buf *why)
{
	if (event->spec.kind == EVENT_COUNTER && use != BP_EXPR_WHERE) {
		buf_add_str(why,
			    "it is a counter, and has no arguments: for tracepoints and probes");
		return -EINVAL;
	}
	return event->spec.kind == EVENT_USDT && event->site_cnt ? check_usdt(event, why) : 0;
}

int sampler_exprs_compile(const struct event *event, const struct capture_opts *opts,
			  struct sampler_exprs *exprs)
{
	static const char *const names[] = {
		[BP_EXPR_WHERE] = "--where",
		[BP_EXPR_WEIGHT] = "--weight",
		[BP_EXPR_HIST] = "--hist",
	};
	const char *const texts[] = {
		[BP_EXPR_WHERE] = opts->where,
		[BP_EXPR_WEIGHT] = opts->weight,
		[BP_EXPR_HIST] = opts->hist,
	};
	const struct expr_env env = {
		.kind = event->spec.kind,
		.arch = EVENT_ARCH_HOST,
		.fields = event->fields,
		.field_cnt = event->field_cnt,
		.usdt_args = event->site_cnt ? event->sites[0].usdt_args : NULL,
	};

	for (uint32_t use = 0; use < BP_EXPR_USES; use++) {
		_cleanup_(buf_deinit) struct buf why;
		int err;

		buf_init(&why, BUF_NO_MAX);
		if (!texts[use])
			continue;
		err = check_use(event, use, &why);
		if (!err)
			err = compile(texts[use], &env, &exprs->codes[use], &why);
		if (err) {
			log_error("event '%s': option '%s': %s", event->name, names[use],
				  buf_error_text(&why, err));
			return err;
		}
	}
	return 0;
}

void sampler_exprs_deinit(struct sampler_exprs *exprs)
{
	for (uint32_t use = 0; use < BP_EXPR_USES; use++)
		free(exprs->codes[use]);
	*exprs = (struct sampler_exprs){0};
}
