/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closure of an event: as much of the store as the model needs to decide it as if it had
 * all of it. Why that is enough is argued in closure.c, and tested against whole stores.
 */
#ifndef LK_ENGINE_SQLITE_CLOSURE_H
#define LK_ENGINE_SQLITE_CLOSURE_H

#include "engine/sqlite/set.h"
#include "engine/sqlite/store.h"

struct lk_closure {
    struct lk_sqlite *store;
    struct lk_model *model;
    int64_t now_us;
    struct lk_item_path item;     /* of an event about one item; size 0: none */
    const struct lk_path *ending; /* requests at exactly this path may end; NULL: none */
    bool with_owners;             /* asks and takes: follows owners, for R13 */
    bool with_all;                /* everything is loaded: nothing to follow */
    bool is_reading;              /* nothing can be written. Of a crowd: SQLITE_READONLY if all of
                                     it would have to be loaded */
    bool has_overdue;             /* one of those that are loaded is */
    bool in_crowd;                /* only what decides is loaded (crowd.c); then: */
    bool with_owners_of_waiting;  /* all waiting requests of each waiting owner, for R8 */
    bool bounds_waiters;          /* the store bounds the waiters of a path (R22) */
    uint64_t leaving;             /* the request that a release ends; 0: none */
    uint64_t units_elsewhere;     /* in use at the first path of an ask, and not loaded */
    struct lk_set waiting;        /* loaded, and to be checked; keys are references */
    size_t waiting_done;
    struct lk_set held;     /* paths at which all leases are loaded; with a slash: below which */
    struct lk_set requests; /* loaded; keys are ids */
    struct lk_set paths;    /* expanded, or to be expanded */
    struct lk_set owners;   /* their waiting requests are, or will be, loaded */
    size_t paths_done;      /* of them, so many are */
    size_t owners_done;
    struct lk_set roots;  /* last draws loaded */
    struct lk_set values; /* loaded, where there are any; keys are paths */
    struct lk_set items;  /* likewise */
    struct lk_set queues; /* likewise: what was counted of them */
};

/*
 * Makes a model and loads into it what the event needs. A LK_COMMAND_TICK needs everything, unless
 * `prefix` (else NULL) says that only requests related to it will be read from the model. A
 * LK_COMMAND_TAKE also needs candidates, and lk_sqlite_sweep() before.
 * Returns SQLite's code. lk_closure_done() in any case.
 */
int lk_closure_load(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                    const struct lk_command *command, const struct lk_path *prefix);

/*
 * The same for a LK_COMMAND_TICK that only sweeps: the claims of a queue's items that are overdue
 * (NULL: of none), and up to `elsewhere` other requests.
 */
int lk_closure_load_overdue(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                            const struct lk_command *command, const struct lk_path *queue,
                            int elsewhere);

/* The same for a LK_COMMAND_TICK after which the queue's items, or one of them, will be listed. */
int lk_closure_load_queue(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                          const struct lk_command *command, const struct lk_path *queue);
int lk_closure_load_item(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                         const struct lk_command *command, const struct lk_path *queue,
                         struct lk_slice id);

/* The same for a LK_COMMAND_TICK after which the value at the path will be read. */
int lk_closure_load_value(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                          const struct lk_command *command, const struct lk_path *path);

/*
 * Adds an item that may be claimed next, with its path and the paths that it needs, which
 * lk_closure_follow() then expands.
 */
int lk_closure_add_candidate(struct lk_closure *closure, const struct lk_sql_item *item);
int lk_closure_follow(struct lk_closure *closure);

/*
 * R22: tells the model how much lives elsewhere, as far as the bounds want to know it, before the
 * step of an ask or a take by this owner (limits.c).
 */
int lk_closure_count(struct lk_closure *closure, const struct lk_quotas *quotas,
                     struct lk_slice owner);

void lk_closure_done(struct lk_closure *closure);

/* Whether the file has a request of that id. */
bool lk_closure_has(const struct lk_closure *closure, uint64_t id);

#endif
