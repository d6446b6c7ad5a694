/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL, loaded when it is first used (base/library.h). Within src/tls. */
#ifndef LK_TLS_LIBRARY_H
#define LK_TLS_LIBRARY_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "lockkeeper/terms.h"
#include "openssl_functions.h"

/* Before any other function of the library. LK_OK, or LK_UNSUPPORTED. */
lk_outcome lk_openssl_load(lk_error *error);

#endif
