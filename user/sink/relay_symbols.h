/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of files on their way into a fleet's store through a relay: what a host asks of it, one
 * message at a time, and what it answers.
 *
 *	struct seal	kind and version, version of the tables, checksum of what follows
 *	u8		enum relay_symbols_step
 *	u64		the host, as rows have it
 *	text		of which kind tables are (symbol/symbol_table.h)
 *	text text	the file's build-id in hexadecimal, and its path; "": none is meant
 *	...		to the end: the table, compressed and sealed for its build-id
 *
 * The answer:
 *
 *	struct seal	likewise
 *	u8		enum relay_symbols_answer
 *	text text u8	build-id, path, and whether lines are needed, of each file that is wanted
 *
 * Texts are as in rowbinary.h. Neither side trusts the other.
 */
#ifndef BPFPROF_SINK_RELAY_SYMBOLS_H
#define BPFPROF_SINK_RELAY_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/remote.h"

#define RELAY_SYMBOLS_PATH "/relay/v1/symbols"

/* Is @text a build-id as hex_format() writes it, that has room here? */
bool relay_is_build_id(const char *text);

enum relay_symbols_step {
	RELAY_SYMBOLS_ASK = 1, /* which files' symbols are wanted? */
	RELAY_SYMBOLS_CLAIM, /* is that file's table for this host to make? */
	RELAY_SYMBOLS_TABLE, /* here it is */
};

enum relay_symbols_answer {
	RELAY_SYMBOLS_WANTED = 1, /* these */
	RELAY_SYMBOLS_OURS, /* make it */
	RELAY_SYMBOLS_OTHERS, /* it is not wanted, is there, or another host makes it */
	RELAY_SYMBOLS_STORED, /* it is on the relay's disk */
};

enum {
	RELAY_SYMBOLS_VERSION = 1,
	RELAY_BUILD_ID_MAX = 129, /* each with its NUL */
	RELAY_FORMAT_MAX = 32,
	RELAY_FILE_MAX = 4096,
	RELAY_WANTED_BYTES_MAX = 1 << 20, /* of an answer, about: what is behind it can wait */
};

struct relay_symbols {
	enum relay_symbols_step step;
	uint64_t host; /* neither 0 nor UINT64_MAX */
	char format[RELAY_FORMAT_MAX], build_id[RELAY_BUILD_ID_MAX], path[RELAY_FILE_MAX];
	const void *table; /* borrowed; NULL: none */
	size_t table_len;
};

/* Append the message. 0 or -ENOMEM. */
int relay_symbols_write(const struct relay_symbols *symbols, struct buf *out);

/*
 * Take @data of @len bytes apart into @out, whose table is borrowed from it, and not looked into.
 * 0; -EILSEQ: it is not what was sent; -ESTALE: of another version; -EBADMSG: it is no such
 * message, or lacks what its step needs.
 */
int relay_symbols_read(const void *data, size_t len, struct relay_symbols *out);

/* A file that is wanted. */
struct relay_wanted {
	char build_id[RELAY_BUILD_ID_MAX], path[RELAY_FILE_MAX];
	bool needs_lines;
};

/* Write an answer: begin, the files that are wanted, end: 0 or -ENOMEM. @out is empty before. */
void relay_answer_begin(enum relay_symbols_answer answer, struct buf *out);
void relay_answer_add(const char *build_id, const char *path, bool needs_lines, struct buf *out);
int relay_answer_end(struct buf *out);

/* What each file that is wanted is given to. 0, or negative errno: there is an end. */
typedef int relay_wanted_fn(void *arg, const struct relay_wanted *wanted);

/* Read one; what it wants goes to @take (NULL: nowhere). 0 with *@out; errors as above, or @take's.
 */
int relay_answer_read(const void *data, size_t len, enum relay_symbols_answer *out,
		      relay_wanted_fn *take, void *arg);

/* --- A host's side --- */

bool relay_symbols_is_url(const char *url);

/* As sink/relay.h has relays' URLs; what goes there is bounded by @opts. *@out is *owned*
 * (remote_close(), as a sink). 0, or negative errno with the reason in @why. */
int relay_symbols_open(const char *url, const struct sink_opts *opts, struct remote **out,
		       struct buf *why);

/*
 * Send @symbols to the relay whose turn it is. 0 with its *@out, and what it wants given to @take
 * (may be NULL) with @arg; -EFBIG: it takes no message of that size; -EPROTO: what answers is no
 * relay; or negative errno as remote_post(). @why has the reason.
 */
int relay_symbols_send(struct remote *remote, const struct relay_symbols *symbols,
		       enum relay_symbols_answer *out, relay_wanted_fn *take, void *arg,
		       struct buf *why);

#endif
