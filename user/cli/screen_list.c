/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and prompts without a terminal: see screen_list.h. */
#include "cli/screen_list.h"

#include <string.h>

#include "cli/screen.h"

/* Keep current among what is seen, and no empty rows below the last where there are enough. */
static void settle(struct screen_list *list)
{
	size_t last_first = list->cnt > list->height ? list->cnt - list->height : 0;

	if (list->current >= list->cnt)
		list->current = list->cnt ? list->cnt - 1 : 0;
	if (list->first > list->current)
		list->first = list->current;
	if (list->height && list->current - list->first >= list->height)
		list->first = list->current - list->height + 1;
	if (list->first > last_first)
		list->first = last_first;
}

void screen_list_resize(struct screen_list *list, size_t cnt, size_t height)
{
	list->cnt = cnt;
	list->height = height;
	settle(list);
}

void screen_list_go(struct screen_list *list, size_t row)
{
	list->current = row;
	settle(list);
}

void screen_list_center(struct screen_list *list, size_t row)
{
	list->first = row > list->height / 2 ? row - list->height / 2 : 0;
	screen_list_go(list, row);
}

static void move_down(struct screen_list *list, size_t by)
{
	size_t left = list->cnt ? list->cnt - 1 - list->current : 0;

	screen_list_go(list, list->current + (by < left ? by : left));
}

static void move_up(struct screen_list *list, size_t by)
{
	screen_list_go(list, list->current > by ? list->current - by : 0);
}

bool screen_list_key(struct screen_list *list, uint32_t key)
{
	size_t page = list->height > 1 ? list->height - 1 : 1;

	switch (key) {
	case SCREEN_KEY_UP:
	case 'k':
		move_up(list, 1);
		return true;
	case SCREEN_KEY_DOWN:
	case 'j':
		move_down(list, 1);
		return true;
	case SCREEN_KEY_PAGE_UP:
		move_up(list, page);
		return true;
	case SCREEN_KEY_PAGE_DOWN:
	case ' ':
		move_down(list, page);
		return true;
	case SCREEN_KEY_HOME:
		screen_list_go(list, 0);
		return true;
	case SCREEN_KEY_END:
		move_down(list, list->cnt);
		return true;
	default:
		return false;
	}
}

void screen_prompt_open(struct screen_prompt *prompt, const char *label, const char *text)
{
	*prompt = (struct screen_prompt){.is_open = true, .label = label};
	prompt->len = text ? strnlen(text, sizeof(prompt->text) - 1) : 0;
	if (prompt->len)
		memcpy(prompt->text, text, prompt->len);
}

/* Append @chr as UTF-8 where it fits. */
static void append(struct screen_prompt *prompt, uint32_t chr)
{
	size_t len = chr < 0x80 ? 1 : chr < 0x800 ? 2 : chr < 0x10000 ? 3 : 4;

	if (prompt->len + len >= sizeof(prompt->text))
		return;
	for (size_t i = len; i-- > 1; chr >>= 6)
		prompt->text[prompt->len + i] = (char)(0x80 | (chr & 0x3f));
	prompt->text[prompt->len] =
		(char)(len == 1 ? chr : (0xf00u >> len & 0xff) | (chr & (0x7fu >> len)));
	prompt->len += len;
	prompt->text[prompt->len] = 0;
}

/* Is the last byte one that continues a character? */
static bool ends_inside(const struct screen_prompt *prompt)
{
	return prompt->len && ((uint8_t)prompt->text[prompt->len] & 0xc0) == 0x80;
}

static void take_back(struct screen_prompt *prompt)
{
	do
		prompt->len--;
	while (ends_inside(prompt));
	prompt->text[prompt->len] = 0;
}

enum screen_prompt_state screen_prompt_key(struct screen_prompt *prompt, uint32_t key)
{
	if (key == SCREEN_KEY_ENTER) {
		prompt->is_open = false;
		return SCREEN_PROMPT_DONE;
	}
	if (key == SCREEN_KEY_ESCAPE || (key == SCREEN_KEY_BACKSPACE && !prompt->len)) {
		prompt->is_open = false;
		return SCREEN_PROMPT_LEFT;
	}
	if (key == SCREEN_KEY_BACKSPACE)
		take_back(prompt);
	else if (key == SCREEN_CTRL('u'))
		screen_prompt_open(prompt, prompt->label, NULL);
	else if (key >= 0x20 && key != 0x7f && key < SCREEN_KEY_FIRST)
		append(prompt, key);
	return SCREEN_PROMPT_TYPING;
}
