/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files that begin as a word does. */
#ifndef LK_CLI_COMPLETE_FILES_H
#define LK_CLI_COMPLETE_FILES_H

#include <stddef.h>

/*
 * The paths of at most `max` files that begin with `path`, sorted; directories end in a slash. Free
 * with lk_complete_files_free(). NULL: there are none, or memory is exhausted.
 */
char **lk_complete_files(const char *path, size_t max, size_t *ret_count);
void lk_complete_files_free(char **paths, size_t count);

#endif
