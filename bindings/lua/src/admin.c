/* SPDX-License-Identifier: Apache-2.0 */
/* Values, listing, and administration of a store. */
#include <string.h>

#include "module.h"

/* ---- values (rule R15) ----------------------------------------------------------------------- */

static void value_free(void *value) {
    lk_value_free(value);
}

/* store:get(path): the value and whether it is in doubt, or nil. */
static int store_get(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *path = lk_lua_text(L, 2);
    struct lk_lua_guard *guard = lk_lua_guard(L, value_free);
    lk_value *value = NULL;
    lk_error error;
    lk_outcome outcome = lk_value_get(store->handle, path, &value, &error);

    guard->thing = value;
    if (outcome == LK_NONE) {
        lua_pushnil(L);
        return 1;
    }
    lk_lua_check(L, outcome, &error);
    (void)lua_pushlstring(L, value->bytes, value->size);
    lua_pushboolean(L, value->in_doubt);
    lk_lua_guard_end(guard);
    return 2;
}

lk_outcome lk_lua_value_put(lua_State *L, struct lk_lua_store *store, const char *path,
                            const struct lk_lua_options *options, const char *bytes, size_t size) {
    lk_error error;
    lk_outcome outcome =
        lk_value_put(store->handle, path, options->owner, options->token, bytes, size, &error);

    lk_lua_check(L, outcome, &error);
    return outcome;
}

static int store_put(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *path = lk_lua_text(L, 2);
    size_t size;
    const char *bytes = lk_lua_bytes(L, 3, &size);
    struct lk_lua_options options;

    lk_lua_options(L, 4, " owner token ", &options);
    (void)lk_lua_value_put(L, store, path, &options, bytes, size);
    return 0;
}

static int store_delete(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *path = lk_lua_text(L, 2);
    struct lk_lua_options options;

    lk_lua_options(L, 3, " owner token ", &options);
    (void)lk_lua_value_put(L, store, path, &options, NULL, 0);
    return 0;
}

const luaL_Reg lk_lua_value_methods[] = {
    {"get", store_get},
    {"put", store_put},
    {"delete", store_delete},
    {NULL, NULL},
};

/* ---- listing --------------------------------------------------------------------------------- */

static void listing_free(void *listing) {
    lk_listing_free(listing);
}

static void push_entry(lua_State *L, const lk_entry *entry) {
    lua_createtable(L, 0, 18);
    lk_lua_set_text(L, "path", entry->path);
    lk_lua_set_text(L, "owner", entry->owner);
    lk_lua_set_text(L, "user", entry->user);
    lk_lua_set_text(L, "note", entry->note);
    lk_lua_set_integer(L, "ticket", entry->ticket);
    lk_lua_set_integer(L, "token", entry->token);
    lk_lua_set_bool(L, "held", entry->held);
    lk_lua_set_bool(L, "shared", entry->shared);
    lk_lua_set_bool(L, "revoked", entry->revoked);
    lk_lua_set_integer(L, "limit", entry->limit);
    lk_lua_set_integer(L, "units", entry->units);
    lk_lua_set_seconds(L, "ttl", entry->ttl_ms);
    lk_lua_set_seconds(L, "expires_in", entry->expires_in_ms);
    lk_lua_set_seconds(L, "age", entry->age_ms);
    lk_lua_set_integer(L, "request", entry->request_index + 1);
    lk_lua_set_integer(L, "position", entry->position);
    lk_lua_push_blockers(L, entry->blockers, entry->blocker_count);
    lua_setfield(L, -2, "blockers");
}

static int listed(lua_State *L, struct lk_lua_store *store, const char *path,
                  lk_outcome (*list)(lk_store *, const char *, lk_listing **, lk_error *)) {
    struct lk_lua_guard *guard = lk_lua_guard(L, listing_free);
    lk_listing *listing = NULL;
    lk_error error;
    lk_outcome outcome = list(store->handle, path, &listing, &error);

    guard->thing = listing;
    lk_lua_check(L, outcome, &error);
    lua_createtable(L, (int)listing->count, 0);
    for (size_t i = 0; i < listing->count; i++) {
        push_entry(L, &listing->entries[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lk_lua_guard_end(guard);
    return 1;
}

static int store_list(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);

    return listed(L, store, lk_lua_optional_text(L, 2), lk_list);
}

static int store_show(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);

    return listed(L, store, lk_lua_text(L, 2), lk_show);
}

/* ---- administration -------------------------------------------------------------------------- */

/* store:break_(path, {reason = ..., by = ..., owner = ..., at_once = true}): how many. */
static int store_break(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_break_request request = {.size = sizeof request, .path = lk_lua_text(L, 2)};
    struct lk_lua_options options;
    size_t count = 0;
    lk_error error;

    lk_lua_options(L, 3, " reason by owner at_once ", &options);
    luaL_argcheck(L, options.reason != NULL && options.by != NULL, 3,
                  "needs the options 'reason' and 'by'");
    request.reason = options.reason;
    request.by = options.by;
    request.owner = options.owner;
    request.at_once = options.at_once;
    lk_lua_check(L, lk_break(store->handle, &request, &count, &error), &error);
    lua_pushinteger(L, (lua_Integer)count);
    return 1;
}

static const struct limit {
    const char *name;
    size_t offset;
} limits_known[] = {
    {"live", offsetof(lk_limits, live)},
    {"live_per_owner", offsetof(lk_limits, live_per_owner)},
    {"live_per_root", offsetof(lk_limits, live_per_root)},
    {"waiters_per_path", offsetof(lk_limits, waiters_per_path)},
    {"events", offsetof(lk_limits, events)},
};
enum { LIMIT_COUNT = sizeof limits_known / sizeof limits_known[0] };

static uint64_t *limit_of(lk_limits *limits, size_t i) {
    return (uint64_t *)(void *)((char *)limits + limits_known[i].offset);
}

static int store_limits(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_limits limits = {.size = sizeof limits};
    lk_error error;

    lk_lua_check(L, lk_limits_get(store->handle, &limits, &error), &error);
    lua_createtable(L, 0, LIMIT_COUNT);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        lk_lua_set_integer(L, limits_known[i].name, *limit_of(&limits, i));
    }
    return 1;
}

static size_t limit_named(lua_State *L) {
    for (size_t i = 0; i < LIMIT_COUNT && lua_type(L, -2) == LUA_TSTRING; i++) {
        if (strcmp(lua_tostring(L, -2), limits_known[i].name) == 0) {
            return i;
        }
    }
    return (size_t)luaL_argerror(L, 2, "there is no such bound");
}

/* store:set_limits{live = 100}: those that are not named stay. */
static int store_set_limits(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_limits limits = {.size = sizeof limits};
    lk_error error;

    luaL_checktype(L, 2, LUA_TTABLE);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        *limit_of(&limits, i) = LK_LIMIT_AS_IS;
    }
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
        size_t i = limit_named(L);

        luaL_argcheck(L, lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 0, 2,
                      "a bound must be a whole number that is not negative");
        *limit_of(&limits, i) = (uint64_t)lua_tointeger(L, -1);
    }
    lk_lua_check(L, lk_limits_set(store->handle, &limits, &error), &error);
    return 0;
}

static void report_free(void *report) {
    lk_report_free(report);
}

/* store:examine(): two texts, of the state and of warnings. */
static int store_examine(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    struct lk_lua_guard *guard = lk_lua_guard(L, report_free);
    lk_report *report = NULL;
    lk_error error;
    lk_outcome outcome = lk_examine(store->handle, &report, &error);

    guard->thing = report;
    lk_lua_check(L, outcome, &error);
    (void)lua_pushstring(L, report->text);
    (void)lua_pushstring(L, report->warnings);
    lk_lua_guard_end(guard);
    return 2;
}

static int store_backup(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_error error;

    lk_lua_check(L, lk_backup(store->handle, lk_lua_text(L, 2), &error), &error);
    return 0;
}

static int store_away(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);

    lua_pushnumber(L, (lua_Number)lk_away_ms(store->handle, NULL) / 1000);
    return 1;
}

const luaL_Reg lk_lua_admin_methods[] = {
    {"list", store_list},     {"show", store_show},       {"break_", store_break},
    {"limits", store_limits}, {"examine", store_examine}, {"set_limits", store_set_limits},
    {"backup", store_backup}, {"away", store_away},       {NULL, NULL},
};
