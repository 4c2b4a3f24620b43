/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of -e, without a look at the machine:
 *
 *	list     = event { "," event }
 *	event    = counter | tracepoint | probe, then [ "/" terms "/" ] and [ ":" modifiers ]
 *	counter  = NAME | "r" HEX | PMU "/" terms "/"
 *	trace... = [ "tracepoint:" ] CATEGORY ":" NAME
 *	probe    = ("kprobe:" | "kretprobe:") place | ("uprobe:" | "uretprobe:") PATH ":" place
 *	         | "usdt:" PATH [ ":" PROVIDER ] ":" NAME
 *	place    = FUNCTION [ "+" OFFSET ] | "0x" ADDRESS
 *
 * A colon is many things here, so the kind is told first, by its prefix. In user probes the last
 * single colon separates: PATH may hold others, and "ns::fn" is one name. "uprobe:libc:malloc:u"
 * still ends with a modifier, as "libc:malloc" is not at all like a file's name; a path that is,
 * has a slash in what would be the function.
 */
#include "event/event_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "event/event_names.h"

enum {
	EVENTS_MAX = 256, /* in one list */
	RAW_DIGITS_MAX = 16,
};

static const char glob_letters[] = "*?[]!^-";

const struct event_prefix event_prefixes[] = {
	{"tracepoint", EVENT_TRACEPOINT, true},
	{"t", EVENT_TRACEPOINT},
	{"kprobe", EVENT_KPROBE, true},
	{"k", EVENT_KPROBE},
	{"p", EVENT_KPROBE}, /* or a uprobe, as in the kernel's own probe files */
	{"kretprobe", EVENT_KRETPROBE, true},
	{"kr", EVENT_KRETPROBE},
	{"r", EVENT_KRETPROBE}, /* as p */
	{"uprobe", EVENT_UPROBE, true},
	{"u", EVENT_UPROBE},
	{"uretprobe", EVENT_URETPROBE, true},
	{"ur", EVENT_URETPROBE},
	{"usdt", EVENT_USDT, true},
	{"U", EVENT_USDT},
	{NULL},
};

const char *event_kind_name(enum event_kind kind)
{
	for (const struct event_prefix *prefix = event_prefixes; prefix->name; prefix++)
		if (prefix->kind == kind && prefix->is_long)
			return prefix->name;
	return "counter";
}

const struct event_prefix *event_prefix_find(const char *text, size_t len, size_t *prefix_len)
{
	const char *colon = memchr(text, ':', len);
	size_t name_len = colon ? (size_t)(colon - text) : 0;

	for (const struct event_prefix *prefix = event_prefixes; colon && prefix->name; prefix++) {
		if (strlen(prefix->name) != name_len || memcmp(prefix->name, text, name_len))
			continue;
		*prefix_len = name_len + 1;
		return prefix;
	}
	return NULL;
}

int event_bad(const struct event_spec *spec, struct buf *why, const char *fmt, ...)
{
	char message[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	buf_printf(why, "event '%s': %s", spec->text, message);
	return -EINVAL;
}

/* --- Words --- */

static int set_word(char **word, const char *text, size_t len)
{
	*word = strndup(text, len);
	return *word ? 0 : -ENOMEM;
}

/* The first byte of @word that is no letter, digit, underscore, nor one of @others; 0: none. */
static char odd_byte(const char *word, const char *others)
{
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && *word != '_' && !strchr(others, *word))
			return *word;
	return '\0';
}

static int check_word(const struct event_spec *spec, const char *what, const char *word,
		      const char *others, struct buf *why)
{
	char odd = odd_byte(word, others);

	if (!*word)
		return event_bad(spec, why, "the %s is missing", what);
	if (odd)
		return event_bad(spec, why, "'%c' cannot be in a %s", odd, what);
	return 0;
}

/* r and hexadecimal digits. */
static bool is_raw(const char *name)
{
	size_t digits = strspn(name + (*name == 'r'), "0123456789abcdefABCDEF");

	return *name == 'r' && digits && digits <= RAW_DIGITS_MAX && !name[1 + digits];
}

/* --- Probes --- */

/* FUNCTION+OFF: where the '+' is; NULL: none. "operator+" has one of its own. */
static char *offset_sign(char *place)
{
	char *plus = strrchr(place, '+');
	const char *operator_word = strstr(place, "operator");

	if (!plus || (operator_word && !isdigit((unsigned char)plus[1])))
		return NULL;
	return plus;
}

/* FUNCTION[+OFF] or 0xADDRESS, which is changed. */
static int parse_place(struct event_spec *spec, char *place, struct buf *why)
{
	char *plus;

	if (!strncasecmp(place, "0x", 2)) {
		if (parse_u64(place, &spec->addr))
			return event_bad(spec, why, "'%s' is no address (0x1234)", place);
		spec->has_addr = true;
		return 0;
	}
	plus = offset_sign(place);
	if (plus) {
		*plus++ = '\0';
		if (parse_u64(plus, &spec->off))
			return event_bad(spec, why, "'+%s' is no offset (+16 or +0x10)", plus);
		spec->has_off = true;
	}
	if (spec->has_off && event_is_return(spec->kind))
		return event_bad(spec, why,
				 "a return is probed for a whole function: leave out '+%s'", plus);
	if (!*place)
		return event_bad(spec, why, "the function is missing");
	return set_word(&spec->name, place, strlen(place));
}

static int parse_kernel_probe(struct event_spec *spec, char *rest, struct buf *why)
{
	char *colon = strchr(rest, ':');
	int err;

	if (colon) {
		*colon = '\0';
		if (strchr(colon + 1, ':') || !event_is_modifiers(colon + 1))
			return event_bad(spec, why,
					 "'%s' behind the function: a kernel probe is %s:FUNCTION, "
					 "without a module (for a program's function: %s:PATH:%s)",
					 colon + 1, event_kind_name(spec->kind),
					 event_is_return(spec->kind) ? "uretprobe" : "uprobe",
					 colon + 1);
		err = event_parse_modifiers(spec, colon + 1, why);
		if (err)
			return err;
	}
	err = parse_place(spec, rest, why);
	if (err || spec->has_addr)
		return err;
	return check_word(spec, "kernel function's name", spec->name, "*?[]!^-.$", why);
}

/* The last colon that has no other beside it; NULL: none. */
static char *last_single_colon(char *text)
{
	for (char *pos = text + strlen(text); pos-- > text;) {
		if (*pos != ':')
			continue;
		if ((pos == text || pos[-1] != ':') && pos[1] != ':')
			return pos;
		while (pos > text && pos[-1] == ':')
			pos--;
	}
	return NULL;
}

/* PATH:FUNCTION:u: the letters are cut off, when what is before them is PATH:FUNCTION still. */
static int cut_modifiers(struct event_spec *spec, char *rest, struct buf *why)
{
	char *last = last_single_colon(rest), *before;
	bool is_place;

	if (!last || !event_is_modifiers(last + 1))
		return 0;
	*last = '\0';
	before = last_single_colon(rest);
	is_place = before && before > rest && before[1] && !strchr(before, '/');
	if (!is_place) {
		*last = ':';
		return 0;
	}
	return event_parse_modifiers(spec, last + 1, why);
}

static int parse_user_probe(struct event_spec *spec, char *rest, struct buf *why)
{
	const char *kind = event_kind_name(spec->kind);
	char *colon;
	int err = cut_modifiers(spec, rest, why);

	if (err)
		return err;
	colon = last_single_colon(rest);
	if (!colon || colon == rest || !colon[1])
		return event_bad(spec, why,
				 "the %s is missing: %s:PATH:FUNCTION, as in %s:libc:malloc",
				 colon && colon != rest ? "function" : "file", kind, kind);
	err = set_word(&spec->path, rest, (size_t)(colon - rest));
	return err ? err : parse_place(spec, colon + 1, why);
}

static int parse_usdt(struct event_spec *spec, char *rest, struct buf *why)
{
	char *colon = strrchr(rest, ':'), *provider;
	int err;

	if (!colon || colon == rest || !colon[1])
		return event_bad(spec, why,
				 "a file and a name are needed: usdt:PATH:PROVIDER:NAME");
	*colon = '\0';
	provider = strrchr(rest, ':');
	if (provider && provider > rest && provider[1] && !strchr(provider, '/')) {
		*provider++ = '\0';
		err = set_word(&spec->group, provider, strlen(provider));
		err = err ? err
			  : check_word(spec, "provider's name", spec->group, glob_letters, why);
		if (err)
			return err;
	}
	err = set_word(&spec->path, rest, strlen(rest));
	err = err ? err : set_word(&spec->name, colon + 1, strlen(colon + 1));
	return err ? err : check_word(spec, "name", spec->name, glob_letters, why);
}

/* --- Tracepoints and counters --- */

/* "kprob:vfs_read" may be a tracepoint; what cannot be one is a mistyped prefix, or nothing. */
static int bad_tracepoint(const struct event_spec *spec, const char *group, struct buf *why)
{
	struct nearest nearest;

	nearest_init(&nearest, group);
	for (const struct event_prefix *prefix = event_prefixes; prefix->name; prefix++)
		if (prefix->is_long)
			nearest_offer(&nearest, prefix->name);
	if (nearest.best && strcmp(nearest.best, "tracepoint"))
		return event_bad(spec, why, "unknown kind '%s' (did you mean '%s:'?)", group,
				 nearest.best);
	return event_bad(spec, why,
			 "not of the form CATEGORY:NAME, and no kprobe:, uprobe:, usdt: (see "
			 "bpfprof list)");
}

static int parse_tracepoint(struct event_spec *spec, char *rest, struct buf *why)
{
	char *name = strchr(rest, ':'), *letters;
	int err;

	spec->kind = EVENT_TRACEPOINT;
	if (!name)
		return event_bad(spec, why, "a tracepoint is CATEGORY:NAME, as sched:sched_switch");
	*name++ = '\0';
	letters = strchr(name, ':');
	if (letters)
		*letters++ = '\0';
	if (!*rest || !*name || odd_byte(rest, glob_letters) || odd_byte(name, glob_letters) ||
	    (letters && strchr(letters, ':')))
		return bad_tracepoint(spec, rest, why);
	err = letters ? event_parse_modifiers(spec, letters, why) : 0;
	err = err ? err : set_word(&spec->group, rest, strlen(rest));
	return err ? err : set_word(&spec->name, name, strlen(name));
}

static int unknown_counter(const struct event_spec *spec, const char *name, struct buf *why)
{
	char near[EVENT_NAME_MAX];

	if (event_name_nearest(name, near))
		return event_bad(spec, why, "unknown event (did you mean '%s'? see bpfprof list)",
				 near);
	for (const struct event_prefix *prefix = event_prefixes; prefix->name; prefix++)
		if (prefix->is_long && !strcmp(prefix->name, name))
			return event_bad(spec, why, "what to probe is missing: %s:...", name);
	return event_bad(spec, why,
			 "unknown event (a counter such as cycles or page-faults, CATEGORY:NAME, "
			 "kprobe:FUNCTION, uprobe:PATH:FUNCTION; see bpfprof list)");
}

static bool is_counter(const char *name)
{
	struct event_name found;

	return is_raw(name) || event_name_find(name, &found);
}

/* NAME, NAME:MODIFIERS, CATEGORY:NAME[:MODIFIERS]. */
static int parse_plain(struct event_spec *spec, char *head, struct buf *why)
{
	char *colon = strchr(head, ':');
	int err;

	if (colon)
		*colon = '\0';
	if (is_counter(head)) {
		err = colon ? event_parse_modifiers(spec, colon + 1, why) : 0;
		return err ? err : set_word(&spec->name, head, strlen(head));
	}
	if (!colon)
		return unknown_counter(spec, head, why);
	*colon = ':';
	return parse_tracepoint(spec, head, why);
}

static int parse_pmu(struct event_spec *spec, const char *pmu, const char *terms, struct buf *why)
{
	int err = check_word(spec, "PMU's name", pmu, "-.", why);

	if (!err && *pmu == '.')
		err = event_bad(spec, why, "'%s' is no PMU's name", pmu);
	err = err ? err : set_word(&spec->group, pmu, strlen(pmu));
	return err ? err : event_parse_terms(spec, terms, true, why);
}

/* --- One event --- */

static bool is_path_kind(const struct event_prefix *prefix, const char *rest)
{
	if (!prefix)
		return false;
	/* p: and r: are kernel probes unless a file is named. */
	if (!strcmp(prefix->name, "p") || !strcmp(prefix->name, "r"))
		return strchr(rest, '/') ||
		       (strchr(rest, ':') && !event_is_modifiers(strchr(rest, ':') + 1));
	return prefix->kind >= EVENT_UPROBE;
}

/*
 * Cut "/terms/" and what is behind it off @rest: *@terms and *@letters point into it, NULL where
 * there are none. A path has slashes of its own, so there it is only a last part that ends with
 * one; elsewhere it begins with the first.
 */
static int cut_terms(const struct event_spec *spec, char *rest, bool has_path, char **terms,
		     char **letters, struct buf *why)
{
	size_t len = strlen(rest);
	char *last = strrchr(rest, '/'), *first = strchr(rest, '/');

	*terms = *letters = NULL;
	if (!last || (has_path && rest[len - 1] != '/'))
		return 0;
	*last = '\0';
	if (has_path)
		first = strrchr(rest, '/');
	if (!first || first == last)
		return event_bad(spec, why,
				 "a '/' alone: terms stand between two, as in /freq=99/");
	*first = '\0';
	*terms = first + 1;
	if (last[1])
		*letters = last + 1 + (last[1] == ':');
	return 0;
}

static int parse_body(struct event_spec *spec, char *rest, struct buf *why)
{
	switch (spec->kind) {
	case EVENT_COUNTER:
		return parse_plain(spec, rest, why);
	case EVENT_TRACEPOINT:
		return parse_tracepoint(spec, rest, why);
	case EVENT_KPROBE:
	case EVENT_KRETPROBE:
		return parse_kernel_probe(spec, rest, why);
	case EVENT_UPROBE:
	case EVENT_URETPROBE:
		return parse_user_probe(spec, rest, why);
	case EVENT_USDT:
		return parse_usdt(spec, rest, why);
	}
	return -EINVAL;
}

static int parse_whole(struct event_spec *spec, char *body, struct buf *why)
{
	size_t prefix_len = 0;
	const struct event_prefix *prefix = event_prefix_find(body, strlen(body), &prefix_len);
	char *rest = body + prefix_len, *terms, *letters;
	bool has_path = is_path_kind(prefix, rest);
	int err;

	if (prefix)
		spec->kind = prefix->kind;
	if (has_path && spec->kind < EVENT_UPROBE)
		spec->kind = spec->kind == EVENT_KPROBE ? EVENT_UPROBE : EVENT_URETPROBE;
	err = cut_terms(spec, rest, has_path, &terms, &letters, why);
	if (err)
		return err;
	if (terms && !prefix && !strchr(rest, ':') && !is_counter(rest)) {
		err = parse_pmu(spec, rest, terms, why);
	} else {
		err = parse_body(spec, rest, why);
		if (!err && terms)
			err = event_parse_terms(spec, terms, false, why);
	}
	return err || !letters ? err : event_parse_modifiers(spec, letters, why);
}

int event_parse_one(const char *text, size_t len, struct event_spec *out, struct buf *why)
{
	_cleanup_free_ char *body = strndup(text, len);
	struct event_spec spec = {.text = strndup(text, len)};
	int err = body && spec.text ? 0 : -ENOMEM;

	if (!err && *text == '{')
		err = event_bad(&spec, why, "events are not read in groups: leave out the braces");
	err = err ? err : parse_whole(&spec, body, why);
	if (err)
		event_spec_deinit(&spec);
	else
		*out = spec;
	return err;
}

/* --- The list --- */

/* The length of the first event of the list @text. */
static size_t event_len(const char *text)
{
	size_t prefix_len;
	const struct event_prefix *prefix =
		event_prefix_find(text, strcspn(text, ","), &prefix_len);
	bool has_path = prefix && is_path_kind(prefix, text + prefix_len), in_slashes = false;
	const char *pos = text;
	int depth = 0;

	for (; *pos; pos++) {
		if (*pos == '/' && !has_path)
			in_slashes = !in_slashes;
		else if (*pos == '{' || *pos == '(')
			depth++;
		else if ((*pos == '}' || *pos == ')') && depth)
			depth--;
		else if (*pos == ',' && !in_slashes && !depth)
			break;
	}
	return (size_t)(pos - text);
}

static int add_event(const char *text, size_t len, struct event_spec **specs, size_t *cnt,
		     size_t *cap, struct buf *why)
{
	int err;

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	if (!len || *cnt == EVENTS_MAX) {
		if (!len)
			buf_add_str(why, "an event is empty: names are separated by one comma");
		else
			buf_printf(why, "more than %d events", EVENTS_MAX);
		return -EINVAL;
	}
	err = array_reserve(specs, cap, *cnt + 1, sizeof(**specs));
	err = err ? err : event_parse_one(text, len, &(*specs)[*cnt], why);
	*cnt += !err;
	return err;
}

int event_parse(const char *text, struct event_spec **out, size_t *cnt, struct buf *why)
{
	struct event_spec *specs = NULL;
	size_t spec_cnt = 0, cap = 0;
	int err;

	for (;;) {
		size_t len;

		text += strspn(text, " \t\n");
		len = event_len(text);
		err = add_event(text, len, &specs, &spec_cnt, &cap, why);
		text += len;
		if (err || !*text)
			break;
		text++;
	}
	if (!err) {
		*out = specs;
		*cnt = spec_cnt;
		return 0;
	}
	for (size_t i = 0; i < spec_cnt; i++)
		event_spec_deinit(&specs[i]);
	free(specs);
	return err;
}
