/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of lk serve from three sources: the command line, the environment (LK_SERVE_NAME)
 * and a file (--config). They have the same names and values. A setting counts from the first
 * source that has it, and what contradicts it in a later source does not count.
 */
#ifndef LK_CLI_SERVE_SETTINGS_H
#define LK_CLI_SERVE_SETTINGS_H

#include "cli/parse/command_line.h"

struct lk_serve_settings {
    struct lk_command_line line; /* as if all of them had been given on one command line */
    char **texts;                /* what it points into, besides the command line's own */
    size_t text_count;
};

/*
 * Reads all three; blocks as long as reading the file takes. `line` must outlive the settings.
 * LK_OK; LK_INVALID: *error names the variable, or the file and its line; LK_DENIED or
 * LK_UNAVAILABLE: the file cannot be read; LK_INTERNAL. Whatever is returned, the settings are to
 * be freed. A variable LK_SERVE_... that names no option is not refused, as other programs may set
 * it for a reason of their own; a warning is written to stderr.
 */
lk_outcome lk_serve_settings_read(const struct lk_command_line *line,
                                  struct lk_serve_settings *ret_settings, lk_error *error);

/* The same on SIGHUP, without that warning. */
lk_outcome lk_serve_settings_read_again(const struct lk_command_line *line,
                                        struct lk_serve_settings *ret_settings, lk_error *error);
void lk_serve_settings_free(struct lk_serve_settings *settings);

#endif
