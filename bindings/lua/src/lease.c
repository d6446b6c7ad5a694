/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases that the library keeps alive.
 *
 * A lease is released by __close, at the end of its scope, and gets a metatable without __close
 * then: another `local lease <close>` of it is an error before its scope, which would run without
 * the lock. A lease that is only collected is abandoned: it is renewed no more, and ends at its
 * deadline.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"

struct lease {
    lk_lease *handle; /* NULL: ended */
    lk_lease *tried;  /* the handle, where it is unknown whether a release has ended the lease */
    bool is_lost;
    uint64_t token;
    int64_t ttl_ms, until_unix_ms, at_least_ms; /* of its request, for conversions */
    bool value, bound;
    bool is_fixed;                     /* it ends by itself */
    uint32_t units[LK_LUA_PARTS_MAX]; /* at each of its paths; 0: exclusive */
};

#define HELD "lockkeeper.held" /* in the registry: the leases of the state, with weak values */

static struct lease *lease_at(lua_State *L, int arg) {
    struct lease *ended = luaL_testudata(L, arg, LK_LUA_LEASE_ENDED);

    return ended != NULL ? ended : luaL_checkudata(L, arg, LK_LUA_LEASE);
}

static bool lease_is_lost(struct lease *lease) {
    if (lease->handle != NULL && lk_lease_is_lost(lease->handle)) {
        lease->is_lost = true;
    }
    return lease->is_lost;
}

/* Releases what nothing was done under, and frees the handle in every case. */
static void release_for_good(lk_lease *handle) {
    lk_outcome outcome = lk_lease_release_now(handle, NULL);

    if (outcome != LK_OK && outcome != LK_LOST) {
        lk_lease_abandon(handle);
    }
}

/* The handle, which the caller ends. */
static lk_lease *lease_take(struct lease *lease) {
    lk_lease *handle = lease->handle;

    (void)lease_is_lost(lease);
    lease->handle = NULL;
    return handle;
}

/* Pushes a field of the lease at 1. */
static int push_field(lua_State *L, const char *name) {
    (void)lua_getiuservalue(L, 1, 1);
    (void)lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return 1;
}

static struct lease *lease_held(lua_State *L) {
    struct lease *lease = lease_at(L, 1);

    if (lease_is_lost(lease)) {
        (void)lk_lua_raise(L, LK_LOST, "the lease is lost");
    }
    if (lease->handle == NULL) {
        (void)lk_lua_raise(L, LK_LOST, "the lease has ended");
    }
    return lease;
}

/* The store of the lease at 1, which is pushed. */
static struct lk_lua_store *store_of(lua_State *L) {
    (void)lua_getiuservalue(L, 1, 2);
    return lk_lua_store(L, lua_gettop(L));
}

/* ---- acquiring ------------------------------------------------------------------------------- */

struct acquire {
    struct lk_lua_job job;
    lk_store *store;
    struct lk_lua_request made;
    lk_lease *lease;
    lk_result *result;
    lk_outcome outcome;
    lk_error error;
};

static void acquire_run(struct lk_lua_job *job) {
    struct acquire *acquire = (struct acquire *)job;

    acquire->outcome = lk_acquire(acquire->store, &acquire->made.request, &acquire->lease,
                                  &acquire->result, &acquire->error);
}

static void acquire_destroy(struct lk_lua_job *job) {
    struct acquire *acquire = (struct acquire *)job;

    lk_lease_abandon(acquire->lease);
    lk_result_free(acquire->result);
    lk_lua_request_free(&acquire->made);
    free(acquire);
}

/* What a part, which the library has accepted, asks for (R2). */
struct part {
    uint32_t limit; /* 0: none */
    uint32_t units; /* 0: exclusive */
};

static struct part part_of(const lk_request *request, size_t index) {
    struct part part = {request->limit, request->units};
    const char *mark = strchr(request->parts[index], '?');
    bool is_shared = request->shared;

    for (; mark != NULL; mark = strpbrk(mark + 1, "?&")) {
        const char *word = mark + 1;

        if (strncmp(word, "limit=", 6) == 0) {
            part.limit = (uint32_t)strtoul(word + 6, NULL, 10);
        } else if (strncmp(word, "units=", 6) == 0) {
            part.units = (uint32_t)strtoul(word + 6, NULL, 10);
        } else {
            is_shared = true;
        }
    }
    if (!is_shared && part.limit == 0) {
        part.units = 0;
    } else if (part.units == 0) {
        part.units = 1;
    }
    return part;
}

/* Pushes a guard of the job. */
static struct acquire *acquire_make(lua_State *L, struct lk_lua_store *store,
                                    const char *const *parts, size_t count, lk_style style,
                                    const struct lk_lua_options *options) {
    struct lk_lua_guard *guard = lk_lua_guard(L, lk_lua_job_free);
    struct acquire *acquire = calloc(1, sizeof *acquire);
    bool is_made;

    if (acquire == NULL) {
        (void)lk_lua_raise(L, LK_INTERNAL, "no memory for a request");
        return NULL;
    }
    acquire->job.run = acquire_run;
    acquire->job.destroy = acquire_destroy;
    is_made = lk_lua_job_init(&acquire->job);
    guard->thing = acquire;
    if (!is_made || !lk_lua_request_make(&acquire->made, parts, count, options)) {
        (void)lk_lua_raise(L, LK_INTERNAL, "no memory for a request");
    }
    acquire->store = store->handle;
    acquire->made.request.style = style;
    acquire->made.request.cancel = acquire->job.cancel;
    return acquire;
}

/* Sets the fields of a lease; in a protected call, because the lease is held already. */
static int fill(lua_State *L) {
    const lk_result *result = lua_touserdata(L, 2);

    (void)lua_getiuservalue(L, 1, 1);
    lk_lua_set_integer(L, "token", result->token);
    lk_lua_set_text(L, "owner", result->owner);
    lk_lua_set_texts(L, "paths", result->paths, result->path_count);
    lua_createtable(L, (int)result->token_count + 1, 0);
    for (size_t i = 0; i < result->token_count || i == 0; i++) {
        lua_pushinteger(L,
                        (lua_Integer)(result->token_count > 0 ? result->tokens[i] : result->token));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "tokens");
    lk_lua_request_values(L, result);
    (void)lua_getfield(L, LUA_REGISTRYINDEX, HELD);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, -2, lua_touserdata(L, 1));
    return 0;
}

/* Makes the lease at `arg` the owner of what was granted. */
static void take_grant(lua_State *L, int arg, struct acquire *acquire) {
    struct lease *lease = lease_at(L, arg);

    lease->handle = acquire->lease;
    acquire->lease = NULL;
    lease->token = acquire->result->token;
    lease->ttl_ms = acquire->made.request.ttl_ms;
    lease->until_unix_ms = acquire->made.request.until_unix_ms;
    lease->at_least_ms = acquire->made.request.at_least_ms;
    lease->value = acquire->made.request.value;
    lease->bound = acquire->made.request.bound;
    lease->is_fixed = acquire->result->fixed || lease->until_unix_ms != 0;
    for (size_t i = 0; i < acquire->made.request.part_count; i++) {
        lease->units[i] = part_of(&acquire->made.request, i).units;
    }
    lua_pushcfunction(L, fill);
    lua_pushvalue(L, arg);
    lua_pushlightuserdata(L, acquire->result);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
        release_for_good(lease_take(lease));
        (void)lua_error(L);
    }
}

/* Releases what nothing takes any more. What its owner held before the call stays. */
static void acquire_undo(struct acquire *acquire) {
    lk_lease *lease = acquire->lease;

    acquire->lease = NULL;
    if (lease != NULL && acquire->result != NULL && !acquire->result->created) {
        lk_lease_abandon(lease);
    } else if (lease != NULL) {
        release_for_good(lease);
    }
}

/* ---- waits for oneself ----------------------------------------------------------------------- */

/*
 * A Lua state runs in one thread, so nothing ends a lease of it while that thread waits without
 * limit. The owners differ, so to the store it is no deadlock (R13).
 */

enum { BLOCKERS_MAX = 1024 }; /* that an answer names; bindings/abi compares it */

/* Where the field `name` of the object on top of the stack is, or has, that text; 0: nowhere. */
static size_t field_find(lua_State *L, const char *name, const char *text) {
    size_t found = 0;

    (void)lua_getiuservalue(L, -1, 1);
    (void)lua_getfield(L, -1, name);
    if (lua_isstring(L, -1)) {
        found = strcmp(lua_tostring(L, -1), text) == 0;
    }
    for (size_t i = 1; lua_istable(L, -1) && found == 0 && i <= LK_LUA_PARTS_MAX; i++) {
        bool is_text = lua_rawgeti(L, -1, (lua_Integer)i) == LUA_TSTRING;

        found = is_text && strcmp(lua_tostring(L, -1), text) == 0 ? i : 0;
        lua_pop(L, 1);
        if (!is_text) {
            break;
        }
    }
    lua_pop(L, 2);
    return found;
}

/* Whether the lease on top of the stack is held at that URL, and does not end by itself. */
static bool is_held_at(lua_State *L, const char *url) {
    struct lease *lease = lua_touserdata(L, -1);
    struct lk_lua_store *store;
    bool is_held;

    (void)lua_getiuservalue(L, -1, 2);
    store = lua_touserdata(L, -1);
    is_held = lease->handle != NULL && !lease->is_fixed && store != NULL && store->handle != NULL
              && strcmp(lk_store_url(store->handle), url) == 0;
    lua_pop(L, 1);
    return is_held;
}

/* The units that this state holds at exactly this path. Leases of one owner may be one request
 * (R3): of those the greatest one counts. */
static uint64_t units_at(lua_State *L, const char *url, const char *path) {
    uint64_t sum = 0;

    lua_newtable(L); /* the units by owner */
    (void)lua_getfield(L, LUA_REGISTRYINDEX, HELD);
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        struct lease *lease = lua_touserdata(L, -1);
        size_t at = is_held_at(L, url) ? field_find(L, "paths", path) : 0;
        lua_Integer units = at == 0 ? 0 : (lua_Integer)lease->units[at - 1];

        (void)lua_getiuservalue(L, -1, 1);
        if (lua_getfield(L, -1, "owner") == LUA_TSTRING) {
            lua_pushvalue(L, -1);
            (void)lua_rawget(L, -7);
            if (units > lua_tointeger(L, -1)) {
                sum += (uint64_t)(units - lua_tointeger(L, -1));
                lua_pushvalue(L, -2);
                lua_pushinteger(L, units);
                lua_rawset(L, -9);
            }
            lua_pop(L, 1);
        }
        lua_pop(L, 2);
    }
    lua_pop(L, 2);
    return sum;
}

/* Whether one of the paths is, or is below, the other (R5). */
static bool is_related(const char *one, const char *other) {
    size_t size = strlen(one) < strlen(other) ? strlen(one) : strlen(other);
    const char *longer = strlen(one) > size ? one : other;

    return strncmp(one, other, size) == 0 && (longer[size] == '\0' || longer[size] == '/');
}

/* Whether a part of this state's, with these units, keeps out what is asked for even when all
 * others have ended. One of several holders of a limit need not: another may end. */
static bool is_for_ever(lua_State *L, const char *url, const struct acquire *acquire,
                        const char *path, uint32_t units) {
    const lk_request *request = &acquire->made.request;
    const lk_result *result = acquire->result;

    for (size_t i = 0; i < request->part_count && i < result->path_count; i++) {
        struct part part = part_of(request, i);
        const char *asked = result->paths[i];

        if ((units == 0 || part.units == 0) && is_related(path, asked)) {
            return true;
        }
        if (part.limit != 0 && strcmp(path, asked) == 0
            && units_at(L, url, path) + part.units > part.limit) {
            return true;
        }
    }
    return false;
}

/* The blocker that is a lease of this state, and in the way as long as that is held; NULL: none is,
 * or there is no result. And whether this state holds any. */
static const lk_blocker_info *own_blocker(lua_State *L, const struct lk_lua_store *store,
                                          const struct acquire *acquire, bool *ret_holds) {
    const char *url = lk_store_url(store->handle);
    const lk_result *result = acquire->result;
    const lk_blocker_info *found = NULL;

    *ret_holds = false;
    (void)lua_getfield(L, LUA_REGISTRYINDEX, HELD);
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        struct lease *lease = lua_touserdata(L, -1);

        if (!is_held_at(L, url)) {
            continue;
        }
        *ret_holds = true;
        for (size_t i = 0; result != NULL && found == NULL && i < result->blocker_count; i++) {
            const lk_blocker_info *blocker = &result->blockers[i];
            size_t at = field_find(L, "owner", blocker->owner) == 0
                            ? 0
                            : field_find(L, "paths", blocker->path);

            if (at != 0 && is_for_ever(L, url, acquire, blocker->path, lease->units[at - 1])) {
                found = blocker;
            }
        }
    }
    lua_pop(L, 1);
    return found;
}

/* Tries before a wait without limit. False: that would be for what this state holds itself, or a
 * hook has ended the try; the error is pushed. */
static bool try_before(lua_State *L, struct lk_lua_store *store, struct acquire *acquire) {
    lk_request *request = &acquire->made.request;
    const lk_blocker_info *blocker = NULL;
    bool holds;

    (void)own_blocker(L, store, acquire, &holds);
    if (!holds) {
        return true;
    }
    request->style = LK_TRY;
    request->blockers_max = BLOCKERS_MAX;
    if (!lk_lua_job_run(L, store, &acquire->job)) {
        acquire_undo(acquire);
        return false;
    }
    if (acquire->outcome == LK_BUSY && acquire->result != NULL) {
        blocker = own_blocker(L, store, acquire, &holds);
    }
    if (blocker != NULL) {
        lk_result told = *acquire->result;
        char *cycle[] = {told.owner, blocker->owner};

        told.cycle = request->owner == NULL ? &cycle[1] : cycle;
        told.cycle_count = request->owner == NULL ? 1 : 2;
        (void)lua_pushfstring(L,
                              "to wait would be for ever: this state itself holds %s as %s; give "
                              "both one owner, or release it before",
                              blocker->path, blocker->owner);
        lk_lua_push_error(L, LK_DEADLOCK, lua_tostring(L, -1), &told);
        return false;
    }
    /* Then it waits; not for a store that has not answered for as long as was named. */
    if (acquire->outcome == LK_BUSY
        || (acquire->outcome == LK_UNAVAILABLE && request->patience_ms == 0)) {
        lk_result_free(acquire->result);
        acquire->result = NULL;
        acquire->outcome = LK_WAITING;
        request->style = LK_WAIT;
    }
    return true;
}

static int lock(lua_State *L, lk_style style, const char *allowed) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *parts[LK_LUA_PARTS_MAX];
    size_t count = lk_lua_texts(L, 2, parts);
    struct lk_lua_options options;
    struct acquire *acquire;

    lk_lua_options(L, 3, allowed, &options);
    lua_settop(L, 3);
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    (void)lk_lua_object(L, LK_LUA_LEASE, sizeof(struct lease), 1);
    acquire = acquire_make(L, store, parts, count, style, &options);
    acquire->outcome = LK_WAITING;
    if (style == LK_WAIT && options.wait_ms == LK_FOREVER && !try_before(L, store, acquire)) {
        return lua_error(L);
    }
    if (acquire->outcome != LK_WAITING) {
        /* the try has decided it */
    } else if (style == LK_TRY || options.wait_ms == 0) {
        acquire_run(&acquire->job);
    } else if (!lk_lua_job_run(L, store, &acquire->job)) {
        acquire_undo(acquire);
        return lua_error(L);
    }
    if (acquire->outcome == LK_GRANTED && acquire->result != NULL) {
        take_grant(L, 4, acquire);
        lua_pushvalue(L, 4);
        return 1;
    }
    acquire_undo(acquire);
    if (acquire->outcome == LK_BUSY && style == LK_TRY) {
        lua_pushnil(L);
    }
    lk_lua_push_error(L, acquire->outcome, acquire->error.text, acquire->result);
    return acquire->outcome == LK_BUSY && style == LK_TRY ? 2 : lua_error(L);
}

static int store_lock(lua_State *L) {
    return lock(L, LK_WAIT, LK_LUA_REQUEST_OPTIONS);
}

static int store_try_lock(lua_State *L) {
    return lock(L, LK_TRY,
                " ttl until shared limit units owner note value bound patience at_least ");
}

const luaL_Reg lk_lua_lease_methods[] = {
    {"lock", store_lock},
    {"try_lock", store_try_lock},
    {NULL, NULL},
};

/* ---- methods --------------------------------------------------------------------------------- */

static int lease_lost(lua_State *L) {
    lua_pushboolean(L, lease_is_lost(lease_at(L, 1)));
    return 1;
}

static int lease_check(lua_State *L) {
    (void)lease_held(L);
    return 0;
}

static int lease_remaining(lua_State *L) {
    struct lease *lease = lease_at(L, 1);
    int64_t ms = lease->handle == NULL ? 0 : lk_lease_remaining_ms(lease->handle);

    lua_pushnumber(L, (lua_Number)ms / 1000);
    return 1;
}

/* Ends the lease. An answer that is missing can be asked for again, until it is known. */
static lk_outcome release(struct lease *lease, const lk_part_put *puts, size_t put_count, bool now,
                          lk_error *error) {
    bool is_tried = lease->tried != NULL;
    lk_lease *handle = is_tried ? lease->tried : lease_take(lease);
    lk_outcome outcome = puts != NULL ? lk_lease_release_put_all(handle, puts, put_count, error)
                         : now        ? lk_lease_release_now(handle, error)
                                      : lk_lease_release(handle, error);

    lease->tried = NULL;
    if (!is_tried && (outcome == LK_INVALID || outcome == LK_UNSUPPORTED)) { /* nothing is done */
        lease->handle = handle;
    } else if (outcome != LK_OK && outcome != LK_LOST) {
        lease->tried = handle;
    }
    lease->is_lost = lease->is_lost || outcome == LK_LOST;
    return outcome;
}

static int lease_release(lua_State *L) {
    struct lease *lease = lease_at(L, 1);
    struct lk_lua_options options;
    const lk_part_put *puts;
    lk_error error;
    size_t count;

    lk_lua_options(L, 2, " put now ", &options);
    puts = lk_lua_puts(L, 2, &count);
    if (lease->handle == NULL && lease->tried == NULL) {
        return puts == NULL ? 0 : lk_lua_raise(L, LK_LOST, "the lease has ended");
    }
    lk_lua_check(L, release(lease, puts, count, options.now, &error), &error);
    return 0;
}

static bool is_store_open(lua_State *L) {
    struct lk_lua_store *store;

    (void)lua_getiuservalue(L, 1, 2);
    store = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return store != NULL && store->handle != NULL;
}

/* At the end of a scope, with the error that has ended it. */
static int lease_close(lua_State *L) {
    struct lease *lease = lease_at(L, 1);
    bool has_error = !lua_isnoneornil(L, 2); /* which says more than that of the release */
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome = LK_OK;

    lua_settop(L, 1);
    luaL_setmetatable(L, LK_LUA_LEASE_ENDED);
    if (lease->handle != NULL || (lease->tried != NULL && is_store_open(L))) {
        outcome = release(lease, NULL, 0, false, &error);
    }
    if (!has_error) {
        lk_lua_check(L, outcome, &error);
    }
    return 0;
}

static int lease_abandon(lua_State *L) {
    struct lease *lease = lease_at(L, 1);

    lk_lease_abandon(lease_take(lease));
    lk_lease_abandon(lease->tried);
    lease->tried = NULL;
    return 0;
}

static void abandon(void *lease) {
    lk_lease_abandon(lease);
}

static int lease_gc(lua_State *L) {
    struct lease *lease = lease_at(L, 1);
    lk_lease *handle = lease->tried != NULL ? lease->tried : lease_take(lease);

    lease->tried = NULL;
    if (handle != NULL) {
        lk_lua_dispose(abandon, handle);
    }
    return 0;
}

static int lease_put(lua_State *L) {
    struct lease *lease = lease_held(L);
    size_t size;
    const char *bytes = lk_lua_bytes(L, 2, &size);
    const char *path = lk_lua_optional_text(L, 3);
    struct lk_lua_options options = {.token = lease->token};
    struct lk_lua_store *store = store_of(L);

    (void)push_field(L, "owner");
    options.owner = lua_tostring(L, -1);
    if (path == NULL) {
        (void)push_field(L, "paths");
        (void)lua_rawgeti(L, -1, 1);
        path = lua_tostring(L, -1);
    }
    (void)lk_lua_value_put(L, store, path, &options, bytes, size);
    return 0;
}

/* ---- conversion (rule R9) -------------------------------------------------------------------- */

/* lease:convert([parts,] options): parts default to the paths of the lease. */
static void convert_arguments(lua_State *L) {
    if (lua_gettop(L) == 2 && lua_istable(L, 2) && lua_rawlen(L, 2) == 0) {
        lua_pushnil(L);
        lua_insert(L, 2);
    }
    lua_settop(L, 3);
    if (lua_isnil(L, 2)) {
        (void)push_field(L, "paths");
        lua_replace(L, 2);
    }
}

static int lease_convert(lua_State *L) {
    struct lease *lease = lease_held(L);
    const char *parts[LK_LUA_PARTS_MAX];
    struct lk_lua_options options;
    struct lk_lua_store *store;
    struct acquire *acquire;
    lk_lease *former;
    size_t count;

    convert_arguments(L);
    count = lk_lua_texts(L, 2, parts);
    lk_lua_options(L, 3, " shared limit units ttl ", &options);
    store = store_of(L);
    (void)push_field(L, "owner");
    options.owner = lua_tostring(L, -1);
    options.value = lease->value;
    options.bound = lease->bound;
    options.at_least_ms = lease->at_least_ms;
    if (options.ttl_ms == 0) {
        options.ttl_ms = lease->ttl_ms;
        options.until_unix_ms = lease->until_unix_ms;
    }
    acquire = acquire_make(L, store, parts, count, LK_TRY, &options);
    acquire_run(&acquire->job);
    if (acquire->outcome != LK_GRANTED || acquire->result == NULL) {
        acquire_undo(acquire);
        if (acquire->outcome == LK_BUSY && lease_is_lost(lease)) {
            return lk_lua_raise(L, LK_LOST, "the lease is lost");
        }
        lk_lua_push_error(L, acquire->outcome, acquire->error.text, acquire->result);
        return lua_error(L);
    }
    if (acquire->result->created) { /* the lease had ended, so the other one is not it */
        acquire_undo(acquire);
        lease->is_lost = true;
        lk_lease_abandon(lease_take(lease));
        return lk_lua_raise(L, LK_LOST, "the lease had ended before it was converted");
    }
    former = lease->handle; /* which a new token has ended */
    lease->handle = NULL;
    lk_lease_abandon(former);
    take_grant(L, 1, acquire);
    return 0;
}

static int lease_text(lua_State *L) {
    struct lease *lease = lease_at(L, 1);
    const char *state = lease_is_lost(lease)     ? "lost"
                        : lease->handle != NULL ? "held"
                        : lease->tried != NULL  ? "unknown"
                                                : "ended";

    (void)push_field(L, "paths");
    lua_pushliteral(L, "");
    for (lua_Integer i = 1; lua_rawgeti(L, -2, i) == LUA_TSTRING; i++) {
        lua_pushliteral(L, " ");
        lua_insert(L, -2);
        lua_concat(L, 3);
    }
    lua_pop(L, 1);
    (void)lua_pushfstring(L, "lockkeeper.lease%s token=%I %s", lua_tostring(L, -1),
                          (LUAI_UACINT)lease->token, state);
    return 1;
}

void lk_lua_lease_open(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"lost", lease_lost},       {"check", lease_check},
        {"release", lease_release}, {"remaining", lease_remaining},
        {"abandon", lease_abandon}, {"put", lease_put},
        {"convert", lease_convert}, {NULL, NULL},
    };
    static const luaL_Reg metamethods[] = {
        {"__close", lease_close},
        {"__gc", lease_gc},
        {"__tostring", lease_text},
        {NULL, NULL},
    };

    lk_lua_class(L, LK_LUA_LEASE, methods, metamethods);
    lk_lua_class(L, LK_LUA_LEASE_ENDED, methods, &metamethods[1]);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    (void)lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, HELD);
}
