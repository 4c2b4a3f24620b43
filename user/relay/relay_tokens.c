/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_tokens.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "web/query.h"
#include "web/secrets.h"

static const char blanks[] = " \t\r";

/* "HOSTGLOB TOKEN" in place. */
static int parse_line(struct relay_token_list *list, char *line, struct buf *why)
{
	struct relay_token item = {.glob = line};
	char *token;

	line[strcspn(line, blanks)] = '\0';
	token = line + strlen(line) + 1;
	token += strspn(token, blanks);
	token[strcspn(token, "\r")] = '\0';
	if (!web_token_is_fit(token)) {
		buf_printf(why,
			   "wanted are HOSTGLOB, a space, and a token of %d to %d printable "
			   "characters (openssl rand -hex 32 makes some)",
			   WEB_TOKEN_BYTES_MIN, WEB_TOKEN_BYTES_MAX);
		return -EINVAL;
	}
	item.token = token;
	if (array_reserve(&list->items, &list->cap, list->cnt + 1, sizeof(*list->items)))
		return -ENOMEM;
	list->items[list->cnt++] = item;
	return 0;
}

int relay_token_list_parse(char *text, struct relay_token_list *out, struct buf *why)
{
	struct relay_token_list list = {.text = text};
	unsigned int number = 0;
	char *line, *next;
	int err = 0;

	for (line = text; line && !err; line = next) {
		/* A line's end is a NUL, behind which parse_line() looks for a token: none is
		 * there. */
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		line += strspn(line, blanks);
		if (!*line || *line == '#')
			continue;
		if (!line[strcspn(line, blanks)])
			err = -EINVAL;
		else
			err = parse_line(&list, line, why);
		if (err == -EINVAL && !why->len)
			buf_add_str(why, "there is no token behind HOSTGLOB");
		if (err == -EINVAL)
			buf_printf(why, " (line %u)", number);
	}
	if (err)
		relay_token_list_deinit(&list);
	else
		*out = list;
	return err;
}

void relay_token_list_deinit(struct relay_token_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		explicit_bzero((char *)list->items[i].token, strlen(list->items[i].token));
	free(list->items);
	free(list->text);
	*list = (struct relay_token_list){.text = NULL};
}

/* All of them are compared, whichever is right. */
bool relay_token_list_allow(const struct relay_token_list *list, const char *token, size_t len,
			    const char *host)
{
	bool is_allowed = false;

	for (size_t i = 0; i < list->cnt; i++) {
		const struct relay_token *item = &list->items[i];
		const bool is_equal = web_token_is_equal(item->token, token, len);

		if (is_equal && (!host || !fnmatch(item->glob, host, 0)))
			is_allowed = true;
	}
	return is_allowed;
}

static int read_list(const char *path, struct relay_token_list *out)
{
	_cleanup_(buf_deinit) struct buf why = {0};
	char *text = web_secrets_read_tokens(path);
	int err;

	if (!text)
		return -EACCES;
	buf_init(&why, BUF_NO_MAX);
	err = relay_token_list_parse(text, out, &why);
	if (err)
		log_error("relay: token file '%s': %s", path, buf_error_text(&why, err));
	return err;
}

int relay_tokens_open(const char *path, struct relay_tokens *out)
{
	*out = (struct relay_tokens){.path = path};
	pthread_rwlock_init(&out->lock, NULL);
	if (path && stat(path, &out->seen))
		out->seen = (struct stat){.st_ino = 0};
	return path ? read_list(path, &out->list) : 0;
}

void relay_tokens_close(struct relay_tokens *tokens)
{
	relay_token_list_deinit(&tokens->list);
	pthread_rwlock_destroy(&tokens->lock);
}

static bool is_changed(const struct stat *before, const struct stat *now)
{
	return before->st_ino != now->st_ino || before->st_dev != now->st_dev ||
	       before->st_size != now->st_size || before->st_mtim.tv_sec != now->st_mtim.tv_sec ||
	       before->st_mtim.tv_nsec != now->st_mtim.tv_nsec ||
	       before->st_ctim.tv_sec != now->st_ctim.tv_sec ||
	       before->st_ctim.tv_nsec != now->st_ctim.tv_nsec;
}

void relay_tokens_refresh(struct relay_tokens *tokens, bool is_told)
{
	struct relay_token_list list, before;
	struct stat now = {.st_ino = 0};

	if (!tokens->path)
		return;
	/* One that is gone for a moment is being replaced. */
	if (stat(tokens->path, &now) && !is_told)
		return;
	if (!is_told && !is_changed(&tokens->seen, &now))
		return;
	tokens->seen = now;
	if (read_list(tokens->path, &list)) {
		log_warn("relay: the tokens stay what they were");
		return;
	}
	pthread_rwlock_wrlock(&tokens->lock);
	before = tokens->list;
	tokens->list = list;
	pthread_rwlock_unlock(&tokens->lock);
	relay_token_list_deinit(&before);
	log_info("relay: token file '%s' is read again: %zu lines", tokens->path, list.cnt);
}

bool relay_tokens_allow(struct relay_tokens *tokens, const char *authorization, const char *host)
{
	_cleanup_(buf_deinit) struct buf token = {0};
	bool is_allowed;

	if (!tokens->path)
		return true;
	buf_init(&token, WEB_TOKEN_BYTES_MAX);
	if (!web_token_of(authorization, &token))
		return false;
	pthread_rwlock_rdlock(&tokens->lock);
	is_allowed = relay_token_list_allow(&tokens->list, token.data, token.len, host);
	pthread_rwlock_unlock(&tokens->lock);
	return is_allowed;
}
