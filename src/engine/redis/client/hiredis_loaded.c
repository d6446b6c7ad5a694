/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hiredis as a shared library, where the build finds no static one (meson.build): by the soname of
 * the headers that the structs are of. Another soname may have other structs.
 */
#include "base/library.h"
#include "engine/redis/client/link.h"

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
