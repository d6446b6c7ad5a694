/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a store, in order (rule R21): `for event in store:watch("db") do ... end`. */
#include <stdlib.h>

#include "module.h"

struct lk_lua_watch {
    lk_watch *handle; /* NULL: closed */
    bool is_busy;     /* a thread of the binding is inside */
    uint64_t position;
    const lk_watch_event *kept; /* that came when its wait was interrupted */
    struct lk_lua_watch *next;  /* of the same store */
    struct lk_lua_watch **link; /* what points to this one */
};

static struct lk_lua_watch *watch_at(lua_State *L) {
    return luaL_checkudata(L, 1, LK_LUA_WATCH);
}

static void watch_end(struct lk_lua_watch *watch) {
    if (watch->handle != NULL) {
        watch->position = lk_watch_position(watch->handle);
        lk_watch_close(watch->handle);
        watch->handle = NULL;
        watch->kept = NULL;
        *watch->link = watch->next;
        if (watch->next != NULL) {
            watch->next->link = watch->link;
        }
    }
}

void lk_lua_watches_end(struct lk_lua_store *store) {
    while (store->watches != NULL) {
        watch_end(store->watches);
    }
}

/* store:watch([prefix [, {after = position}]]), for a `for` as store:work(). */
static int store_watch(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_watch_options wanted = {.size = sizeof wanted, .prefix = lk_lua_optional_text(L, 2)};
    struct lk_lua_options options;
    struct lk_lua_watch *watch;
    lk_outcome outcome;
    lk_error error;

    lk_lua_options(L, 3, " after ", &options);
    wanted.after = options.after;
    watch = lk_lua_object(L, LK_LUA_WATCH, sizeof *watch, 1);
    outcome = lk_watch_open(store->handle, &wanted, &watch->handle, &error);
    if (outcome == LK_OK) {
        watch->next = store->watches;
        watch->link = &store->watches;
        if (watch->next != NULL) {
            watch->next->link = &watch->next;
        }
        store->watches = watch;
    }
    lk_lua_check(L, outcome, &error);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, -3);
    return 4;
}

const luaL_Reg lk_lua_watch_methods[] = {
    {"watch", store_watch},
    {NULL, NULL},
};

/* ---- the next event -------------------------------------------------------------------------- */

struct next {
    struct lk_lua_job job;
    lk_watch *watch;
    int64_t wait_ms;
    const lk_watch_event *event;
    lk_outcome outcome;
    lk_error error;
};

static void next_run(struct lk_lua_job *job) {
    struct next *next = (struct next *)job;

    next->outcome =
        lk_watch_next(next->watch, next->wait_ms, next->job.cancel, &next->event, &next->error);
}

static void next_destroy(struct lk_lua_job *job) {
    free(job);
}

static void push_event(lua_State *L, const lk_watch_event *event) {
    lua_createtable(L, 0, 16);
    lk_lua_set_text(L, "kind", lk_watch_kind_name(event->kind));
    if (event->refusal != LK_OK) {
        lk_lua_set_text(L, "refusal", lk_outcome_name(event->refusal));
    }
    lk_lua_set_integer(L, "sequence", event->sequence);
    lua_pushnumber(L, (lua_Number)event->at_unix_ms / 1000);
    lua_setfield(L, -2, "at");
    lk_lua_set_texts(L, "paths", event->paths, event->part_count);
    lk_lua_set_texts(L, "parts", event->parts, event->part_count);
    lk_lua_set_text(L, "owner", event->owner);
    lk_lua_set_text(L, "user", event->user);
    lk_lua_set_text(L, "note", event->note);
    lk_lua_set_integer(L, "ticket", event->ticket);
    lk_lua_set_integer(L, "token", event->token);
    lk_lua_set_text(L, "queue", event->queue);
    lk_lua_set_text(L, "id", event->id);
    lk_lua_set_integer(L, "attempt", event->attempt);
    lk_lua_set_bool(L, "is_deletion", event->is_deletion);
    lk_lua_set_text(L, "by", event->by);
    lk_lua_set_text(L, "reason", event->reason);
}

/* Waits in a thread. LK_CANCELLED: a hook has raised the error that is pushed. */
static lk_outcome next_wait(lua_State *L, struct lk_lua_watch *watch, int64_t wait_ms,
                            const lk_watch_event **event, lk_error *error) {
    struct lk_lua_guard *guard = lk_lua_guard(L, lk_lua_job_free);
    struct lk_lua_store *store;
    struct next *next;
    bool is_made, is_whole;

    (void)lua_getiuservalue(L, 1, 2);
    store = lk_lua_store(L, lua_gettop(L));
    next = calloc(1, sizeof *next);
    if (next == NULL) {
        (void)lk_lua_raise(L, LK_INTERNAL, "no memory for a wait");
        return LK_INTERNAL;
    }
    next->job.run = next_run;
    next->job.destroy = next_destroy;
    next->watch = watch->handle;
    next->wait_ms = wait_ms;
    is_made = lk_lua_job_init(&next->job);
    guard->thing = next;
    if (!is_made) {
        (void)lk_lua_raise(L, LK_INTERNAL, "no memory for a wait");
    }
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    watch->is_busy = true;
    is_whole = lk_lua_job_run(L, store, &next->job);
    watch->is_busy = false;
    if (!is_whole) {
        watch->kept = next->outcome == LK_OK ? next->event : NULL;
        return LK_CANCELLED;
    }
    *event = next->event;
    *error = next->error;
    return next->outcome;
}

/* watch:next([seconds]): an event; nil: none in that time, or the watch is closed. */
static int watch_next(lua_State *L) {
    struct lk_lua_watch *watch = watch_at(L);
    int64_t wait_ms = lk_lua_wait(L, 2);
    const lk_watch_event *event;
    lk_outcome outcome = LK_OK;
    lk_error error;

    if (watch->is_busy) {
        return luaL_error(L, "the watch waits for an event already");
    }
    if (watch->handle == NULL) {
        lua_pushnil(L);
        return 1;
    }
    event = watch->kept;
    if (event == NULL) {
        outcome = lk_watch_next(watch->handle, 0, NULL, &event, &error);
    }
    if (outcome == LK_TIMEOUT && wait_ms > 0) {
        outcome = next_wait(L, watch, wait_ms, &event, &error);
        if (outcome == LK_CANCELLED) {
            return lua_error(L);
        }
    }
    if (outcome == LK_TIMEOUT) {
        lua_pushnil(L);
        return 1;
    }
    lk_lua_check(L, outcome, &error);
    watch->kept = event; /* until it is a table of Lua's: that may fail */
    push_event(L, event);
    watch->kept = NULL;
    return 1;
}

/* As an iterator: what `for` passes is no wait. */
static int watch_call(lua_State *L) {
    lua_settop(L, 1);
    return watch_next(L);
}

static int watch_position(lua_State *L) {
    struct lk_lua_watch *watch = watch_at(L);

    if (watch->is_busy) {
        return luaL_error(L, "the watch waits for an event");
    }
    if (watch->handle != NULL) {
        watch->position = lk_watch_position(watch->handle);
    }
    lua_pushinteger(L, (lua_Integer)watch->position);
    return 1;
}

static int watch_close(lua_State *L) {
    struct lk_lua_watch *watch = watch_at(L);

    if (watch->is_busy) {
        return luaL_error(L, "the watch waits for an event");
    }
    watch_end(watch);
    return 0;
}

/* One that waits is only collected when its state is closed by a hook: it stays as it is. */
static int watch_gc(lua_State *L) {
    struct lk_lua_watch *watch = watch_at(L);

    if (!watch->is_busy) {
        watch_end(watch);
    }
    return 0;
}

void lk_lua_watch_open(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"next", watch_next},
        {"position", watch_position},
        {"close", watch_close},
        {NULL, NULL},
    };
    static const luaL_Reg metamethods[] = {
        {"__call", watch_call},
        {"__close", watch_close},
        {"__gc", watch_gc},
        {NULL, NULL},
    };

    lk_lua_class(L, LK_LUA_WATCH, methods, metamethods);
}
