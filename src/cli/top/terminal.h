/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal, by ncurses: a canvas onto it, keys from it. At most one is open at a time. It is
 * put back as it was by lk_terminal_close() and while lk_terminal_suspend() sleeps.
 */
#ifndef LK_CLI_TOP_TERMINAL_H
#define LK_CLI_TOP_TERMINAL_H

#include "cli/top/canvas.h"
#include "lockkeeper/terms.h"

struct lk_terminal;

/* LK_OK when stdin and stdout are a terminal; else LK_INVALID. */
lk_outcome lk_terminal_check(lk_error *error);

/*
 * LK_OK with *ret_terminal; LK_INVALID: it is one on which nothing can be drawn;
 * LK_INTERNAL: memory is exhausted. Shows colours if `colour` and the terminal has some.
 */
lk_outcome lk_terminal_open(bool colour, struct lk_terminal **ret_terminal, lk_error *error);
void lk_terminal_close(struct lk_terminal *terminal); /* accepts NULL */

/* Whether it shows the characters of UTF-8. */
bool lk_terminal_draws_utf8(const struct lk_terminal *terminal);

/* Its present size. */
void lk_terminal_size(const struct lk_terminal *terminal, int *ret_width, int *ret_height);

/* Takes notice of a change of size; what is on it is drawn from scratch next time. */
void lk_terminal_resized(struct lk_terminal *terminal);

/* Shows the canvas; only what is different is sent. */
void lk_terminal_show(struct lk_terminal *terminal, const struct lk_canvas *canvas);

/* The next key that was pressed, in the numbers of view.h; 0: none waits. */
uint32_t lk_terminal_key(struct lk_terminal *terminal);

/* Gives the terminal back, stops this process until it is continued, and takes it again. */
void lk_terminal_suspend(struct lk_terminal *terminal);

#endif
