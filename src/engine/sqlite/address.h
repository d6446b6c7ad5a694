/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a store's file is: the URL, the directory, the file system and whose file it is. Everything
 * that can be refused is refused here, before a byte is written.
 */
#ifndef LK_ENGINE_SQLITE_ADDRESS_H
#define LK_ENGINE_SQLITE_ADDRESS_H

#include <limits.h>
#include <stdbool.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"

struct lk_sqlite_address {
    char path[PATH_MAX];
    bool is_relaxed; /* ?durability=relaxed */
    bool is_shared;  /* ?share=yes: the store may live in a database of something else */
};

/* PATH[?durability=full|relaxed][&share=yes|no]. LK_OK, or LK_INVALID with *ret_place untouched. */
lk_outcome lk_sqlite_address_parse(struct lk_slice rest, struct lk_sqlite_address *ret_address,
                                   lk_error *error);

/*
 * Makes an empty file, readable by its owner alone, where there is none; and refuses what cannot
 * become a store: LK_INVALID (no directory, no file, another program's database or no database),
 * LK_UNSUPPORTED (a network file system), LK_DENIED, LK_UNAVAILABLE, LK_INTERNAL.
 */
lk_outcome lk_sqlite_address_prepare(const struct lk_sqlite_address *address, lk_error *error);

/* The name of the file system type if it is one of the network's; else NULL. */
const char *lk_sqlite_address_network_name(unsigned long type);

#endif
