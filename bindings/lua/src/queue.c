/* SPDX-License-Identifier: Apache-2.0 */
/* Items of queues (rule R16), but for the work on them. */
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* The options `again`, `replace` and `keep`, which hold for each item of a call. */
static void options_apply(const struct lk_lua_options *options, lk_push_request *request) {
    request->again = options->again;
    request->replaces = options->replace;
    request->keep_ms = options->keep_ms;
}

/*
 * store:push(queue, id [, value [, {delay, priority, needs, again, replace, keep}]]): whether it is
 * new; else also whether the item that was there is changed, and its state before.
 */
static int store_push(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_push_request request = {.size = sizeof request};
    const char *needs[LK_LUA_PARTS_MAX];
    struct lk_lua_options options;
    lk_push_result result = {0};
    lk_error error;

    request.queue = lk_lua_text(L, 2);
    request.id = lk_lua_text(L, 3);
    if (!lua_isnoneornil(L, 4)) {
        request.value = lk_lua_bytes(L, 4, &request.value_size);
    }
    lk_lua_options(L, 5, " delay priority needs again replace keep ", &options);
    options_apply(&options, &request);
    request.delay_ms = options.delay_ms;
    request.priority = options.priority;
    request.need_count = lk_lua_field_texts(L, 5, "needs", needs);
    request.needs = needs;
    lk_lua_check(L, lk_push_item(store->handle, &request, &result, &error), &error);
    lua_pushboolean(L, result.added);
    if (result.added) {
        return 1;
    }
    lua_pushboolean(L, result.changed);
    (void)lua_pushstring(L, result.was);
    return 3;
}

/* Reads {id, value} on top of the stack, which the texts belong to. */
static void pair_read(lua_State *L, lk_push_request *request) {
    luaL_argcheck(L, lua_istable(L, -1), 3, "each item must be a table {id, value}");
    (void)lua_rawgeti(L, -1, 1);
    request->id = lk_lua_top_text(L, "each id");
    (void)lua_rawgeti(L, -2, 2);
    if (!lua_isnil(L, -1)) {
        luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 3, "each value must be a string");
        request->value = lua_tolstring(L, -1, &request->value_size);
    }
    lua_pop(L, 2);
}

/*
 * store:push_many(queue, {{id, value}, ...} [, {again, replace, keep}]): how many are new, how many
 * were there, and how many of these are changed.
 */
static int store_push_many(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    struct lk_lua_options options;
    lk_push_counts sum = {0};
    lk_push_request *requests;
    size_t count;

    luaL_checktype(L, 3, LUA_TTABLE);
    lk_lua_options(L, 4, " again replace keep ", &options);
    count = (size_t)lua_rawlen(L, 3);
    lua_settop(L, 3);
    requests = lua_newuserdatauv(L, (count + 1) * sizeof *requests, 0);
    for (size_t i = 0; i < count; i++) {
        requests[i] = (lk_push_request){.size = sizeof *requests, .queue = queue};
        options_apply(&options, &requests[i]);
        (void)lua_rawgeti(L, 3, (lua_Integer)i + 1);
        pair_read(L, &requests[i]);
        lua_pop(L, 1);
    }
    for (size_t first = 0; first < count; first += LK_MANY_MAX) {
        size_t some = count - first < LK_MANY_MAX ? count - first : LK_MANY_MAX;
        lk_push_counts counts = {0};
        lk_error error;

        lk_lua_check(L, lk_push_many(store->handle, requests + first, some, &counts, &error),
                     &error);
        sum.added += counts.added;
        sum.duplicates += counts.duplicates;
        sum.changed += counts.changed;
    }
    lua_pushinteger(L, (lua_Integer)sum.added);
    lua_pushinteger(L, (lua_Integer)sum.duplicates);
    lua_pushinteger(L, (lua_Integer)sum.changed);
    return 3;
}

static void items_free(void *list) {
    lk_item_list_free(list);
}

static void push_item(lua_State *L, const lk_item_info *item) {
    lua_createtable(L, 0, 14);
    lk_lua_set_text(L, "id", item->id);
    lk_lua_set_text(L, "owner", item->owner);
    lk_lua_set_text(L, "user", item->user);
    lk_lua_set_bytes(L, "value", item->value, item->value_size);
    lk_lua_set_text(L, "state", item->state);
    lk_lua_set_integer(L, "attempts", item->attempts);
    lk_lua_set_seconds(L, "due_in", item->due_in_ms);
    lk_lua_set_seconds(L, "expires_in", item->expires_in_ms);
    lk_lua_set_texts(L, "needs", item->needs, item->need_count);
    lk_lua_set_integer(L, "priority", (uint64_t)(int64_t)item->priority);
    if (item->has_last_exit) {
        lk_lua_set_integer(L, "last_exit", (uint64_t)(int64_t)item->last_exit);
    }
    lk_lua_set_bytes(L, "last_error", item->last_error, item->last_error_size);
    lk_lua_set_bytes(L, "progress", item->progress, item->progress_size);
}

static int store_items(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    struct lk_lua_guard *guard = lk_lua_guard(L, items_free);
    lk_item_list *list = NULL;
    lk_error error;
    lk_outcome outcome = lk_items(store->handle, queue, &list, &error);

    guard->thing = list;
    lk_lua_check(L, outcome, &error);
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        push_item(L, &list->items[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lk_lua_guard_end(guard);
    return 1;
}

/* store:item(queue, id): the item in any state, as in items(); nil: there is none. */
static int store_item(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    const char *id = lk_lua_text(L, 3);
    struct lk_lua_guard *guard = lk_lua_guard(L, items_free);
    lk_item_list *list = NULL;
    lk_error error;
    lk_outcome outcome = lk_item_get(store->handle, queue, id, &list, &error);

    guard->thing = list;
    if (outcome == LK_NONE) {
        lua_pushnil(L);
        return 1;
    }
    lk_lua_check(L, outcome, &error);
    push_item(L, &list->items[0]);
    lk_lua_guard_end(guard);
    return 1;
}

/* ---- results --------------------------------------------------------------------------------- */

struct awaiting {
    struct lk_lua_job job;
    lk_store *store;
    char *queue;
    char *id;
    int64_t wait_ms;
    lk_item_list *list;
    lk_outcome outcome;
    lk_error error;
};

static void awaiting_run(struct lk_lua_job *job) {
    struct awaiting *awaiting = (struct awaiting *)job;

    awaiting->outcome =
        lk_item_wait(awaiting->store, awaiting->queue, awaiting->id, awaiting->wait_ms,
                     awaiting->job.cancel, &awaiting->list, &awaiting->error);
}

static void awaiting_destroy(struct lk_lua_job *job) {
    struct awaiting *awaiting = (struct awaiting *)job;

    lk_item_list_free(awaiting->list);
    free(awaiting->queue);
    free(awaiting->id);
    free(awaiting);
}

/* Raises an error that no outcome of the library is: "parked", with the item, and why it is. */
static int raise_parked(lua_State *L, const lk_item_info *item) {
    lk_lua_push_error(L, LK_NONE, NULL, NULL);
    lk_lua_set_text(L, "outcome", "parked");
    (void)lua_pushliteral(L, "the item is parked");
    if (item->has_last_exit) {
        (void)lua_pushfstring(L, ": exit %d", (int)item->last_exit);
        lua_concat(L, 2);
    }
    if (item->last_error != NULL) {
        (void)lua_pushstring(L, item->has_last_exit ? ", " : ": ");
        (void)lua_pushlstring(L, item->last_error, item->last_error_size);
        lua_concat(L, 3);
    }
    lua_setfield(L, -2, "message");
    push_item(L, item);
    lua_setfield(L, -2, "item");
    return lua_error(L);
}

/*
 * store:result(queue, id [, {wait}]): waits until the item is done, for ever unless said otherwise.
 * Returns its result, or nil: it was done without one. The errors are "timeout"; "none": there is
 * no such item (any more); "parked".
 */
static int store_result(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    const char *id = lk_lua_text(L, 3);
    struct lk_lua_options options;
    struct lk_lua_guard *guard;
    struct awaiting *awaiting;
    const lk_item_info *item;

    lk_lua_options(L, 4, " wait ", &options);
    guard = lk_lua_guard(L, lk_lua_job_free);
    awaiting = calloc(1, sizeof *awaiting);
    if (awaiting == NULL) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a wait");
    }
    awaiting->job.run = awaiting_run;
    awaiting->job.destroy = awaiting_destroy;
    guard->thing = awaiting;
    awaiting->store = store->handle;
    awaiting->queue = strdup(queue);
    awaiting->id = strdup(id);
    awaiting->wait_ms = options.wait_ms;
    if (!lk_lua_job_init(&awaiting->job) || awaiting->queue == NULL || awaiting->id == NULL) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a wait");
    }
    if (options.wait_ms == 0) {
        awaiting_run(&awaiting->job);
    } else if (!lk_lua_job_run(L, store, &awaiting->job)) {
        return lua_error(L);
    }
    lk_lua_check(L, awaiting->outcome, &awaiting->error);
    item = &awaiting->list->items[0];
    if (strcmp(item->state, "parked") == 0) {
        return raise_parked(L, item);
    }
    if (item->value != NULL) {
        (void)lua_pushlstring(L, item->value, item->value_size);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void push_stats(lua_State *L, const lk_queue_stats *stats) {
    lua_createtable(L, 0, 14);
    lk_lua_set_integer(L, "pushed", stats->pushed);
    lk_lua_set_integer(L, "duplicates", stats->duplicates);
    lk_lua_set_integer(L, "claims", stats->claims);
    lk_lua_set_integer(L, "steals", stats->steals);
    lk_lua_set_integer(L, "done", stats->done);
    lk_lua_set_integer(L, "retried", stats->retried);
    lk_lua_set_integer(L, "parked", stats->parked);
    lk_lua_set_integer(L, "ready_now", stats->ready_now);
    lk_lua_set_integer(L, "delayed_now", stats->delayed_now);
    lk_lua_set_integer(L, "claimed_now", stats->claimed_now);
    lk_lua_set_integer(L, "parked_now", stats->parked_now);
    lk_lua_set_integer(L, "done_now", stats->done_now);
    if (stats->oldest_ready_ms >= 0) {
        lk_lua_set_seconds(L, "oldest_ready", stats->oldest_ready_ms);
    }
}

static int store_stats(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_queue_stats stats;
    lk_error error;

    lk_lua_check(L, lk_stats(store->handle, lk_lua_text(L, 2), &stats, &error), &error);
    push_stats(L, &stats);
    lk_lua_set_text(L, "hint", lk_stats_hint(&stats));
    return 1;
}

static void queues_free(void *list) {
    lk_queue_list_free(list);
}

/* store:queues([prefix]): the counts of each queue, by its path. */
static int store_queues(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *prefix = lk_lua_optional_text(L, 2);
    struct lk_lua_guard *guard = lk_lua_guard(L, queues_free);
    lk_queue_list *list = NULL;
    lk_error error;
    lk_outcome outcome = lk_queues(store->handle, prefix, &list, &error);

    guard->thing = list;
    lk_lua_check(L, outcome, &error);
    lua_createtable(L, 0, (int)list->count);
    for (size_t i = 0; i < list->count; i++) {
        push_stats(L, &list->queues[i].counts);
        lua_setfield(L, -2, list->queues[i].queue);
    }
    lk_lua_guard_end(guard);
    return 1;
}

/* store:unpark(queue [, id]): how many; without an id all of them. */
static int store_unpark(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    const char *id = lk_lua_optional_text(L, 3);
    uint64_t count = 1;
    lk_error error;

    lk_lua_check(L,
                 id != NULL ? lk_unpark(store->handle, queue, id, &error)
                            : lk_unpark_all(store->handle, queue, &count, &error),
                 &error);
    lua_pushinteger(L, (lua_Integer)count);
    return 1;
}

/* store:drop(queue [, id or ids]): how many. One id that cannot be removed is an error; of several
 * those are left out of the number. Without an id all that are parked. */
static int store_drop(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    uint64_t dropped = 0;
    lk_outcome outcome;
    lk_error error;

    if (lua_istable(L, 3)) {
        size_t count;
        const char **ids = lk_lua_ids(L, 3, &count);

        outcome = lk_drop(store->handle, queue, ids, count, &dropped, &error);
        outcome = outcome == LK_LOST ? LK_OK : outcome;
    } else if (!lua_isnoneornil(L, 3)) {
        const char *id = lk_lua_text(L, 3);

        outcome = lk_drop(store->handle, queue, &id, 1, &dropped, &error);
    } else {
        outcome = lk_drop_parked(store->handle, queue, &dropped, &error);
    }
    lk_lua_check(L, outcome, &error);
    lua_pushinteger(L, (lua_Integer)dropped);
    return 1;
}

/* store:cancel(queue, id, {reason = ..., by = ..., at_once = true}): whether it was claimed. */
static int store_cancel(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_cancel_request request = {
        .size = sizeof request, .queue = lk_lua_text(L, 2), .id = lk_lua_text(L, 3)};
    struct lk_lua_options options;
    bool is_claimed = false;
    lk_error error;

    lk_lua_options(L, 4, " reason by at_once ", &options);
    luaL_argcheck(L, options.reason != NULL && options.by != NULL, 4,
                  "needs the options 'reason' and 'by'");
    request.reason = options.reason;
    request.by = options.by;
    request.at_once = options.at_once;
    lk_lua_check(L, lk_cancel_item(store->handle, &request, &is_claimed, &error), &error);
    lua_pushboolean(L, is_claimed);
    return 1;
}

const luaL_Reg lk_lua_queue_methods[] = {
    {"push", store_push},     {"push_many", store_push_many},
    {"items", store_items},   {"item", store_item},
    {"result", store_result}, {"stats", store_stats},
    {"queues", store_queues}, {"unpark", store_unpark},
    {"drop", store_drop},     {"cancel", store_cancel},
    {NULL, NULL},
};
