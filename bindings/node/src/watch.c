/* SPDX-License-Identifier: Apache-2.0 */
/* Events (rule R21). index.js lets one call at a time wait for the next event of a watch. */
#include "module.h"

struct watch {
    struct lk_node_thing thing;
    struct lk_node_store *store; /* counted: closed after the watch */
    lk_watch *handle;            /* NULL: closed */
};

struct watch_call {
    struct lk_node_call call;
    struct watch *watch; /* counted */
    lk_watch_options options;
    int64_t wait_ms;
    const lk_watch_event *event; /* belongs to the watch */
    lk_watch *opened;
};

static void watch_end(struct lk_node_thing *thing) {
    struct watch *watch = (struct watch *)thing;
    lk_watch *handle = watch->handle;
    struct lk_node_store *store = watch->store;

    watch->handle = NULL;
    watch->store = NULL;
    lk_watch_close(handle);
    lk_node_thing_drop(store);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void open_run(struct lk_node_call *call) {
    struct watch_call *made = (struct watch_call *)call;

    call->outcome = lk_watch_open(call->store->handle, &made->options, &made->opened, &call->error);
}

static void open_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct watch_call *made = (struct watch_call *)call;
    struct watch *watch;

    if (call->outcome != LK_OK) {
        return;
    }
    watch = lk_node_thing_new(call->task.home, sizeof *watch, NULL, watch_end);
    if (watch != NULL) {
        watch->store = lk_node_thing_hold(call->store);
        watch->handle = made->opened;
        made->opened = NULL;
        lk_node_set(env, answer, "watch", lk_node_thing_wrap(env, watch, &lk_node_watch_tag));
    }
}

static void call_destroy(struct lk_node_call *call) {
    struct watch_call *made = (struct watch_call *)call;

    lk_watch_close(made->opened);
    lk_node_thing_drop(made->watch);
}

/* watchOpen(store, prefix, after) */
static napi_value watch_open(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct watch_call *made;

    lk_node_arguments(env, info, arguments);
    made = lk_node_store_call(env, arguments[0], sizeof *made, open_run);
    if (made == NULL) {
        return NULL;
    }
    made->call.fill = open_fill;
    made->call.destroy = call_destroy;
    made->options.size = sizeof made->options;
    made->options.prefix = lk_node_text(&made->call, arguments[1]);
    made->options.after = lk_node_big(&made->call, arguments[2]);
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void next_run(struct lk_node_call *call) {
    struct watch_call *made = (struct watch_call *)call;

    call->outcome = lk_watch_next(made->watch->handle, made->wait_ms, call->cancel->handle,
                                  &made->event, &call->error);
}

/* The watch is not asked again before this has run, so the event is still there. */
static void next_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct watch_call *made = (struct watch_call *)call;
    const lk_watch_event *event = made->event;
    napi_value one;

    lk_node_set_big(env, answer, "position", lk_watch_position(made->watch->handle));
    if (call->outcome != LK_OK) {
        return;
    }
    one = lk_node_object(env);
    lk_node_set_text(env, one, "kind", lk_watch_kind_name(event->kind));
    lk_node_set_text(env, one, "refusal",
                     event->refusal == LK_OK ? NULL : lk_outcome_name(event->refusal));
    lk_node_set_big(env, one, "sequence", event->sequence);
    lk_node_set_number(env, one, "at", event->at_unix_ms);
    lk_node_set_texts(env, one, "paths", event->paths, event->part_count);
    lk_node_set_texts(env, one, "parts", event->parts, event->part_count);
    lk_node_set_text(env, one, "owner", event->owner);
    lk_node_set_text(env, one, "user", event->user);
    lk_node_set_text(env, one, "note", event->note);
    lk_node_set_big(env, one, "ticket", event->ticket);
    lk_node_set_big(env, one, "token", event->token);
    lk_node_set_text(env, one, "queue", event->queue);
    lk_node_set_text(env, one, "id", event->id);
    lk_node_set_number(env, one, "attempt", event->attempt);
    lk_node_set_flag(env, one, "isDeletion", event->is_deletion);
    lk_node_set_text(env, one, "by", event->by);
    lk_node_set_text(env, one, "reason", event->reason);
    lk_node_set(env, answer, "event", one);
}

static struct watch_call *watch_call(napi_env env, napi_callback_info info, napi_value *arguments,
                                     void (*run)(struct lk_node_call *call)) {
    struct watch_call *made;
    struct watch *watch;

    lk_node_arguments(env, info, arguments);
    watch = lk_node_thing_of(env, arguments[0], &lk_node_watch_tag);
    if (watch == NULL) {
        return NULL;
    }
    if (watch->handle == NULL) {
        (void)napi_throw_error(env, "LK_CLOSED", "the watch is closed");
        return NULL;
    }
    made = lk_node_call_new(env, sizeof *made, run);
    if (made != NULL) {
        made->call.destroy = call_destroy;
        made->watch = lk_node_thing_hold(watch);
    }
    return made;
}

/* watchNext(watch, wait, cancel) */
static napi_value watch_next(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct watch_call *made = watch_call(env, info, arguments, next_run);

    if (made == NULL) {
        return NULL;
    }
    made->call.fill = next_fill;
    made->wait_ms = lk_node_integer(&made->call, arguments[1], LK_FOREVER);
    if (lk_node_cancel_held(&made->call, arguments[2]) == NULL && !made->call.is_bad) {
        (void)napi_throw_type_error(env, NULL, "a wait needs a cancellation");
        made->call.is_bad = true;
    }
    return lk_node_call_start(&made->call, LK_NODE_WAIT);
}

static void close_run(struct lk_node_call *call) {
    struct watch_call *made = (struct watch_call *)call;

    lk_watch_close(made->opened);
    made->opened = NULL;
}

/* watchClose(watch): no call waits on it. */
static napi_value watch_close(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct watch_call *made = watch_call(env, info, arguments, close_run);

    if (made == NULL) {
        return NULL;
    }
    made->opened = made->watch->handle;
    made->watch->handle = NULL;
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

void lk_node_watch_functions_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"watchOpen", watch_open},
        {"watchNext", watch_next},
        {"watchClose", watch_close},
        {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}
