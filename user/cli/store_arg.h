/* SPDX-License-Identifier: Apache-2.0 */
/* --store: which store is meant, and what is said where it cannot be read. */
#ifndef BPFPROF_CLI_STORE_ARG_H
#define BPFPROF_CLI_STORE_ARG_H

#include "store/source.h"
#include "store/store_probe.h"

/* For the help of the commands that take one. */
#define STORE_ARG_HELP "the local store: a file, or sqlite:FILE (default: " STORE_DEFAULT_PATH ")"
#define STORE_ARG_ANY_HELP                                                                 \
	"the local store: a file, or sqlite:FILE (default: " STORE_DEFAULT_PATH "), or a " \
	"fleet's: clickhouse://[USER[:PASSWORD]@]HOST[:PORT][,HOST...][/DATABASE]"

/* The file that @url (NULL: the default) names, into *@out (borrowed from @url). 0, or -EINVAL
 * after log_error(): another kind of store. */
int store_arg_path(const char *url, const char **out);

/* The same where a fleet's store will do: @url itself, then. */
int store_arg_url(const char *url, const char **out);

/* store_probe(), with a log_error() that names the store and how to mend it; a newer one is
 * -EPROTO, too. */
int store_arg_probe(const char *path, struct store_probe *out);

/* Open the store at @path, which store_arg_path() gave, to be read. 0, or negative errno after
 * log_error(). *@out is owned (store_close()). */
int store_arg_open(const char *path, struct store **out);

/* The same for those who only ask, of what store_arg_url() gave; *@out is owned
 * (store_source_close()). */
int store_arg_open_source(const char *url, struct store_source **out);

/* How the store that store_arg_url() gave is called in messages: without a password. Owned; NULL
 * when memory is out. */
char *store_arg_name(const char *url);

/* The same, for what sinks have to be noted in it. */
int store_arg_open_to_ship(const char *path, struct store **out);

#endif
