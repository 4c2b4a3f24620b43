/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed option table. A command describes each option once, with its type and the field it
 * fills; parsing, --help, the man page and the shell completion are all made from that one table.
 *
 * What a command line may look like: `-F 99`, `-F99`, `--freq 99`, `--freq=99`, `-aqI` (bundled
 * flags, the last of which may take a value), `--no-FLAG` for negatable flags, `--` before what is
 * not an option. Abbreviated long options are refused, so that a script does not change its meaning
 * when an option is added. A value that begins with '-' and a letter is not taken from the next
 * argument (`-o --force` is a forgotten value): it must be attached, as in --title=-x-.
 */
#ifndef BPFPROF_CLI_OPTS_H
#define BPFPROF_CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/parse.h"

enum opt_kind {
	OPT_END, /* closes a table */
	OPT_GROUP, /* no option: a heading of --help, its text in .help */
	OPT_FLAG, /* bool */
	OPT_STRING, /* const char *: borrowed from argv; the last use wins, as for all single values
		     */
	OPT_LIST, /* struct opts_list: every use appends */
	OPT_NUMBER, /* uint64_t */
	OPT_COUNT, /* uint64_t; units of 1000 */
	OPT_BYTES, /* uint64_t; units of 1024 */
	OPT_DURATION, /* uint64_t, nanoseconds */
	OPT_PERCENT, /* double, 0 to 100 */
	OPT_NUMBERS, /* struct number_set: every use adds */
	OPT_CHOICE, /* struct opts_choices: one of .choices */
	OPT_CHOICES, /* struct opts_choices: comma list of .choices */
};

enum opt_flags {
	OPT_NEGATABLE = 1 << 0, /* --no-NAME clears; for a flag called no-NAME, --NAME does */
	OPT_IS_FILE = 1 << 1, /* the completion offers file names */
	OPT_VALUE_OPTIONAL = 1 << 2, /* of OPT_STRING: --NAME means --NAME= */
	OPT_NOT_IN_FILE = 1 << 3, /* on the command line alone */
	OPT_LIVE = 1 << 4, /* of who runs for ever: may change while he does */
};

/* A word and what it stands for: a bit for OPT_CHOICES, any number for OPT_CHOICE. */
struct opt_choice {
	const char *name; /* NULL ends the list */
	uint32_t value;
};

struct opt {
	enum opt_kind kind;
	char short_name; /* 0: none */
	const char *long_name; /* without "--"; NULL: none */
	const char *value_name; /* "HZ"; NULL for flags */
	const char *help;
	size_t offset; /* of the field in the command's struct: OPT_AT() */
	uint64_t min, max; /* of numbers; max 0: no bound */
	const struct opt_choice *choices;
	uint32_t flags; /* enum opt_flags */
};

/* Offset of @member, refused by the compiler unless it has exactly the @type that the kind fills.
 */
#define OPT_AT(owner, member, type)                                                            \
	(offsetof(owner, member) +                                                             \
	 0 * sizeof(struct {                                                                   \
		 _Static_assert(__builtin_types_compatible_p(__typeof__(((owner *)0)->member), \
							     type),                            \
				"an option's kind and its field's type differ");               \
		 int unused;                                                                   \
	 }))

struct opts_list {
	const char **items; /* owned array of borrowed strings, NULL-terminated once there is one */
	size_t cnt, cap;
};

struct opts_choices {
	const char *text; /* as typed, borrowed; NULL: not given */
	uint32_t bits; /* the values of all words, ORed */
};

struct opts_example {
	const char *line; /* NULL ends the list */
	const char *what;
};

struct opts_spec {
	const char *name; /* "record" */
	const char *usage; /* what follows "bpfprof " in the usage line */
	const char *summary; /* one line */
	const char *details; /* a paragraph, or NULL */
	const struct opt *options;
	const struct opts_example *examples;
	bool writes_profiles; /* the help lists what the extensions of -o mean */
	bool is_unprivileged; /* capabilities of the binary are given up (privilege_drop()) */
	/*
	 * For commands that run another one: is @arg, found where options may stand, an argument of
	 * ours (true) or the first word of COMMAND (false)? NULL: arguments are files, gathered in
	 * opts_args.operands.
	 */
	bool (*take_operand)(void *target, const char *arg);
};

/* What every command line may hold beside its command's own options. */
struct opts_args {
	bool help, version, quiet, verbose;
	struct opts_list operands; /* arguments that are not options */
	char **command; /* COMMAND and its arguments, borrowed from argv; NULL: none */
};

/* The options above as a table: -q -v -V -h. */
extern const struct opt opts_common[];

/*
 * Parse @argv (from the first argument after the command's name; NULL-terminated at @argc) into
 * @target, the struct that spec->options describes, and @args; both zeroed or preset by the caller.
 * Stops at --help or --version. 0; -EINVAL with one line in @why; -ENOMEM. Release with
 * opts_deinit().
 */
int opts_parse(const struct opts_spec *spec, int argc, char **argv, void *target,
	       struct opts_args *args, struct buf *why);

/*
 * The same for a line of a file, "key = value": @key is an option's long name (of @spec alone), and
 * a flag has yes or no (true, false, on, off, 1, 0). @value is borrowed as what argv holds is. 0;
 * -EINVAL with one line in @why, which names the nearest key of an unknown one; -ENOMEM.
 */
int opts_set(const struct opts_spec *spec, void *target, const char *key, const char *value,
	     struct buf *why);

/*
 * Append what @target holds as such lines, a line for each item of a list, comments above groups.
 * What is not set (NULL, empty, a number that is 0) is left out, and so are options with one of the
 * flags @skip.
 */
void opts_print(const struct opts_spec *spec, const void *target, uint32_t skip, struct buf *out);

/* Release the lists and sets in @target (may be NULL) and in @args. */
void opts_deinit(const struct opts_spec *spec, void *target, struct opts_args *args);

/* The option that @name (long, without dashes) most likely meant, of two tables; NULL: none is
 * near. */
const char *opts_nearest(const struct opts_spec *spec, const char *name);

#endif
