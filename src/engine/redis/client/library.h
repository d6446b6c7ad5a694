/* SPDX-License-Identifier: Apache-2.0 */
/* Redis's client library, loaded when a store is opened (base/library.h). */
#ifndef LK_ENGINE_REDIS_CLIENT_LIBRARY_H
#define LK_ENGINE_REDIS_CLIENT_LIBRARY_H

#include <hiredis/hiredis.h>

#include "engine/redis/client/hiredis_functions.h"
#include "lockkeeper/lockkeeper.h"

/* Before any other function of the library. LK_OK, or LK_UNSUPPORTED. */
lk_outcome lk_hiredis_load(lk_error *error);

#endif
