/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of stores in databases share: the same things done by the library and by
 * hand, in turns. Each client is a thread with a connection of its own, which it opens and warms up
 * before the clock of its round starts, and closes behind its end: what is measured is steady work.
 */
#ifndef LK_BENCH_DATABASE_H
#define LK_BENCH_DATABASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "companion.h"

enum {
    DATABASE_SLOTS = 30, /* permits of each key */
    DATABASE_KEYS = 100,
    DATABASE_BATCH = 100, /* items that are claimed, and ended, in one call */
};

struct database_client;
typedef void
database_side(struct database_client *client); /* works while database_is_time(client) */

struct database_bench {
    const char *url;                   /* of the store, whose queue "work" has items enough */
    const char *only;                  /* rounds whose name contains it; "": all */
    database_side *semaphore;          /* by hand: acquires and releases one of `keys` keys */
    const char *semaphore_name;        /* NULL: "slot rows by hand" */
    database_side *queue;              /* by hand: claims and completes */
    const struct companion *companion; /* the peer, in place of a side by hand; NULL: none */
};

struct database_client {
    const struct database_bench *bench;
    pthread_t thread;
    unsigned number;
    unsigned keys; /* used in turn, each client beginning at another */
    uint64_t done;
    database_side *side;
    unsigned warmed_up;
    int64_t ended_ns; /* when it last asked; 0 until all are warm */
};

/* So many clients, and what the library must reach of what is reached by hand. */
struct database_round {
    unsigned count;
    unsigned keys;
    double bar;
};

/* Asked by a side before each pair. The first ones warm it up and do not count. */
bool database_is_time(struct database_client *client);

void database_semaphores(const struct database_bench *bench, const struct database_round *rounds,
                         size_t count);
void database_queues(const struct database_bench *bench, const struct database_round *rounds,
                     size_t count);

/*
 * The library's queue beside that of another library, which runs in a process of its own. It is
 * told the number of its workers and the milliseconds, and answers what it has done in a second.
 * The same again with the library's items in batches, unless `batch_bar` is 0.
 */
void database_queues_beside(const struct database_bench *bench, const struct companion *peer,
                            const char *name, const struct database_round *rounds, size_t count,
                            double batch_bar);

/* How much expired requests of others slow down a user of a key, by the library alone. */
void database_dead(const struct database_bench *bench, void (*leave_dead)(void));

#endif
