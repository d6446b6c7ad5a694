/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store exists already, without creating it as lk_open() would. */
#ifndef LK_CLI_STORE_IS_THERE_H
#define LK_CLI_STORE_IS_THERE_H

#include <stdbool.h>

/*
 * `url` NULL: the default one. True also where this cannot be determined without opening it, and
 * where the URL is wrong: lk_open() then has the better message.
 */
bool lk_store_is_there(const char *url);

#endif
