/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as rows of text, and its keys: what full-screen views draw on. A thin layer over
 * ncurses, which is known in screen.c alone. Usual layout: header rows, a list (screen_list.h), the
 * last row for help or a prompt.
 *
 *	struct screen screen;
 *	if (!screen_open(&screen, -1)) {
 *		do {
 *			screen_begin(&screen);
 *			screen_line(&screen, 0, SCREEN_BOLD, "title");
 *			screen_end(&screen);
 *			key = screen_key(&screen, -1);
 *		} while (key != 'q' && key != SCREEN_KEY_STOP);
 *		screen_close(&screen);
 *	}
 *
 * The terminal is as before after screen_close(), and while the program is stopped (SIGTSTP).
 */
#ifndef BPFPROF_CLI_SCREEN_H
#define BPFPROF_CLI_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What screen_key() gives: a Unicode character as it was typed, or one of these. */
enum screen_key {
	SCREEN_KEY_FIRST = 0x110000, /* all characters are below */
	SCREEN_KEY_NONE = SCREEN_KEY_FIRST, /* the time is over */
	SCREEN_KEY_RESIZE, /* draw again; rows and columns have changed */
	SCREEN_KEY_WAKE, /* wake_fd is readable */
	SCREEN_KEY_STOP, /* SIGINT, SIGTERM, SIGHUP or SIGQUIT; or the terminal is gone */
	SCREEN_KEY_UP,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_ENTER,
	SCREEN_KEY_ESCAPE,
	SCREEN_KEY_BACKSPACE,
	SCREEN_KEY_TAB,
	SCREEN_KEY_OTHER, /* a key without a meaning here */
};

#define SCREEN_CTRL(letter) ((uint32_t)(letter)&0x1f)

/* How text looks: one colour, ORed with any of the attributes. Without colours (NO_COLOR, or a
 * terminal that has none) the attributes remain. */
enum screen_style {
	SCREEN_NORMAL = 0,
	/* colours */
	SCREEN_USER,
	SCREEN_KERNEL,
	SCREEN_INLINED,
	SCREEN_JIT,
	SCREEN_HOT, /* a large share */
	SCREEN_WARM,
	SCREEN_FOUND, /* what a search found */
	SCREEN_TITLE,
	SCREEN_COLOUR_MASK = 0xff,
	/* attributes */
	SCREEN_BOLD = 1 << 8,
	SCREEN_DIM = 1 << 9,
	SCREEN_REVERSE = 1 << 10,
	SCREEN_UNDERLINE = 1 << 11,
};

struct screen {
	int rows, columns;
	bool has_colours;
	/* Of screen.c alone. */
	void *terminal;
	int wake_fd, signal_fd;
	sigset_t mask_before;
};

/* Read what the locale needs, for who may load no code later; screen_open() does so as well. */
void screen_prepare(void);

/*
 * Take over the terminal of standard input and output. Where @wake_fd is -1 the ending signals are
 * the screen's while it is open: they become SCREEN_KEY_STOP; else they are left to the caller
 * (stopper.h), and screen_key() returns SCREEN_KEY_WAKE while @wake_fd (borrowed) is readable.
 * 0; -ENOTTY: no terminal, or one that cannot move its cursor (TERM=dumb): print text instead;
 * negative errno. There is one screen at a time. Sets LC_CTYPE from the environment.
 */
int screen_open(struct screen *screen, int wake_fd);

/* Restore the terminal. Fine on a screen that was not opened, when zeroed, and twice. */
void screen_close(struct screen *screen);

/* Start an empty picture; nothing is seen before screen_end(). Renews rows and columns. */
void screen_begin(struct screen *screen);
void screen_end(struct screen *screen);

/*
 * Put @text at @row, @column, in at most @columns of them: made printable and cut as by
 * screen_text_fit(). What lies outside the screen is left out. Returns the column behind it.
 */
int screen_put(struct screen *screen, int row, int column, int columns, unsigned int style,
	       const char *text);

/* The same for a whole row, its background in @style to the right edge. */
void screen_line(struct screen *screen, int row, unsigned int style, const char *text);

/* Give what is on @row from @column on, @columns wide, the attributes of @style in addition (the
 * current row of a list: SCREEN_REVERSE). */
void screen_mark(struct screen *screen, int row, int column, int columns, unsigned int style);

/* Put an open prompt (screen_list.h) on @row, with the cursor behind its text. */
struct screen_prompt;
void screen_show_prompt(struct screen *screen, int row, const struct screen_prompt *prompt);

/* Wait at most @timeout_ms (-1: for ever) for a key or what else enum screen_key tells. */
uint32_t screen_key(struct screen *screen, int timeout_ms);

#endif
