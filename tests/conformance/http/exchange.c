/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one engine of the runner over HTTP: opening and closing, the table of operations; and one
 * exchange: sent by libcurl, received, and held to what docs/wire.md promises of answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "http.h"

/* ---- the engine ------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin_curl(void) {
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void close_store(struct lk_engine *engine) {
    struct http_store *store = http_store_of(engine);

    http_stream_free(store->stream);
    while (store->idle != NULL) {
        struct http_link *link = store->idle;
        store->idle = link->next;
        curl_multi_cleanup(link->multi);
        free(link);
    }
    pthread_mutex_destroy(&store->following);
    pthread_mutex_destroy(&store->mutex);
    free(store->socket);
    free(store);
}

static lk_outcome open_store(struct lk_slice rest, const struct lk_patience *patience,
                             struct lk_engine **ret_engine, lk_error *error);

static const struct lk_event_ops event_ops = {.read = http_events, .await = http_await_events};
static const struct lk_limit_ops limit_ops = {.get = http_limits_get, .set = http_limits_set};

static const struct lk_engine_ops lk_engine_http = {
    .scheme = "http+unix",
    .title = "a Lockkeeper service, over HTTP",
    .capabilities =
        LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE | LK_CAN_PERSIST,
    .open = open_store,
    .close = close_store,
    .decide = http_decide,
    .await = http_await,
    .list = http_list,
    .show = http_show,
    .audit = http_audit,
    .value_get = http_value_get,
    .values = http_values,
    .items = http_items,
    .stats = http_stats,
    .events = &event_ops,
    .limits = &limit_ops,
};

/* Takes the place of the table that the library brings: nothing but HTTP can be spoken here. */
const struct lk_engine_ops *const lk_engines[] = {&lk_engine_http, NULL};

/* The service is asked whether it is ready: naming one that is not there is an error. */
static lk_outcome open_store(struct lk_slice rest, const struct lk_patience *patience,
                             struct lk_engine **ret_engine, lk_error *error) {
    struct http_store *store = calloc(1, sizeof *store);
    struct http_call call = {.method = "GET", .target = http_target("/v1/requests", NULL, "")};
    lk_outcome outcome;

    (void)pthread_once(&once, begin_curl);
    if (store == NULL || (store->socket = lk_text_copy(rest)) == NULL
        || pthread_mutex_init(&store->mutex, NULL) != 0
        || pthread_mutex_init(&store->following, NULL) != 0) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    store->engine.ops = &lk_engine_http;
    outcome = http_tell(&store->engine, &call, patience, error);
    if (outcome != LK_OK) {
        close_store(&store->engine);
        return outcome;
    }
    *ret_engine = &store->engine;
    return LK_OK;
}

/* ---- an exchange ----------------------------------------------------------------------------- */

enum { POLL_MS_MAX = 60000, ANSWER_BYTES_MAX = 64 << 20 };

/* Beyond the time that a call may block in the service: what its answer may take to get here. */
#define GRACE_US INT64_C(5000000)

void http_answer_done(struct http_answer *answer) {
    json_decref(answer->json);
    lk_buffer_done(&answer->bytes);
    answer->json = NULL;
}

/* ---- targets --------------------------------------------------------------------------------- */

/* Slashes stay: they are the path's own. */
char *http_target(const char *route, const struct lk_path *path, const char *query) {
    char *encoded = path != NULL ? curl_easy_escape(NULL, path->bytes, (int)path->size) : NULL;
    char *target = NULL;
    char *to = encoded;

    if (path != NULL && encoded == NULL) {
        return NULL;
    }
    for (const char *from = encoded; from != NULL && *from != '\0'; to++) {
        bool is_slash = strncmp(from, "%2F", 3) == 0;
        *to = is_slash ? '/' : *from;
        from += is_slash ? 3 : 1;
    }
    if (to != NULL) {
        *to = '\0';
    }
    if (asprintf(&target, "%s%s%s", route, encoded != NULL ? encoded : "", query) < 0) {
        target = NULL;
    }
    curl_free(encoded);
    return target;
}

CURL *http_handle_new(const struct http_store *store, const char *target) {
    CURL *easy = curl_easy_init();
    char *url = NULL;
    bool is_complete =
        easy != NULL && asprintf(&url, "http://localhost%s", target) >= 0
        && curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, store->socket) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK;

    free(url);
    if (!is_complete) {
        curl_easy_cleanup(easy);
        return NULL;
    }
    return easy;
}

/* ---- links ----------------------------------------------------------------------------------- */

static struct http_link *link_take(struct http_store *store) {
    struct http_link *link;

    pthread_mutex_lock(&store->mutex);
    link = store->idle;
    if (link != NULL) {
        store->idle = link->next;
    }
    pthread_mutex_unlock(&store->mutex);
    if (link == NULL) {
        link = calloc(1, sizeof *link);
        if (link != NULL && (link->multi = curl_multi_init()) == NULL) {
            free(link);
            link = NULL;
        }
    }
    return link;
}

static void link_give_back(struct http_store *store, struct http_link *link) {
    pthread_mutex_lock(&store->mutex);
    link->next = store->idle;
    store->idle = link;
    pthread_mutex_unlock(&store->mutex);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static size_t receive(char *bytes, size_t size, size_t count, void *context) {
    struct lk_buffer *body = context;

    lk_buffer_add(body, bytes, size * count);
    return body->failed ? 0 : size * count;
}

static int poll_ms(int64_t until_us, int64_t now_us) {
    int64_t left_ms = until_us == LK_NEVER ? POLL_MS_MAX : (until_us - now_us) / 1000 + 1;

    return left_ms > POLL_MS_MAX ? POLL_MS_MAX : (int)left_ms;
}

lk_outcome http_run(CURLM *multi, const struct lk_patience *patience, lk_error *error) {
    struct curl_waitfd thrown = {.fd = -1, .events = CURL_WAIT_POLLIN};
    int running = 1;

    if (patience->waker != NULL) {
        thrown.fd = lk_waker_thrown_descriptor(patience->waker);
    }
    while (curl_multi_perform(multi, &running) == CURLM_OK && running > 0) {
        int64_t now_us = lk_clock_now_us();
        if (patience->waker != NULL && lk_waker_is_thrown(patience->waker)) {
            return lk_error_clear(error, LK_CANCELLED);
        }
        if (patience->until_us != LK_NEVER && now_us >= patience->until_us) {
            return lk_error_set(error, LK_UNAVAILABLE, "the service has not answered in time");
        }
        (void)curl_multi_poll(multi, &thrown, thrown.fd >= 0, poll_ms(patience->until_us, now_us),
                              NULL);
    }
    return running == 0 ? LK_OK : lk_error_set(error, LK_INTERNAL, "libcurl has failed");
}

/* A line of the head of an answer. libcurl has curl_easy_header() for it since 7.83. */
static size_t receive_header(char *line, size_t size, size_t count, void *context) {
    static const char name[] = "Lockkeeper-In-Doubt:";
    static const char whole[] = "Lockkeeper-In-Doubt: 1\r\n";
    struct http_answer *answer = context;
    size_t bytes = size * count;

    if (bytes >= strlen(name) && strncasecmp(line, name, strlen(name)) == 0) {
        bool is_one = bytes == strlen(whole) && strncasecmp(line, whole, bytes) == 0;

        answer->is_in_doubt |= is_one;
        answer->is_in_other_doubt |= !is_one;
    }
    return bytes;
}

/* Sends what the call has, receives into the answer. */
static bool set_call(CURL *easy, struct http_call *call, char *json, struct curl_slist *headers,
                     struct http_answer *answer) {
    struct lk_slice bytes = json != NULL ? lk_slice_of(json) : call->bytes;
    bool has_body = json != NULL || strcmp(call->method, "PUT") == 0;

    answer->bytes.max = ANSWER_BYTES_MAX;
    if (has_body
        && (curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)bytes.size) != CURLE_OK
            || curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes.size > 0 ? bytes.bytes : "")
                   != CURLE_OK)) {
        return false;
    }
    return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method) == CURLE_OK
           && curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK
           && curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_header) == CURLE_OK
           && curl_easy_setopt(easy, CURLOPT_HEADERDATA, answer) == CURLE_OK
           && curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK
           && curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer->bytes) == CURLE_OK;
}

/* What became of the transfer. */
static lk_outcome judge_transfer(CURLM *multi, lk_error *error) {
    int left;
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    CURLcode code = message != NULL ? message->data.result : CURLE_FAILED_INIT;

    return code == CURLE_OK ? LK_OK
                            : lk_error_set(error, LK_UNAVAILABLE, "%s", curl_easy_strerror(code));
}

/* ---- what is promised ------------------------------------------------------------------------ */

/* The status of HTTP that goes with an outcome. */
static long status_of(lk_outcome outcome) {
    switch (outcome) {
    case LK_OK:
    case LK_GRANTED:
        return 200;
    case LK_WAITING:
        return 202;
    case LK_BUSY:
    case LK_TIMEOUT:
    case LK_DEADLOCK:
        return 409;
    case LK_LOST:
        return 410;
    case LK_INVALID:
        return 400;
    case LK_DENIED:
        return 403;
    case LK_FULL:
        return 429;
    case LK_UNSUPPORTED:
        return 501;
    case LK_UNAVAILABLE:
        return 503;
    case LK_NONE:
        return 404;
    default:
        return 500;
    }
}

static bool is_type(CURL *easy, const char *expected) {
    const char *type = NULL;

    return curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type != NULL
           && strcmp(type, expected) == 0;
}

static bool find_outcome(const char *name, lk_outcome *ret_outcome) {
    for (int outcome = 0; name != NULL && outcome < LK_OUTCOME_COUNT; outcome++) {
        if (strcmp(name, lk_outcome_name((lk_outcome)outcome)) == 0) {
            *ret_outcome = (lk_outcome)outcome;
            return true;
        }
    }
    return false;
}

/* A body of JSON always says its status, and an error where there is one. */
static lk_outcome judge_json(CURL *easy, long code, struct http_answer *answer, lk_error *error) {
    lk_outcome outcome;
    const char *text;
    bool is_failure;

    answer->json = json_loadb(answer->bytes.bytes != NULL ? answer->bytes.bytes : "",
                              answer->bytes.size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(answer->json) || !is_type(easy, "application/json")
        || !find_outcome(json_string_value(json_object_get(answer->json, "status")), &outcome)) {
        return lk_error_set(error, LK_INTERNAL, "an answer, %ld, that says no status: %.*s", code,
                            (int)(answer->bytes.size < 200 ? answer->bytes.size : 200),
                            answer->bytes.bytes);
    }
    text = json_string_value(json_object_get(answer->json, "error"));
    is_failure = outcome != LK_OK && outcome != LK_GRANTED && outcome != LK_WAITING;
    if (status_of(outcome) != code && !(code == 413 && outcome == LK_INVALID)) {
        return lk_error_set(error, LK_INTERNAL, "%s came as %ld", lk_outcome_name(outcome), code);
    }
    if (is_failure != (text != NULL)) {
        return lk_error_set(error, LK_INTERNAL, "%s with%s an error", lk_outcome_name(outcome),
                            is_failure ? "out" : "");
    }
    return lk_error_set(error, outcome, "%s", text != NULL ? text : "");
}

static lk_outcome judge(CURL *easy, const struct http_call *call, struct http_answer *answer,
                        lk_error *error) {
    long code = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    if (!call->is_raw || code != 200) {
        return judge_json(easy, code, answer, error);
    }
    if (!is_type(easy, "application/octet-stream") || answer->is_in_other_doubt) {
        return lk_error_set(error, LK_INTERNAL, "a value of another type, or another doubt");
    }
    return lk_error_clear(error, LK_OK);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static lk_outcome transfer(struct http_link *link, struct http_call *call, char *json,
                           const struct lk_patience *patience, struct http_answer *answer,
                           lk_error *error) {
    struct curl_slist *headers =
        curl_slist_append(NULL, json != NULL ? "Content-Type: application/json" : "Content-Type:");
    lk_outcome outcome;

    if (headers == NULL || !set_call(link->easy, call, json, headers, answer)) {
        curl_slist_free_all(headers);
        return lk_error_set(error, LK_INTERNAL, "libcurl takes no call");
    }
    curl_multi_add_handle(link->multi, link->easy);
    outcome = http_run(link->multi, patience, error);
    if (outcome == LK_OK) {
        outcome = judge_transfer(link->multi, error);
    }
    if (outcome == LK_OK) {
        outcome = judge(link->easy, call, answer, error);
    }
    curl_multi_remove_handle(link->multi, link->easy);
    curl_slist_free_all(headers);
    return outcome;
}

lk_outcome http_exchange(struct lk_engine *engine, struct http_call *call,
                         const struct lk_patience *patience, struct http_answer *ret_answer,
                         lk_error *error) {
    struct http_store *store = http_store_of(engine);
    bool is_post = strcmp(call->method, "POST") == 0;
    char *json = call->body != NULL ? json_dumps(call->body, JSON_COMPACT) : NULL;
    struct http_link *link = link_take(store);
    lk_outcome outcome = LK_INTERNAL;

    *ret_answer = (struct http_answer){.json = NULL};
    if (link != NULL && call->target != NULL && is_post == (json != NULL)
        && (link->easy = http_handle_new(store, call->target)) != NULL) {
        outcome = transfer(link, call, json, patience, ret_answer, error);
        curl_easy_cleanup(link->easy);
    } else {
        (void)lk_error_set(error, LK_INTERNAL, "no such call can be made");
    }
    if (link != NULL) {
        link_give_back(store, link);
    }
    json_decref(call->body);
    free(call->target);
    free(json);
    return outcome;
}

lk_outcome http_tell(struct lk_engine *engine, struct http_call *call,
                     const struct lk_patience *patience, lk_error *error) {
    struct http_answer answer;
    lk_outcome outcome = http_exchange(engine, call, patience, &answer, error);

    http_answer_done(&answer);
    return outcome;
}

lk_outcome http_block(struct lk_engine *engine, struct http_call *call, int64_t until_us,
                      struct lk_waker *waker) {
    const struct lk_patience patience = {.until_us = until_us + GRACE_US, .waker = waker};
    lk_error error;
    lk_outcome outcome = http_tell(engine, call, &patience, &error);

    return outcome == LK_CANCELLED || outcome == LK_UNAVAILABLE ? outcome : LK_OK;
}
