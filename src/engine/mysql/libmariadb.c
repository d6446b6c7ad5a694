/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libmariadb's functions. */
#include "engine/mysql/libmariadb.h"

#include "base/library.h"

struct lk_libmariadb lk_libmariadb;

lk_outcome lk_libmariadb_load(lk_error *error) {
    static const char *const names[] = {LK_LIBMARIADB_NAMES};
    static struct lk_library library = {
        .file = "libmariadb.so.3",
        .package = "libmariadb3",
        .user = "a store in MySQL or MariaDB",
        .names = names,
        .table = &lk_libmariadb,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}
