/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confinement.h"

#include <string.h>

#include "base/confine.h"
#include "base/log.h"
#include "base/privilege.h"

static void enter(const struct confine_opts *opts)
{
	int err = confine(opts);

	if (err)
		log_debug("system calls are not restricted, because this kernel has no seccomp "
			  "filters for us: %s",
			  strerror(-err));
	else
		log_debug("from here on no program is executed and no process traced: the kernel "
			  "refuses%s",
			  opts->has_network || opts->serves ? "" : "; nor is the network used");
}

static void keep(unsigned int set)
{
	int err = privilege_keep(set);

	if (err)
		log_debug("capabilities are not given up: %s", strerror(-err));
}

/* Only root has any here: its own files, and those of whoever called sudo. */
static void keep_files(void)
{
	keep(PRIVILEGE_BIT(PRIVILEGE_DAC_READ_SEARCH) | PRIVILEGES_OUTPUT);
}

void confine_reader(bool has_network)
{
	const struct confine_opts opts = {.work = CONFINE_READING, .has_network = has_network};

	keep_files();
	enter(&opts);
}

void confine_server(bool has_network)
{
	const struct confine_opts opts = {
		.work = CONFINE_READING, .has_network = has_network, .serves = true};

	keep_files();
	enter(&opts);
}

static void drop_capabilities(const struct recorder *recorder)
{
	unsigned int set = PRIVILEGES_RUN;

	/* The library's cache may be in the home of whoever called sudo. */
	if (recorder->writes_as_others || recorder->has_network)
		set |= PRIVILEGES_OUTPUT;
	if (recorder->child)
		set |= PRIVILEGE_BIT(PRIVILEGE_KILL);
	keep(set);
}

void confine_recorder(const struct recorder *recorder)
{
	const struct confine_opts opts = {
		.work = CONFINE_RECORDING,
		.has_network = recorder->has_network,
		.child = recorder->child,
		.is_agent = recorder->is_agent,
		.serves = recorder->is_agent,
	};

	drop_capabilities(recorder);
	enter(&opts);
}
