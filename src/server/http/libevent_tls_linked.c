/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of libevent where libevent is linked (-Dportable=true): one that is loaded would bring a
 * second libevent. It is linked, too, but OpenSSL is not: tools/dist/sysroot compiles it so that it
 * calls OpenSSL by the table here.
 */
#include <event2/bufferevent_ssl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/library.h"
#include "libevent_openssl_functions.h"
#include "openssl_of_libevent.h"
#include "server/http/http.h"

struct lk_libevent_openssl lk_libevent_openssl = {LK_LIBEVENT_OPENSSL_MEMBERS};
struct lk_openssl_of_libevent lk_openssl_of_libevent;

lk_outcome lk_http_tls_load(lk_error *error) {
    static const char *const names[] = {LK_OPENSSL_OF_LIBEVENT_NAMES};
    static struct lk_library library = {
        .file = "libssl.so.3",
        .package = "libssl3",
        .user = "TLS over HTTP",
        .names = names,
        .table = &lk_openssl_of_libevent,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}
