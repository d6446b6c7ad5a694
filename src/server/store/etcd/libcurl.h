/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client library, loaded when a store in etcd is opened (base/library.h). */
#ifndef LK_SERVER_STORE_ETCD_LIBCURL_H
#define LK_SERVER_STORE_ETCD_LIBCURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
/* The header wraps these in macros of the same name; the table has macros of its own. */
#undef curl_easy_getinfo
#undef curl_easy_setopt

#include "lockkeeper/lockkeeper.h"
#include "server/store/etcd/libcurl_functions.h"

/* Before any other function of the library. LK_OK, LK_UNSUPPORTED, or LK_INTERNAL. */
lk_outcome lk_libcurl_load(lk_error *error);

#endif
