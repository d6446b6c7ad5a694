/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An item that was evicted is missing without a trace: the worker finds no item, and the queue
 * counts as drained. So the warning comes before work begins, and not only from `lk doctor`.
 */
#include "cli/run/eviction.h"

#include <string.h>

#include "cli/run/status.h"
#include "client/store.h"

void lk_warn_of_eviction(lk_store *store, int64_t wait_ms) {
    static const char scheme[] = "redis";
    static const char policy[] = "(maxmemory-policy "; /* engine/redis/examine.c */
    lk_report *report = NULL;
    char *rest;

    if (strncmp(lk_store_url(store), scheme, sizeof scheme - 1) != 0
        || lk_store_examine_within(store, wait_ms, &report, NULL) != LK_OK) {
        return;
    }
    for (const char *line = strtok_r(report->warnings, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, policy) != NULL) {
            lk_run_status("WARNING", "%s", line);
        }
    }
    lk_report_free(report);
}
