/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines: requests by their turn at a path: 0 while they hold, their ticket while they wait. Each
 * query reads only the rows that it visits, and those that its conditions leave out on the way.
 *
 * Three indexes are made by the first ask that joins a long line: every later write updates them,
 * which stores without long lines are spared. Until then, queries that would use them read more.
 */
#ifndef LK_SQL_LINES_H
#define LK_SQL_LINES_H

#include "sql/requests.h"

/* ---- hidden cycles --------------------------------------------------------------------------- */

/*
 * Whether a cycle of owners (R13) may exist that no ask has found.
 *
 * An ask that closes a cycle is refused, so a cycle can only form unseen by the events that
 * model/ask.c names. Triggers note them, whatever program writes. They are made with the indexes of
 * lines: only there does it cost much to search for a cycle that does not exist.
 */

extern const char lk_sql_hidden_cycle_script[]; /* makes the note; format.c knows it by this */

/* Makes the note and its triggers, where they are missing. In a write transaction. */
int lk_sql_note_hidden_cycles(struct lk_sql *sql);

/*
 * *ret_may true: a cycle may exist. In a write transaction. If one of these events has happened,
 * the waiting requests are read: without an owner that waits and has another request there is no
 * cycle.
 */
int lk_sql_may_hide_cycle(struct lk_sql *sql, bool *ret_may);

/* ---- lines ----------------------------------------------------------------------------------- */

/* Turns from the one to the other, both included. */
struct lk_sql_turns {
    uint64_t from;
    uint64_t to;
};
#define LK_SQL_TURN_LAST ((uint64_t)INT64_MAX)

/* Makes the indexes, and the note of hidden cycles, where they are missing. In a write
 * transaction. */
int lk_sql_make_line_indexes(struct lk_sql *sql);

/* Up to `max`, in no particular order. Makes the index of owners, if it is missing. */
int lk_sql_each_of_owner(struct lk_sql *sql, struct lk_slice owner, int max, lk_sql_visit *visit,
                         void *context);

/* Whether the owner has no more than one request. Without the index this is not known: false. */
int lk_sql_has_only_one(struct lk_sql *sql, struct lk_slice owner, bool *ret_has);

/* One request that waits, if any does, of any other owner. */
int lk_sql_each_waiting_of_others(struct lk_sql *sql, struct lk_slice owner, lk_sql_visit *visit,
                                  void *context);

/* What is held at exactly the path; by one owner, whatever others hold there; and below it. */
int lk_sql_each_held_at(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                        void *context);
int lk_sql_each_held_at_of(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                           lk_sql_visit *visit, void *context);
int lk_sql_each_held_below(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                           void *context);

/*
 * The modes of what is held at exactly the path, without what is overdue and the request `except`.
 * As leases of two owners are shared, or one is in the way of the other, two owners are enough to
 * know that no other lease there is exclusive.
 */
struct lk_sql_held_modes {
    uint64_t any;       /* one lease; 0: there is none */
    uint64_t exclusive; /* an exclusive one of another owner than `owner`, if there is one */
};
int lk_sql_held_modes(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                      int64_t now_us, uint64_t except, struct lk_sql_held_modes *ret_modes);

/*
 * What has units at exactly the path, by turn: held with turn 0. As above, without what is overdue
 * and `except`. The visit may end the walk by another code than SQLITE_OK.
 */
typedef int lk_sql_visit_units(void *context, uint64_t id, uint32_t units);
int lk_sql_each_counted_at(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                           int64_t now_us, uint64_t except, lk_sql_visit_units *visit,
                           void *context);

/* The widest limit that a waiting part at exactly the path names; 0: none does. */
int lk_sql_greatest_limit(struct lk_sql *sql, struct lk_slice path, uint32_t *ret_limit);

/* Shared parts without a limit that wait at exactly the path, by turn. */
int lk_sql_each_unlimited_at(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                             lk_sql_visit *visit, void *context);

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
