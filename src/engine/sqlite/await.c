/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a grant: a lookout over the line in front of the request. A line of fifty costs a few
 * percent of a core, and its head is woken within milliseconds.
 *
 * A deadline in front of the waiter ends the wait too: nobody else may be there to sweep it. Those
 * further back leave that to the head of the line for a moment, so that not all of them write at
 * once what one write can do.
 */
#include "engine/sqlite/lookout.h"
#include "sql/line.h"

#define LOOK_FIRST_US INT64_C(4000)    /* the head of the line, when something just happened */
#define LOOK_QUIET_US INT64_C(25000)   /* the head of the line, when all has long been quiet */
#define DUE_PER_PLACE_US INT64_C(5000) /* who is further back gives those in front time to sweep */
enum { DUE_PLACES_MAX = 20 };

struct line_lookout {
    struct lk_lookout lookout;
    uint64_t request;
};

/* The instant at which a deadline in front is this waiter's to sweep. */
static int64_t due_us(const struct lk_sql_line *line) {
    int64_t places = line->ahead < DUE_PLACES_MAX ? (int64_t)line->ahead : DUE_PLACES_MAX;

    return line->next_due_us > LK_NEVER / 2 ? LK_NEVER
                                            : line->next_due_us + places * DUE_PER_PLACE_US;
}

static int look_at_line(struct lk_lookout *lookout) {
    struct line_lookout *waiting = (struct line_lookout *)lookout;
    struct lk_sql_line line;
    int code = lk_sql_line_load(&lookout->store->sql, waiting->request, &line);

    if (code == SQLITE_OK) {
        lookout->is_over = !line.is_standing;
        lookout->ahead = (int64_t)line.ahead;
        lookout->due_us = due_us(&line);
    }
    return code;
}

lk_outcome lk_sqlite_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                           struct lk_waker *waker) {
    struct line_lookout waiting = {
        lk_lookout_make(lk_sqlite_of(engine), look_at_line, LOOK_FIRST_US, LOOK_QUIET_US),
        .request = stand->id,
    };
    lk_outcome outcome;

    waiting.lookout.ahead = (int64_t)stand->in_the_way;
    outcome = lk_lookout_glance(&waiting.lookout); /* what came between the ask and now */
    return outcome == LK_OK ? lk_lookout_keep(&waiting.lookout, until_us, waker) : outcome;
}
