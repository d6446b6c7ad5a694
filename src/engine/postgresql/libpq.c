/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libpq's functions. */
#include "engine/postgresql/libpq.h"

#include "base/library.h"

struct lk_libpq lk_libpq;

lk_outcome lk_libpq_load(lk_error *error) {
    static const char *const names[] = {LK_LIBPQ_NAMES};
    static struct lk_library library = {
        .file = "libpq.so.5",
        .package = "libpq5",
        .user = "a store in PostgreSQL",
        .names = names,
        .table = &lk_libpq,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}
