/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of command lines by an option table: see opts.h for what is accepted. */
#include "cli/opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const struct opt opts_common[] = {
	{OPT_GROUP, .help = "Messages"},
	{OPT_FLAG, 'q', "quiet", .offset = OPT_AT(struct opts_args, quiet, bool),
	 .help = "errors only"},
	{OPT_FLAG, 'v', "verbose", .offset = OPT_AT(struct opts_args, verbose, bool),
	 .help = "say what is done"},
	{OPT_FLAG, 'V', "version", .offset = OPT_AT(struct opts_args, version, bool),
	 .help = "print the version"},
	{OPT_FLAG, 'h', "help", .offset = OPT_AT(struct opts_args, help, bool),
	 .help = "print this help"},
	{OPT_END},
};

struct parser {
	const struct opts_spec *spec;
	void *target;
	struct opts_args *args;
	char **argv;
	int argc;
	int pos; /* of the argument after the current one */
	struct buf *why;
};

/* An option as found on the command line. */
struct use {
	const struct opt *opt;
	void *owner; /* the struct that holds its field */
	bool negated;
	char name[64]; /* as typed, with dashes: what messages show */
};

static int fail(struct parser *par, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct parser *par, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	buf_add_str(par->why, text);
	return -EINVAL;
}

static bool is_option(const struct opt *opt)
{
	return opt->kind != OPT_GROUP;
}

static bool takes_value(const struct opt *opt)
{
	return opt->kind != OPT_FLAG;
}

/* Does the flag's negation read @name: no-NAME, or NAME where the flag is itself a no-NAME? */
static bool is_negation(const struct opt *opt, const char *name, size_t len)
{
	const char *own = opt->long_name;

	if (!(opt->flags & OPT_NEGATABLE))
		return false;
	if (!strncmp(own, "no-", 3))
		return strlen(own) - 3 == len && !memcmp(own + 3, name, len);
	return len > 3 && !memcmp(name, "no-", 3) && strlen(own) == len - 3 &&
	       !memcmp(own, name + 3, len - 3);
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t len,
				   bool *negated)
{
	for (const struct opt *opt = table; opt->kind != OPT_END; opt++) {
		if (!is_option(opt) || !opt->long_name)
			continue;
		if (strlen(opt->long_name) == len && !memcmp(opt->long_name, name, len)) {
			*negated = false;
			return opt;
		}
		if (is_negation(opt, name, len)) {
			*negated = true;
			return opt;
		}
	}
	return NULL;
}

static const struct opt *find_short(const struct opt *table, char chr)
{
	for (const struct opt *opt = table; opt->kind != OPT_END; opt++)
		if (is_option(opt) && opt->short_name == chr)
			return opt;
	return NULL;
}

static int list_add(struct opts_list *list, const char *item)
{
	int err = array_reserve(&list->items, &list->cap, list->cnt + 2, sizeof(*list->items));

	if (err)
		return err;
	list->items[list->cnt++] = item;
	list->items[list->cnt] = NULL;
	return 0;
}

static const char *kind_words(enum opt_kind kind)
{
	switch (kind) {
	case OPT_COUNT:
		return "a number such as 1000, 64k or 10M";
	case OPT_BYTES:
		return "a size such as 4096, 64k or 10M";
	case OPT_DURATION:
		return "a time such as 30, 0.5, 500ms, 20us or 5m";
	case OPT_NUMBERS:
		return "a list of numbers such as 0,2-5";
	case OPT_PERCENT:
		return "a percentage from 0 to 100";
	default:
		return "a number";
	}
}

static int fail_value(struct parser *par, const struct use *use, const char *value, int err)
{
	if (err == -ENOMEM)
		return err;
	if (err == -ERANGE)
		return fail(par, "option '%s': '%s' is too large", use->name, value);
	return fail(par, "option '%s': '%s' is not %s", use->name, value,
		    kind_words(use->opt->kind));
}

static int set_number(struct parser *par, const struct use *use, const char *value, uint64_t *field)
{
	const struct opt *opt = use->opt;
	uint64_t number = 0;
	int err;

	switch (opt->kind) {
	case OPT_COUNT:
		err = parse_count(value, &number);
		break;
	case OPT_BYTES:
		err = parse_bytes(value, &number);
		break;
	case OPT_DURATION:
		err = parse_duration_ns(value, &number);
		break;
	default:
		err = parse_u64(value, &number);
		break;
	}
	if (err)
		return fail_value(par, use, value, err);
	if (number < opt->min && opt->min == 1)
		return fail(par, "option '%s': '%s' must be more than 0", use->name, value);
	if (number < opt->min)
		return fail(par, "option '%s': '%s' is too small, at least %llu is needed",
			    use->name, value, (unsigned long long)opt->min);
	if (opt->max && number > opt->max)
		return fail(par, "option '%s': '%s' is too large, at most %llu is possible",
			    use->name, value, (unsigned long long)opt->max);
	*field = number;
	return 0;
}

static int set_percent(struct parser *par, const struct use *use, const char *value, double *field)
{
	char *end;
	double number = strtod(value, &end);

	/* strtod() would also take blanks, signs, "inf", "nan" and hexadecimal. */
	if (strspn(value, "0123456789.") != (size_t)(end - value) || end == value ||
	    (*end && strcmp(end, "%")) || !(number >= 0 && number <= 100))
		return fail_value(par, use, value, -EINVAL);
	*field = number;
	return 0;
}

static int fail_choice(struct parser *par, const struct use *use, const char *word, size_t len)
{
	fail(par, "option '%s': '%.*s' is not one of ", use->name, (int)len, word);
	for (const struct opt_choice *choice = use->opt->choices; choice->name; choice++)
		buf_printf(par->why, "%s%s", choice == use->opt->choices ? "" : ", ", choice->name);
	return -EINVAL;
}

static int set_choices(struct parser *par, const struct use *use, const char *value,
		       struct opts_choices *field)
{
	bool is_list = use->opt->kind == OPT_CHOICES;
	struct opts_choices chosen = {.text = value};
	const char *word = value;

	for (;;) {
		size_t len = is_list ? strcspn(word, ",") : strlen(word);
		const struct opt_choice *choice = use->opt->choices;

		while (choice->name &&
		       (strlen(choice->name) != len || memcmp(choice->name, word, len)))
			choice++;
		if (!choice->name)
			return fail_choice(par, use, word, len);
		chosen.bits |= choice->value;
		if (!word[len])
			break;
		word += len + 1;
	}
	*field = chosen;
	return 0;
}

static int set_bool(const struct use *use)
{
	*(bool *)((char *)use->owner + use->opt->offset) = !use->negated;
	return 0;
}

static int set_value(struct parser *par, const struct use *use, const char *value)
{
	void *field = (char *)use->owner + use->opt->offset;
	int err;

	switch (use->opt->kind) {
	case OPT_FLAG:
		return set_bool(use);
	case OPT_STRING:
		*(const char **)field = value;
		return 0;
	case OPT_LIST:
		return list_add(field, value);
	case OPT_PERCENT:
		return set_percent(par, use, value, field);
	case OPT_NUMBERS:
		err = number_set_parse(field, value);
		return err ? fail_value(par, use, value, err) : 0;
	case OPT_CHOICE:
	case OPT_CHOICES:
		return set_choices(par, use, value, field);
	default:
		return set_number(par, use, value, field);
	}
}

/* The value of an option from the next argument, or NULL: see opts.h about values that begin with
 * '-'. */
static const char *next_value(struct parser *par)
{
	const char *next = par->pos < par->argc ? par->argv[par->pos] : NULL;

	if (!next || (next[0] == '-' && (next[1] == '-' || isalpha((unsigned char)next[1]))))
		return NULL;
	par->pos++;
	return next;
}

static int fail_no_value(struct parser *par, const struct use *use)
{
	return fail(par, "option '%s' needs a value (%s)", use->name, use->opt->value_name);
}

static int apply(struct parser *par, const struct use *use, const char *attached)
{
	const char *value = attached;

	if (!takes_value(use->opt)) {
		if (attached)
			return fail(par, "option '%s' takes no value, but got '%s'", use->name,
				    attached);
		return set_bool(use);
	}
	if (!value && (use->opt->flags & OPT_VALUE_OPTIONAL))
		return set_value(par, use, "");
	if (!value)
		value = next_value(par);
	if (!value || !*value)
		return fail_no_value(par, use);
	return set_value(par, use, value);
}

static int fail_unknown(struct parser *par, const char *arg, size_t len)
{
	char name[64];
	const char *nearest = NULL;

	if (!strncmp(arg, "--", 2) && len - 2 < sizeof(name)) {
		memcpy(name, arg + 2, len - 2);
		name[len - 2] = '\0';
		nearest = opts_nearest(par->spec, name);
	}
	if (nearest)
		return fail(par,
			    "unknown option '%.*s' (did you mean '--%s'? see bpfprof %s --help)",
			    (int)len, arg, nearest, par->spec->name);
	return fail(par, "unknown option '%.*s' (see bpfprof %s --help)", (int)len, arg,
		    par->spec->name);
}

static int parse_long(struct parser *par, const char *arg)
{
	struct use use = {.owner = par->target};
	size_t len = strcspn(arg, "=");
	const char *attached = arg[len] ? arg + len + 1 : NULL;

	use.opt = find_long(par->spec->options, arg + 2, len - 2, &use.negated);
	if (!use.opt) {
		use.owner = par->args;
		use.opt = find_long(opts_common, arg + 2, len - 2, &use.negated);
	}
	if (!use.opt)
		return fail_unknown(par, arg, len);
	snprintf(use.name, sizeof(use.name), "%.*s", (int)len, arg);
	return apply(par, &use, attached);
}

/* "-aqF99": flags, until one that takes a value takes the rest. */
static int parse_bundle(struct parser *par, const char *arg)
{
	for (const char *chr = arg + 1; *chr; chr++) {
		struct use use = {.owner = par->target};
		char shown[3] = {'-', *chr, '\0'};
		int err;

		use.opt = find_short(par->spec->options, *chr);
		if (!use.opt) {
			use.owner = par->args;
			use.opt = find_short(opts_common, *chr);
		}
		if (!use.opt)
			return fail_unknown(par, shown, 2);
		memcpy(use.name, shown, sizeof(shown));
		if (takes_value(use.opt))
			return apply(par, &use, chr[1] ? chr + 1 : NULL);
		err = apply(par, &use, NULL);
		if (err)
			return err;
	}
	return 0;
}

/* After "--": COMMAND, or only operands. */
static int parse_rest(struct parser *par)
{
	if (par->spec->take_operand) {
		if (par->pos == par->argc)
			return fail(par, "no COMMAND after '--' (see bpfprof %s --help)",
				    par->spec->name);
		par->args->command = par->argv + par->pos;
		par->pos = par->argc;
	}
	while (par->pos < par->argc) {
		int err = list_add(&par->args->operands, par->argv[par->pos++]);

		if (err)
			return err;
	}
	return 0;
}

static int parse_operand(struct parser *par, char *arg)
{
	if (!par->spec->take_operand || par->spec->take_operand(par->target, arg))
		return list_add(&par->args->operands, arg);
	par->args->command = par->argv + par->pos - 1;
	par->pos = par->argc;
	return 0;
}

int opts_parse(const struct opts_spec *spec, int argc, char **argv, void *target,
	       struct opts_args *args, struct buf *why)
{
	struct parser par = {spec, target, args, argv, argc, 0, why};
	int err = 0;

	while (!err && par.pos < argc && !args->help && !args->version) {
		char *arg = argv[par.pos++];

		if (!strcmp(arg, "--"))
			err = parse_rest(&par);
		else if (!strncmp(arg, "--", 2))
			err = parse_long(&par, arg);
		else if (arg[0] == '-' && arg[1])
			err = parse_bundle(&par, arg);
		else
			err = parse_operand(&par, arg);
	}
	return err;
}

/* A flag in a file: what it says may be the opposite of its name. */
static int set_flag(struct parser *par, struct use *use, const char *value)
{
	static const char *const words[2][4] = {{"no", "false", "off", "0"},
						{"yes", "true", "on", "1"}};

	for (size_t i = 0; i < 8; i++) {
		if (strcmp(value, words[i / 4][i % 4]))
			continue;
		use->negated ^= i < 4;
		return set_bool(use);
	}
	return fail(par, "option '%s': '%s' is not yes or no", use->name, value);
}

int opts_set(const struct opts_spec *spec, void *target, const char *key, const char *value,
	     struct buf *why)
{
	struct parser par = {.spec = spec, .target = target, .why = why};
	struct use use = {.owner = target};

	use.opt = find_long(spec->options, key, strlen(key), &use.negated);
	if (!use.opt) {
		const char *nearest = opts_nearest(spec, key);

		return nearest ? fail(&par, "unknown key '%.60s' (did you mean '%s'?)", key,
				      nearest)
			       : fail(&par, "unknown key '%.60s'", key);
	}
	if (use.opt->flags & OPT_NOT_IN_FILE)
		return fail(&par, "key '%.60s': on the command line alone", key);
	snprintf(use.name, sizeof(use.name), "%s", key);
	if (use.opt->kind == OPT_FLAG)
		return set_flag(&par, &use, value);
	if (!*value && !(use.opt->flags & OPT_VALUE_OPTIONAL))
		return fail_no_value(&par, &use);
	return set_value(&par, &use, value);
}

static void deinit_fields(const struct opt *table, void *owner)
{
	for (const struct opt *opt = table; opt->kind != OPT_END; opt++) {
		void *field = (char *)owner + opt->offset;

		if (opt->kind == OPT_LIST) {
			free(((struct opts_list *)field)->items);
			memset(field, 0, sizeof(struct opts_list));
		} else if (opt->kind == OPT_NUMBERS) {
			number_set_deinit(field);
		}
	}
}

void opts_deinit(const struct opts_spec *spec, void *target, struct opts_args *args)
{
	if (target)
		deinit_fields(spec->options, target);
	free(args->operands.items);
	memset(args, 0, sizeof(*args));
}
