/* SPDX-License-Identifier: Apache-2.0 */
/* The module, its stores and its cancellations. */
#include "module.h"

const napi_type_tag lk_node_store_tag = {0x6c6f636b6b656570, 1};
const napi_type_tag lk_node_cancel_tag = {0x6c6f636b6b656570, 2};
const napi_type_tag lk_node_lease_tag = {0x6c6f636b6b656570, 3};
const napi_type_tag lk_node_watch_tag = {0x6c6f636b6b656570, 4};
const napi_type_tag lk_node_feed_tag = {0x6c6f636b6b656570, 5};

/* ---- stores ---------------------------------------------------------------------------------- */

static void store_end(struct lk_node_thing *thing) {
    struct lk_node_store *store = (struct lk_node_store *)thing;
    lk_store *handle = store->handle;

    store->handle = NULL;
    lk_close(handle);
}

static void open_run(struct lk_node_call *call) {
    lk_store *store = NULL;

    call->outcome = lk_open(call->path, &store, &call->error);
    call->answer = store;
}

static void open_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct lk_node_store *store;

    if (call->outcome != LK_OK) {
        return;
    }
    store = lk_node_thing_new(call->task.home, sizeof *store, NULL, store_end);
    if (store != NULL) {
        store->handle = call->answer;
        call->answer = NULL;
        lk_node_set_text(env, answer, "url", lk_store_url(store->handle));
        lk_node_set(env, answer, "store", lk_node_thing_wrap(env, store, &lk_node_store_tag));
    }
}

static void open_destroy(struct lk_node_call *call) {
    lk_close(call->answer);
}

/* open(url) */
static napi_value open_store(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call = lk_node_call_new(env, sizeof *call, open_run);

    lk_node_arguments(env, info, arguments);
    if (call == NULL) {
        return NULL;
    }
    call->fill = open_fill;
    call->destroy = open_destroy;
    call->path = lk_node_text(call, arguments[0]);
    return lk_node_call_start(call, LK_NODE_SHORT);
}

static void close_run(struct lk_node_call *call) {
    lk_close(call->answer);
    call->answer = NULL;
}

/* close(store): no other call is on it. */
static napi_value close_store(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_call *call;

    lk_node_arguments(env, info, arguments);
    call = lk_node_store_call(env, arguments[0], sizeof *call, close_run);
    if (call == NULL) {
        return NULL;
    }
    call->destroy = open_destroy;
    call->answer = call->store->handle;
    call->store->handle = NULL;
    return lk_node_call_start(call, LK_NODE_SHORT);
}

/* away(store): milliseconds; asks nothing. */
static napi_value away(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], ms = NULL;
    struct lk_node_store *store;

    lk_node_arguments(env, info, arguments);
    store = lk_node_thing_of(env, arguments[0], &lk_node_store_tag);
    if (store != NULL && store->handle != NULL) {
        (void)napi_create_int64(env, lk_away_ms(store->handle, NULL), &ms);
    }
    return ms;
}

/* ---- cancellations --------------------------------------------------------------------------- */

static void cancel_stop(struct lk_node_thing *thing) {
    lk_cancel_now(((struct lk_node_cancel *)thing)->handle);
}

static void cancel_end(struct lk_node_thing *thing) {
    struct lk_node_cancel *cancel = (struct lk_node_cancel *)thing;
    lk_cancel *handle = cancel->handle;

    cancel->handle = NULL;
    lk_cancel_free(handle);
}

static napi_value cancel_make(napi_env env, napi_callback_info info) {
    lk_cancel *handle = lk_cancel_new();
    struct lk_node_cancel *cancel =
        handle == NULL
            ? NULL
            : lk_node_thing_new(lk_node_home(env), sizeof *cancel, cancel_stop, cancel_end);

    (void)info;
    if (cancel == NULL) {
        lk_cancel_free(handle);
        (void)napi_throw_error(env, NULL, "no memory for a cancellation");
        return NULL;
    }
    cancel->handle = handle;
    return lk_node_thing_wrap(env, cancel, &lk_node_cancel_tag);
}

static napi_value cancel_now(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_cancel *cancel;

    lk_node_arguments(env, info, arguments);
    cancel = lk_node_thing_of(env, arguments[0], &lk_node_cancel_tag);
    if (cancel != NULL && cancel->handle != NULL) {
        lk_cancel_now(cancel->handle);
    }
    return NULL;
}

/* ---- the module ------------------------------------------------------------------------------ */

void lk_node_store_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"open", open_store},        {"close", close_store},    {"away", away},
        {"cancelMake", cancel_make}, {"cancelNow", cancel_now}, {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}

/* What the headers have by name is told to JavaScript from here. */
static void constants_open(napi_env env, napi_value exports) {
    static const struct constant {
        const char *name;
        int value;
    } constants[] = {
#define CONSTANT(name) {#name, name}
        CONSTANT(LK_TRY),       CONSTANT(LK_QUEUE),        CONSTANT(LK_WAIT),
        CONSTANT(LK_MANY_MAX),  CONSTANT(LK_CLAIMS_MAX),   CONSTANT(LK_WORKERS_MAX),
        CONSTANT(LK_WORK_LOST), CONSTANT(LK_WORK_UNKNOWN), CONSTANT(LK_WORK_GIVE_BACK),
        CONSTANT(LK_VALUE_MAX),
#undef CONSTANT
    };
    napi_value table = lk_node_object(env);
    char *names[LK_OUTCOME_COUNT];

    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        lk_node_set_number(env, table, constants[i].name, constants[i].value);
    }
    lk_node_set(env, exports, "constants", table);
    for (int i = 0; i < LK_OUTCOME_COUNT; i++) {
        names[i] = (char *)(uintptr_t)lk_outcome_name((lk_outcome)i);
    }
    lk_node_set_texts(env, exports, "outcomes", names, LK_OUTCOME_COUNT);
}

/* In later versions of Node.js the macro below defines this function, too. */
#ifdef NODE_API_MODULE_GET_API_VERSION
NAPI_MODULE_EXPORT int32_t NODE_API_MODULE_GET_API_VERSION(void);
#endif

NAPI_MODULE_INIT() {
    if (lk_node_home_open(env, exports) == NULL) {
        (void)napi_throw_error(env, NULL, "no memory for the module");
        return NULL;
    }
    lk_node_set_text(env, exports, "headerVersion", LK_VERSION);
    lk_node_set_text(env, exports, "version", lk_version());
    constants_open(env, exports);
    lk_node_store_open(env, exports);
    lk_node_request_open(env, exports);
    lk_node_lease_open(env, exports);
    lk_node_value_open(env, exports);
    lk_node_admin_open(env, exports);
    lk_node_queue_open(env, exports);
    lk_node_work_open(env, exports);
    lk_node_claim_open(env, exports);
    lk_node_watch_functions_open(env, exports);
    return exports;
}
