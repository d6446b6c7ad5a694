/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: turns, the writer's results, timers and signals; startup and shutdown. */
#include "server/server.h"

#include <event2/event.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "base/text.h"
#include "server/defaults.h"
#include "server/files.h"
#include "server/listen.h"
#include "server/log.h"
#include "server/store/writer.h"

enum { LISTENER_RESP, LISTENER_UNIX, LISTENER_HTTP, LISTENERS_MAX };
enum { SIGNALS_MAX = 3, TRIM_SECONDS = 30 };

#define LOAD_RETRY_US INT64_C(1000000) /* after a load that failed */
#define SHUTDOWN_US_MAX                                                                            \
    INT64_C(10000000) /* how long the listeners may take to send the last answers */

struct lk_server {
    struct lk_server_options options;
    struct lk_core *core;
    struct lk_writer *writer; /* NULL: ephemeral */
    struct event_base *loop;
    struct event *timer;
    struct event *written;
    struct event *alive; /* NULL: no callback is set */
    struct event *trim;
    uint64_t clients_peak; /* the most since the trim timer last fired */
    struct event *signals[SIGNALS_MAX];
    struct lk_listener *listeners[LISTENERS_MAX];
    size_t listener_count;
    struct lk_times times;
    bool is_turning; /* `times` are those of the current turn */
    bool has_backpressure;
    uint64_t buffered; /* bytes, of all connections */
    bool was_full;     /* since the listeners were last told that there is room */
    bool is_shutting_down;
    int64_t shutdown_deadline_us;
    int64_t load_after_us; /* no load before this time */
    uint64_t files;        /* how many may be open */
    bool is_default;       /* the bound of connections is the default */
    int64_t armed_us;      /* when the timer fires; LK_NEVER: it is not set */
};

/* The clocks are read when they are first asked for in a turn. */
struct lk_times lk_server_times(struct lk_server *server) {
    if (!server->is_turning) {
        server->is_turning = true;
        server->times =
            (struct lk_times){.now_us = lk_clock_now_us(), .wall_us = lk_clock_wall_us()};
    }
    return server->times;
}

struct event_base *lk_server_loop(const struct lk_server *server) {
    return server->loop;
}

struct lk_core *lk_server_core(const struct lk_server *server) {
    return server->core;
}

const struct lk_server_options *lk_server_options_of(const struct lk_server *server) {
    return &server->options;
}

void lk_server_charge(struct lk_server *server, size_t *charged, size_t bytes) {
    server->buffered += bytes;
    server->buffered -= *charged;
    *charged = bytes;
    server->was_full = server->was_full || lk_server_is_full(server);
}

bool lk_server_is_full(const struct lk_server *server) {
    return server->buffered > server->options.buffer_bytes_max;
}

uint64_t lk_server_buffered(const struct lk_server *server) {
    return server->buffered;
}

uint64_t lk_server_count_clients(const struct lk_server *server) {
    uint64_t count = 0;

    for (size_t i = 0; i < server->listener_count; i++) {
        count += server->listeners[i]->ops->count_clients(server->listeners[i]);
    }
    return count;
}

void lk_server_list_clients(const struct lk_server *server, struct lk_buffer *out) {
    for (size_t i = 0; i < server->listener_count; i++) {
        server->listeners[i]->ops->list_clients(server->listeners[i], out);
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void take_result(struct lk_server *server, const struct lk_job_result *result) {
    struct lk_times times = lk_server_times(server);
    lk_error error;

    if (result->job == LK_JOB_WRITE && result->outcome == LK_OK) {
        lk_core_batch_durable(server->core, &times);
    } else if (result->job == LK_JOB_WRITE) {
        lk_server_log("a batch was not written", "%s", result->error.text);
        lk_core_batch_failed(server->core, result->error.text, &times);
    } else if (result->job == LK_JOB_LOAD) {
        error = result->error;
        if (result->outcome != LK_OK
            || lk_core_restore(server->core, result->snapshot, &server->times, &error) != LK_OK) {
            lk_server_log("the store could not be loaded", "%s", error.text);
            server->load_after_us = times.now_us + LOAD_RETRY_US;
        }
    }
}

static void on_written(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;
    struct lk_job_result result = lk_writer_fetch(server->writer, false);

    (void)descriptor;
    (void)what;
    take_result(server, &result);
}

/* Gives the writer a job, if it is idle. */
static void start_writer_job(struct lk_server *server) {
    struct lk_times times = lk_server_times(server);
    struct lk_model_config config;
    const struct lk_batch *batch;

    if (server->writer == NULL || lk_writer_is_busy(server->writer)) {
        return;
    }
    batch = lk_core_take_batch(server->core);
    if (batch != NULL) {
        lk_writer_write(server->writer, batch);
    } else if (lk_core_wants_snapshot(server->core) && server->load_after_us <= times.now_us) {
        config = lk_core_model_config(server->core);
        lk_writer_load(server->writer, &config, &times);
    }
}

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

    if (server->writer != NULL && lk_core_wants_snapshot(server->core)
        && !lk_writer_is_busy(server->writer)) {
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
        struct timeval delay = {.tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000};

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
        lk_server_log("output buffers are full",
                      "%" PRIu64 " bytes: the connection with the most, %zu, is closed",
                      server->buffered, most);
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

/* Acts on what the turn's events have led to. */
static void end_turn(struct lk_server *server) {
    struct lk_times times = lk_server_times(server);
    uint64_t clients = lk_server_count_clients(server);
    bool goes_on = true;

    server->clients_peak = clients > server->clients_peak ? clients : server->clients_peak;
    if (lk_core_next_due(server->core) <= times.now_us) {
        lk_core_tick(server->core, &times);
    }
    while (goes_on) {
        goes_on = false;
        for (size_t i = 0; i < server->listener_count; i++) {
            goes_on = server->listeners[i]->ops->turn_end(server->listeners[i]) || goes_on;
        }
        goes_on = shed(server) || goes_on;
    }
    start_writer_job(server);
    set_backpressure(server);
    arm_timer(server);
    server->is_turning = false;
}

/* Blocks until a descriptor or a timer is ready, and handles all that are. */
static bool turn(struct lk_server *server) {
    if (event_base_loop(server->loop, EVLOOP_ONCE) < 0) {
        return false;
    }
    end_turn(server);
    return true;
}

/* ---- startup --------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *context) {
    struct lk_server *server = context;

    (void)what;
    if (number == SIGHUP) {
        if (server->options.reload != NULL) {
            server->options.reload(server->options.context);
        }
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
    const struct timeval every = {.tv_sec = every_us / 1000000, .tv_usec = every_us % 1000000};

    if (server->options.alive == NULL) {
        return true;
    }
    server->alive = event_new(server->loop, -1, EV_PERSIST, on_alive, server);
    return server->alive != NULL && event_add(server->alive, &every) == 0;
}

/*
 * After a peak: returns the memory of many clients' buffers to the system. free() alone does so
 * only at the end of the heap.
 */
static void on_trim(evutil_socket_t descriptor, short what, void *context) {
    enum { FLOOD_CLIENTS = 64 };
    struct lk_server *server = context;
    uint64_t count = lk_server_count_clients(server);

    (void)descriptor;
    (void)what;
    if (server->clients_peak >= count + FLOOD_CLIENTS) {
        (void)malloc_trim(0);
    }
    server->clients_peak = count;
}

static bool make_trim(struct lk_server *server) {
    const struct timeval every = {.tv_sec =
                                      lk_min(TRIM_SECONDS, server->options.request_seconds_max)};

    server->trim = event_new(server->loop, -1, EV_PERSIST, on_trim, server);
    return server->trim != NULL && event_add(server->trim, &every) == 0;
}

/*
 * A change list tells the kernel only what is left, at the end of a turn, of what evhttp turns on
 * and off. It does not bear duplicates of descriptors, of which there are none.
 */
static struct event_base *make_event_base(void) {
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config != NULL) {
        (void)event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
        base = event_base_new_with_config(config);
        event_config_free(config);
    }
    return base;
}

static lk_outcome make_loop(struct lk_server *server, lk_error *error) {
    static const int numbers[SIGNALS_MAX] = {SIGTERM, SIGINT, SIGHUP};
    bool is_complete;

    server->loop = make_event_base();
    if (server->loop == NULL) {
        return lk_error_set(error, LK_INTERNAL, "the event loop cannot be made");
    }
    server->timer = event_new(server->loop, -1, 0, on_timer, server);
    is_complete = server->timer != NULL && make_alive(server) && make_trim(server);
    for (size_t i = 0; is_complete && i < SIGNALS_MAX; i++) {
        server->signals[i] = evsignal_new(server->loop, numbers[i], on_signal, server);
        is_complete = server->signals[i] != NULL && event_add(server->signals[i], NULL) == 0;
    }
    return is_complete ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* Listeners bound their connections; besides, each listener has a session or two of its own. */
static uint32_t sessions_max(const struct lk_server_options *options) {
    int64_t count =
        (int64_t)LISTENERS_MAX * ((int64_t)options->connections_max + options->strangers_max + 2);

    return (uint32_t)lk_min(count, UINT32_MAX);
}

static lk_outcome make_core(struct lk_server *server, lk_error *error) {
    char epoch[LK_CORE_EPOCH_BYTES_MAX + 1];
    const struct lk_core_config config = {
        .quotas = server->options.quotas,
        .hash_seed = lk_random_draw(),
        .epoch = epoch,
        .is_ephemeral = server->options.is_ephemeral,
        .value_bytes_max = server->options.value_bytes_max,
        .event_bytes_max = server->options.event_bytes_max,
        .sessions_max = sessions_max(&server->options),
    };

    (void)snprintf(epoch, sizeof epoch, "%" PRIx64, lk_random_draw());
    server->core = lk_core_new(&config);
    return server->core != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* Loads the store, before the first connection is accepted. */
static lk_outcome load(struct lk_server *server, struct lk_storage *storage, lk_error *error) {
    const struct lk_model_config config = lk_core_model_config(server->core);
    struct lk_times times = lk_server_times(server);
    struct lk_core_snapshot *snapshot;
    lk_outcome outcome = storage->ops->load(storage, &config, &times, &snapshot, error);

    return outcome == LK_OK ? lk_core_restore(server->core, snapshot, &times, error) : outcome;
}

static lk_outcome open_listeners(struct lk_server *server, char addresses[][LK_ADDRESS_BYTES_MAX],
                                 lk_error *error) {
    const char *const listen[LISTENERS_MAX] = {
        server->options.resp_listen, server->options.unix_listen, server->options.http_listen};
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < LISTENERS_MAX && outcome == LK_OK; i++) {
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
        server->listener_count += outcome == LK_OK;
    }
    return outcome;
}

/* Records the service's address for programs that open the store directly and are refused. */
static lk_outcome announce(struct lk_storage *storage, char addresses[][LK_ADDRESS_BYTES_MAX],
                           lk_error *error) {
    char url[LK_ADDRESS_BYTES_MAX + sizeof "http://"];
    struct lk_text text = lk_text_in(url, sizeof url);
    const char *address = addresses[LISTENER_HTTP];
    const char *scheme;

    for (size_t i = 0; i < LISTENER_HTTP && address == addresses[LISTENER_HTTP]; i++) {
        address = addresses[i][0] != '\0' ? addresses[i] : address;
    }
    scheme = address == addresses[LISTENER_HTTP] ? "http://"
             : strncmp(address, "unix:", 5) == 0 ? "lk+"
                                                 : "lk://";

    lk_text_add(&text, lk_slice_of(scheme));
    lk_text_add(&text, lk_slice_of(address));
    return storage->ops->announce(storage, url, error);
}

static lk_outcome start_writer(struct lk_server *server, struct lk_storage *storage,
                               lk_error *error) {
    lk_outcome outcome = lk_writer_start(storage, &server->writer, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    server->written = event_new(server->loop, lk_writer_descriptor(server->writer),
                                EV_READ | EV_PERSIST, on_written, server);
    if (server->written == NULL || event_add(server->written, NULL) != 0) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return LK_OK;
}

/* Everything up to the first turn. */
static lk_outcome begin(struct lk_server *server, char addresses[][LK_ADDRESS_BYTES_MAX],
                        lk_error *error) {
    const struct lk_store_sqlite_options store = {
        .directory = server->options.directory,
        .is_relaxed = server->options.is_relaxed,
    };
    struct lk_storage *storage = NULL;
    lk_outcome outcome = make_loop(server, error);

    if (outcome == LK_OK) {
        outcome = make_core(server, error);
    }
    if (outcome == LK_OK && !server->options.is_ephemeral) {
        outcome = lk_store_sqlite_open(&store, &storage, error);
    }
    if (outcome == LK_OK && storage != NULL) {
        outcome = load(server, storage, error);
    }
    server->is_turning = false; /* loading may take long: the clocks are read again */
    if (outcome == LK_OK) {
        outcome = open_listeners(server, addresses, error);
    }
    if (outcome == LK_OK) {
        lk_server_defaults_tell(&server->options, server->is_default, server->files);
    }
    if (outcome == LK_OK && storage != NULL) {
        outcome = announce(storage, addresses, error);
    }
    if (outcome == LK_OK && storage != NULL) {
        return start_writer(server, storage, error);
    }
    if (storage != NULL) {
        storage->ops->close(storage);
    }
    return outcome;
}

/* ---- shutdown -------------------------------------------------------------------------------- */

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

/* Also writes what the closing of connections has changed (R18). */
static void flush(struct lk_server *server) {
    while (server->writer != NULL) {
        struct lk_job_result result;

        start_writer_job(server);
        if (!lk_writer_is_busy(server->writer)) {
            return;
        }
        result = lk_writer_fetch(server->writer, true);
        if (result.job != LK_JOB_WRITE || result.outcome != LK_OK) {
            lk_core_snapshot_free(result.snapshot);
            lk_server_log("the last batch was not written", "%s", result.error.text);
            return;
        }
        lk_core_batch_durable(server->core, &server->times);
    }
}

static void free_event(struct event *event) {
    if (event != NULL) {
        event_free(event);
    }
}

static void end(struct lk_server *server) {
    for (size_t i = 0; i < server->listener_count; i++) {
        server->listeners[i]->ops->close(server->listeners[i]);
    }
    if (server->core != NULL) {
        flush(server);
    }
    lk_writer_stop(server->writer);
    lk_core_free(server->core);
    for (size_t i = 0; i < SIGNALS_MAX; i++) {
        free_event(server->signals[i]);
    }
    free_event(server->written);
    free_event(server->trim);
    free_event(server->alive);
    free_event(server->timer);
    if (server->loop != NULL) {
        event_base_free(server->loop);
    }
}

/* NULL: the listener was not opened. */
static const char *address_of_listener(char addresses[][LK_ADDRESS_BYTES_MAX], size_t listener) {
    return addresses[listener][0] != '\0' ? addresses[listener] : NULL;
}

lk_outcome lk_server_run(const struct lk_server_options *options, lk_error *error) {
    uint64_t files = lk_files_raise();
    struct lk_server server = {.options = lk_server_defaults_fill(options, files),
                               .files = files,
                               .is_default = options->connections_max == 0,
                               .armed_us = LK_NEVER};
    char addresses[LISTENERS_MAX][LK_ADDRESS_BYTES_MAX] = {"", "", ""};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction former[2];
    lk_outcome outcome;

    (void)sigaction(SIGPIPE, &ignore, &former[0]);
    (void)sigaction(SIGXFSZ, &ignore, &former[1]); /* a write beyond the file size limit (ulimit
                                                    * -f) fails with an error */
    lk_server_log_begin();
    outcome = begin(&server, addresses, error);
    if (outcome == LK_OK) {
        if (options->ready != NULL) {
            options->ready(options->context, address_of_listener(addresses, LISTENER_RESP),
                           address_of_listener(addresses, LISTENER_UNIX),
                           address_of_listener(addresses, LISTENER_HTTP));
        }
        end_turn(&server);
        while (outcome == LK_OK && !is_shut_down(&server)) {
            if (!turn(&server)) {
                outcome = lk_error_set(error, LK_INTERNAL, "the event loop has failed");
            }
        }
    }
    end(&server);
    lk_server_log_end();
    (void)sigaction(SIGPIPE, &former[0], NULL);
    (void)sigaction(SIGXFSZ, &former[1], NULL);
    return outcome;
}
