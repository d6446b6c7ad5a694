/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that listens, and the waiters it wakes. */
#include "engine/postgresql/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "engine/postgresql/store.h"

enum { AGAIN_MS = 1000 /* after a connection has failed */, CONNECT_S = 10 };

/* ---- waking ---------------------------------------------------------------------------------- */

/* A collision wakes in vain. */
static uint64_t key_of(struct lk_slice text) {
    return lk_hash_bytes(0, text);
}

static void record_wake_up(struct lk_postgresql_listener *listener, struct lk_slice text) {
    pthread_mutex_lock(&listener->mutex);
    lk_sleepers_wake(&listener->sleepers, key_of(text));
    pthread_mutex_unlock(&listener->mutex);
}

/* Wake-ups may have been lost before this moment, so all waiters wake and query the store. */
static void reset(struct lk_postgresql_listener *listener, bool is_listening) {
    pthread_mutex_lock(&listener->mutex);
    listener->is_listening = is_listening;
    lk_sleepers_wake_all(&listener->sleepers);
    pthread_mutex_unlock(&listener->mutex);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_ending(struct lk_postgresql_listener *listener) {
    bool ending;

    pthread_mutex_lock(&listener->mutex);
    ending = listener->is_ending;
    pthread_mutex_unlock(&listener->mutex);
    return ending;
}

/* Waits for the connection, for the end of the listener, or for a time (-1: without limit). */
static void wait_on(const struct lk_postgresql_listener *listener, int socket, short events,
                    int timeout_ms) {
    struct pollfd polled[2] = {{.fd = listener->pipe[0], .events = POLLIN},
                               {.fd = socket, .events = events}};

    (void)poll(polled, socket >= 0 ? 2 : 1, timeout_ms);
}

/* Connects without blocking, so that a host that does not answer cannot delay the end. */
static PGconn *connect_to(struct lk_postgresql_listener *listener) {
    PGconn *connection = lk_postgresql_begin(listener->address->listen_url);
    int64_t end_us = lk_clock_now_us() + CONNECT_S * INT64_C(1000000);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    if (connection == NULL || PQstatus(connection) == CONNECTION_BAD) {
        return connection;
    }
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED && !is_ending(listener)
           && lk_clock_now_us() < end_us) {
        wait_on(listener, PQsocket(connection), status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                AGAIN_MS);
        status = PQconnectPoll(connection);
    }
    return connection;
}

static bool begin_listening(const struct lk_postgresql_listener *listener, PGconn *connection) {
    char command[LK_POSTGRESQL_SCHEMA_MAX + 16];
    PGresult *result;
    bool is_done;

    if (connection == NULL || PQstatus(connection) != CONNECTION_OK) {
        return false;
    }
    (void)snprintf(command, sizeof command, "LISTEN %s", listener->address->schema);
    result = PQexec(connection, command);
    is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_done;
}

/* Reads notifications until the connection is lost or the listener ends. */
static void listen_on(struct lk_postgresql_listener *listener, PGconn *connection) {
    while (PQstatus(connection) == CONNECTION_OK && !is_ending(listener)) {
        PGnotify *notification;

        while ((notification = PQnotifies(connection)) != NULL) {
            record_wake_up(listener, lk_slice_of(notification->extra));
            PQfreemem(notification);
        }
        wait_on(listener, PQsocket(connection), POLLIN, -1);
        (void)PQconsumeInput(connection);
    }
}

static void *run(void *context) {
    struct lk_postgresql_listener *listener = context;

    while (!is_ending(listener)) {
        PGconn *connection = connect_to(listener);

        if (begin_listening(listener, connection)) {
            reset(listener, true);
            listen_on(listener, connection);
        }
        reset(listener, false);
        PQfinish(connection);
        if (!is_ending(listener)) {
            wait_on(listener, -1, 0, AGAIN_MS);
        }
    }
    return NULL;
}

/* The mutex is held. The thread blocks all signals; they are for the application's threads. */
static void begin(struct lk_postgresql_listener *listener) {
    sigset_t all;
    sigset_t former;

    if (listener->is_begun || listener->address->listen_url == NULL) {
        return;
    }
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    listener->is_begun = pthread_create(&listener->thread, NULL, run, listener) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
}

/* ---- from outside ---------------------------------------------------------------------------- */

bool lk_postgresql_listener_init(struct lk_postgresql_listener *listener,
                                 const struct lk_postgresql_address *address) {
    listener->address = address;
    if (pipe2(listener->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    if (pthread_mutex_init(&listener->mutex, NULL) != 0) {
        (void)close(listener->pipe[0]);
        (void)close(listener->pipe[1]);
        return false;
    }
    return true;
}

void lk_postgresql_listener_done(struct lk_postgresql_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    listener->is_ending = true;
    pthread_mutex_unlock(&listener->mutex);
    if (listener->is_begun) {
        while (write(listener->pipe[1], "", 1) < 0 && errno == EINTR) {
        }
        (void)pthread_join(listener->thread, NULL);
    }
    (void)close(listener->pipe[0]);
    (void)close(listener->pipe[1]);
    (void)pthread_mutex_destroy(&listener->mutex);
}

uint64_t lk_postgresql_listener_version(struct lk_postgresql_listener *listener) {
    uint64_t version;

    pthread_mutex_lock(&listener->mutex);
    version = listener->is_listening ? listener->sleepers.version : 0;
    pthread_mutex_unlock(&listener->mutex);
    return version;
}

lk_outcome lk_postgresql_listener_sleep(struct lk_postgresql_listener *listener,
                                        struct lk_slice text, uint64_t version, int64_t until_us,
                                        struct lk_waker *waker) {
    lk_outcome outcome;

    pthread_mutex_lock(&listener->mutex);
    begin(listener);
    if (!listener->is_listening) {
        version = listener->sleepers.version; /* no wake-ups arrive: only time ends the sleep */
    }
    outcome = lk_sleepers_sleep(&listener->sleepers, &listener->mutex, key_of(text), version,
                                until_us, waker);
    pthread_mutex_unlock(&listener->mutex);
    return outcome;
}
