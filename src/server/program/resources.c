/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of options that are not given, the limit of open files, and the heap. */
#include "server/program/resources.h"

#include <event2/event.h>
#include <inttypes.h>
#include <malloc.h>
#include <sys/resource.h>

#include "base/minmax.h"
#include "server/connections/host.h"
#include "server/log/log.h"

/* ---- defaults -------------------------------------------------------------------------------- */

/* Files besides connections: those of the store and the loop, and the standard streams. */
enum { LISTENERS = 3, OTHER_FILES = 64, FEW_CONNECTIONS = LK_CONNECTIONS_MAX_DEFAULT / 2 };

/* Whether there are connections that are pending until they have said something. */
static bool has_strangers(const struct lk_server_options *options) {
    return lk_server_wants_login(options) || options->tls != NULL;
}

static uint32_t count_listeners(const struct lk_server_options *options) {
    return (uint32_t)(options->resp_listen != NULL) + (options->unix_listen != NULL)
           + (options->http_listen != NULL);
}

/* As many connections at each listener as the file limit allows, when no bound is configured. */
static uint32_t connections_default(const struct lk_server_options *options, uint64_t files) {
    uint64_t others = OTHER_FILES + (has_strangers(options) ? options->strangers_max : 0);
    uint32_t listeners = count_listeners(options);
    uint64_t each = files / (listeners > 0 ? listeners : 1);

    return each <= others ? 1
                          : (uint32_t)lk_min((int64_t)(each - others), LK_CONNECTIONS_MAX_DEFAULT);
}

void lk_server_defaults_tell(const struct lk_server_options *options, bool is_default,
                             uint64_t files) {
    uint64_t strangers = has_strangers(options) ? options->strangers_max : 0;
    uint64_t needed =
        OTHER_FILES + count_listeners(options) * (options->connections_max + strangers);

    if (is_default && options->connections_max < FEW_CONNECTIONS) {
        lk_log(LK_LOG_WARNING, "connections",
               "the limit of %" PRIu64 " open files (ulimit -Hn) allows %" PRIu32
               " connections at each listener, not %d",
               files, options->connections_max, LK_CONNECTIONS_MAX_DEFAULT);
    } else if (!is_default && files < needed) {
        lk_log(LK_LOG_WARNING, "connections",
               "the limit is %" PRIu64 " open files (ulimit -Hn), but the configured bounds "
               "of connections need %" PRIu64,
               files, needed);
    }
}

struct lk_server_options lk_server_defaults_fill(const struct lk_server_options *options,
                                                 uint64_t files) {
    struct lk_server_options completed = *options;

    if (completed.strangers_max == 0) {
        completed.strangers_max = LK_STRANGERS_MAX_DEFAULT;
    }
    if (completed.buffer_bytes_max == 0) {
        completed.buffer_bytes_max = LK_BUFFER_BYTES_MAX_DEFAULT;
    }
    if (completed.request_seconds_max == 0) {
        completed.request_seconds_max = LK_REQUEST_SECONDS_MAX_DEFAULT;
    }
    if (completed.connections_max == 0) {
        completed.connections_max = connections_default(&completed, files);
    }
    if (completed.failover_us == 0) {
        completed.failover_us = LK_FAILOVER_DEFAULT_US;
    }
    if (completed.tcp_keepalive_s == 0) {
        completed.tcp_keepalive_s = LK_TCP_KEEPALIVE_DEFAULT_S;
    }
    return completed;
}

struct lk_server_options lk_server_defaults_change(const struct lk_server_options *options,
                                                   const struct lk_server_options *changed,
                                                   uint64_t files) {
    struct lk_server_options next = *options;

    next.quotas = changed->quotas;
    next.connections_max = changed->connections_max;
    next.strangers_max = changed->strangers_max;
    next.value_bytes_max = changed->value_bytes_max;
    next.event_bytes_max = changed->event_bytes_max;
    next.buffer_bytes_max = changed->buffer_bytes_max;
    next.hosts = changed->hosts;
    next.host_count = changed->host_count;
    next.log = changed->log;
    next.slow_us = changed->slow_us;
    return lk_server_defaults_fill(&next, files);
}

/* Listeners bound their connections; besides, each listener has a session or two of its own. */
struct lk_core_bounds lk_server_core_bounds(const struct lk_server_options *options) {
    int64_t sessions = LISTENERS * ((int64_t)options->connections_max + options->strangers_max + 2);

    return (struct lk_core_bounds){
        .quotas = options->quotas,
        .value_bytes_max = options->value_bytes_max,
        .event_bytes_max = options->event_bytes_max,
        .sessions_max = (uint32_t)lk_min(sessions, UINT32_MAX),
    };
}

/* ---- open files and memory ------------------------------------------------------------------- */

/*
 * The limit of open files, and the heap: free() alone returns memory only at its end, so it is
 * trimmed after a peak.
 */

enum { FLOOD_CLIENTS = 64 };

static uint64_t soft_limit(void) {
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

uint64_t lk_files_raise(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return soft_limit();
}

static void on_trim(evutil_socket_t descriptor, short what, void *context) {
    struct lk_trim *trim = context;
    uint64_t count = lk_server_count_clients(trim->server);

    (void)descriptor;
    (void)what;
    if (trim->clients_peak >= count + FLOOD_CLIENTS) {
#ifdef __GLIBC__ /* other C libraries give memory back by themselves, or cannot be asked */
        (void)malloc_trim(0);
#endif
    }
    trim->clients_peak = count;
}

bool lk_trim_begin(struct lk_trim *trim, struct lk_server *server, int64_t seconds) {
    const struct timeval every = {.tv_sec = seconds};

    trim->server = server;
    trim->timer = event_new(lk_server_loop(server), -1, EV_PERSIST, on_trim, trim);
    return trim->timer != NULL && event_add(trim->timer, &every) == 0;
}

void lk_trim_end(struct lk_trim *trim) {
    if (trim->timer != NULL) {
        event_free(trim->timer);
    }
}

void lk_trim_note(struct lk_trim *trim) {
    uint64_t count = lk_server_count_clients(trim->server);

    trim->clients_peak = count > trim->clients_peak ? count : trim->clients_peak;
}
