/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of work (rule R16), but for claims: by a loop over items (work.c), by hand (claim.c). */
#include "module.h"

struct many_call {
    struct lk_node_call call;
    lk_push_request *requests;
    const char *const *ids;
    size_t count;
    lk_push_counts counts;
    const char *was; /* of one push: the state of the item that was there */
    lk_queue_stats stats;
    int64_t wait_ms;
};

static struct many_call *begin(napi_env env, napi_callback_info info, napi_value *arguments,
                               void (*run)(struct lk_node_call *call)) {
    struct many_call *made;

    lk_node_arguments(env, info, arguments);
    made = lk_node_store_call(env, arguments[0], sizeof *made, run);
    if (made != NULL) {
        made->call.path = lk_node_text(&made->call, arguments[1]);
    }
    return made;
}

/* ---- pushes ---------------------------------------------------------------------------------- */

/* One alone also where the store does not decide on several together. */
static void push_run(struct lk_node_call *call) {
    struct many_call *made = (struct many_call *)call;
    lk_push_result result = {0};

    if (made->count != 1) {
        call->outcome = lk_push_many(call->store->handle, made->requests, made->count,
                                     &made->counts, &call->error);
        return;
    }
    call->outcome = lk_push_item(call->store->handle, made->requests, &result, &call->error);
    if (call->outcome == LK_OK) {
        made->counts = (lk_push_counts){
            .added = result.added, .duplicates = !result.added, .changed = result.changed};
        made->was = result.was;
    }
}

static void push_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const struct many_call *made = (struct many_call *)call;

    lk_node_set_number(env, answer, "added", (int64_t)made->counts.added);
    lk_node_set_number(env, answer, "duplicates", (int64_t)made->counts.duplicates);
    lk_node_set_number(env, answer, "changed", (int64_t)made->counts.changed);
    lk_node_set_text(env, answer, "was", made->was);
}

static void item_read(struct lk_node_call *call, napi_value item, lk_push_request *request) {
    request->size = sizeof *request;
    request->queue = call->path;
    request->id = lk_node_text(call, lk_node_get(call, item, "id"));
    request->value = lk_node_bytes(call, lk_node_get(call, item, "value"), &request->value_size);
    request->delay_ms = lk_node_integer(call, lk_node_get(call, item, "delay"), 0);
    request->priority = (int32_t)lk_node_integer(call, lk_node_get(call, item, "priority"), 0);
    request->needs = lk_node_texts(call, lk_node_get(call, item, "needs"), &request->need_count);
    request->again = lk_node_flag(call, lk_node_get(call, item, "again"));
    request->replaces = lk_node_flag(call, lk_node_get(call, item, "replace"));
    request->keep_ms = lk_node_integer(call, lk_node_get(call, item, "keep"), 0);
}

/* push(store, queue, items) */
static napi_value push(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct many_call *made = begin(env, info, arguments, push_run);

    if (made == NULL) {
        return NULL;
    }
    made->call.fill = push_fill;
    made->count = lk_node_length(&made->call, arguments[2]);
    made->requests = lk_node_memory(&made->call, (made->count + 1) * sizeof *made->requests);
    for (uint32_t i = 0; i < made->count && !made->call.is_bad; i++) {
        item_read(&made->call, lk_node_element(&made->call, arguments[2], i), &made->requests[i]);
    }
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

/* ---- what is in a queue ---------------------------------------------------------------------- */

/* A call that only reads, at the path alone. */
static napi_value
read_queue(napi_env env, napi_callback_info info, void (*run)(struct lk_node_call *call),
           void (*fill)(napi_env env, struct lk_node_call *call, napi_value answer),
           void (*destroy)(struct lk_node_call *call)) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct many_call *made = begin(env, info, arguments, run);

    if (made == NULL) {
        return NULL;
    }
    made->call.fill = fill;
    made->call.destroy = destroy;
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

static void items_run(struct lk_node_call *call) {
    lk_item_list *list = NULL;

    call->outcome = lk_items(call->store->handle, call->path, &list, &call->error);
    call->answer = list;
}

static void item_set(napi_env env, napi_value one, const lk_item_info *item) {
    lk_node_set_text(env, one, "id", item->id);
    lk_node_set_text(env, one, "owner", item->owner);
    lk_node_set_text(env, one, "user", item->user);
    lk_node_set_bytes(env, one, "value", item->value, item->value_size);
    lk_node_set_text(env, one, "state", item->state);
    lk_node_set_number(env, one, "attempts", item->attempts);
    lk_node_set_number(env, one, "dueIn", item->due_in_ms);
    lk_node_set_number(env, one, "expiresIn", item->expires_in_ms);
    lk_node_set_texts(env, one, "needs", item->needs, item->need_count);
    lk_node_set_number(env, one, "priority", item->priority);
    if (item->has_last_exit) {
        lk_node_set_number(env, one, "lastExit", item->last_exit);
    } else {
        lk_node_set_text(env, one, "lastExit", NULL);
    }
    lk_node_set_bytes(env, one, "lastError", item->last_error, item->last_error_size);
    lk_node_set_bytes(env, one, "progress", item->progress, item->progress_size);
}

static void items_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_item_list *list = call->answer;
    napi_value array;

    if (list != NULL) {
        array = lk_node_set_array(env, answer, "items", list->count);
        for (size_t i = 0; i < list->count; i++) {
            item_set(env, lk_node_add(env, array, i), &list->items[i]);
        }
    }
}

static void items_destroy(struct lk_node_call *call) {
    lk_item_list_free(call->answer);
}

static napi_value items(napi_env env, napi_callback_info info) {
    return read_queue(env, info, items_run, items_fill, items_destroy);
}

static void item_run(struct lk_node_call *call) {
    lk_item_list *list = NULL;

    call->outcome =
        lk_item_get(call->store->handle, call->path, call->text[0], &list, &call->error);
    call->answer = list;
}

static void item_wait_run(struct lk_node_call *call) {
    lk_item_list *list = NULL;

    call->outcome = lk_item_wait(
        call->store->handle, call->path, call->text[0], ((struct many_call *)call)->wait_ms,
        call->cancel == NULL ? NULL : call->cancel->handle, &list, &call->error);
    call->answer = list;
}

/* item(store, queue, id), itemWait(store, queue, id, cancel, wait): `items` has it alone. */
static napi_value one_item(napi_env env, napi_callback_info info,
                           void (*run)(struct lk_node_call *call)) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct many_call *made = begin(env, info, arguments, run);
    bool waits;

    if (made == NULL) {
        return NULL;
    }
    made->call.fill = items_fill;
    made->call.destroy = items_destroy;
    made->call.text[0] = lk_node_text(&made->call, arguments[2]);
    (void)lk_node_cancel_held(&made->call, arguments[3]);
    made->wait_ms = lk_node_integer(&made->call, arguments[4], LK_FOREVER);
    waits = run == item_wait_run && made->wait_ms != 0;
    return lk_node_call_start(&made->call, waits ? LK_NODE_WAIT : LK_NODE_SHORT);
}

static napi_value item(napi_env env, napi_callback_info info) {
    return one_item(env, info, item_run);
}

static napi_value item_wait(napi_env env, napi_callback_info info) {
    return one_item(env, info, item_wait_run);
}

static void stats_set(napi_env env, napi_value object, const lk_queue_stats *stats) {
    lk_node_set_number(env, object, "pushed", (int64_t)stats->pushed);
    lk_node_set_number(env, object, "duplicates", (int64_t)stats->duplicates);
    lk_node_set_number(env, object, "claims", (int64_t)stats->claims);
    lk_node_set_number(env, object, "steals", (int64_t)stats->steals);
    lk_node_set_number(env, object, "done", (int64_t)stats->done);
    lk_node_set_number(env, object, "retried", (int64_t)stats->retried);
    lk_node_set_number(env, object, "parked", (int64_t)stats->parked);
    lk_node_set_number(env, object, "readyNow", (int64_t)stats->ready_now);
    lk_node_set_number(env, object, "delayedNow", (int64_t)stats->delayed_now);
    lk_node_set_number(env, object, "claimedNow", (int64_t)stats->claimed_now);
    lk_node_set_number(env, object, "parkedNow", (int64_t)stats->parked_now);
    lk_node_set_number(env, object, "doneNow", (int64_t)stats->done_now);
    lk_node_set_number(env, object, "oldestReady", stats->oldest_ready_ms);
}

static void stats_run(struct lk_node_call *call) {
    call->outcome =
        lk_stats(call->store->handle, call->path, &((struct many_call *)call)->stats, &call->error);
}

static void stats_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    napi_value object = lk_node_object(env);

    stats_set(env, object, &((struct many_call *)call)->stats);
    lk_node_set(env, answer, "stats", object);
}

static napi_value stats(napi_env env, napi_callback_info info) {
    return read_queue(env, info, stats_run, stats_fill, NULL);
}

static void queues_run(struct lk_node_call *call) {
    lk_queue_list *list = NULL;

    call->outcome = lk_queues(call->store->handle, call->path, &list, &call->error);
    call->answer = list;
}

static void queues_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    const lk_queue_list *list = call->answer;
    napi_value array;

    if (list == NULL) {
        return;
    }
    array = lk_node_set_array(env, answer, "queues", list->count);
    for (size_t i = 0; i < list->count; i++) {
        napi_value one = lk_node_add(env, array, i);

        lk_node_set_text(env, one, "queue", list->queues[i].queue);
        stats_set(env, one, &list->queues[i].counts);
    }
}

static void queues_destroy(struct lk_node_call *call) {
    lk_queue_list_free(call->answer);
}

static napi_value queues(napi_env env, napi_callback_info info) {
    return read_queue(env, info, queues_run, queues_fill, queues_destroy);
}

/* ---- parked and unwanted items --------------------------------------------------------------- */

static void count_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    lk_node_set_number(env, answer, "count", (int64_t)call->found);
}

static void unpark_run(struct lk_node_call *call) {
    if (call->text[0] == NULL) {
        call->outcome = lk_unpark_all(call->store->handle, call->path, &call->found, &call->error);
        return;
    }
    call->outcome = lk_unpark(call->store->handle, call->path, call->text[0], &call->error);
    call->found = call->outcome == LK_OK;
}

/* unpark(store, queue [, id]) */
static napi_value unpark(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct many_call *made = begin(env, info, arguments, unpark_run);

    if (made == NULL) {
        return NULL;
    }
    made->call.fill = count_fill;
    made->call.text[0] = lk_node_text(&made->call, arguments[2]);
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

static void drop_run(struct lk_node_call *call) {
    const struct many_call *made = (struct many_call *)call;

    if (made->count == 0) {
        call->outcome = lk_drop_parked(call->store->handle, call->path, &call->found, &call->error);
    } else {
        call->outcome = lk_drop(call->store->handle, call->path, made->ids, made->count,
                                &call->found, &call->error);
    }
}

/* drop(store, queue, ids): without ids all that are parked. */
static napi_value drop(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct many_call *made = begin(env, info, arguments, drop_run);

    if (made == NULL) {
        return NULL;
    }
    made->call.fill = count_fill;
    made->ids = lk_node_texts(&made->call, arguments[2], &made->count);
    return lk_node_call_start(&made->call, LK_NODE_SHORT);
}

void lk_node_queue_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"push", push},          {"items", items}, {"item", item},
        {"itemWait", item_wait}, {"stats", stats}, {"queues", queues},
        {"unpark", unpark},      {"drop", drop},   {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}
