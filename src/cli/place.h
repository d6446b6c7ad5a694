/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store is there already: opening one that is not would make it. */
#ifndef LK_CLI_PLACE_H
#define LK_CLI_PLACE_H

#include <stdbool.h>

/*
 * `url` NULL: the default one. True also where that cannot be told without opening it, and where
 * the URL is wrong: lk_open() has better words for that.
 */
bool lk_place_is_taken(const char *url);

#endif
