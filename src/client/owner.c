/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fresh owners (R3). A pid alone is reused, and means a different process in a different
 * container: hence the boot's id and a random number.
 */
#include "base/owner.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "lockkeeper/lockkeeper.h"

void lk_owner_make(char ret_owner[129]) {
    struct lk_text owner = lk_text_in(ret_owner, LK_OWNER_BYTES_MAX + 1);

    lk_owner_add_process(&owner, getpid());
    lk_text_format(&owner, ":%jd:%016" PRIx64, (intmax_t)gettid(), lk_random_draw());
}
