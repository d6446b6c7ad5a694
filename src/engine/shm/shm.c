/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations of `shm:`. What a region of counters cannot do is not in it. */
#include "engine/shm/shm.h"

#include "base/clock.h"

/* Releases of other processes wake no waiter here, so waiters ask again this often. */
#define NAP_US INT64_C(5000)

static lk_outcome await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                        int64_t until_us, struct lk_waker *waker) {
    int64_t left_us = until_us - lk_clock_now_us();

    (void)engine;
    (void)cursor;
    if (left_us > NAP_US) {
        left_us = NAP_US;
    }
    return left_us > 0 && lk_waker_sleep(waker, left_us) ? LK_CANCELLED : LK_OK;
}

static const struct lk_url_files files = {.is_path = true, .needs_slash = true};

const struct lk_engine_ops lk_engine_shm = {
    .files = &files,
    .scheme = "shm",
    .title = "limits in this machine's memory",
    .capabilities = LK_CAN_RETRY | LK_BINDS_TO_PROCESS,
    .open = lk_shm_open,
    .check_url = lk_shm_check_url,
    .close = lk_shm_close,
    .decide = lk_shm_decide,
    .await = await,
    .list = lk_shm_list,
    .show = lk_shm_show,
    .examine = lk_shm_examine,
};
