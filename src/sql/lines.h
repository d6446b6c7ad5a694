/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests by their turn at a path: 0 while they hold, their ticket while they wait. Each query
 * reads only the rows that it visits, and those that its conditions leave out on the way.
 */
#ifndef LK_SQL_LINES_H
#define LK_SQL_LINES_H

#include "sql/requests.h"

/*
 * Up to `max`, in no particular order. The index for it is made at the first use, in a write
 * transaction: every later write updates it, which stores without long lines are spared.
 */
int lk_sql_each_of_owner(struct lk_sql *sql, struct lk_slice owner, int max, lk_sql_visit *visit,
                         void *context);

/* One request that waits, if any does, of any other owner. */
int lk_sql_each_waiting_of_others(struct lk_sql *sql, struct lk_slice owner, lk_sql_visit *visit,
                                  void *context);

/* What is held at exactly the path; by one owner, or the exclusive parts of any; and below it. */
int lk_sql_each_held_at(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                        void *context);
int lk_sql_each_held_at_of(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                           lk_sql_visit *visit, void *context);
int lk_sql_each_held_exclusively(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                                 void *context);
int lk_sql_each_held_below(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                           void *context);

/* Turns from the one to the other, both included. */
struct lk_sql_turns {
    uint64_t from;
    uint64_t to;
};
#define LK_SQL_TURN_LAST ((uint64_t)INT64_MAX)

/* What waits with one of these turns, at least 1: at exactly the path; and below it. */
int lk_sql_each_waiting_at(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                           lk_sql_visit *visit, void *context);
int lk_sql_each_waiting_below(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                              lk_sql_visit *visit, void *context);

/* The first turn from `from` on of an exclusive part at the path that is not overdue; or
 * LK_SQL_TURN_LAST. */
int lk_sql_first_exclusive(struct lk_sql *sql, struct lk_slice path, uint64_t from, int64_t now_us,
                           uint64_t *ret_turn);

/* What is in the way of a part: all of these conditions. */
struct lk_sql_obstacles {
    struct lk_sql_turns turns; /* 0 to 0, or from at least 1 */
    bool exclusive_only;       /* parts */
    struct lk_slice owner;     /* of any other owner */
    int64_t after_us;          /* with a deadline after this */
    uint64_t request;          /* and not this request; 0: any */
};
int lk_sql_each_obstacle_at(struct lk_sql *sql, struct lk_slice path,
                            const struct lk_sql_obstacles *wanted, lk_sql_visit *visit,
                            void *context);
int lk_sql_each_obstacle_below(struct lk_sql *sql, struct lk_slice path,
                               const struct lk_sql_obstacles *wanted, lk_sql_visit *visit,
                               void *context);

/* How many parts there are at the path and below it, up to `max` of each. */
int lk_sql_count_at(struct lk_sql *sql, struct lk_slice path, int max, int64_t *ret_count);
int lk_sql_count_below(struct lk_sql *sql, struct lk_slice path, int max, int64_t *ret_count);

#endif
