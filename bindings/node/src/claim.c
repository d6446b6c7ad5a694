/* SPDX-License-Identifier: Apache-2.0 */
/* Claims by hand (rule R16): without a loop, and without keep-alive. */
#include <time.h>

#include "module.h"

enum { MS_PER_S = 1000 };
#define NS_PER_MS 1e6

struct claim_call {
    struct lk_node_call call;
    lk_claim_request request;
    lk_work_table table;
    bool is_many;
    size_t max;
    lk_claim_info *one;
    lk_claim_list *list;
    double answered_ms; /* when the answer was there, which the event loop may see later */
};

/* The clock that deadlines are reckoned by, which counts suspended time. */
static double now_ms(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec * MS_PER_S + (double)now.tv_nsec / NS_PER_MS;
}

/* ---- to claim -------------------------------------------------------------------------------- */

static void claim_run(struct lk_node_call *call) {
    struct claim_call *made = (struct claim_call *)call;

    if (made->is_many) {
        call->outcome = lk_claim_many(call->store->handle, &made->request, made->max, &made->list,
                                      &call->error);
    } else {
        call->outcome =
            lk_claim_next(call->store->handle, &made->request, &made->one, &call->error);
    }
    made->answered_ms = now_ms();
}

static void set_deadline(napi_env env, napi_value claim, double at_ms) {
    napi_value deadline = NULL;

    (void)napi_create_double(env, at_ms, &deadline);
    lk_node_set(env, claim, "deadline", deadline);
}

static void claim_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct claim_call *made = (struct claim_call *)call;
    lk_claim_info *const *claims = made->list != NULL ? made->list->claims : &made->one;
    size_t count = made->list != NULL ? made->list->count : made->one != NULL;
    napi_value array = lk_node_set_array(env, answer, "claims", count);

    for (size_t i = 0; i < count; i++) {
        napi_value one = lk_node_add(env, array, i);

        lk_node_set_claim(env, one, claims[i]);
        lk_node_set_number(env, one, "ttl", claims[i]->ttl_ms);
        set_deadline(env, one, made->answered_ms + (double)claims[i]->expires_in_ms);
    }
}

static void claim_destroy(struct lk_node_call *call) {
    struct claim_call *made = (struct claim_call *)call;

    lk_claim_free(made->one);
    lk_claim_list_free(made->list);
}

static void claim_read(struct lk_node_call *call, napi_value given, struct claim_call *made) {
    lk_claim_request *request = &made->request;

    request->size = sizeof *request;
    request->queue = lk_node_text(call, lk_node_get(call, given, "queue"));
    request->owner = lk_node_text(call, lk_node_get(call, given, "owner"));
    request->note = lk_node_text(call, lk_node_get(call, given, "note"));
    request->wait_ms = lk_node_integer(call, lk_node_get(call, given, "wait"), LK_FOREVER);
    request->ttl_ms = lk_node_integer(call, lk_node_get(call, given, "ttl"), 0);
    request->max_attempts =
        (uint32_t)lk_node_integer(call, lk_node_get(call, given, "maxAttempts"), 0);
    request->patience_ms = lk_node_integer(call, lk_node_get(call, given, "patience"), 0);
    request->table = lk_node_table(call, lk_node_get(call, given, "table"), &made->table);
}

/* claim(store, request, cancel [, max]): one item, or up to max. */
static napi_value claim(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lk_node_cancel *cancel;
    struct claim_call *made;
    int64_t max;

    lk_node_arguments(env, info, arguments);
    made = lk_node_store_call(env, arguments[0], sizeof *made, claim_run);
    if (made == NULL) {
        return NULL;
    }
    made->call.fill = claim_fill;
    made->call.destroy = claim_destroy;
    claim_read(&made->call, arguments[1], made);
    cancel = lk_node_cancel_held(&made->call, arguments[2]);
    made->request.cancel = cancel == NULL ? NULL : cancel->handle;
    max = lk_node_integer(&made->call, arguments[3], -1);
    made->is_many = max >= 0;
    made->max = made->is_many ? (size_t)max : 0;
    return lk_node_call_start(&made->call,
                              made->request.wait_ms == 0 ? LK_NODE_SHORT : LK_NODE_WAIT);
}

/* now(): milliseconds, with a fraction, on the clock of the deadlines. */
static napi_value now(napi_env env, napi_callback_info info) {
    napi_value ms = NULL;

    (void)info;
    (void)napi_create_double(env, now_ms(), &ms);
    return ms;
}

/* ---- to end claims, and to tell of them ------------------------------------------------------ */

struct claims_end {
    struct lk_node_call call;
    lk_retry_request request; /* its first four fields for each kind of end */
    lk_work_table source;
    const lk_work_table *table; /* NULL: the queue has no table */
    const void *bytes;          /* a result or a progress; NULL: none */
    size_t size;
    int64_t keep_ms;
    const char *const *ids;
    size_t count;
};

/* NAME(store, claim, ...): of the claim queue, owner, token and, unless there are several, id. */
static struct claims_end *end_begin(napi_env env, napi_callback_info info, napi_value *arguments,
                                    void (*run)(struct lk_node_call *call)) {
    struct claims_end *end;
    struct lk_node_call *call;

    lk_node_arguments(env, info, arguments);
    end = lk_node_store_call(env, arguments[0], sizeof *end, run);
    if (end != NULL) {
        call = &end->call;
        end->request.size = sizeof end->request;
        end->request.queue = lk_node_text(call, lk_node_get(call, arguments[1], "queue"));
        end->request.id = lk_node_text(call, lk_node_get(call, arguments[1], "id"));
        end->request.owner = lk_node_text(call, lk_node_get(call, arguments[1], "owner"));
        end->request.token = lk_node_big(call, lk_node_get(call, arguments[1], "token"));
    }
    return end;
}

static void done_run(struct lk_node_call *call) {
    const struct claims_end *made = (struct claims_end *)call;
    const lk_retry_request *end = &made->request;
    lk_store *store = call->store->handle;

    if (made->table != NULL) {
        call->outcome = lk_done_row(store, end->queue, made->table, end->id, end->owner, end->token,
                                    &call->error);
    } else if (made->bytes == NULL && made->keep_ms == 0) {
        call->outcome = lk_done(store, end->queue, end->id, end->owner, end->token, &call->error);
    } else {
        const lk_done_request request = {.size = sizeof request,
                                         .queue = end->queue,
                                         .id = end->id,
                                         .owner = end->owner,
                                         .token = end->token,
                                         .result = made->bytes,
                                         .result_size = made->size,
                                         .keep_ms = made->keep_ms};

        call->outcome = lk_done_item(store, &request, &call->error);
    }
}

/* done(store, claim [, table [, result [, keep]]]): without a table, if there are the others */
static napi_value done(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct claims_end *end = end_begin(env, info, arguments, done_run);

    if (end == NULL) {
        return NULL;
    }
    end->table = lk_node_table(&end->call, arguments[2], &end->source);
    end->bytes = lk_node_bytes(&end->call, arguments[3], &end->size);
    end->keep_ms = lk_node_integer(&end->call, arguments[4], 0);
    return lk_node_call_start(&end->call, LK_NODE_SHORT);
}

static void progress_run(struct lk_node_call *call) {
    const struct claims_end *made = (struct claims_end *)call;
    const lk_retry_request *claim = &made->request;

    call->outcome = lk_progress(call->store->handle, claim->queue, claim->id, claim->owner,
                                claim->token, made->bytes, made->size, &call->error);
}

/* progress(store, claim, bytes), which ends nothing */
static napi_value progress(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct claims_end *made = end_begin(env, info, arguments, progress_run);

    if (made == NULL) {
        return NULL;
    }
    made->bytes = lk_node_bytes(&made->call, arguments[2], &made->size);
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

static void done_many_run(struct lk_node_call *call) {
    const struct claims_end *end = (struct claims_end *)call;

    call->outcome =
        lk_done_many(call->store->handle, end->request.queue, end->ids, end->count,
                     end->request.owner, end->request.token, &call->found, &call->error);
}

static void done_many_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    lk_node_set_number(env, answer, "count", (int64_t)call->found);
}

/* doneMany(store, claim, ids) */
static napi_value done_many(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct claims_end *end = end_begin(env, info, arguments, done_many_run);

    if (end == NULL) {
        return NULL;
    }
    end->call.fill = done_many_fill;
    end->ids = lk_node_texts(&end->call, arguments[2], &end->count);
    return lk_node_call_start(&end->call, LK_NODE_SHORT);
}

static void retry_run(struct lk_node_call *call) {
    const lk_retry_request *end = &((struct claims_end *)call)->request;

    call->outcome = lk_retry_failed(call->store->handle, end, &call->error);
}

/* retry(store, claim, delay, error, exitCode, uncounted, park) */
static napi_value retry(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct claims_end *end = end_begin(env, info, arguments, retry_run);
    napi_valuetype type = napi_undefined;

    if (end == NULL) {
        return NULL;
    }
    end->request.delay_ms = lk_node_integer(&end->call, arguments[2], 0);
    end->request.error = lk_node_bytes(&end->call, arguments[3], &end->request.error_size);
    (void)napi_typeof(env, arguments[4], &type);
    end->request.has_exit = type == napi_number;
    end->request.exit_code = (int32_t)lk_node_integer(&end->call, arguments[4], 0);
    end->request.uncounted = lk_node_flag(&end->call, arguments[5]);
    end->request.parks = lk_node_flag(&end->call, arguments[6]);
    return lk_node_call_start(&end->call, LK_NODE_SHORT);
}

void lk_node_claim_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"claim", claim}, {"now", now},           {"done", done}, {"doneMany", done_many},
        {"retry", retry}, {"progress", progress}, {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}
