/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration file: lines "key = value", where every key is an option's long name; a key that
 * is repeated appends where its option does. "[service GLOB]" begins the policy of the services
 * whose names match, "[policy SELECTOR]" a rule (policy.h), "[sink NAME]" a sink. Lines that begin
 * with '#' or ';' are comments.
 */
#ifndef BPFPROF_AGENT_CONFIG_H
#define BPFPROF_AGENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/policy.h"
#include "base/buf.h"
#include "cli/opts.h"

enum { CONFIG_MAX_BYTES = 1 << 20, CONFIG_VERSION_MAX = 12 + 1 };

/* What is done with the samples of services. */
struct service_policy {
	const char *glob; /* borrowed from the configuration's text */
	bool enabled; /* else they are not stored */
};

/* Where windows are shipped. Strings are borrowed as above. */
struct sink_config {
	const char *name; /* of its cursor; NULL: its URL without the password */
	const char *url; /* NULL: it has none, which is wrong */
	uint64_t max_rate; /* bytes per second; 0: no bound */
};

struct config {
	char *text; /* owned: the file, cut into strings, which options borrow */
	struct service_policy *policies; /* owned */
	size_t policy_cnt, policy_cap;
	struct policy policy; /* owned */
	char version[CONFIG_VERSION_MAX]; /* of a policy: its SHA-256's first hexadecimal digits */
	struct sink_config *sinks; /* owned */
	size_t sink_cnt, sink_cap;
};

/*
 * Read @len bytes of @text, which file @path (for messages) holds, into @target, which @spec
 * describes, and @out. 0; -EINVAL with "PATH:LINE: what is wrong with which key" in @why; -ENOMEM.
 * @target borrows from @out: config_deinit() comes after opts_deinit(), in any case.
 */
int config_parse(const char *path, const char *text, size_t len, const struct opts_spec *spec,
		 void *target, struct config *out, struct buf *why);

/* The same of what is in the file. Other negative errno too: it cannot be read, and @why says so.
 */
int config_read(const char *path, const struct opts_spec *spec, void *target, struct config *out,
		struct buf *why);

/* The same of a file that has nothing but sections [policy SELECTOR]. */
int config_parse_policy(const char *path, const char *text, size_t len, struct config *out,
			struct buf *why);
int config_read_policy(const char *path, struct config *out, struct buf *why);
void config_deinit(struct config *config);

/* Append the sections as they stand in a file. */
void config_print_sections(const struct config *config, struct buf *out);

/* May samples of @service be stored? The last policy that matches decides. */
bool config_allows(const struct config *config, const char *service);

#endif
