/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof agent`: what was asked for, on the command line and in a file. */
#ifndef BPFPROF_AGENT_AGENT_OPTS_H
#define BPFPROF_AGENT_AGENT_OPTS_H

#include "agent/config.h"
#include "agent/relabel.h"
#include "cli/record.h"

#define AGENT_LISTEN_NONE "none"

enum { AGENT_SINKS_MAX = 8 };

/* Where the HTTP side listens, and whom it lets in; borrowed from the options. */
struct agent_listen {
	const char *address; /* "127.0.0.1:7337"; AGENT_LISTEN_NONE: nowhere */
	bool is_default; /* nobody has asked for it */
	const char *token_file, *tls_cert, *tls_key; /* NULL: none */
};

#define AGENT_PIN_DIR "/sys/fs/bpf/bpfprof"

struct agent_opts {
	const char *config_path; /* NULL: none */
	bool check_config;
	const char *policy_path; /* or http:, https: URL; NULL: none */
	uint64_t policy_every_ns; /* asked for so often, about */
	char *policy_copy; /* owned: where what was fetched is; NULL: it is no URL */
	const char *store;
	uint64_t retain_ns, max_store_bytes, compact_after_ns; /* 0: no bound, never */
	bool off_cpu, inlines;
	double max_cpu_percent;
	struct opts_list labels;
	struct opts_list sinks; /* URLs; those of sections are in config */
	bool upload_symbols;
	const char *pin_dir; /* "none": nothing is pinned */
	bool detach;
	struct agent_listen listen;
	struct record_opts record;

	struct config config; /* what the fields borrow from, and policies */
	struct config policy_file; /* the same of the policy */
	struct policy policy; /* the rules of both; dropped */
	char host[65]; /* as the kernel has it */
	struct fixed_label *fixed; /* owned: of labels */
	char *label_text; /* owned: what @fixed borrows */
	size_t fixed_cnt;
};

/*
 * Defaults, then the file of --config, then the command line, then the policy. True: go on. False:
 * leave with
 * *@status_out. Release with agent_opts_deinit() in either case.
 */
bool agent_opts_parse(struct agent_opts *opts, int argc, char **argv, int *status_out);

/*
 * The same while the agent runs, @has_policy: with the policy; nothing is printed. 0, or negative
 * errno with one line in @why: then @opts is released already.
 */
int agent_opts_reload(struct agent_opts *opts, int argc, char **argv, bool has_policy,
		      struct buf *why);
void agent_opts_deinit(struct agent_opts *opts);

/* The file of --store, borrowed. */
const char *agent_opts_store_file(const struct agent_opts *opts);

/* Is the policy fetched? */
bool agent_opts_policy_is_url(const struct agent_opts *opts);

/* The file that the policy is read from, borrowed; NULL: there is none. */
const char *agent_opts_policy_file(const struct agent_opts *opts);

/* Whom the policy's rules are matched with; borrowed. */
struct policy_facts agent_opts_facts(const struct agent_opts *opts);

/* Append the configuration in force, as a file would have it. */
void agent_opts_print(const struct agent_opts *opts, struct buf *out);

/* Do both record the same, so that a change from one to the other needs no new recording? -ENOMEM
 * counts as different. */
bool agent_opts_record_alike(const struct agent_opts *left, const struct agent_opts *right);

/* The same but for what is recorded of waits. */
bool agent_opts_events_alike(const struct agent_opts *left, const struct agent_opts *right);

/* Do both ship to the same sinks? -ENOMEM counts as different. */
bool agent_opts_ship_alike(const struct agent_opts *left, const struct agent_opts *right);

#endif
