/* SPDX-License-Identifier: Apache-2.0 */
/* One worker at the table `work`, whose handler does nothing. */
#include "table_library.h"

#include "bench.h"
#include "lockkeeper/lockkeeper.h"

static int do_nothing(void *context, const lk_claim_info *claim, lk_lease *lease) {
    (void)context;
    (void)claim;
    (void)lease;
    return 0;
}

void table_library_work(const char *url, bool is_finder) {
    const lk_work_table table = {
        .size = sizeof table,
        .name = "work",
        .where = "done = 0",
        .order = "id",
        .done = "UPDATE work SET done = 1 WHERE id = :id",
    };
    const lk_work_options options = {
        .size = sizeof options,
        .table = &table,
        .handle = do_nothing,
        .drain = true,
        .loops = is_finder ? LK_WORK_ALL : LK_WORK_CLAIMS,
    };
    lk_store *store = NULL;
    lk_error error = {0};

    if (lk_open(url, &store, &error) != LK_OK || lk_work(store, &options, NULL, &error) != LK_OK) {
        bench_give_up("%s: %s", url, error.text);
    }
    lk_close(store);
}
