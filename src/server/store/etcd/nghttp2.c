/* SPDX-License-Identifier: Apache-2.0 */
/* The table of nghttp2's functions. */
#include "server/store/etcd/nghttp2.h"

#include "base/library.h"

struct lk_nghttp2 lk_nghttp2;

lk_outcome lk_nghttp2_load(lk_error *error) {
    static const char *const names[] = {LK_NGHTTP2_NAMES};
    static struct lk_library library = {
        .file = "libnghttp2.so.14",
        .package = "libnghttp2-14",
        .user = "a store in etcd",
        .names = names,
        .table = &lk_nghttp2,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}
