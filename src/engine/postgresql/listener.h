/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection and one thread, which listen for wake-ups (LISTEN) on behalf of all waiters of
 * this process at one store, however often it is open here. Started with the first wait.
 *
 * A wake-up is a hint. A waiter that misses one queries the store again within a second. So a
 * connection that is lost, or that does not exist (?listen=no, or a pooler in between), costs
 * latency only.
 */
#ifndef LK_ENGINE_POSTGRESQL_LISTENER_H
#define LK_ENGINE_POSTGRESQL_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sleepers.h"
#include "engine/postgresql/address.h"

enum { LK_POSTGRESQL_CHANNELS = 32 }; /* besides the one of all; of a waiter, by its owner */

struct lk_postgresql_listener {
    char *url; /* NULL: it does not listen */
    char schema[LK_POSTGRESQL_SCHEMA_MAX + 1];

    /* listeners.c; under its mutex */
    struct lk_postgresql_listener *next;
    pid_t process; /* that has made it */
    size_t users;

    pthread_mutex_t mutex;
    pthread_t thread;
    bool is_begun;
    bool is_ending;
    bool is_listening;
    uint32_t wanted;             /* the channels of the waiters so far, a bit each */
    int pipe[2];                 /* a byte written here wakes the thread */
    struct lk_sleepers sleepers; /* by the hash of a wake-up's text */
};

/* ---- listeners.c ----------------------------------------------------------------------------- */

/*
 * The listener that this process has for the store at this address, or a new one; the address is
 * copied. NULL: memory, or the system's mutexes or pipes, are exhausted.
 */
struct lk_postgresql_listener *
lk_postgresql_listener_join(const struct lk_postgresql_address *address);

/* The last user of a listener ends it. No caller of this user's may sleep any more. */
void lk_postgresql_listener_leave(struct lk_postgresql_listener *listener);

/* ---- listener.c ------------------------------------------------------------------------------ */

/* NULL: as above. */
struct lk_postgresql_listener *
lk_postgresql_listener_new(const struct lk_postgresql_address *address);
void lk_postgresql_listener_free(struct lk_postgresql_listener *listener);

/*
 * The number of wake-ups so far; 0: the listener is not started yet. Read before an ask, and given
 * to the sleep.
 */
uint64_t lk_postgresql_listener_version(struct lk_postgresql_listener *listener);

/*
 * Sleeps until a wake-up with this text newer than `version`, or until `until_us`: LK_OK, at once
 * if a wake-up may have been missed. `owner`: of the request that waits; empty: what is waited for
 * is told on the channel of all, as work and events are. LK_CANCELLED: the waker (which may be
 * NULL) was thrown; LK_INTERNAL.
 */
lk_outcome lk_postgresql_listener_sleep(struct lk_postgresql_listener *listener,
                                        struct lk_slice owner, struct lk_slice text,
                                        uint64_t version, int64_t until_us, struct lk_waker *waker);

#endif
