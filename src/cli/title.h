/* SPDX-License-Identifier: Apache-2.0 */
/* Hides passwords in the command line that ps(1) shows to other users. */
#ifndef LK_CLI_TITLE_H
#define LK_CLI_TITLE_H

#include <stdbool.h>

/*
 * Puts a copy in the place of each word that is a URL with a password in it, up to `--`, and takes
 * the password out of the original, which is what others see. The copies last as long as the
 * process. False when memory is exhausted.
 */
bool lk_title_hide_passwords(char **argv);

#endif
