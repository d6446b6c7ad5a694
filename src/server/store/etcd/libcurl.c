/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libcurl's functions. */
#include "server/store/etcd/libcurl.h"

#include <pthread.h>

#include "base/error.h"
#include "base/library.h"

struct lk_libcurl lk_libcurl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode begun = CURLE_FAILED_INIT;

static void begin(void) {
    begun = curl_global_init(CURL_GLOBAL_DEFAULT);
}

lk_outcome lk_libcurl_load(lk_error *error) {
    static const char *const names[] = {LK_LIBCURL_NAMES};
    static struct lk_library library = {
        .file = "libcurl.so.4",
        .package = "libcurl4",
        .user = "a store in etcd",
        .names = names,
        .table = &lk_libcurl,
        .count = sizeof names / sizeof names[0],
    };
    lk_outcome outcome = lk_library_load(&library, error);

    if (outcome == LK_OK) {
        (void)pthread_once(&once, begin);
        if (begun != CURLE_OK) {
            return lk_error_set(error, LK_INTERNAL, "libcurl cannot be initialized");
        }
    }
    return outcome;
}
