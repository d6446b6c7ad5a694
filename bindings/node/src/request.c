/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests (lk_request), and the calls that make, renew and end them without keep-alive; and leases
 * that the library keeps alive.
 *
 * The handle of a lease belongs to the event loop's thread, which takes it out before a call ends
 * it. A lease that is only collected is abandoned: it is renewed no more, and ends at its deadline.
 */
#include <stdlib.h>

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
    request->blockers_max = (size_t)lk_node_integer(call, lk_node_get(call, options, "blockersMax"),
                                                    (int64_t)request->blockers_max);
    request->shared = lk_node_flag(call, lk_node_get(call, options, "shared"));
    request->value = lk_node_flag(call, lk_node_get(call, options, "value"));
    request->bound = lk_node_flag(call, lk_node_get(call, options, "bound"));
    request->outlives = lk_node_flag(call, lk_node_get(call, options, "outlives"));
    request->at_least_ms = lk_node_integer(call, lk_node_get(call, options, "atLeast"), 0);
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

/* ---- leases ---------------------------------------------------------------------------------- */

struct lease {
    struct lk_node_thing thing;
    lk_lease *handle; /* NULL: ended, or being ended */
    lk_lease *tried;  /* the handle, where it is unknown whether a release has ended the lease */
    int64_t number;   /* by which index.js finds it */
    bool is_lost;
};

static bool is_lost_now(struct lease *lease) {
    if (lease->handle != NULL && lk_lease_is_lost(lease->handle)) {
        lease->is_lost = true;
    }
    return lease->is_lost;
}

static void lease_end(struct lk_node_thing *thing) {
    struct lease *lease = (struct lease *)thing;
    lk_lease *handle = lease->handle != NULL ? lease->handle : lease->tried;

    lease->handle = NULL;
    lease->tried = NULL;
    lk_lease_abandon(handle);
}

napi_value lk_node_lease_make(napi_env env, struct lk_node_home *home, lk_lease *handle) {
    struct lease *lease = lk_node_thing_new(home, sizeof *lease, NULL, lease_end);

    if (lease == NULL) {
        lk_lease_abandon(handle);
        return NULL;
    }
    lease->handle = handle;
    return lk_node_thing_wrap(env, lease, &lk_node_lease_tag);
}

static struct lease *lease_first(napi_env env, napi_callback_info info, napi_value *arguments) {
    lk_node_arguments(env, info, arguments);
    return lk_node_thing_of(env, arguments[0], &lk_node_lease_tag);
}

/* ---- losses ---------------------------------------------------------------------------------- */

struct loss {
    struct lk_node_task task;
    int64_t number;
};

static void loss_settle(napi_env env, struct lk_node_task *task) {
    struct loss *loss = (struct loss *)task;

    if (env != NULL) {
        napi_value what = lk_node_object(env);

        lk_node_set_text(env, what, "kind", "lost");
        lk_node_set_number(env, what, "number", loss->number);
        lk_node_tell(env, what);
    }
    free(loss);
}

/* In a thread of the library. The lease is not freed before this returns. */
static void lost(void *context, lk_lease *handle) {
    struct lease *lease = context;
    struct loss *loss = calloc(1, sizeof *loss);

    (void)handle;
    if (loss != NULL) {
        loss->task.home = lease->thing.home;
        loss->task.settle = loss_settle;
        loss->number = lease->number;
        lk_node_notice(lease->thing.home, &loss->task);
    }
}

/* leaseWatch(lease, number): its loss will be told with this number. */
static napi_value lease_watch(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct lease *lease = lease_first(env, info, arguments);

    if (lease != NULL && lease->handle != NULL
        && napi_get_value_int64(env, arguments[1], &lease->number) == napi_ok) {
        lk_lease_on_lost(lease->handle, lost, lease);
    }
    return NULL;
}

static napi_value lease_lost(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], flag = NULL;
    struct lease *lease = lease_first(env, info, arguments);

    if (lease != NULL) {
        (void)napi_get_boolean(env, is_lost_now(lease), &flag);
    }
    return flag;
}

static napi_value lease_remaining(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], ms = NULL;
    struct lease *lease = lease_first(env, info, arguments);

    if (lease != NULL) {
        (void)napi_create_int64(
            env, lease->handle == NULL ? 0 : lk_lease_remaining_ms(lease->handle), &ms);
    }
    return ms;
}

static napi_value lease_held(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], flag = NULL;
    struct lease *lease = lease_first(env, info, arguments);

    if (lease != NULL) {
        (void)napi_get_boolean(env, lease->handle != NULL, &flag);
    }
    return flag;
}

/* ---- ends ------------------------------------------------------------------------------------ */

struct end_call {
    struct lk_node_call call;
    struct lease *lease; /* counted */
    lk_lease *handle;
    bool is_tried; /* by a release before */
    const lk_part_put *puts;
    size_t put_count;
};

static void end_destroy(struct lk_node_call *call) {
    struct end_call *end = (struct end_call *)call;

    lk_lease_abandon(end->handle);
    lk_node_thing_drop(end->lease);
}

/* The lease gets the handle back unless it is known to have ended. */
static void end_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct end_call *end = (struct end_call *)call;

    (void)env;
    (void)answer;
    if (!end->is_tried && (call->outcome == LK_INVALID || call->outcome == LK_UNSUPPORTED)) {
        end->lease->handle = end->handle; /* nothing is done */
    } else {
        end->lease->tried = end->handle;
    }
    end->handle = NULL;
    end->lease->is_lost = end->lease->is_lost || call->outcome == LK_LOST;
}

static void end_run(struct lk_node_call *call) {
    struct end_call *end = (struct end_call *)call;

    call->outcome = end->puts == NULL ? lk_lease_release(end->handle, &call->error)
                                      : lk_lease_release_put_all(end->handle, end->puts,
                                                                 end->put_count, &call->error);
    if (call->outcome == LK_OK || call->outcome == LK_LOST) {
        end->handle = NULL;
    }
}

static void end_now_run(struct lk_node_call *call) {
    struct end_call *end = (struct end_call *)call;

    call->outcome = lk_lease_release_now(end->handle, &call->error);
    if (call->outcome == LK_OK || call->outcome == LK_LOST) {
        end->handle = NULL;
    }
}

static void abandon_run(struct lk_node_call *call) {
    struct end_call *end = (struct end_call *)call;
    lk_lease *handle = end->handle;

    end->handle = NULL;
    lk_lease_abandon(handle);
}

/* NAME(lease [, puts]). Of a lease that has ended: null. */
static napi_value lease_ends(napi_env env, napi_callback_info info,
                             void (*run)(struct lk_node_call *call)) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], none = NULL;
    struct lease *lease = lease_first(env, info, arguments);
    struct end_call *end;

    if (lease == NULL) {
        return NULL;
    }
    if (lease->handle == NULL && lease->tried == NULL) {
        (void)napi_get_null(env, &none);
        return none;
    }
    end = lk_node_call_new(env, sizeof *end, run);
    if (end == NULL) {
        return NULL;
    }
    end->call.fill = end_fill;
    end->call.destroy = end_destroy;
    end->puts = lk_node_puts(&end->call, arguments[1], &end->put_count);
    end->lease = lk_node_thing_hold(lease);
    if (!end->call.is_bad) {
        (void)is_lost_now(lease);
        end->is_tried = lease->handle == NULL;
        end->handle = end->is_tried ? lease->tried : lease->handle;
        lease->handle = NULL;
        lease->tried = NULL;
    }
    return lk_node_call_start(&end->call, LK_NODE_SHORT);
}

static napi_value lease_release(napi_env env, napi_callback_info info) {
    return lease_ends(env, info, end_run);
}

static napi_value lease_release_now(napi_env env, napi_callback_info info) {
    return lease_ends(env, info, end_now_run);
}

static napi_value lease_abandon(napi_env env, napi_callback_info info) {
    return lease_ends(env, info, abandon_run);
}

void lk_node_lease_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"leaseWatch", lease_watch},
        {"leaseLost", lease_lost},
        {"leaseRemaining", lease_remaining},
        {"leaseHeld", lease_held},
        {"leaseRelease", lease_release},
        {"leaseReleaseNow", lease_release_now},
        {"leaseAbandon", lease_abandon},
        {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}
