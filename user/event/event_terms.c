/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind an event: terms in slashes, letters after a colon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/reader.h"
#include "event/event_parse.h"

/* Letters of perf's that would change what is counted, so that ignoring them would lie. */
static const struct {
	char letter;
	const char *why;
} refused_letters[] = {
	{'h', "a hypervisor below this kernel cannot be sampled from here"},
	{'G', "guests are not told apart"},
	{'H', "guests are not told apart"},
	{'I', "the idle task is left out unless --idle is given"},
	{'S', "events are not read in groups"},
	{'D', "counters are not pinned"},
	{'W', "events are not put into groups"},
	{'e', "counters are not made exclusive"},
	{'b', "no BPF program stands in for a counter"},
	{'R', "retire latency is not measured"},
};

static const char *refusal(char letter)
{
	for (size_t i = 0; i < sizeof(refused_letters) / sizeof(refused_letters[0]); i++)
		if (refused_letters[i].letter == letter)
			return refused_letters[i].why;
	return NULL;
}

bool event_is_modifiers(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!strchr("ukpP", *text) && !refusal(*text))
			return false;
	return true;
}

/* A probe is in the kernel or in a program, never in both. */
static int check_side(const struct event_spec *spec, bool user, bool kernel, struct buf *why)
{
	bool is_user_probe = spec->kind >= EVENT_UPROBE;

	if (spec->kind == EVENT_COUNTER || user == kernel)
		return 0;
	if (user && !is_user_probe)
		return event_bad(spec, why,
				 "':u' would leave nothing: a %s is always in the kernel",
				 event_kind_name(spec->kind));
	if (kernel && is_user_probe)
		return event_bad(spec, why, "':k' would leave nothing: a %s is always in a program",
				 event_kind_name(spec->kind));
	return 0;
}

int event_parse_modifiers(struct event_spec *spec, const char *letters, struct buf *why)
{
	bool user = false, kernel = false;

	if (!*letters)
		return event_bad(spec, why, "nothing behind the last ':' (u: user, k: kernel)");
	for (; *letters; letters++) {
		const char *reason = refusal(*letters);

		if (reason)
			return event_bad(spec, why, "modifier '%c': %s", *letters, reason);
		if (*letters == 'u')
			user = true;
		else if (*letters == 'k')
			kernel = true;
		else if (*letters != 'p' && *letters != 'P')
			return event_bad(spec, why, "unknown modifier '%c' (u: user, k: kernel)",
					 *letters);
	}
	spec->user_only = user && !kernel;
	spec->kernel_only = kernel && !user;
	return check_side(spec, user, kernel, why);
}

/* freq=N or period=N. 1: it is neither. */
static int rate_term(struct event_spec *spec, const char *key, const char *value, struct buf *why)
{
	bool is_freq = !strcmp(key, "freq");
	uint64_t number;

	if (!is_freq && strcmp(key, "period"))
		return 1;
	if (!value || parse_count(value, &number) || !number)
		return event_bad(spec, why, "'%s=%s' must be a number above 0: %s=%s", key,
				 value ? value : "", key, is_freq ? "99" : "1000");
	if (spec->freq_hz || spec->period)
		return event_bad(spec, why, "freq= and period= exclude each other, and stand once");
	*(is_freq ? &spec->freq_hz : &spec->period) = number;
	return 0;
}

static int unknown_term(const struct event_spec *spec, const char *key, struct buf *why)
{
	struct nearest nearest;

	nearest_init(&nearest, key);
	nearest_offer(&nearest, "freq");
	nearest_offer(&nearest, "period");
	if (nearest.best)
		return event_bad(spec, why, "unknown term '%s' (did you mean '%s'?)", key,
				 nearest.best);
	return event_bad(spec, why, "unknown term '%s' (freq=N or period=N)", key);
}

static int add_term(struct event_spec *spec, char *term, bool is_pmu, struct buf *others,
		    struct buf *why)
{
	char *value = strchr(term, '=');
	int err;

	if (value)
		*value++ = '\0';
	err = rate_term(spec, term, value, why);
	if (err <= 0)
		return err;
	if (!*term)
		return event_bad(spec, why, "an empty term between the slashes");
	if (!is_pmu)
		return unknown_term(spec, term, why);
	if (others->len)
		buf_add_char(others, ',');
	buf_printf(others, value ? "%s=%s" : "%s", term, value);
	return others->err;
}

int event_parse_terms(struct event_spec *spec, const char *terms, bool is_pmu, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf others;
	struct reader rd;
	const char *item;
	size_t len;

	buf_init(&others, BUF_NO_MAX);
	reader_init(&rd, terms, strlen(terms));
	while ((item = reader_until(&rd, ',', &len))) {
		_cleanup_free_ char *term = strndup(item, len);
		int err = term ? add_term(spec, term, is_pmu, &others, why) : -ENOMEM;

		if (err)
			return err;
	}
	if (!is_pmu)
		return *terms ? 0 : event_bad(spec, why, "nothing between the slashes");
	spec->name = strdup(buf_cstr(&others));
	return spec->name ? 0 : -ENOMEM;
}
