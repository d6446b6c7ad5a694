/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator looks for in a running service, as lines of INFO. */
#ifndef LK_SERVER_OPERATION_H
#define LK_SERVER_OPERATION_H

#include "base/text.h"
#include "server/core/core.h"

struct lk_server;

/*
 * Adds lines of `name:value`: since when it runs, its connections and the bound of them, those
 * refused by reason, the oldest wait and the oldest item that is ready, commits, memory, sizes and
 * room of the store's disk. `model` may be NULL. Takes constant time.
 */
void lk_operation_write(struct lk_server *server, const struct lk_core_stats *stats,
                        const struct lk_model *model, const struct lk_times *times,
                        struct lk_text *text);

#endif
