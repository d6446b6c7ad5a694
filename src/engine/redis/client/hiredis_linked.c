/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hiredis as a static library. The build joins this file with it to one object, which shows the two
 * names below and none of hiredis (meson.build).
 */
#include "engine/redis/client/link.h"

struct lk_hiredis lk_hiredis = {LK_HIREDIS_MEMBERS};

lk_outcome lk_hiredis_load(lk_error *error) {
    (void)error;
    return LK_OK;
}
