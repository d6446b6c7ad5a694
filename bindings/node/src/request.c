/* SPDX-License-Identifier: Apache-2.0 */
/* Requests (lk_request), and the calls that make, renew and end them without keep-alive. */
#include "module.h"

struct request_call {
    struct lk_node_call call;
    lk_request request;
    const lk_part_put *puts;
    size_t put_count;
    lk_result *result;
    lk_lease *lease;
};

void lk_node_request(struct lk_node_call *call, napi_value options, lk_request *request) {
    size_t count;
    const char *const *parts = lk_node_texts(call, lk_node_get(call, options, "parts"), &count);

    *request = lk_request_init(parts, count);
    request->owner = lk_node_text(call, lk_node_get(call, options, "owner"));
    request->note = lk_node_text(call, lk_node_get(call, options, "note"));
    request->style =
        (lk_style)lk_node_integer(call, lk_node_get(call, options, "style"), (int64_t)LK_WAIT);
    request->wait_ms = lk_node_integer(call, lk_node_get(call, options, "wait"), LK_FOREVER);
    request->ttl_ms = lk_node_integer(call, lk_node_get(call, options, "ttl"), 0);
    request->until_unix_ms = lk_node_integer(call, lk_node_get(call, options, "until"), 0);
    request->patience_ms = lk_node_integer(call, lk_node_get(call, options, "patience"), 0);
    request->limit = (uint32_t)lk_node_integer(call, lk_node_get(call, options, "limit"), 0);
    request->units = (uint32_t)lk_node_integer(call, lk_node_get(call, options, "units"), 0);
    request->blockers_max = (size_t)lk_node_integer(
        call, lk_node_get(call, options, "blockersMax"), (int64_t)request->blockers_max);
    request->shared = lk_node_flag(call, lk_node_get(call, options, "shared"));
    request->value = lk_node_flag(call, lk_node_get(call, options, "value"));
    request->bound = lk_node_flag(call, lk_node_get(call, options, "bound"));
    request->outlives = lk_node_flag(call, lk_node_get(call, options, "outlives"));
}

const lk_part_put *lk_node_puts(struct lk_node_call *call, napi_value value, size_t *ret_count) {
    uint32_t count = lk_node_length(call, value);
    lk_part_put *puts = count == 0 ? NULL : lk_node_memory(call, count * sizeof *puts);

    *ret_count = count;
    for (uint32_t i = 0; puts != NULL && i < count; i++) {
        napi_value put = lk_node_element(call, value, i);

        puts[i].path = lk_node_text(call, lk_node_get(call, put, "path"));
        puts[i].value = lk_node_bytes(call, lk_node_get(call, put, "value"), &puts[i].value_size);
    }
    return puts;
}

static void request_destroy(struct lk_node_call *call) {
    struct request_call *made = (struct request_call *)call;

    lk_lease_abandon(made->lease);
    lk_result_free(made->result);
}

static void request_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct request_call *made = (struct request_call *)call;

    lk_node_set_result(env, answer, made->result);
    if (made->lease != NULL) {
        lk_lease *lease = made->lease;

        made->lease = NULL;
        lk_node_set(env, answer, "lease", lk_node_lease_make(env, call->task.home, lease));
    }
}

/* NAME(store, request [, token or cancel [, puts]]) */
static struct request_call *request_begin(napi_env env, napi_callback_info info,
                                          napi_value *arguments,
                                          void (*run)(struct lk_node_call *call)) {
    struct request_call *made;

    lk_node_arguments(env, info, arguments);
    made = lk_node_store_call(env, arguments[0], sizeof *made, run);
    if (made != NULL) {
        made->call.fill = request_fill;
        made->call.destroy = request_destroy;
        lk_node_request(&made->call, arguments[1], &made->request);
    }
    return made;
}

static napi_value request_wait(napi_env env, napi_callback_info info,
                               void (*run)(struct lk_node_call *call)) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct request_call *made = request_begin(env, info, arguments, run);
    struct lk_node_cancel *cancel;

    if (made == NULL) {
        return NULL;
    }
    cancel = lk_node_cancel_held(&made->call, arguments[2]);
    made->request.cancel = cancel == NULL ? NULL : cancel->handle;
    return lk_node_call_start(&made->call,
                              made->request.style == LK_WAIT ? LK_NODE_WAIT : LK_NODE_SHORT);
}

static void acquire_run(struct lk_node_call *call) {
    struct request_call *made = (struct request_call *)call;

    call->outcome =
        lk_acquire(call->store->handle, &made->request, &made->lease, &made->result, &call->error);
}

static napi_value acquire(napi_env env, napi_callback_info info) {
    return request_wait(env, info, acquire_run);
}

static void ask_run(struct lk_node_call *call) {
    struct request_call *made = (struct request_call *)call;

    call->outcome = lk_ask(call->store->handle, &made->request, &made->result, &call->error);
}

static napi_value ask(napi_env env, napi_callback_info info) {
    return request_wait(env, info, ask_run);
}

static void renew_run(struct lk_node_call *call) {
    struct request_call *made = (struct request_call *)call;

    call->outcome =
        lk_renew(call->store->handle, &made->request, call->number, &made->result, &call->error);
}

static void release_run(struct lk_node_call *call) {
    struct request_call *made = (struct request_call *)call;

    if (made->puts == NULL) {
        call->outcome = lk_release(call->store->handle, &made->request, call->number, &made->result,
                                   &call->error);
    } else {
        call->outcome =
            lk_release_put_all(call->store->handle, &made->request, call->number, made->puts,
                               made->put_count, &made->result, &call->error);
    }
}

static napi_value request_end(napi_env env, napi_callback_info info,
                              void (*run)(struct lk_node_call *call)) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct request_call *made = request_begin(env, info, arguments, run);

    if (made == NULL) {
        return NULL;
    }
    made->call.number = lk_node_big(&made->call, arguments[2]);
    made->puts = lk_node_puts(&made->call, arguments[3], &made->put_count);
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

static napi_value renew(napi_env env, napi_callback_info info) {
    return request_end(env, info, renew_run);
}

static napi_value release(napi_env env, napi_callback_info info) {
    return request_end(env, info, release_run);
}

void lk_node_request_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"acquire", acquire}, {"ask", ask}, {"renew", renew}, {"release", release}, {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}
