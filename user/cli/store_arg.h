/* SPDX-License-Identifier: Apache-2.0 */
/* --store: which store is meant, and what is said where it cannot be read. */
#ifndef BPFPROF_CLI_STORE_ARG_H
#define BPFPROF_CLI_STORE_ARG_H

#include "store/source.h"
#include "store/store_probe.h"

/* For the help of the commands that take one. */
#define STORE_ARG_HELP "the local store: a file, or sqlite:FILE (default: " STORE_DEFAULT_PATH ")"

/* The file that @url (NULL: the default) names, into *@out (borrowed from @url). 0, or -EINVAL
 * after log_error(): another kind of store. */
int store_arg_path(const char *url, const char **out);

/* store_probe(), with a log_error() that names the store and how to mend it; a newer one is
 * -EPROTO, too. */
int store_arg_probe(const char *path, struct store_probe *out);

/* Open the store at @path, which store_arg_path() gave, to be read. 0, or negative errno after
 * log_error(). *@out is owned (store_close()). */
int store_arg_open(const char *path, struct store **out);

/* The same, for what sinks have to be noted in it. */
int store_arg_open_to_ship(const char *path, struct store **out);

/* The same for those who only ask; *@out is owned (store_source_close()). */
int store_arg_open_source(const char *path, struct store_source **out);

#endif
