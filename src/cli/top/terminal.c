/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncurses keeps its screen in globals of its own; nothing else of the program touches it. Its
 * signal handlers never run: top.c keeps those signals blocked and reads them as events.
 */
#include "cli/top/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/library.h"
#include "base/program.h"
#include "cli/top/view.h"

#define NCURSES_WIDECHAR 1
#define NCURSES_OPAQUE 1 /* as it is built since 6.5: nothing is read out of its structs */
#include <curses.h>
#include <term.h>

#include "cli/top/ncursesw_functions.h"

struct lk_ncursesw lk_ncursesw;

struct lk_terminal {
    SCREEN *screen;
    bool draws_utf8;
    attr_t styles[LK_CELL_COUNT];
    short pairs[LK_CELL_COUNT];
};

enum { ESCAPE_DELAY_MS = 25 }; /* what comes later behind an escape is a key of its own */

/* ---- opening --------------------------------------------------------------------------------- */

/* No other command needs it. */
static lk_outcome load_ncurses(lk_error *error) {
    static const char *const names[] = {LK_NCURSESW_NAMES};
    static struct lk_library library = {
        .file = "libncursesw.so.6",
        .package = "libncursesw6",
        .user = "lk top",
        .names = names,
        .table = &lk_ncursesw,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}

static void choose_looks(struct lk_terminal *terminal, bool colour) {
    static const struct {
        enum lk_cell_style style;
        short colour;
    } colours[] = {
        {LK_CELL_HELD, COLOR_GREEN},
        {LK_CELL_WAITING, COLOR_YELLOW},
        {LK_CELL_REVOKED, COLOR_RED},
    };

    terminal->styles[LK_CELL_STRONG] = A_BOLD;
    terminal->styles[LK_CELL_FAINT] = A_DIM;
    terminal->styles[LK_CELL_BAR] = A_REVERSE;
    terminal->styles[LK_CELL_WAITING] = A_BOLD;
    terminal->styles[LK_CELL_REVOKED] = A_BOLD;
    terminal->styles[LK_CELL_ALARM] = A_REVERSE | A_BOLD;
    if (!colour || !has_colors() || start_color() == ERR) {
        return;
    }
    short ground = use_default_colors() == OK ? -1 : COLOR_BLACK;
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++) {
        short pair = (short)(i + 1);
        if (init_pair(pair, colours[i].colour, ground) == OK) {
            terminal->pairs[colours[i].style] = pair;
            terminal->styles[colours[i].style] = A_NORMAL;
        }
    }
}

static void prepare(struct lk_terminal *terminal, bool colour) {
    terminal->draws_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)curs_set(0);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(ESCAPE_DELAY_MS);
    choose_looks(terminal, colour);
}

lk_outcome lk_terminal_check(lk_error *error) {
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
        return lk_error_set(error, LK_INVALID,
                            "top needs a terminal as stdin and stdout; for scripts: %s ls --json",
                            lk_program());
    }
    return LK_OK;
}

lk_outcome lk_terminal_open(bool colour, struct lk_terminal **ret_terminal, lk_error *error) {
    if (load_ncurses(error) != LK_OK) {
        return LK_UNSUPPORTED;
    }
    struct lk_terminal *terminal = calloc(1, sizeof *terminal);
    if (terminal == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    (void)setlocale(LC_CTYPE, ""); /* ncurses asks it how characters are written */
    terminal->screen = newterm(NULL, stdout, stdin);
    if (terminal->screen == NULL || cursor_address == NULL) {
        const char *name = getenv("TERM");
        if (terminal->screen != NULL) {
            (void)endwin();
            delscreen(terminal->screen);
        }
        free(terminal);
        return lk_error_set(error, LK_INVALID,
                            "nothing can be drawn on a terminal of the kind TERM=\"%.64s\"",
                            name != NULL ? name : "");
    }
    prepare(terminal, colour);
    *ret_terminal = terminal;
    return LK_OK;
}

void lk_terminal_close(struct lk_terminal *terminal) {
    if (terminal != NULL) {
        (void)endwin();
        delscreen(terminal->screen);
        free(terminal);
    }
}

/* ---- showing --------------------------------------------------------------------------------- */

bool lk_terminal_draws_utf8(const struct lk_terminal *terminal) {
    return terminal->draws_utf8;
}

void lk_terminal_size(const struct lk_terminal *terminal, int *ret_width, int *ret_height) {
    (void)terminal;
    *ret_width = COLS;
    *ret_height = LINES;
}

void lk_terminal_resized(struct lk_terminal *terminal) {
    struct winsize size;
    (void)terminal;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        (void)resizeterm(size.ws_row, size.ws_col);
    }
    (void)clearok(stdscr, TRUE);
}

void lk_terminal_show(struct lk_terminal *terminal, const struct lk_canvas *canvas) {
    (void)erase();
    for (int row = 0; row < canvas->height; row++) {
        for (int column = 0; column < canvas->width; column++) {
            const struct lk_canvas_cell *cell = lk_canvas_at(canvas, row, column);
            wchar_t characters[3] = {(wchar_t)cell->character, (wchar_t)cell->mark, 0};
            attr_t style =
                terminal->styles[cell->style] | (cell->is_selected ? A_REVERSE : A_NORMAL);
            cchar_t shown;
            if (cell->character != 0
                && setcchar(&shown, characters, style, terminal->pairs[cell->style], NULL) == OK) {
                (void)mvadd_wch(row, column, &shown);
            }
        }
    }
    (void)refresh();
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint32_t special_key(wint_t code) {
    switch (code) {
    case KEY_UP:
        return LK_KEY_UP;
    case KEY_DOWN:
        return LK_KEY_DOWN;
    case KEY_LEFT:
        return LK_KEY_LEFT;
    case KEY_RIGHT:
        return LK_KEY_RIGHT;
    case KEY_PPAGE:
        return LK_KEY_PAGE_UP;
    case KEY_NPAGE:
        return LK_KEY_PAGE_DOWN;
    case KEY_HOME:
        return LK_KEY_HOME;
    case KEY_END:
        return LK_KEY_END;
    case KEY_ENTER:
        return LK_KEY_ENTER;
    case KEY_BACKSPACE:
        return LK_KEY_BACKSPACE;
    default:
        return 0;
    }
}

uint32_t lk_terminal_key(struct lk_terminal *terminal) {
    wint_t code;
    (void)terminal;

    for (;;) {
        int kind = get_wch(&code);
        if (kind == ERR) {
            return 0;
        }
        if (kind == KEY_CODE_YES) {
            uint32_t key = special_key(code);
            if (key != 0) {
                return key;
            }
            continue; /* a key that means nothing here */
        }
        if (code == '\r') {
            return LK_KEY_ENTER;
        }
        if (code == '\b' || code == 0x7F) {
            return LK_KEY_BACKSPACE;
        }
        return (uint32_t)code;
    }
}

void lk_terminal_suspend(struct lk_terminal *terminal) {
    (void)endwin();
    (void)raise(SIGSTOP);
    lk_terminal_resized(terminal);
    (void)refresh();
}
