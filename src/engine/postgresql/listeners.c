/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners of this process: one for each store, shared by all that have it open. A child of
 * fork() has none of its parent's, whose threads it lacks.
 */
#include <string.h>
#include <unistd.h>

#include "engine/postgresql/listener.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* held for moments only */
static struct lk_postgresql_listener *first;
static bool is_watching_forks;

/* Around fork(), too: no other thread is inside while the process forks. */
static void lock(void) {
    (void)pthread_mutex_lock(&mutex);
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&mutex);
}

static bool is_of(const struct lk_postgresql_listener *listener,
                  const struct lk_postgresql_address *address) {
    bool is_same_url = listener->url == NULL || address->listen_url == NULL
                           ? listener->url == address->listen_url
                           : strcmp(listener->url, address->listen_url) == 0;

    return is_same_url && strcmp(listener->schema, address->schema) == 0
           && listener->process == getpid();
}

struct lk_postgresql_listener *
lk_postgresql_listener_join(const struct lk_postgresql_address *address) {
    struct lk_postgresql_listener *listener;

    lock();
    is_watching_forks = is_watching_forks || pthread_atfork(lock, unlock, unlock) == 0;
    listener = first;
    while (listener != NULL && !is_of(listener, address)) {
        listener = listener->next;
    }
    if (listener == NULL) {
        listener = lk_postgresql_listener_new(address);
        if (listener != NULL) {
            listener->process = getpid();
            listener->next = first;
            first = listener;
        }
    }
    if (listener != NULL) {
        listener->users++;
    }
    unlock();
    return listener;
}

void lk_postgresql_listener_leave(struct lk_postgresql_listener *listener) {
    struct lk_postgresql_listener **at = &first;
    bool is_last;

    lock();
    is_last = --listener->users == 0;
    if (is_last) {
        while (*at != listener) {
            at = &(*at)->next;
        }
        *at = listener->next;
    }
    unlock();
    if (is_last) {
        lk_postgresql_listener_free(listener); /* which waits for its thread */
    }
}
