/* SPDX-License-Identifier: Apache-2.0 */
/* Queues in which nothing goes on until a parked item is unparked or dropped (R16). */
#ifndef LK_CLIENT_WORK_STUCK_H
#define LK_CLIENT_WORK_STUCK_H

#include "lockkeeper/lockkeeper.h"
#include "lockkeeper/work.h"

/*
 * Whether items of the queue are ready, each of them has a strict need of a parked item, and all
 * others are parked. Reads all items of the queue. false also when the store does not answer.
 */
bool lk_queue_is_stuck(lk_store *store, const char *queue);

#endif
