/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames that are no code. */
#include "profile/synthetic.h"

#include <string.h>

static const struct {
	const char *head, *tail; /* with something between them */
	enum synthetic kind;
} forms[] = {
	{"[truncated: ", "]", SYNTHETIC_INCOMPLETE}, {"[", " elided]", SYNTHETIC_INCOMPLETE},
	{"[running: ", "]", SYNTHETIC_RUNNING},	     {"[blocked: ", "]", SYNTHETIC_BLOCKED},
	{"[runnable: ", "]", SYNTHETIC_RUNNABLE},
};

enum synthetic synthetic_of(const char *name, size_t len)
{
	if (len == 2 && !memcmp(name, "--", 2))
		return SYNTHETIC_WAKER;
	if (!len || name[0] != '[')
		return SYNTHETIC_NOT;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t head = strlen(forms[i].head), tail = strlen(forms[i].tail);

		if (len > head + tail && !memcmp(name, forms[i].head, head) &&
		    !memcmp(name + len - tail, forms[i].tail, tail))
			return forms[i].kind;
	}
	return SYNTHETIC_NOT;
}

bool synthetic_is_state(const char *name)
{
	enum synthetic kind = synthetic_of(name, strlen(name));

	return kind == SYNTHETIC_RUNNING || kind == SYNTHETIC_BLOCKED || kind == SYNTHETIC_RUNNABLE;
}
