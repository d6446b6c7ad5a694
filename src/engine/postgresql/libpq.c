/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libpq's functions. */
#include "engine/postgresql/libpq.h"

#include "engine/client_library.h"

struct lk_libpq lk_libpq;

lk_outcome lk_libpq_load(lk_error *error) {
    static const char *const names[] = {LK_LIBPQ_NAMES};
    static struct lk_client_library library = {
        .file = "libpq.so.5",
        .package = "libpq5",
        .store = "a store in PostgreSQL",
        .names = names,
        .functions = &lk_libpq,
        .count = sizeof names / sizeof names[0],
    };

    return lk_client_library_load(&library, error);
}
