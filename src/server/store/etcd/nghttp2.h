/* SPDX-License-Identifier: Apache-2.0 */
/* The library of HTTP/2, loaded when a store in etcd is opened (base/library.h). */
#ifndef LK_SERVER_STORE_ETCD_NGHTTP2_H
#define LK_SERVER_STORE_ETCD_NGHTTP2_H

#include <nghttp2/nghttp2.h>

#include "lockkeeper/lockkeeper.h"
#include "server/store/etcd/nghttp2_functions.h"

/* Before any other function of the library. LK_OK or LK_UNSUPPORTED. */
lk_outcome lk_nghttp2_load(lk_error *error);

#endif
