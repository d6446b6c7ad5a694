/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program around the core counts for monitoring, and what it asks the system for. Counting
 * and asking take constant time. Used by the loop's thread only.
 */
#ifndef LK_SERVER_CONNECTIONS_MONITOR_H
#define LK_SERVER_CONNECTIONS_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buckets.h"
#include "base/text.h"
#include "server/connections/host.h"
#include "server/connections/refusal.h"

struct lk_monitor {
    int64_t started_wall_us;
    uint64_t refused[LK_REFUSALS];
    struct lk_buckets commits;   /* batches written, as long as the write took */
    int64_t committing_since_us; /* on the now_us axis; 0: no batch is being written */
};

void lk_monitor_begin(struct lk_monitor *monitor, int64_t wall_us);

/* The process as the system sees it. */
struct lk_process_use {
    uint64_t resident_bytes; /* 0: unknown */
    uint64_t processor_us;
};
struct lk_process_use lk_monitor_process(void);

/* The sizes of the store's file and of its write-ahead log; false: the file cannot be read. */
bool lk_monitor_files(const char *directory, uint64_t *ret_file_bytes, uint64_t *ret_log_bytes);

/* ---- what an operator looks for, as lines of INFO -------------------------------------------- */

/*
 * Adds lines of `name:value`: since when it runs, its connections and the bound of them, those
 * refused by reason, the oldest wait and the oldest item that is ready, commits, memory, sizes and
 * room of the store's disk. `model` may be NULL. Takes constant time.
 */
void lk_operation_write(struct lk_server *server, const struct lk_core_stats *stats,
                        const struct lk_model *model, const struct lk_times *times,
                        struct lk_text *text);

#endif
