/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of the command line, in ps(1) say: no passwords. */
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
