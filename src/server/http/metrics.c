/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /metrics. Names follow the conventions of Prometheus: a prefix, base units, _total for what
 * only rises. docs/operations.md has the list.
 */
#include <event2/http.h>
#include <stdlib.h>
#include <strings.h>

#include "base/waker.h"
#include "server/connections/monitor.h"
#include "server/core/tally.h"
#include "server/http/exposition.h"
#include "server/http/http.h"

/* No root has this name: a path has no white space (R1). */
static const char other_roots[] = "other roots";

/* Everything that is read for one reply. */
struct metrics {
    struct lk_exposition to;
    struct lk_server *server;
    const struct lk_model *model; /* NULL: the store is not loaded */
    const struct lk_tally *tally;
    const struct lk_times *times;
    struct lk_model_stats kept;
    struct lk_core_stats core;
};

/* ---- the format ------------------------------------------------------------------------------ */

static struct lk_slice trimmed(struct lk_slice text) {
    while (text.size > 0 && (text.bytes[0] == ' ' || text.bytes[0] == '\t')) {
        text.bytes++;
        text.size--;
    }
    while (text.size > 0
           && (text.bytes[text.size - 1] == ' ' || text.bytes[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

/* Takes the text up to the separator off *rest. */
static struct lk_slice take_until(struct lk_slice *rest, char separator) {
    const char *end = rest->size > 0 ? memchr(rest->bytes, separator, rest->size) : NULL;
    struct lk_slice taken = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : rest->size};
    size_t passed = taken.size + (end != NULL);

    rest->bytes += passed;
    rest->size -= passed;
    return trimmed(taken);
}

static bool is_word(struct lk_slice text, const char *word) {
    return text.size == strlen(word) && strncasecmp(text.bytes, word, text.size) == 0;
}

/* The quality of a media range, from its parameters: 1 if they name none. */
static double quality_of(struct lk_slice parameters) {
    while (parameters.size > 0) {
        struct lk_slice value = take_until(&parameters, ';');
        struct lk_slice name = take_until(&value, '=');
        char text[16] = "";

        if (is_word(name, "q")) {
            value = trimmed(value);
            memcpy(text, value.bytes, value.size < sizeof text ? value.size : sizeof text - 1);
            return strtod(text, NULL);
        }
    }
    return 1;
}

bool lk_http_prefers_open_metrics(const char *accept) {
    struct lk_slice rest = lk_slice_of(accept);
    double open_metrics = 0;
    double plain = 0;

    while (rest.size > 0) {
        struct lk_slice parameters = take_until(&rest, ',');
        struct lk_slice type = take_until(&parameters, ';');
        double quality = quality_of(parameters);

        if (is_word(type, "application/openmetrics-text")) {
            open_metrics = quality > open_metrics ? quality : open_metrics;
        } else if (is_word(type, "text/plain")) {
            plain = quality > plain ? quality : plain;
        }
    }
    return open_metrics > 0 && open_metrics >= plain;
}

/* ---- families -------------------------------------------------------------------------------- */

static const struct lk_slice nothing = {NULL, 0};

static void put_gauge(struct metrics *metrics, const char *name, const char *unit, uint64_t value,
                      const char *help) {
    lk_exposition_family(&metrics->to, name, LK_METRIC_GAUGE, unit, help);
    lk_exposition_count(&metrics->to, NULL, nothing, value);
}

static void put_seconds(struct metrics *metrics, const char *name, int64_t us, const char *help) {
    lk_exposition_family(&metrics->to, name, LK_METRIC_GAUGE, "seconds", help);
    lk_exposition_seconds(&metrics->to, NULL, nothing, us);
}

static void put_counter(struct metrics *metrics, const char *name, uint64_t value,
                        const char *help) {
    lk_exposition_family(&metrics->to, name, LK_METRIC_COUNTER, NULL, help);
    lk_exposition_count(&metrics->to, NULL, nothing, value);
}

static void put_buckets(struct metrics *metrics, const char *name, const struct lk_buckets *buckets,
                        const char *help) {
    lk_exposition_family(&metrics->to, name, LK_METRIC_HISTOGRAM, "seconds", help);
    lk_exposition_buckets(&metrics->to, buckets);
}

static void put_sample(struct metrics *metrics, const char *label, const char *value,
                       uint64_t count) {
    lk_exposition_count(&metrics->to, label, lk_slice_of(value), count);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void put_service(struct metrics *metrics) {
    const struct lk_process_use process = lk_monitor_process();

    lk_exposition_family(&metrics->to, "lockkeeper_build", LK_METRIC_INFO, NULL,
                         "The version of the service.");
    put_sample(metrics, "version", LK_VERSION, 1);
    put_seconds(metrics, "process_start_time_seconds",
                lk_server_monitor(metrics->server)->started_wall_us,
                "When the service started, as Unix time.");
    lk_exposition_family(&metrics->to, "process_cpu_seconds", LK_METRIC_COUNTER, "seconds",
                         "Processor time of all threads.");
    lk_exposition_seconds(&metrics->to, NULL, nothing, (int64_t)process.processor_us);
    put_gauge(metrics, "process_resident_memory_bytes", "bytes", process.resident_bytes,
              "Memory of the process that is in RAM.");
    put_gauge(metrics, "lockkeeper_memory_bytes", "bytes", metrics->core.bytes,
              "Memory used by the core, the lock table included.");
    put_gauge(metrics, "lockkeeper_buffered_bytes", "bytes", lk_server_buffered(metrics->server),
              "Bytes of incomplete requests and unsent replies.");
    put_gauge(metrics, "lockkeeper_ready", NULL,
              metrics->model != NULL && !metrics->core.cannot_write,
              "Whether the store is loaded and can be written: 1, else 0.");
}

/* Only in a store that several services share. */
static void put_leadership(struct metrics *metrics) {
    const struct lk_leadership *leadership = lk_server_leadership(metrics->server);
    char leader[LK_LEADER_BYTES_MAX + 1];

    if (leadership == NULL) {
        return;
    }
    put_gauge(metrics, "lockkeeper_is_leader", NULL, metrics->model != NULL,
              "Whether this service leads its store: 1, else 0.");
    put_gauge(metrics, "lockkeeper_caught_up", NULL, lk_leadership_is_caught_up(leadership),
              "Whether this service leads, or has read what it needs to take over: 1, else 0.");
    put_gauge(metrics, "lockkeeper_leader_epoch", NULL, leadership->epoch,
              "The epoch of the service that leads; it grows with every change.");
    put_counter(metrics, "lockkeeper_takeovers", leadership->takeovers,
                "How often this service has begun to lead.");
    if (lk_server_leader(metrics->server, leader)) {
        lk_exposition_family(&metrics->to, "lockkeeper_leader", LK_METRIC_INFO, NULL,
                             "The service that leads.");
        put_sample(metrics, "address", leader, 1);
    }
}

/* Only with TLS. */
static void put_certificate(struct metrics *metrics) {
    const struct lk_tls_context *tls = lk_server_options_of(metrics->server)->tls;
    int64_t end_s = 0;

    if (tls != NULL && lk_tls_context_end(tls, &end_s) && end_s > 0) {
        put_gauge(metrics, "lockkeeper_tls_certificate_end_timestamp_seconds", "seconds",
                  (uint64_t)end_s, "When the certificate of the ports ends, as Unix time.");
    }
}

static void put_connections(struct metrics *metrics) {
    const struct lk_monitor *monitor = lk_server_monitor(metrics->server);
    const struct lk_listener *listener;

    lk_exposition_family(&metrics->to, "lockkeeper_connections", LK_METRIC_GAUGE, NULL,
                         "Open connections by listener.");
    for (size_t i = 0; (listener = lk_server_listener(metrics->server, i)) != NULL; i++) {
        put_sample(metrics, "listener", listener->name, listener->ops->count_clients(listener));
    }
    put_gauge(metrics, "lockkeeper_connections_max", NULL,
              lk_server_options_of(metrics->server)->connections_max,
              "Bound of the connections at each listener.");
    lk_exposition_family(&metrics->to, "lockkeeper_connections_refused", LK_METRIC_COUNTER, NULL,
                         "Connections refused, closed to make room or kept waiting, by reason.");
    for (size_t i = 0; i < LK_REFUSALS; i++) {
        put_sample(metrics, "reason", lk_refusal_name((enum lk_refusal)i), monitor->refused[i]);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static int64_t age_us(const struct metrics *metrics, const struct lk_contended *row) {
    return row->count > 0 ? metrics->times->now_us - row->since_us : 0;
}

static struct lk_slice name_of(const struct metrics *metrics, const struct lk_contended *row) {
    return lk_model_root_name(metrics->model, row->root);
}

static void put_waits(struct metrics *metrics) {
    struct lk_contention_top top;
    int64_t oldest_us;

    lk_core_contention(lk_server_core(metrics->server), &top);
    oldest_us = age_us(metrics, &top.rest);
    lk_exposition_family(&metrics->to, "lockkeeper_root_waiting_requests", LK_METRIC_GAUGE, NULL,
                         "Requests waiting now, at the roots with the most or oldest of them.");
    for (size_t i = 0; i < top.row_count; i++) {
        lk_exposition_count(&metrics->to, "root", name_of(metrics, &top.rows[i]),
                            top.rows[i].count);
    }
    put_sample(metrics, "root", other_roots, top.rest.count);
    lk_exposition_family(&metrics->to, "lockkeeper_root_oldest_wait_seconds", LK_METRIC_GAUGE,
                         "seconds", "How long the oldest request waiting now has waited, by root.");
    for (size_t i = 0; i < top.row_count; i++) {
        int64_t us = age_us(metrics, &top.rows[i]);
        lk_exposition_seconds(&metrics->to, "root", name_of(metrics, &top.rows[i]), us);
        oldest_us = us > oldest_us ? us : oldest_us;
    }
    lk_exposition_seconds(&metrics->to, "root", lk_slice_of(other_roots),
                          age_us(metrics, &top.rest));
    put_seconds(metrics, "lockkeeper_oldest_wait_seconds", oldest_us,
                "How long the oldest request waiting now has waited, of all roots.");
    put_buckets(metrics, "lockkeeper_wait_seconds", &metrics->tally->waited,
                "How long requests that were queued waited until they were granted.");
    put_buckets(metrics, "lockkeeper_handoff_seconds", &metrics->tally->handed_off,
                "From the end of a lease to the answer to the next holder, durably.");
}

static void put_requests(struct metrics *metrics) {
    static const char *const blocked_for[LK_BLOCKED_FOR_COUNT] = {
        [LK_BLOCKED_FOR_GRANT] = "grant",
        [LK_BLOCKED_FOR_ITEM] = "item",
        [LK_BLOCKED_FOR_EVENT] = "event",
        [LK_BLOCKED_FOR_BREAK] = "break",
    };

    put_gauge(metrics, "lockkeeper_requests_live", NULL, metrics->kept.live,
              "Live requests, held and waiting.");
    put_gauge(metrics, "lockkeeper_requests_waiting", NULL, metrics->kept.waiting,
              "Requests waiting in a queue.");
    put_gauge(metrics, "lockkeeper_requests_bound", NULL, metrics->core.bound,
              "Live requests bound to a connection.");
    put_gauge(metrics, "lockkeeper_owners", NULL, metrics->kept.owners,
              "Owners with a live request, or with one that the last decision ended.");
    lk_exposition_family(&metrics->to, "lockkeeper_calls_blocked", LK_METRIC_GAUGE, NULL,
                         "Calls blocked now, by what they block for.");
    for (size_t i = 0; i < LK_BLOCKED_FOR_COUNT; i++) {
        put_sample(metrics, "for", blocked_for[i], metrics->core.blocked_for[i]);
    }
    put_waits(metrics);
}

static void put_decisions(struct metrics *metrics) {
    const uint64_t *changes = metrics->tally->changes;
    uint64_t waiting = metrics->tally->perished_waiting;

    put_counter(metrics, "lockkeeper_calls", metrics->core.calls, "Calls.");
    lk_exposition_family(&metrics->to, "lockkeeper_answers", LK_METRIC_COUNTER, NULL,
                         "Calls answered by the core, by outcome.");
    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        put_sample(metrics, "outcome", lk_outcome_name((lk_outcome)outcome),
                   metrics->tally->answers[outcome]);
    }
    put_counter(metrics, "lockkeeper_queued", changes[LK_CHANGE_QUEUED],
                "Requests that were put into a queue.");
    put_counter(metrics, "lockkeeper_grants", changes[LK_CHANGE_GRANTED],
                "Requests granted, claims included.");
    put_counter(metrics, "lockkeeper_conversions", changes[LK_CHANGE_CONVERTED],
                "Requests whose modes, limits or units were changed.");
    put_counter(metrics, "lockkeeper_releases", changes[LK_CHANGE_RELEASED],
                "Leases ended by their owner.");
    put_counter(metrics, "lockkeeper_withdrawals", changes[LK_CHANGE_WITHDRAWN],
                "Waiting requests ended by their owner, a timeout or a deadlock.");
    lk_exposition_family(&metrics->to, "lockkeeper_perished", LK_METRIC_COUNTER, NULL,
                         "Requests ended by their deadline or with their connection.");
    put_sample(metrics, "state", "held", changes[LK_CHANGE_PERISHED] - waiting);
    put_sample(metrics, "state", "waiting", waiting);
    lk_exposition_family(&metrics->to, "lockkeeper_breaks", LK_METRIC_COUNTER, NULL,
                         "Requests that an administrator has broken.");
    put_sample(metrics, "effect", "revoked", changes[LK_CHANGE_REVOKED]);
    put_sample(metrics, "effect", "ended", changes[LK_CHANGE_BROKEN]);
}

/* ---- work, values and events ----------------------------------------------------------------- */

/* How long items have been ready: the ten roots with the oldest, and all others together. */
static void put_ready(struct metrics *metrics) {
    struct lk_ready_root roots[LK_CONTENDED_MAX + 1];
    int64_t now_us = metrics->times->now_us;
    size_t count = metrics->model != NULL
                       ? lk_model_oldest_ready(metrics->model, now_us, roots, LK_CONTENDED_MAX + 1)
                       : 0;

    lk_exposition_family(&metrics->to, "lockkeeper_root_oldest_ready_item_seconds", LK_METRIC_GAUGE,
                         "seconds", "How long the oldest item ready now has been, by root.");
    for (size_t i = 0; i < count && i < LK_CONTENDED_MAX; i++) {
        lk_exposition_seconds(&metrics->to, "root",
                              lk_model_root_name(metrics->model, roots[i].root),
                              now_us - roots[i].since_us);
    }
    lk_exposition_seconds(&metrics->to, "root", lk_slice_of(other_roots),
                          count > LK_CONTENDED_MAX ? now_us - roots[LK_CONTENDED_MAX].since_us : 0);
    put_seconds(metrics, "lockkeeper_oldest_ready_item_seconds",
                count > 0 ? now_us - roots[0].since_us : 0,
                "How long the oldest item ready now has been, of all roots.");
}

static void put_kept(struct metrics *metrics) {
    static const struct {
        enum lk_change_kind kind;
        const char *name;
    } of_items[] = {
        {LK_CHANGE_ITEM_PUSHED, "pushed"},       {LK_CHANGE_ITEM_REPLACED, "replaced"},
        {LK_CHANGE_ITEM_CLAIMED, "claimed"},     {LK_CHANGE_ITEM_STOLEN, "stolen"},
        {LK_CHANGE_ITEM_DONE, "done"},           {LK_CHANGE_ITEM_RETRIED, "retried"},
        {LK_CHANGE_ITEM_FREED, "freed"},         {LK_CHANGE_ITEM_PARKED, "parked"},
        {LK_CHANGE_ITEM_UNPARKED, "unparked"},   {LK_CHANGE_ITEM_DROPPED, "dropped"},
        {LK_CHANGE_ITEM_FORGOTTEN, "forgotten"},
    };
    const uint64_t *changes = metrics->tally->changes;

    put_gauge(metrics, "lockkeeper_kept_bytes", "bytes",
              metrics->model != NULL ? lk_model_kept_bytes(metrics->model) : 0,
              "Size of all values and items, as --bound value-bytes counts it.");
    put_gauge(metrics, "lockkeeper_items", NULL, metrics->kept.items, "Items of work.");
    put_ready(metrics);
    put_gauge(metrics, "lockkeeper_queues", NULL, metrics->kept.queues,
              "Queues of work whose counts are kept.");
    lk_exposition_family(&metrics->to, "lockkeeper_item_changes", LK_METRIC_COUNTER, NULL,
                         "Changes of items; stolen: claimed after the former claim had perished.");
    for (size_t i = 0; i < sizeof of_items / sizeof of_items[0]; i++) {
        put_sample(metrics, "change", of_items[i].name, changes[of_items[i].kind]);
    }
    put_gauge(metrics, "lockkeeper_values", NULL, metrics->kept.values, "Values.");
    lk_exposition_family(&metrics->to, "lockkeeper_value_changes", LK_METRIC_COUNTER, NULL,
                         "Changes of values; doubted: their holder may have died half-way.");
    put_sample(metrics, "change", "put", changes[LK_CHANGE_VALUE_PUT]);
    put_sample(metrics, "change", "deleted", changes[LK_CHANGE_VALUE_DELETED]);
    put_sample(metrics, "change", "doubted", changes[LK_CHANGE_VALUE_DOUBTED]);
}

static void put_events(struct metrics *metrics) {
    put_gauge(metrics, "lockkeeper_followers", NULL, metrics->core.followers,
              "Clients following events.");
    put_gauge(metrics, "lockkeeper_events_kept", NULL, metrics->core.events, "Events kept now.");
    put_gauge(metrics, "lockkeeper_events_kept_bytes", "bytes", metrics->core.event_bytes,
              "Size of the events kept now.");
    put_counter(metrics, "lockkeeper_events", metrics->tally->events,
                "Events that were kept for followers.");
    put_counter(metrics, "lockkeeper_events_dropped", metrics->tally->events_dropped,
                "Events dropped because a bound was reached, the oldest first.");
    put_counter(metrics, "lockkeeper_event_gaps", metrics->tally->event_gaps,
                "Gaps reported to connections that follow events.");
}

/* ---- the store ------------------------------------------------------------------------------- */

static void put_store(struct metrics *metrics) {
    const struct lk_monitor *monitor = lk_server_monitor(metrics->server);
    const struct lk_server_options *options = lk_server_options_of(metrics->server);
    uint64_t file_bytes;
    uint64_t log_bytes;

    put_counter(metrics, "lockkeeper_batches", metrics->core.batches,
                "Write transactions committed.");
    put_counter(metrics, "lockkeeper_batches_failed", metrics->core.batches_failed,
                "Write transactions that failed or whose outcome is unknown.");
    put_buckets(metrics, "lockkeeper_commit_seconds", &monitor->commits,
                "How long the write transactions that were committed took.");
    put_seconds(metrics, "lockkeeper_commit_running_seconds",
                monitor->committing_since_us != 0
                    ? metrics->times->now_us - monitor->committing_since_us
                    : 0,
                "How long the write transaction of this moment has taken; 0: there is none.");
    if (options->directory != NULL
        && lk_monitor_files(options->directory, &file_bytes, &log_bytes)) {
        lk_exposition_family(&metrics->to, "lockkeeper_store_bytes", LK_METRIC_GAUGE, "bytes",
                             "Sizes of the store's file and of its write-ahead log.");
        put_sample(metrics, "file", "database", file_bytes);
        put_sample(metrics, "file", "log", log_bytes);
    }
}

void lk_http_metrics_fill(const struct lk_http_listener *listener,
                          const struct lk_reply *core_reply, bool is_open_metrics,
                          struct lk_http_reply *reply) {
    const struct lk_core *core = lk_server_core(listener->server);
    struct metrics metrics = {
        .to = {.out = &reply->body, .is_open_metrics = is_open_metrics},
        .server = listener->server,
        .model = core_reply->model,
        .tally = lk_core_tally(core),
        .times = core_reply->times,
    };

    if (metrics.model != NULL) {
        lk_model_stats(metrics.model, &metrics.kept);
    }
    lk_core_stats(core, &metrics.core);
    put_service(&metrics);
    put_leadership(&metrics);
    put_certificate(&metrics);
    put_connections(&metrics);
    put_requests(&metrics);
    put_decisions(&metrics);
    put_kept(&metrics);
    put_events(&metrics);
    put_store(&metrics);
    lk_exposition_end(&metrics.to);
    reply->status = HTTP_OK;
    reply->type = is_open_metrics ? LK_HTTP_OPEN_METRICS_TYPE : LK_HTTP_METRICS_TYPE;
}
