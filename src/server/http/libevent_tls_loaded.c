/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of libevent as a shared library, which the first listener that has TLS loads. */
#include <event2/bufferevent_ssl.h>

#include "base/library.h"
#include "libevent_openssl_functions.h"
#include "server/http/http.h"

struct lk_libevent_openssl lk_libevent_openssl;

lk_outcome lk_http_tls_load(lk_error *error) {
    static const char *const names[] = {LK_LIBEVENT_OPENSSL_NAMES};
    static struct lk_library library = {
        .file = "libevent_openssl-2.1.so.7",
        .package = "libevent-openssl-2.1-7",
        .user = "TLS over HTTP",
        .names = names,
        .table = &lk_libevent_openssl,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}
