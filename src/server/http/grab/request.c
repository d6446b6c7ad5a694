/* SPDX-License-Identifier: Apache-2.0 */
/* Requests under /grab/: which clients may send them, what they ask for, and the calls that they
 * become. */
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "form/text.h"
#include "model/utf8.h"
#include "server/http/grab/grab.h"
#include "server/log/log.h"

enum { UNTIL_DIGITS_MAX = 15 }; /* below 2^53 */

static const char prefix[] = "/grab/";

const struct lk_command_spec lk_http_grab_command = {.name = "grab", .kind = LK_CALL_COMMAND};

const char *const lk_grab_op_names[LK_GRAB_OPS_COUNT] = {"peek",  "grab",   "release", "dump",
                                                         "stats", "config", "shutdown"};

/* ---- permission ------------------------------------------------------------------------------ */

static const char *header_of(struct evhttp_request *request, const char *name) {
    return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}

static bool changes_something(enum lk_grab_op op) {
    return op == LK_GRAB_GRAB || op == LK_GRAB_RELEASE || op == LK_GRAB_SHUTDOWN;
}

/*
 * Here a GET changes locks, and a page of another site can make a browser send one, without an
 * Origin: as the address of a picture. Browsers name such requests in Sec-Fetch-Site, but only
 * where they trust the connection (loopback or TLS). Elsewhere one that changes something is taken
 * from programs only; a page cannot change what its browser calls itself.
 */
static bool is_of_another_site(struct evhttp_request *request, enum lk_grab_op op) {
    static const char browser[] = "Mozilla/";
    const char *site = header_of(request, "Sec-Fetch-Site");
    const char *agent = header_of(request, "User-Agent");

    if (site != NULL) {
        return strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;
    }
    return changes_something(op) && agent != NULL && header_of(request, "Origin") == NULL
           && strncasecmp(agent, browser, strlen(browser)) == 0;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static lk_outcome read_resource(struct lk_grab_ask *asked, struct lk_slice text, lk_error *error) {
    char decoded[LK_PATH_BYTES_MAX + 3];
    struct lk_path path;
    lk_outcome outcome;

    if (!lk_percent_decode(text, decoded, sizeof decoded)) {
        return lk_error_set(error, LK_INVALID,
                            "R1: a path has at most %d bytes, and after each %% two hexadecimal "
                            "digits",
                            LK_PATH_BYTES_MAX);
    }
    asked->has_path = decoded[0] != '\0';
    (void)snprintf(asked->resource, sizeof asked->resource, "/");
    if (!asked->has_path) {
        return LK_OK;
    }
    outcome = lk_path_parse(lk_slice_of(decoded), &path, error);
    if (outcome == LK_OK) {
        memcpy(asked->resource + 1, path.bytes, path.size);
        asked->resource[path.size + 1] = '\0';
        path.bytes = asked->resource + 1;
        asked->part = (struct lk_part){.path = path, .mode = LK_EXCLUSIVE};
    }
    return outcome;
}

static lk_outcome read_op(struct lk_grab_ask *asked, const char *text, lk_error *error) {
    for (int op = 0; op < LK_GRAB_OPS_COUNT; op++) {
        if (strcmp(text, lk_grab_op_names[op]) == 0) {
            asked->op = (enum lk_grab_op)op;
            return LK_OK;
        }
    }
    return lk_error_set(error, LK_INVALID,
                        "op: one of grab, release, peek, dump, stats, config and shutdown");
}

/*
 * Owners are ID/PATH: with a slash in the id, two requests could have the same one. They are UTF-8,
 * as those of all commands are (R3): a database refuses other bytes, and the batch with them.
 */
static lk_outcome read_id(struct lk_grab_ask *asked, const char *text, lk_error *error) {
    size_t size = strlen(text);
    bool is_id = size > 0 && size <= LK_GRAB_ID_BYTES_MAX && lk_utf8_is_valid(text, size);

    for (size_t i = 0; i < size && is_id; i++) {
        unsigned char byte = (unsigned char)text[i];
        is_id = byte > ' ' && byte != '/' && byte != 0x7f;
    }
    if (!is_id) {
        return lk_error_set(error, LK_INVALID,
                            "id: 1 to %d bytes of UTF-8, without slashes, blanks and control "
                            "characters",
                            LK_GRAB_ID_BYTES_MAX);
    }
    memcpy(asked->id, text, size + 1);
    return LK_OK;
}

static lk_outcome read_until(struct lk_grab_ask *asked, const char *text, lk_error *error) {
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || text[digits] != '\0' || digits > UNTIL_DIGITS_MAX) {
        return lk_error_set(error, LK_INVALID, "until: milliseconds of Unix time");
    }
    asked->has_until = true;
    asked->until_ms = strtoll(text, NULL, 10);
    return LK_OK;
}

/* Fields with other names are ignored, as a cache breaker of a script is. */
static lk_outcome read_fields(struct lk_grab_ask *asked, const struct evkeyvalq *fields,
                              lk_error *error) {
    static lk_outcome (*const readers[])(struct lk_grab_ask *, const char *,
                                         lk_error *) = {read_op, read_id, read_until};
    static const char *const names[] = {"op", "id", "until"};
    bool given[sizeof names / sizeof names[0]] = {false};
    const struct evkeyval *field;
    lk_outcome outcome = LK_OK;

    TAILQ_FOREACH(field, fields, next) {
        for (size_t i = 0; i < sizeof names / sizeof names[0] && outcome == LK_OK; i++) {
            if (strcmp(field->key, names[i]) != 0) {
                continue;
            }
            outcome = given[i] ? lk_error_set(error, LK_INVALID, "%s: given twice", names[i])
                               : readers[i](asked, field->value, error);
            given[i] = true;
        }
    }
    return outcome;
}

static lk_outcome read_query(struct lk_grab_ask *asked, struct evhttp_request *request,
                             lk_error *error) {
    const char *text = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    struct evkeyvalq fields;
    lk_outcome outcome;

    if (text == NULL || text[0] == '\0') {
        return LK_OK;
    }
    TAILQ_INIT(&fields);
    outcome =
        strstr(text, "%00") == NULL && evhttp_parse_query_str(text, &fields) == 0
            ? read_fields(asked, &fields, error)
            : lk_error_set(error, LK_INVALID, "the query must be NAME=VALUE&... without NULs");
    evhttp_clear_headers(&fields);
    return outcome;
}

/* The owner of a grab and a release. */
static lk_outcome make_owner(struct lk_grab_ask *asked, lk_error *error) {
    int size;

    if (asked->op != LK_GRAB_GRAB && asked->op != LK_GRAB_RELEASE) {
        return LK_OK;
    }
    if (asked->id[0] == '\0' || !asked->has_path) {
        return lk_error_set(error, LK_INVALID, "%s is needed: /grab/PATH?id=ID&op=...",
                            asked->has_path ? "an id" : "a path");
    }
    size = snprintf(asked->owner, sizeof asked->owner, "%s%s", asked->id, asked->resource);
    if (size < 0 || (size_t)size >= sizeof asked->owner) {
        return lk_error_set(error, LK_INVALID, "id and path have at most %d bytes together",
                            LK_OWNER_BYTES_MAX - 1);
    }
    return LK_OK;
}

static lk_outcome read_ask(struct lk_grab_ask *asked, struct evhttp_request *request,
                           struct lk_slice rest, lk_error *error) {
    lk_outcome outcome;

    *asked = (struct lk_grab_ask){.op = LK_GRAB_PEEK};
    outcome = read_resource(asked, rest, error);
    if (outcome == LK_OK) {
        outcome = read_query(asked, request, error);
    }
    if (outcome == LK_OK && strcmp(asked->id, "unknown") == 0) {
        asked->id[0] = '\0'; /* what is assumed of those that give none */
    }
    return outcome == LK_OK ? make_owner(asked, error) : outcome;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The ttl of a grab; 0: its end has passed. A later end than the rules allow is cut to theirs. */
static int64_t ttl_of(const struct lk_grab_ask *asked, const struct lk_times *times) {
    int64_t ttl_ms = LK_GRAB_TTL_MS;

    if (asked->has_until) {
        ttl_ms += asked->until_ms - times->wall_us / 1000;
    }
    return ttl_ms < LK_TTL_MIN_MS ? 0 : ttl_ms > LK_TTL_MAX_MS ? LK_TTL_MAX_MS : ttl_ms;
}

/* A read by the listener itself, just before a release: how many queues will move on. */
static void on_read(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct lk_http_grab *grab = peer;
    struct lk_grab_queues queues;
    lk_ref request;

    (void)tag;
    (void)batch;
    grab->moved = 0;
    if (reply->model == NULL) {
        return;
    }
    request = lk_model_find(reply->model, lk_slice_of(grab->asked.owner), &grab->asked.part, 1);
    if (request != 0
        && lk_grab_queues_read(reply->model, &grab->asked.part.path, LK_GRAB_ROWS_MAX, &queues)
               == LK_OK) {
        grab->moved = lk_grab_queues_alone(&queues, request);
        lk_grab_queues_free(&queues);
    } else if (request != 0) {
        lk_grab_queues_free(&queues);
    }
}

static void on_durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void on_failed(void *peer, const char *why) {
    (void)peer;
    (void)why;
}

static void make_call(struct lk_http_listener *listener, struct lk_call *call, int64_t ttl_ms) {
    struct lk_http_grab *grab = listener->grab;
    struct lk_grab_ask *asked = &grab->asked;
    struct lk_slice owner = lk_slice_of(asked->owner);

    *call = (struct lk_call){.kind = LK_CALL_LIST};
    if (asked->op == LK_GRAB_GRAB) {
        call->kind = LK_CALL_COMMAND;
        call->command.kind = LK_COMMAND_ASK;
        call->command.ask = (struct lk_ask){.owner = owner,
                                            .parts = &asked->part,
                                            .part_count = 1,
                                            .style = LK_QUEUE,
                                            .ttl_ms = ttl_ms,
                                            .blockers_max = LK_GRAB_BLOCKERS_MAX};
    } else if (asked->op == LK_GRAB_RELEASE) {
        call->kind = LK_CALL_COMMAND;
        call->command.kind = LK_COMMAND_RELEASE;
        call->command.release.target =
            (struct lk_target){.owner = owner, .parts = &asked->part, .part_count = 1};
    } else if (asked->op == LK_GRAB_STATS || asked->op == LK_GRAB_CONFIG) {
        call->kind = LK_CALL_INFO;
    }
}

static void run(struct lk_http_listener *listener, struct evhttp_request *request) {
    struct lk_http_grab *grab = listener->grab;
    struct lk_core *core = lk_server_core(listener->server);
    struct lk_times times = lk_server_times(listener->server);
    int64_t ttl_ms = ttl_of(&grab->asked, &times);
    struct lk_call read = {.kind = LK_CALL_LIST};

    if (grab->asked.op == LK_GRAB_GRAB && ttl_ms == 0) {
        lk_http_refuse(listener, request, HTTP_BADREQUEST, LK_INVALID,
                       "until: 60 s after it the lock ends, and that has passed");
        return;
    }
    if (grab->asked.op == LK_GRAB_RELEASE) {
        lk_core_call(core, grab->reading, &read, &times);
    } else if (grab->asked.op == LK_GRAB_SHUTDOWN && lk_core_leader(core) == NULL
               && !lk_core_is_draining(core)) {
        lk_core_drain(core);
        lk_log(LK_LOG_WARNING, "grab", "a shutdown was asked for: no new requests are taken");
    }
    make_call(listener, &listener->call, ttl_ms);
    lk_draft_begin(&listener->draft, &lk_http_grab_command);
    listener->draft.has_path = grab->asked.has_path; /* for the log of slow calls */
    listener->draft.path = lk_slice_of(grab->asked.resource + 1);
    listener->context.command = &lk_http_grab_command;
    lk_http_call(listener, request);
}

/* ---- the route ------------------------------------------------------------------------------- */

bool lk_http_grab_is_route(const struct lk_http_listener *listener, const char *path) {
    return listener->grab != NULL && strncmp(path, prefix, strlen(prefix)) == 0;
}

void lk_http_grab_handle(struct lk_http_listener *listener, struct evhttp_request *request,
                         const char *path) {
    struct lk_grab_ask *asked = &listener->grab->asked;
    lk_error error;

    if (evhttp_request_get_command(request) != EVHTTP_REQ_GET) {
        (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "GET");
        lk_http_refuse(listener, request, HTTP_BADMETHOD, LK_INVALID,
                       "method not allowed for this route");
    } else if (read_ask(asked, request, lk_slice_of(path + strlen(prefix)), &error) != LK_OK) {
        lk_http_refuse(listener, request, HTTP_BADREQUEST, LK_INVALID, error.text);
    } else if (is_of_another_site(request, asked->op)) {
        lk_http_refused(listener, lk_http_client_of(listener, request)->socket, LK_REFUSED_ORIGIN);
        lk_http_refuse(listener, request, LK_HTTP_FORBIDDEN, LK_DENIED,
                       "a request of a page in a browser: see Sec-Fetch-Site");
    } else {
        run(listener, request);
    }
}

lk_outcome lk_http_grab_open(struct lk_http_listener *listener, lk_error *error) {
    static const struct lk_session_ops ops = {
        .answer = on_read, .durable = on_durable, .failed = on_failed};

    if (!lk_server_options_of(listener->server)->has_grab) {
        return LK_OK;
    }
    listener->grab = calloc(1, sizeof *listener->grab);
    if (listener->grab == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for /grab/");
    }
    listener->grab->stats.hash_seed = lk_random_draw();
    return lk_core_session_open(lk_server_core(listener->server), &ops, listener->grab,
                                &listener->grab->reading, error);
}

void lk_http_grab_close(struct lk_http_listener *listener) {
    struct lk_times times = lk_server_times(listener->server);

    if (listener->grab == NULL) {
        return;
    }
    if (listener->grab->reading != NULL) {
        lk_core_session_close(lk_server_core(listener->server), listener->grab->reading, &times);
    }
    lk_grab_stats_done(&listener->grab->stats);
    free(listener->grab);
    listener->grab = NULL;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* By name in tables of a fixed size. */

static void add_to(struct lk_grab_counts *counts, uint64_t seed, struct lk_slice name,
                   uint64_t added) {
    size_t at = (size_t)(lk_hash_bytes(seed, name) % LK_GRAB_SLOTS);

    while (counts->slots[at].name != NULL
           && !lk_slice_equal(lk_slice_of(counts->slots[at].name), name)) {
        at = (at + 1) % LK_GRAB_SLOTS;
    }
    if (counts->slots[at].name == NULL && counts->used < LK_GRAB_NAMES_MAX) {
        counts->slots[at].name = lk_text_copy(name);
        counts->used += counts->slots[at].name != NULL;
    }
    if (counts->slots[at].name != NULL) {
        counts->slots[at].count += added;
    }
}

static void replace(char **text, struct lk_slice by) {
    free(*text);
    *text = lk_text_copy(by);
}

void lk_grab_stats_add(struct lk_grab_stats *stats, const char *owner, const struct lk_path *path,
                       const size_t *positions) {
    char key[LK_PATH_BYTES_MAX + 1] = "/";

    memcpy(key + 1, path->bytes, path->size);
    stats->total += path->depth;
    add_to(&stats->by_owner, stats->hash_seed, lk_slice_of(owner), path->depth);
    for (unsigned i = path->depth; i-- > 0;) {
        struct lk_slice name = {key, path->ends[i] + 1u};

        add_to(&stats->by_lock, stats->hash_seed, name, 1);
        if (positions[i] > stats->longest) {
            stats->longest = positions[i];
            replace(&stats->longest_resource, name);
            replace(&stats->longest_owner, lk_slice_of(owner));
        }
    }
}

const char *lk_grab_name(struct lk_buffer *scratch, struct lk_slice text) {
    lk_buffer_cut(scratch, 0);
    lk_form_put_string(scratch, text);
    if (scratch->failed) {
        return "";
    }
    scratch->bytes[scratch->size - 1] = '\0'; /* the closing quote */
    return scratch->bytes + 1;
}

static void write_counts(const struct lk_grab_counts *counts, const char *name,
                         struct lk_form_writer *writer) {
    struct lk_buffer scratch = {.max = 0};

    lk_form_open_map(writer, name);
    for (size_t i = 0; i < LK_GRAB_SLOTS; i++) {
        if (counts->slots[i].name != NULL) {
            lk_form_add_count(writer, lk_grab_name(&scratch, lk_slice_of(counts->slots[i].name)),
                              counts->slots[i].count);
        }
    }
    lk_form_close(writer);
    writer->failed = writer->failed || scratch.failed;
    lk_buffer_done(&scratch);
}

static void write_text_or_null(const char *name, const char *text, struct lk_form_writer *writer) {
    if (text != NULL) {
        lk_form_add_text(writer, name, text);
    } else {
        lk_form_add_null(writer, name);
    }
}

void lk_grab_stats_write(const struct lk_grab_stats *stats, struct lk_form_writer *writer) {
    lk_form_add_count(writer, "total", stats->total);
    lk_form_add_count(writer, "max_queue_length", stats->longest);
    write_text_or_null("max_queue_resource", stats->longest_resource, writer);
    write_text_or_null("max_queue_owner", stats->longest_owner, writer);
    write_counts(&stats->by_owner, "by_owner", writer);
    write_counts(&stats->by_lock, "by_lock", writer);
}

static void free_counts(struct lk_grab_counts *counts) {
    for (size_t i = 0; i < LK_GRAB_SLOTS; i++) {
        free(counts->slots[i].name);
    }
}

void lk_grab_stats_done(struct lk_grab_stats *stats) {
    free_counts(&stats->by_owner);
    free_counts(&stats->by_lock);
    free(stats->longest_resource);
    free(stats->longest_owner);
}
