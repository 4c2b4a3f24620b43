/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as one of the profile's comments. The prefix makes it cheap to tell from others. */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/ledger.h"
#include "profile/profile_priv.h"

static const char LEDGER_PREFIX[] = LEDGER_COMMENT;

/* The JSON behind the prefix, or NULL. Borrowed. */
static const char *ledger_json(const struct profile *prof, uint32_t comment)
{
	const char *text = profile_str(prof, comment);

	return strncmp(text, LEDGER_PREFIX, strlen(LEDGER_PREFIX)) ? NULL
								   : text + strlen(LEDGER_PREFIX);
}

/* 0; -EBADMSG where @comment is no ledger; else the failure. */
static int parse_comment(const struct profile *prof, uint32_t comment, struct ledger *out)
{
	const char *json = ledger_json(prof, comment);

	return json ? ledger_from_json(json, strlen(json), out) : -EBADMSG;
}

bool profile_is_ledger_comment(const struct profile *prof, uint32_t comment)
{
	_cleanup_(ledger_deinit) struct ledger ledger;

	ledger_init(&ledger);
	return !parse_comment(prof, comment, &ledger);
}

int profile_get_ledger(const struct profile *prof, struct ledger *out)
{
	_cleanup_(ledger_deinit) struct ledger sum;
	bool found = false;
	int err;

	ledger_init(&sum);
	for (size_t i = 0; i < prof->comment_cnt; i++) {
		_cleanup_(ledger_deinit) struct ledger one;

		ledger_init(&one);
		err = parse_comment(prof, prof->comments[i], &one);
		if (err == -EBADMSG)
			continue;
		if (!err)
			err = ledger_merge(&sum, &one);
		if (err)
			return err;
		found = true;
	}
	if (!found)
		return -ENOENT;
	*out = sum;
	ledger_init(&sum);
	return 0;
}

bool profile_format_ledger(const struct profile *prof, struct buf *out)
{
	struct ledger ledger;

	if (profile_get_ledger(prof, &ledger))
		return false;
	ledger_format_line(&ledger, out);
	ledger_deinit(&ledger);
	return true;
}

int profile_set_ledger(struct profile *prof, const struct ledger *ledger)
{
	_cleanup_(buf_deinit) struct buf text;
	size_t kept = 0;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, LEDGER_PREFIX);
	ledger_to_json(ledger, &text);
	if (text.err)
		return text.err;
	for (size_t i = 0; i < prof->comment_cnt; i++) {
		if (!profile_is_ledger_comment(prof, prof->comments[i]))
			prof->comments[kept++] = prof->comments[i];
	}
	prof->comment_cnt = kept;
	profile_add_comment(prof, buf_cstr(&text));
	return prof->err;
}
