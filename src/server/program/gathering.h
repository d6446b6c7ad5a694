/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next batch is written, in a store where that takes a round trip. While a batch is
 * written, clients call, and wait for the next one. Those that the batch has answered often call
 * again at once: they would come too late for the next one, and wait for it and for one more. So
 * two groups of clients would take turns, and each call would take the time of two batches.
 *
 * So the next batch waits for them: until all of them have called again, or none of them has for
 * half of the time that the last batch took; and at most for that time. Answers are sent one after
 * the other, so calls come one after the other, too. Where waiting was in vain, some batches do not
 * wait.
 */
#ifndef LK_SERVER_PROGRAM_GATHERING_H
#define LK_SERVER_PROGRAM_GATHERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/connections/loop.h"

/* Zeroed: no batch waits, until lk_gathering_begin(). */
struct lk_gathering {
    int64_t until_us;      /* unless a client calls before; 0: the next batch does not wait */
    int64_t latest_us;     /* until then at most */
    int64_t pause_us;      /* so long after the last call */
    int64_t alarm_us;      /* when `over` fires; 0: it is not set */
    size_t expected;       /* clients that were answered, then */
    size_t away;           /* of which so many had not called, at the last look */
    bool has_waited;       /* the next batch was there, and not all of them */
    unsigned left_out;     /* so many batches do not wait */
    struct lk_moment over; /* the next batch has waited long enough */
};

enum {
    LK_GATHERING_US_MAX = 2000,
    LK_GATHERING_CLIENTS_MAX = 64, /* more share the cost of a batch as it is */
    LK_GATHERING_LEFT_OUT = 16,    /* after one that half have not come to */
};

/* The loop shall wake up when a batch has waited long enough. false: it cannot. */
bool lk_gathering_open(struct lk_gathering *gathering, struct event_base *loop);
void lk_gathering_close(struct lk_gathering *gathering); /* accepts one that is not open */

/* A batch is durable, which took `took_us`, and has answered so many clients. */
void lk_gathering_begin(struct lk_gathering *gathering, size_t answered, int64_t took_us,
                        int64_t now_us);

/*
 * The next batch could be written. Whether it waits, `away` of those clients having not called
 * yet. If not, it is to be written, and lk_gathering_begin() called when it is durable.
 */
bool lk_gathering_waits(struct lk_gathering *gathering, size_t away, int64_t now_us);

#endif
