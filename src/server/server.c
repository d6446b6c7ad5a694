/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: turns, the writer's results, timers and signals; the beginning and the end. */
#include "server/server.h"

#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/least.h"
#include "base/random.h"
#include "base/text.h"
#include "server/writer.h"

enum { DOOR_RESP, DOOR_UNIX, DOOR_HTTP, DOORS_MAX };
enum { SIGNALS_MAX = 3 };

#define LOAD_AGAIN_US INT64_C(1000000) /* after a load that failed */
#define LEAVE_US_MAX INT64_C(10000000) /* how long the doors may take to tell what is left */

struct lk_server {
    struct lk_server_options options;
    struct lk_core *core;
    struct lk_writer *writer; /* NULL: ephemeral */
    struct event_base *loop;
    struct event *timer;
    struct event *written;
    struct event *signals[SIGNALS_MAX];
    struct lk_door *doors[DOORS_MAX];
    size_t door_count;
    struct lk_times times;
    bool is_turning; /* `times` are this turn's */
    bool is_choked;
    bool is_leaving;
    int64_t leave_by_us;
    int64_t load_after_us; /* no load before */
    int64_t armed_us;      /* the timer is set to; LK_NEVER: it is not */
};

/* Read when first asked for in a turn. */
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

static void complain(const char *what, const char *why) {
    (void)fprintf(stderr, "lk serve: %s: %s\n", what, why);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void take_result(struct lk_server *server, const struct lk_job_result *result) {
    struct lk_times times = lk_server_times(server);
    lk_error error;

    if (result->job == LK_JOB_WRITE && result->outcome == LK_OK) {
        lk_core_batch_durable(server->core, &times);
    } else if (result->job == LK_JOB_WRITE) {
        complain("a batch was not written", result->error.text);
        lk_core_batch_failed(server->core, result->error.text, &times);
    } else if (result->job == LK_JOB_LOAD) {
        error = result->error;
        if (result->outcome != LK_OK
            || lk_core_restore(server->core, result->image, &server->times, &error) != LK_OK) {
            complain("the store could not be loaded", error.text);
            server->load_after_us = times.now_us + LOAD_AGAIN_US;
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

/* Something for the writer, if it has nothing to do. */
static void employ_writer(struct lk_server *server) {
    struct lk_times times = lk_server_times(server);
    struct lk_model_config config;
    const struct lk_batch *batch;

    if (server->writer == NULL || lk_writer_is_busy(server->writer)) {
        return;
    }
    batch = lk_core_take_batch(server->core);
    if (batch != NULL) {
        lk_writer_write(server->writer, batch);
    } else if (lk_core_wants_image(server->core) && server->load_after_us <= times.now_us) {
        config = lk_core_model_config(server->core);
        lk_writer_load(server->writer, &config, &times);
    }
}

static void choke(struct lk_server *server) {
    bool is_choked = lk_core_is_choked(server->core);

    if (is_choked != server->is_choked) {
        server->is_choked = is_choked;
        for (size_t i = 0; i < server->door_count; i++) {
            server->doors[i]->ops->choke(server->doors[i], is_choked);
        }
    }
}

/* One timer for all: the core's next instant, and our own. */
static void arm_timer(struct lk_server *server) {
    int64_t due_us = lk_core_next_due(server->core);

    if (server->writer != NULL && lk_core_wants_image(server->core)
        && !lk_writer_is_busy(server->writer)) {
        due_us = lk_least(due_us, server->load_after_us);
    }
    if (server->is_leaving) {
        due_us = lk_least(due_us, server->leave_by_us);
    }
    if (due_us == server->armed_us) {
        return;
    }
    server->armed_us = due_us;
    if (due_us == LK_NEVER) {
        (void)event_del(server->timer);
    } else {
        int64_t left_us = due_us - lk_clock_now_us();
        struct timeval delay;

        left_us = left_us > 0 ? left_us : 0;
        delay = (struct timeval){.tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000};
        (void)event_add(server->timer, &delay);
    }
}

static void on_timer(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;

    (void)descriptor;
    (void)what;
    server->armed_us = LK_NEVER;
}

/* What the turn's events have led to. */
static void end_turn(struct lk_server *server) {
    struct lk_times times = lk_server_times(server);
    bool goes_on = true;

    if (lk_core_next_due(server->core) <= times.now_us) {
        lk_core_tick(server->core, &times);
    }
    while (goes_on) {
        goes_on = false;
        for (size_t i = 0; i < server->door_count; i++) {
            goes_on = server->doors[i]->ops->turn_end(server->doors[i]) || goes_on;
        }
    }
    employ_writer(server);
    choke(server);
    arm_timer(server);
    server->is_turning = false;
}

/* Blocks until something is ready, and handles all that is. */
static bool turn(struct lk_server *server) {
    if (event_base_loop(server->loop, EVLOOP_ONCE) < 0) {
        return false;
    }
    end_turn(server);
    return true;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *context) {
    struct lk_server *server = context;

    (void)what;
    if (number == SIGHUP) {
        if (server->options.reload != NULL) {
            server->options.reload(server->options.context);
        }
    } else if (!server->is_leaving) {
        struct lk_times times = lk_server_times(server);

        server->is_leaving = true;
        server->leave_by_us = times.now_us + LEAVE_US_MAX;
        for (size_t i = 0; i < server->door_count; i++) {
            server->doors[i]->ops->stop(server->doors[i]);
        }
        lk_core_stop(server->core, &times);
    }
}

static lk_outcome make_loop(struct lk_server *server, lk_error *error) {
    static const int numbers[SIGNALS_MAX] = {SIGTERM, SIGINT, SIGHUP};
    bool is_complete;

    server->loop = event_base_new();
    if (server->loop == NULL) {
        return lk_error_set(error, LK_INTERNAL, "the event loop cannot be made");
    }
    server->timer = event_new(server->loop, -1, 0, on_timer, server);
    is_complete = server->timer != NULL;
    for (size_t i = 0; is_complete && i < SIGNALS_MAX; i++) {
        server->signals[i] = evsignal_new(server->loop, numbers[i], on_signal, server);
        is_complete = server->signals[i] != NULL && event_add(server->signals[i], NULL) == 0;
    }
    return is_complete ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* Doors bound their connections; beside these each has a session or two of its own. */
static uint32_t sessions_max(const struct lk_server_options *options) {
    int64_t count = (int64_t)DOORS_MAX * ((int64_t)options->connections_max + 2);

    return (uint32_t)lk_least(count, UINT32_MAX);
}

static lk_outcome make_core(struct lk_server *server, lk_error *error) {
    char epoch[LK_CORE_EPOCH_BYTES_MAX + 1];
    const struct lk_core_config config = {
        .quotas = server->options.quotas,
        .hash_seed = lk_random_draw(),
        .epoch = epoch,
        .is_ephemeral = server->options.is_ephemeral,
        .sessions_max = sessions_max(&server->options),
    };

    (void)snprintf(epoch, sizeof epoch, "%" PRIx64, lk_random_draw());
    server->core = lk_core_new(&config);
    return server->core != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* What the store has, before anybody can ask for it. */
static lk_outcome load(struct lk_server *server, struct lk_store_keeper *keeper, lk_error *error) {
    const struct lk_model_config config = lk_core_model_config(server->core);
    struct lk_times times = lk_server_times(server);
    struct lk_image *image;
    lk_outcome outcome = keeper->ops->load(keeper, &config, &times, &image, error);

    return outcome == LK_OK ? lk_core_restore(server->core, image, &times, error) : outcome;
}

static lk_outcome open_doors(struct lk_server *server, char addresses[][LK_ADDRESS_BYTES_MAX],
                             lk_error *error) {
    const char *const listen[DOORS_MAX] = {server->options.resp_listen, server->options.unix_listen,
                                           server->options.http_listen};
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < DOORS_MAX && outcome == LK_OK; i++) {
        struct lk_door **door = &server->doors[server->door_count];

        addresses[i][0] = '\0';
        if (listen[i] == NULL) {
            continue;
        }
        outcome = i == DOOR_HTTP ? lk_door_http_open(server, listen[i], door, addresses[i], error)
                                 : lk_door_resp_open(server, listen[i], door, addresses[i], error);
        server->door_count += outcome == LK_OK;
    }
    return outcome;
}

/* Where others find what they may not change themselves. */
static lk_outcome announce(struct lk_store_keeper *keeper, char addresses[][LK_ADDRESS_BYTES_MAX],
                           lk_error *error) {
    char url[LK_ADDRESS_BYTES_MAX + sizeof "http://"];
    struct lk_text text = lk_text_in(url, sizeof url);
    const char *address = addresses[DOOR_HTTP];
    const char *scheme;

    for (size_t i = 0; i < DOOR_HTTP && address == addresses[DOOR_HTTP]; i++) {
        address = addresses[i][0] != '\0' ? addresses[i] : address;
    }
    scheme = address == addresses[DOOR_HTTP]     ? "http://"
             : strncmp(address, "unix:", 5) == 0 ? "lk+"
                                                 : "lk://";

    lk_text_add(&text, lk_slice_of(scheme));
    lk_text_add(&text, lk_slice_of(address));
    return keeper->ops->announce(keeper, url, error);
}

static lk_outcome start_writer(struct lk_server *server, struct lk_store_keeper *keeper,
                               lk_error *error) {
    lk_outcome outcome = lk_writer_start(keeper, &server->writer, error);

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
    struct lk_store_keeper *keeper = NULL;
    lk_outcome outcome = make_loop(server, error);

    if (outcome == LK_OK) {
        outcome = make_core(server, error);
    }
    if (outcome == LK_OK && !server->options.is_ephemeral) {
        outcome = lk_store_sqlite_open(&store, &keeper, error);
    }
    if (outcome == LK_OK && keeper != NULL) {
        outcome = load(server, keeper, error);
    }
    server->is_turning = false; /* loading may have taken long */
    if (outcome == LK_OK) {
        outcome = open_doors(server, addresses, error);
    }
    if (outcome == LK_OK && keeper != NULL) {
        outcome = announce(keeper, addresses, error);
    }
    if (outcome == LK_OK && keeper != NULL) {
        return start_writer(server, keeper, error);
    }
    if (keeper != NULL) {
        keeper->ops->close(keeper);
    }
    return outcome;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Everything has been told, or there was time enough for it. */
static bool has_left(struct lk_server *server) {
    bool is_quiet = lk_core_is_idle(server->core)
                    && (server->writer == NULL || !lk_writer_is_busy(server->writer));

    for (size_t i = 0; i < server->door_count; i++) {
        is_quiet = is_quiet && server->doors[i]->ops->is_quiet(server->doors[i]);
    }
    return server->is_leaving && (is_quiet || lk_clock_now_us() >= server->leave_by_us);
}

/* What the closing of connections has changed is written, too (R18). */
static void flush(struct lk_server *server) {
    while (server->writer != NULL) {
        struct lk_job_result result;

        employ_writer(server);
        if (!lk_writer_is_busy(server->writer)) {
            return;
        }
        result = lk_writer_fetch(server->writer, true);
        if (result.job != LK_JOB_WRITE || result.outcome != LK_OK) {
            lk_image_free(result.image);
            complain("what changed last was not written", result.error.text);
            return;
        }
        lk_core_batch_durable(server->core, &server->times);
    }
}

static void end(struct lk_server *server) {
    for (size_t i = 0; i < server->door_count; i++) {
        server->doors[i]->ops->close(server->doors[i]);
    }
    if (server->core != NULL) {
        flush(server);
    }
    lk_writer_stop(server->writer);
    lk_core_free(server->core);
    for (size_t i = 0; i < SIGNALS_MAX; i++) {
        if (server->signals[i] != NULL) {
            event_free(server->signals[i]);
        }
    }
    if (server->written != NULL) {
        event_free(server->written);
    }
    if (server->timer != NULL) {
        event_free(server->timer);
    }
    if (server->loop != NULL) {
        event_base_free(server->loop);
    }
}

/* NULL: it was not opened. */
static const char *address_of_door(char addresses[][LK_ADDRESS_BYTES_MAX], size_t door) {
    return addresses[door][0] != '\0' ? addresses[door] : NULL;
}

static struct lk_server_options complete(const struct lk_server_options *options) {
    struct lk_server_options completed = *options;

    if (completed.connections_max == 0) {
        completed.connections_max = LK_CONNECTIONS_MAX_DEFAULT;
    }
    if (completed.request_seconds_max == 0) {
        completed.request_seconds_max = LK_REQUEST_SECONDS_MAX_DEFAULT;
    }
    return completed;
}

lk_outcome lk_server_run(const struct lk_server_options *options, lk_error *error) {
    struct lk_server server = {.options = complete(options), .armed_us = LK_NEVER};
    char addresses[DOORS_MAX][LK_ADDRESS_BYTES_MAX] = {"", "", ""};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction former[2];
    lk_outcome outcome;

    (void)sigaction(SIGPIPE, &ignore, &former[0]);
    (void)sigaction(SIGXFSZ, &ignore, &former[1]); /* a write that is too far (ulimit -f) fails */
    outcome = begin(&server, addresses, error);
    if (outcome == LK_OK) {
        if (options->ready != NULL) {
            options->ready(options->context, address_of_door(addresses, DOOR_RESP),
                           address_of_door(addresses, DOOR_UNIX),
                           address_of_door(addresses, DOOR_HTTP));
        }
        end_turn(&server);
        while (outcome == LK_OK && !has_left(&server)) {
            if (!turn(&server)) {
                outcome = lk_error_set(error, LK_INTERNAL, "the event loop has failed");
            }
        }
    }
    end(&server);
    (void)sigaction(SIGPIPE, &former[0], NULL);
    (void)sigaction(SIGXFSZ, &former[1], NULL);
    return outcome;
}
