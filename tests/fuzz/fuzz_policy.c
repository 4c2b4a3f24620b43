/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: policies, which come from elsewhere. What is read is printed, and then read back as
 * it was; what it decides is within its bounds, for any host, service and time. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void decide(const struct policy *policy, uint64_t now_ns)
{
	static const struct fixed_label labels[] = {{"env", "prod"}, {"zone", ""}};
	static const struct policy_facts facts = {labels, 2, "web-1"};
	static const char *const services[] = {NULL, "", "shop", "a,b=c"};
	const bool records = policy_records(policy, &facts, now_ns);
	struct policy_verdict verdict;

	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
		policy_decide(policy, &facts, services[i], now_ns, &verdict);
		if (!(verdict.chance > 0 && verdict.chance <= 1) || (verdict.is_on && !records) ||
		    (verdict.is_kept && !verdict.is_on))
			abort();
	}
	if (policy_next_change_ns(policy, now_ns) <= now_ns)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct config config, again;
	struct buf why, out, more;
	int err;

	buf_init(&why, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	buf_init(&more, BUF_NO_MAX);
	err = config_parse_policy("x", (const char *)data, len, &config, &why);
	if (err == -EINVAL && strncmp(buf_cstr(&why), "x:", 2))
		abort();
	if (!err) {
		decide(&config.policy, 0);
		decide(&config.policy, 1795176000000000000);
		config_print_sections(&config, &out);
		if (config_parse_policy("x", buf_cstr(&out), out.len, &again, &why))
			abort();
		config_print_sections(&again, &more);
		if (strcmp(buf_cstr(&out), buf_cstr(&more)))
			abort();
		config_deinit(&again);
	}
	config_deinit(&config);
	buf_deinit(&why);
	buf_deinit(&out);
	buf_deinit(&more);
	return 0;
}
