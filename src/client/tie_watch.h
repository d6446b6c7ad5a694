/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the connections that bound leases end with (R18), in a thread of its own, so that a
 * holder learns at once that the service or the network has ended one.
 */
#ifndef LK_CLIENT_TIE_WATCH_H
#define LK_CLIENT_TIE_WATCH_H

#include <pthread.h>
#include <stdbool.h>

/* Zeroed: not started. */
struct lk_tie_watch {
    int epoll;
    int stop; /* eventfd */
    bool is_started;
    pthread_t thread;
    void (*on_cut)(void *context);
    void *context;
};

/*
 * Starts the thread. It calls on_cut() when a connection has ended, again and again until
 * lk_tie_watch_take() has returned all of them. false: the system has no more threads or
 * descriptors.
 */
bool lk_tie_watch_start(struct lk_tie_watch *watch, void (*on_cut)(void *context), void *context);

/* Waits for on_cut(), and ends the thread. Nothing, if it was not started. */
void lk_tie_watch_stop(struct lk_tie_watch *watch);

/*
 * Watches a connection, and stops doing so. `item` is what lk_tie_watch_take() returns of it: one
 * whose connection has ended, which is not watched any more then; NULL: there is none. Calls of
 * these three are the caller's to order: an item that was removed is not returned.
 */
void lk_tie_watch_add(const struct lk_tie_watch *watch, int descriptor, void *item);
void lk_tie_watch_remove(const struct lk_tie_watch *watch, int descriptor);
void *lk_tie_watch_take(const struct lk_tie_watch *watch, int (*descriptor_of)(const void *item));

#endif
