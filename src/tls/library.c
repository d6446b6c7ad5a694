/* SPDX-License-Identifier: Apache-2.0 */
/* The table of OpenSSL's functions. */
#include "tls/library.h"

#include "base/error.h"
#include "base/library.h"

struct lk_openssl lk_openssl;

/* libssl brings libcrypto, whose functions are looked up through it. */
lk_outcome lk_openssl_load(lk_error *error) {
    static const char *const names[] = {LK_OPENSSL_NAMES};
    static struct lk_library library = {
        .file = "libssl.so.3",
        .package = "libssl3",
        .user = "TLS",
        .names = names,
        .table = &lk_openssl,
        .count = sizeof names / sizeof names[0],
    };
    lk_outcome outcome = lk_library_load(&library, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    /* Threads of a program may still use it while the program exits. */
    return OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1
               ? LK_OK
               : lk_error_set(error, LK_UNSUPPORTED, "OpenSSL cannot start");
}
