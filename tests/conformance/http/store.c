/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing, and the table of operations: the one engine of the runner over HTTP. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "http.h"

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
