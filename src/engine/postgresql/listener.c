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
#include "base/text.h"
#include "base/thread.h"
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

/* Ends a wait of the thread, or its next one. A full pipe does so, too. */
static void poke(const struct lk_postgresql_listener *listener) {
    while (write(listener->pipe[1], "", 1) < 0 && errno == EINTR) {
    }
}

static void drain(const struct lk_postgresql_listener *listener) {
    char ignored[64];

    while (read(listener->pipe[0], ignored, sizeof ignored) > 0) {
    }
}

/* Waits for the connection, for poke(), or for a time (-1: without limit). */
static void wait_on(const struct lk_postgresql_listener *listener, int socket, short events,
                    int timeout_ms) {
    struct pollfd polled[2] = {{.fd = listener->pipe[0], .events = POLLIN},
                               {.fd = socket, .events = events}};

    (void)poll(polled, socket >= 0 ? 2 : 1, timeout_ms);
}

/*
 * Connects without blocking, so that a host that does not answer cannot delay the end. *ret_silent:
 * it has not answered in its time.
 */
static PGconn *connect_once(struct lk_postgresql_listener *listener,
                            const struct lk_postgresql_hosts *hosts, bool *ret_silent) {
    PGconn *connection = lk_postgresql_begin(listener->url, hosts);
    int64_t end_us = lk_clock_now_us() + CONNECT_S * INT64_C(1000000);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    *ret_silent = false;
    if (connection == NULL || PQstatus(connection) == CONNECTION_BAD) {
        return connection;
    }
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED && !is_ending(listener)
           && lk_clock_now_us() < end_us) {
        wait_on(listener, PQsocket(connection), status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                AGAIN_MS);
        status = PQconnectPoll(connection);
    }
    *ret_silent =
        status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED && !is_ending(listener);
    return connection;
}

/* Of several hosts each has its time. */
static PGconn *connect_to(struct lk_postgresql_listener *listener) {
    struct lk_postgresql_hosts hosts = {.is_changed = false};
    bool is_silent;
    PGconn *connection = connect_once(listener, &hosts, &is_silent);

    while (is_silent && lk_postgresql_hosts_count(&hosts, connection) > 1
           && lk_postgresql_hosts_drop(&hosts, connection)) {
        PQfinish(connection);
        connection = connect_once(listener, &hosts, &is_silent);
    }
    lk_postgresql_hosts_done(&hosts);
    return connection;
}

/* The channels that waiters need and that the connection does not listen on. */
static uint32_t missing_channels(struct lk_postgresql_listener *listener, uint32_t listened) {
    uint32_t channels;

    pthread_mutex_lock(&listener->mutex);
    channels = listener->wanted & ~listened;
    pthread_mutex_unlock(&listener->mutex);
    return channels;
}

/* In one exchange, also on the channel of all if `is_first`. Names: 25_events.sql. */
static bool listen_to(const struct lk_postgresql_listener *listener, PGconn *connection,
                      uint32_t channels, bool is_first) {
    char command[(LK_POSTGRESQL_CHANNELS + 1) * (LK_POSTGRESQL_SCHEMA_MAX + 16)];
    struct lk_text text = lk_text_in(command, sizeof command);
    PGresult *result;
    bool is_done;

    if (is_first) {
        lk_text_format(&text, "LISTEN %s;", listener->schema);
    }
    for (unsigned i = 0; i < LK_POSTGRESQL_CHANNELS; i++) {
        if ((channels >> i & 1) != 0) {
            lk_text_format(&text, "LISTEN \"%s.%u\";", listener->schema, i);
        }
    }
    result = PQexec(connection, command);
    is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_done;
}

/* Reads notifications until the connection is lost or the listener ends. */
static void listen_on(struct lk_postgresql_listener *listener, PGconn *connection) {
    uint32_t listened = 0;
    bool is_first = true;

    while (PQstatus(connection) == CONNECTION_OK && !is_ending(listener)) {
        uint32_t channels = missing_channels(listener, listened);
        PGnotify *notification;

        if (is_first || channels != 0) {
            if (!listen_to(listener, connection, channels, is_first)) {
                return;
            }
            listened |= channels;
            is_first = false;
            reset(listener, true);
            continue; /* looks again: one more may have been wanted meanwhile */
        }
        while ((notification = PQnotifies(connection)) != NULL) {
            record_wake_up(listener, lk_slice_of(notification->extra));
            PQfreemem(notification);
        }
        wait_on(listener, PQsocket(connection), POLLIN, -1);
        drain(listener);
        (void)PQconsumeInput(connection);
    }
}

static void *run(void *context) {
    struct lk_postgresql_listener *listener = context;

    while (!is_ending(listener)) {
        PGconn *connection = connect_to(listener);

        if (connection != NULL) {
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

/* The mutex is held. */
static void begin(struct lk_postgresql_listener *listener) {
    if (!listener->is_begun && listener->url != NULL) {
        listener->is_begun = lk_thread_start(&listener->thread, run, listener);
    }
}

/* ---- from outside ---------------------------------------------------------------------------- */

struct lk_postgresql_listener *
lk_postgresql_listener_new(const struct lk_postgresql_address *address) {
    struct lk_postgresql_listener *listener = calloc(1, sizeof *listener);

    if (listener == NULL) {
        return NULL;
    }
    memcpy(listener->schema, address->schema, sizeof listener->schema);
    if (address->listen_url != NULL) {
        listener->url = lk_text_copy(lk_slice_of(address->listen_url));
        if (listener->url == NULL) {
            goto no_url;
        }
    }
    if (pipe2(listener->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        goto no_pipe;
    }
    if (pthread_mutex_init(&listener->mutex, NULL) != 0) {
        goto no_mutex;
    }
    return listener;

no_mutex:
    (void)close(listener->pipe[0]);
    (void)close(listener->pipe[1]);
no_pipe:
    free(listener->url);
no_url:
    free(listener);
    return NULL;
}

void lk_postgresql_listener_free(struct lk_postgresql_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    listener->is_ending = true;
    pthread_mutex_unlock(&listener->mutex);
    if (listener->is_begun) {
        poke(listener);
        (void)pthread_join(listener->thread, NULL);
    }
    (void)close(listener->pipe[0]);
    (void)close(listener->pipe[1]);
    (void)pthread_mutex_destroy(&listener->mutex);
    free(listener->url);
    free(listener);
}

uint64_t lk_postgresql_listener_version(struct lk_postgresql_listener *listener) {
    uint64_t version;

    pthread_mutex_lock(&listener->mutex);
    version = listener->is_listening ? listener->sleepers.version : 0;
    pthread_mutex_unlock(&listener->mutex);
    return version;
}

/* The bit of the channel of a waiter; 0: the channel of all. As channel_of() in 25_events.sql. */
static uint32_t channel_of(struct lk_slice owner) {
    return owner.size > 0 ? UINT32_C(1) << ((unsigned char)owner.bytes[owner.size - 1]
                                            % LK_POSTGRESQL_CHANNELS)
                          : 0;
}

lk_outcome lk_postgresql_listener_sleep(struct lk_postgresql_listener *listener,
                                        struct lk_slice owner, struct lk_slice text,
                                        uint64_t version, int64_t until_us,
                                        struct lk_waker *waker) {
    uint32_t channel = channel_of(owner);
    lk_outcome outcome;

    pthread_mutex_lock(&listener->mutex);
    if ((listener->wanted & channel) != channel) { /* all wake as soon as it is listened on */
        listener->wanted |= channel;
        if (listener->is_listening) {
            poke(listener);
        }
    }
    begin(listener);
    if (!listener->is_listening) {
        version = listener->sleepers.version; /* no wake-ups arrive: only time ends the sleep */
    }
    outcome = lk_sleepers_sleep(&listener->sleepers, &listener->mutex, key_of(text), version,
                                until_us, waker);
    pthread_mutex_unlock(&listener->mutex);
    return outcome;
}
