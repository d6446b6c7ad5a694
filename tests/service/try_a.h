/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the client ask of scripted services, and the command that it becomes. */
#ifndef LK_TESTS_SERVICE_TRY_A_H
#define LK_TESTS_SERVICE_TRY_A_H

#include "lockkeeper/lockkeeper.h"

#define TRY_A "ACQUIRE a OWNER ana TTL 60000 BLOCKERS 0 META TRY"

/* ana tries `a` within so long; 0: the default. `ret_result` may be NULL. */
static inline lk_outcome try_a(lk_store *store, int64_t patience_ms, lk_result **ret_result) {
    const char *parts[] = {"a"};
    lk_request request = lk_request_init(parts, 1);

    request.owner = "ana";
    request.style = LK_TRY;
    request.blockers_max = 0;
    request.patience_ms = patience_ms;
    return lk_ask(store, &request, ret_result, NULL);
}

#endif
