/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions that the last durable batch has answered: many of them call again at once. */
#include "server/core/core_internal.h"

void lk_core_await(struct lk_core *core, struct lk_session *session, uint64_t batch) {
    session->answered_batch = batch;
    core->awaited++;
}

void lk_core_await_no_more(struct lk_core *core, struct lk_session *session) {
    if (session->answered_batch != 0 && session->answered_batch == core->answered_batch) {
        core->awaited--;
    }
    session->answered_batch = 0;
}

size_t lk_core_awaited(const struct lk_core *core) {
    return core->awaited;
}
