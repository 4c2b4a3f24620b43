/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal by ncurses: see screen.h. */
#include "cli/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <ncursesw/curses.h>
#include <ncursesw/term.h>
#undef columns /* a macro of term.h */

#include "base/build.h"
#include "cli/screen_list.h"
#include "cli/screen_text.h"

/* An escape sequence arrives at once; a person's Esc alone. */
enum { ESCAPE_MS = 25, COLOUR_DEFAULT = -1 };

static const short colours[] = {
	[SCREEN_NORMAL] = COLOUR_DEFAULT, [SCREEN_USER] = COLOR_GREEN,
	[SCREEN_KERNEL] = COLOR_YELLOW,	  [SCREEN_INLINED] = COLOR_CYAN,
	[SCREEN_JIT] = COLOR_MAGENTA,	  [SCREEN_HOT] = COLOR_RED,
	[SCREEN_WARM] = COLOR_YELLOW,	  [SCREEN_FOUND] = COLOR_MAGENTA,
	[SCREEN_TITLE] = COLOR_CYAN,
};

enum { COLOUR_CNT = sizeof(colours) / sizeof(colours[0]) };

/* Can text be put anywhere on this terminal? */
static bool can_move(void)
{
	const char *term = getenv("TERM");
	const char *move;
	bool is_able;
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term)
		return false;
	if (setupterm(term, STDOUT_FILENO, &status) != OK)
		return false;
	move = tigetstr("cup");
	is_able = move && move != (const char *)-1;
	del_curterm(cur_term);
	return is_able;
}

static bool start_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !has_colors() || start_color() != OK ||
	    use_default_colors() != OK)
		return false;
	for (int i = 1; i < COLOUR_CNT; i++)
		init_pair((short)i, colours[i], COLOUR_DEFAULT);
	return true;
}

/* The ending signals, unless they are the caller's. 0 or negative errno. */
static int own_signals(struct screen *screen)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t owned;
	int err;

	screen->signal_fd = -1;
	if (screen->wake_fd >= 0)
		return 0;
	sigemptyset(&owned);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaddset(&owned, ending[i]);
	pthread_sigmask(SIG_BLOCK, &owned, &screen->mask_before);
	screen->signal_fd = signalfd(-1, &owned, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signal_fd >= 0)
		return 0;
	err = -errno;
	pthread_sigmask(SIG_SETMASK, &screen->mask_before, NULL);
	return err;
}

static void return_signals(struct screen *screen)
{
	struct signalfd_siginfo info;

	if (screen->signal_fd < 0)
		return;
	/* Those that ended the view have done so, and shall not end the program as well. */
	while (read(screen->signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	close(screen->signal_fd);
	screen->signal_fd = -1;
	pthread_sigmask(SIG_SETMASK, &screen->mask_before, NULL);
}

void screen_prepare(void)
{
	setlocale(LC_CTYPE, "");
	/* glibc loads what other character sets need: see build.h. */
	if (BUILD_IS_STATIC && strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C");
	/* The C library takes up its converter with the first character. */
	(void)btowc(0xe4);
}

int screen_open(struct screen *screen, int wake_fd)
{
	int err;

	*screen = (struct screen){.wake_fd = wake_fd, .signal_fd = -1};
	screen_prepare();
	if (!can_move())
		return -ENOTTY;
	err = own_signals(screen);
	if (err)
		return err;
	set_escdelay(ESCAPE_MS);
	screen->terminal = newterm(NULL, stdout, stdin);
	if (!screen->terminal) {
		return_signals(screen);
		return -ENOTTY;
	}
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	screen->has_colours = start_colours();
	screen_begin(screen);
	return 0;
}

void screen_close(struct screen *screen)
{
	if (!screen->terminal)
		return;
	endwin();
	delscreen(screen->terminal);
	screen->terminal = NULL;
	return_signals(screen);
}

void screen_begin(struct screen *screen)
{
	getmaxyx(stdscr, screen->rows, screen->columns);
	if (screen->columns > SCREEN_COLUMNS_MAX)
		screen->columns = SCREEN_COLUMNS_MAX;
	werase(stdscr);
	curs_set(0);
}

void screen_end(struct screen *screen)
{
	wrefresh(stdscr);
}

static attr_t attributes(unsigned int style)
{
	return (style & SCREEN_BOLD ? A_BOLD : 0) | (style & SCREEN_DIM ? A_DIM : 0) |
	       (style & SCREEN_REVERSE ? A_REVERSE : 0) |
	       (style & SCREEN_UNDERLINE ? A_UNDERLINE : 0);
}

static short colour_pair(const struct screen *screen, unsigned int style)
{
	unsigned int colour = style & SCREEN_COLOUR_MASK;

	return screen->has_colours && colour < COLOUR_CNT ? (short)colour : 0;
}

int screen_put(struct screen *screen, int row, int column, int columns, unsigned int style,
	       const char *text)
{
	struct screen_text fit;

	if (row < 0 || row >= screen->rows || column < 0 || column >= screen->columns)
		return column;
	if (columns > screen->columns - column)
		columns = screen->columns - column;
	screen_text_fit(text, columns, &fit);
	wattr_set(stdscr, attributes(style), colour_pair(screen, style), NULL);
	mvwaddnwstr(stdscr, row, column, fit.chars, (int)fit.len);
	wattr_set(stdscr, A_NORMAL, 0, NULL);
	return column + fit.columns;
}

void screen_line(struct screen *screen, int row, unsigned int style, const char *text)
{
	int end = screen_put(screen, row, 0, screen->columns, style, text);

	for (; end < screen->columns && row >= 0 && row < screen->rows; end++)
		screen_put(screen, row, end, 1, style, " ");
}

void screen_mark(struct screen *screen, int row, int column, int columns, unsigned int style)
{
	cchar_t cell;
	wchar_t chars[CCHARW_MAX + 1];
	attr_t attrs;
	short pair;

	if (row < 0 || row >= screen->rows || column < 0)
		return;
	for (int end = column + columns; column < end && column < screen->columns; column++) {
		if (mvwin_wch(stdscr, row, column, &cell) != OK ||
		    getcchar(&cell, chars, &attrs, &pair, NULL) != OK)
			continue;
		mvwchgat(stdscr, row, column, 1, attrs | attributes(style),
			 style & SCREEN_COLOUR_MASK ? colour_pair(screen, style) : pair, NULL);
	}
}

void screen_show_prompt(struct screen *screen, int row, const struct screen_prompt *prompt)
{
	int at = screen_put(screen, row, 0, screen->columns, SCREEN_BOLD, prompt->label);
	const char *text = prompt->text;

	/* The end is what is being typed. */
	while (*text && screen_text_columns(text) > screen->columns - at - 1)
		text++;
	at = screen_put(screen, row, at, screen->columns - at, SCREEN_NORMAL, text);
	curs_set(1);
	wmove(stdscr, row, at < screen->columns ? at : screen->columns - 1);
}

static uint32_t special_key(wint_t code)
{
	static const struct {
		wint_t code;
		enum screen_key key;
	} keys[] = {
		{KEY_UP, SCREEN_KEY_UP},	 {KEY_DOWN, SCREEN_KEY_DOWN},
		{KEY_LEFT, SCREEN_KEY_LEFT},	 {KEY_RIGHT, SCREEN_KEY_RIGHT},
		{KEY_PPAGE, SCREEN_KEY_PAGE_UP}, {KEY_NPAGE, SCREEN_KEY_PAGE_DOWN},
		{KEY_HOME, SCREEN_KEY_HOME},	 {KEY_END, SCREEN_KEY_END},
		{KEY_ENTER, SCREEN_KEY_ENTER},	 {KEY_BACKSPACE, SCREEN_KEY_BACKSPACE},
		{KEY_RESIZE, SCREEN_KEY_RESIZE},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return SCREEN_KEY_OTHER;
}

static uint32_t typed_key(wint_t chr)
{
	switch (chr) {
	case '\r':
	case '\n':
		return SCREEN_KEY_ENTER;
	case 0x1b:
		return SCREEN_KEY_ESCAPE;
	case 0x7f:
	case '\b':
		return SCREEN_KEY_BACKSPACE;
	case '\t':
		return SCREEN_KEY_TAB;
	default:
		return chr < SCREEN_KEY_FIRST ? (uint32_t)chr : (uint32_t)SCREEN_KEY_OTHER;
	}
}

/* A key that has arrived, or SCREEN_KEY_NONE. */
static uint32_t pending_key(void)
{
	wint_t code;

	switch (wget_wch(stdscr, &code)) {
	case OK:
		return typed_key(code);
	case KEY_CODE_YES:
		return special_key(code);
	default:
		return SCREEN_KEY_NONE;
	}
}

uint32_t screen_key(struct screen *screen, int timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = screen->signal_fd, .events = POLLIN},
		{.fd = screen->wake_fd, .events = POLLIN},
	};
	uint32_t key = pending_key();
	int ready;

	while (key == SCREEN_KEY_NONE) {
		ready = poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
		if (ready > 0 && fds[1].revents)
			return SCREEN_KEY_STOP;
		if (ready > 0 && fds[2].revents)
			return SCREEN_KEY_WAKE;
		if (!ready || (ready < 0 && errno != EINTR))
			return SCREEN_KEY_NONE;
		/* Interrupted: SIGWINCH has left KEY_RESIZE to be read. */
		key = pending_key();
		if (key == SCREEN_KEY_NONE && ready > 0 && fds[0].revents & (POLLHUP | POLLERR))
			return SCREEN_KEY_STOP;
	}
	return key;
}
