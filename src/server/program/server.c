/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program around the core: the loop (libevent), the writer thread, signals, and the listeners;
 * startup and shutdown. Policy is in the core, protocols are in the listeners.
 *
 * A turn of the loop reads every ready connection and passes the calls to the core with one reading
 * of the clocks. Then every listener writes the answers that may leave, and the core's batch is
 * written: a small one by the loop's thread, others by the thread that stands by (commits.c).
 */
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "base/text.h"
#include "server/connections/copies.h"
#include "server/connections/listen.h"
#include "server/connections/loop.h"
#include "server/log/log.h"
#include "server/program/resources.h"
#include "server/program/state.h"

enum { LISTENER_RESP, LISTENER_UNIX, LISTENER_HTTP };
enum { TRIM_SECONDS = 30 };
enum { ENDING_SIGNALS = 2 }; /* so many of those that the loop hears end it: the first ones */

#define SHUTDOWN_US_MAX                                                                            \
    INT64_C(10000000) /* how long the listeners may take to send the last answers */

/* ---- turns ----------------------------------------------------------------------------------- */

static void set_backpressure(struct lk_server *server) {
    bool has_backpressure = lk_core_has_backpressure(server->core);

    if (has_backpressure != server->has_backpressure) {
        server->has_backpressure = has_backpressure;
        for (size_t i = 0; i < server->listener_count; i++) {
            server->listeners[i]->ops->set_backpressure(server->listeners[i], has_backpressure);
        }
    }
}

/* One timer for all: the core's next due time, and the server's own. */
static void arm_timer(struct lk_server *server) {
    int64_t due_us = lk_core_next_due(server->core);

    if (lk_commits_wants_load(server)) {
        due_us = lk_min(due_us, server->load_after_us);
    }
    if (server->is_shutting_down) {
        due_us = lk_min(due_us, server->shutdown_deadline_us);
    }
    if (due_us == server->armed_us) {
        return;
    }
    server->armed_us = due_us;
    if (due_us == LK_NEVER) {
        (void)event_del(server->timer);
    } else {
        int64_t left_us = lk_max(due_us - lk_clock_now_us(), 0);
        const struct timeval delay = lk_loop_delay(left_us);

        (void)event_add(server->timer, &delay);
    }
}

static void on_timer(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;

    (void)descriptor;
    (void)what;
    server->armed_us = LK_NEVER;
}

/*
 * Closes the connections that buffer most until there is room. true: there was none for a while, so
 * reading goes on now, whether it stopped at this listener or at another one.
 */
static bool shed(struct lk_server *server) {
    while (lk_server_is_full(server)) {
        struct lk_listener *worst = NULL;
        size_t most = 0;
        for (size_t i = 0; i < server->listener_count; i++) {
            size_t bytes = server->listeners[i]->ops->shed(server->listeners[i], false);
            worst = bytes > most ? server->listeners[i] : worst;
            most = bytes > most ? bytes : most;
        }
        if (worst == NULL) {
            return false;
        }
        lk_log(LK_LOG_WARNING, "output buffers are full",
               "%" PRIu64 " bytes: the connection with the most, %zu, is closed", server->buffered,
               most);
        lk_refusal_count(server, LK_REFUSED_UNREAD);
        (void)worst->ops->shed(worst, true);
    }
    if (!server->was_full) {
        return false;
    }
    server->was_full = false;
    for (size_t i = 0; i < server->listener_count; i++) {
        server->listeners[i]->ops->set_backpressure(server->listeners[i], server->has_backpressure);
    }
    return true;
}

/* What answers have made possible leads to more of them. */
static void send_answers(struct lk_server *server) {
    bool goes_on = true;

    while (goes_on) {
        goes_on = false;
        for (size_t i = 0; i < server->listener_count; i++) {
            goes_on = server->listeners[i]->ops->turn_end(server->listeners[i]) || goes_on;
        }
        goes_on = shed(server) || goes_on;
    }
}

/*
 * Acts on what the turn's events have led to. false: the other thread has taken the loop over, and
 * ends this turn.
 */
static bool end_turn(struct lk_server *server) {
    struct lk_times times = lk_server_times(server);

    lk_trim_note(&server->trim);
    if (lk_core_next_due(server->core) <= times.now_us) {
        lk_core_tick(server->core, &times);
    }
    send_answers(server);
    switch (lk_commits_write(server)) {
    case LK_COMMIT_LOST:
        return false;
    case LK_COMMIT_DONE:
        send_answers(server);
        break;
    case LK_COMMIT_NONE:
        break;
    }
    lk_commits_hand_over(server);
    lk_commits_resign(server);
    set_backpressure(server);
    arm_timer(server);
    server->is_turning = false;
    return true;
}

/* Whether every answer has been sent, or the time for it is over. */
static bool is_shut_down(struct lk_server *server) {
    bool is_quiet = lk_core_is_idle(server->core)
                    && (server->writer == NULL || !lk_writer_is_busy(server->writer));

    for (size_t i = 0; i < server->listener_count; i++) {
        is_quiet = is_quiet && server->listeners[i]->ops->is_quiet(server->listeners[i]);
    }
    return server->is_shutting_down
           && (is_quiet || lk_clock_now_us() >= server->shutdown_deadline_us);
}

/* false: the other thread has taken the loop over. */
static bool run_loop(struct lk_server *server) {
    while (end_turn(server)) {
        if (is_shut_down(server) || server->refusal.outcome != LK_OK) {
            return true;
        }
        /* Blocks until a descriptor or a timer is ready, and handles all that are. */
        if (event_base_loop(server->loop, EVLOOP_ONCE) < 0) {
            server->has_failed = true;
            return true;
        }
    }
    return false;
}

/* Stands by and runs the loop by turns, until the loop has ended in either thread. */
static void stand_by(void *context) {
    struct lk_server *server = context;

    while (lk_writer_stand_by(server->writer)) {
        if (run_loop(server)) {
            lk_writer_end(server->writer);
            return;
        }
    }
}

/* ---- startup --------------------------------------------------------------------------------- */

void lk_server_change(struct lk_server *server, const struct lk_server_options *options) {
    struct lk_core_bounds bounds;

    server->options = lk_server_defaults_change(&server->options, options, server->files);
    server->is_default = options->connections_max == 0;
    bounds = lk_server_core_bounds(&server->options);
    lk_core_bound(server->core, &bounds);
    lk_log_change(&server->options.log);
    for (size_t i = 0; i < server->listener_count; i++) {
        server->listeners[i]->ops->take_bounds(server->listeners[i]);
    }
    lk_server_defaults_tell(&server->options, server->is_default, server->files);
}

static void on_signal(evutil_socket_t number, short what, void *context) {
    struct lk_server *server = context;

    (void)what;
    if (number == SIGHUP) {
        if (server->options.reload != NULL) {
            server->options.reload(server->options.context, server);
        }
        lk_login_events_reload(&server->login_events);
    } else if (!server->is_shutting_down) {
        struct lk_times times = lk_server_times(server);

        server->is_shutting_down = true;
        if (server->options.stopping != NULL) {
            server->options.stopping(server->options.context);
        }
        server->shutdown_deadline_us = times.now_us + SHUTDOWN_US_MAX;
        for (size_t i = 0; i < server->listener_count; i++) {
            server->listeners[i]->ops->stop(server->listeners[i]);
        }
        lk_core_stop(server->core, &times);
    }
}

static void on_alive(evutil_socket_t descriptor, short what, void *context) {
    const struct lk_server *server = context;

    (void)descriptor;
    (void)what;
    server->options.alive(server->options.context);
}

/* Sets up the callback that reports that the loop is alive, if there is one. */
static bool make_alive(struct lk_server *server) {
    int64_t every_us = server->options.alive_every_us;
    const struct timeval every = lk_loop_delay(every_us);

    if (server->options.alive == NULL) {
        return true;
    }
    server->alive = event_new(server->loop, -1, EV_PERSIST, on_alive, server);
    return server->alive != NULL && event_add(server->alive, &every) == 0;
}

/* The loop hears those from `first` on, before `end`. */
static bool hear_signals(struct lk_server *server, size_t first, size_t end) {
    static const int numbers[LK_SIGNALS_MAX] = {SIGTERM, SIGINT, SIGHUP};
    bool is_complete = true;

    for (size_t i = first; is_complete && i < end; i++) {
        server->signals[i] = evsignal_new(server->loop, numbers[i], on_signal, server);
        is_complete = server->signals[i] != NULL && event_add(server->signals[i], NULL) == 0;
    }
    return is_complete;
}

static lk_outcome make_loop(struct lk_server *server, lk_error *error) {
    bool is_complete;

    server->loop = lk_loop_new();
    if (server->loop == NULL) {
        return lk_error_set(error, LK_INTERNAL, "the event loop cannot be made");
    }
    server->timer = event_new(server->loop, -1, 0, on_timer, server);
    is_complete = server->timer != NULL && make_alive(server)
                  && lk_trim_begin(&server->trim, server,
                                   lk_min(TRIM_SECONDS, server->options.request_seconds_max))
                  && hear_signals(server, ENDING_SIGNALS, LK_SIGNALS_MAX);
    return is_complete ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

static lk_outcome make_core(struct lk_server *server, lk_error *error) {
    char epoch[LK_CORE_EPOCH_BYTES_MAX + 1];
    const struct lk_core_bounds bounds = lk_server_core_bounds(&server->options);
    const struct lk_core_config config = {
        .quotas = bounds.quotas,
        .hash_seed = lk_random_draw(),
        .epoch = epoch,
        .users = server->options.users,
        .is_ephemeral = server->options.is_ephemeral,
        .is_fenced = lk_server_is_shared(&server->options),
        .renew_us = lk_server_is_shared(&server->options) ? server->options.failover_us / 3 : 0,
        .value_bytes_max = bounds.value_bytes_max,
        .event_bytes_max = bounds.event_bytes_max,
        .sessions_max = bounds.sessions_max,
    };

    (void)snprintf(epoch, sizeof epoch, "%" PRIx64, lk_random_draw());
    server->core = lk_core_new(&config);
    return server->core != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* Loads the store, before the first connection is accepted. */
static lk_outcome load(struct lk_server *server, struct lk_storage *storage, lk_error *error) {
    struct lk_times times = lk_server_times(server);
    const struct lk_model_config config = lk_core_model_config(server->core, &times);
    struct lk_core_snapshot *snapshot;
    lk_outcome outcome = storage->ops->load(storage, &config, &times, &snapshot, error);

    return outcome == LK_OK ? lk_core_restore(server->core, snapshot, &times, error) : outcome;
}

static lk_outcome open_listeners(struct lk_server *server, char addresses[][LK_ADDRESS_BYTES_MAX],
                                 lk_error *error) {
    static const char *const names[LK_LISTENERS_MAX] = {"resp", "unix", "http"};
    const char *const listen[LK_LISTENERS_MAX] = {
        server->options.resp_listen, server->options.unix_listen, server->options.http_listen};
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < LK_LISTENERS_MAX && outcome == LK_OK; i++) {
        struct lk_listener **listener = &server->listeners[server->listener_count];
        struct lk_listen_socket listen_socket;

        addresses[i][0] = '\0';
        if (listen[i] == NULL) {
            continue;
        }
        outcome =
            lk_listen_socket_open(&server->options, listen[i], &listen_socket, addresses[i], error);
        if (outcome == LK_OK) {
            outcome = i == LISTENER_HTTP
                          ? lk_listener_http_open(server, &listen_socket, listener, error)
                          : lk_listener_resp_open(server, &listen_socket, listener, error);
        }
        if (outcome == LK_OK) {
            server->listeners[server->listener_count++]->name = names[i];
        }
    }
    return outcome;
}

/* Records the service's address for programs that open the store directly and are refused. */
static lk_outcome announce(struct lk_server *server, struct lk_storage *storage,
                           char addresses[][LK_ADDRESS_BYTES_MAX], lk_error *error) {
    char url[LK_LEADER_BYTES_MAX + 1];
    const char *address = addresses[LISTENER_HTTP];

    if (lk_server_is_shared(&server->options)) {
        char *own = server->leadership.address;
        lk_outcome outcome =
            lk_shared_write(&server->options, addresses[LISTENER_RESP], addresses[LISTENER_HTTP],
                            own, sizeof server->leadership.address, error);

        return outcome == LK_OK ? storage->ops->announce(storage, own, error) : outcome;
    }
    for (size_t i = 0; i < LISTENER_HTTP && address == addresses[LISTENER_HTTP]; i++) {
        address = addresses[i][0] != '\0' ? addresses[i] : address;
    }
    lk_listen_url_write(address, address == addresses[LISTENER_HTTP], server->options.tls != NULL,
                        url, sizeof url);
    return storage->ops->announce(storage, url, error);
}

/* No storage: LK_OK with NULL. */
static lk_outcome open_storage(const struct lk_server_options *options,
                               struct lk_storage **ret_storage, lk_error *error) {
    const struct lk_store_sqlite_options store = {
        .directory = options->directory,
        .is_relaxed = options->is_relaxed,
    };

    *ret_storage = NULL;
    if (options->is_ephemeral) {
        return LK_OK;
    }
    return lk_server_is_shared(options) ? lk_shared_open(options, ret_storage, error)
                                        : lk_store_sqlite_open(&store, ret_storage, error);
}

/* Everything up to the first turn. */
static lk_outcome begin(struct lk_server *server, char addresses[][LK_ADDRESS_BYTES_MAX],
                        lk_error *error) {
    struct lk_storage *storage = NULL;
    lk_outcome outcome = make_loop(server, error);

    if (outcome == LK_OK) {
        outcome = lk_login_events_begin(&server->login_events, server, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_handshake_events_begin(&server->handshake_events, server, error);
    }
    if (outcome == LK_OK) {
        outcome = make_core(server, error);
    }
    if (outcome == LK_OK) {
        outcome = open_storage(&server->options, &storage, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_copies_begin(&server->copies, server, error);
    }
    if (outcome == LK_OK && storage != NULL && !lk_server_is_shared(&server->options)) {
        outcome = load(server, storage, error); /* else the loop does, which also follows */
    }
    server->is_turning = false; /* loading may take long: the clocks are read again */
    if (outcome == LK_OK && !hear_signals(server, 0, ENDING_SIGNALS)) {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    if (outcome == LK_OK) {
        outcome = open_listeners(server, addresses, error);
    }
    if (outcome == LK_OK) {
        lk_server_defaults_tell(&server->options, server->is_default, server->files);
    }
    if (outcome == LK_OK && storage != NULL && storage->is_new) {
        lk_log(LK_LOG_WARNING, "store", "a new, empty store was made in %s",
               server->options.directory);
    }
    if (outcome == LK_OK && storage != NULL) {
        outcome = announce(server, storage, addresses, error);
    }
    if (outcome == LK_OK && storage != NULL) {
        return lk_commits_begin(server, storage, stand_by, error);
    }
    if (storage != NULL) {
        storage->ops->close(storage);
    }
    return outcome;
}

/* ---- shutdown -------------------------------------------------------------------------------- */

static void end(struct lk_server *server) {
    for (size_t i = 0; i < server->listener_count; i++) {
        server->listeners[i]->ops->close(server->listeners[i]);
    }
    if (server->writer != NULL) {
        lk_writer_end(server->writer);
        lk_commits_flush(server);
    }
    lk_writer_stop(server->writer);
    lk_core_free(server->core);
    for (size_t i = 0; i < LK_SIGNALS_MAX; i++) {
        lk_loop_free_event(server->signals[i]);
    }
    lk_loop_free_event(server->written);
    lk_gathering_close(&server->gathering);
    lk_login_events_end(&server->login_events);
    lk_handshake_events_end(&server->handshake_events);
    lk_copies_end(&server->copies);
    lk_trim_end(&server->trim);
    lk_loop_free_event(server->alive);
    lk_loop_free_event(server->timer);
    if (server->loop != NULL) {
        event_base_free(server->loop);
    }
}

/* NULL: the listener was not opened. */
static const char *address_of_listener(char addresses[][LK_ADDRESS_BYTES_MAX], size_t listener) {
    return addresses[listener][0] != '\0' ? addresses[listener] : NULL;
}

/*
 * While the store is opened, which may wait for a database that is silent, the loop does not turn
 * yet. There is nothing to end but the process. By default the first process of a container would
 * not even hear the signal.
 */
static void end_at_once(int signal) {
    (void)signal;
    _exit(0);
}

lk_outcome lk_server_run(const struct lk_server_options *options, lk_error *error) {
    uint64_t files = lk_files_raise();
    struct lk_server server = {.options = lk_server_defaults_fill(options, files),
                               .files = files,
                               .is_default = options->connections_max == 0,
                               .armed_us = LK_NEVER};
    char addresses[LK_LISTENERS_MAX][LK_ADDRESS_BYTES_MAX] = {"", "", ""};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction end_early = {.sa_handler = end_at_once};
    struct sigaction former[4];
    lk_outcome outcome;

    (void)sigaction(SIGPIPE, &ignore, &former[0]);
    (void)sigaction(SIGXFSZ, &ignore, &former[1]); /* a write beyond the file size limit (ulimit
                                                    * -f) fails with an error */
    (void)sigaction(SIGTERM, &end_early, &former[2]);
    (void)sigaction(SIGINT, &end_early, &former[3]);
    lk_log_begin(&options->log);
    lk_monitor_begin(&server.monitor, lk_clock_wall_us());
    outcome = begin(&server, addresses, error);
    if (outcome == LK_OK) {
        if (options->ready != NULL) {
            options->ready(options->context, address_of_listener(addresses, LISTENER_RESP),
                           address_of_listener(addresses, LISTENER_UNIX),
                           address_of_listener(addresses, LISTENER_HTTP));
        }
        if (!run_loop(&server)) {
            stand_by(&server);
        }
        if (server.refusal.outcome != LK_OK) {
            outcome = lk_error_copy(error, &server.refusal);
        } else if (server.has_failed) {
            outcome = lk_error_set(error, LK_INTERNAL, "the event loop has failed");
        }
    }
    end(&server);
    lk_log_end();
    (void)sigaction(SIGPIPE, &former[0], NULL);
    (void)sigaction(SIGXFSZ, &former[1], NULL);
    (void)sigaction(SIGTERM, &former[2], NULL);
    (void)sigaction(SIGINT, &former[3], NULL);
    return outcome;
}
