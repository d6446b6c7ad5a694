/* SPDX-License-Identifier: Apache-2.0 */
/* The table of hiredis's functions. */
#include "engine/redis/client/library.h"

#include "base/library.h"

#define TEXT_OF(...) TEXT(__VA_ARGS__)
#define TEXT(...) #__VA_ARGS__

struct lk_hiredis lk_hiredis;

lk_outcome lk_hiredis_load(lk_error *error) {
    static const char *const names[] = {LK_HIREDIS_NAMES};
    static struct lk_library library = {
        .file = "libhiredis.so." TEXT_OF(HIREDIS_SONAME),
        .package = "libhiredis" TEXT_OF(HIREDIS_SONAME),
        .user = "a store in Redis",
        .names = names,
        .table = &lk_hiredis,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}
