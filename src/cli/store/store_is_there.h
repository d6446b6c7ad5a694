/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that exist already, without creating them as lk_open() would. */
#ifndef LK_CLI_STORE_STORE_IS_THERE_H
#define LK_CLI_STORE_STORE_IS_THERE_H

#include <stdbool.h>

#include "lockkeeper/lockkeeper.h"

/*
 * `url` NULL: the default one. True also where this cannot be determined without opening it, and
 * where the URL is wrong: lk_open() then has the better message.
 */
bool lk_store_is_there(const char *url);

/*
 * Whether leases there end with the process that takes them, so that a command that ends at once
 * cannot use the store. false also where the URL is wrong.
 */
bool lk_store_binds_to_process(const char *url);

/* As lk_open(), or LK_NONE: there is no such store, and none has been made. A URL that can name
 * none is LK_INVALID as ever. LK_CANCELLED: it was cancelled; `cancel` may be NULL. */
lk_outcome lk_open_if_there(const char *url, lk_cancel *cancel, lk_store **ret_store,
                            lk_error *error);

#endif
