/* SPDX-License-Identifier: Apache-2.0 */
/* The module, and the life of stores. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

#define STATE "lockkeeper.state"

/* A store that is being closed, with what has to end before. */
struct closing {
    lk_store *store;
    struct lk_lua_feed *feeds;
};

static void closing_end(void *thing) {
    struct closing *closing = thing;

    lk_lua_feeds_end(closing->feeds);
    lk_close(closing->store);
    free(closing);
}

static struct lk_lua_store *store_at(lua_State *L) {
    return luaL_checkudata(L, 1, LK_LUA_STORE);
}

/* lockkeeper.open([url]) */
static int module_open(lua_State *L) {
    const char *url = lk_lua_optional_text(L, 1);
    struct lk_lua_store *store;
    lk_outcome outcome;
    lk_error error;

    lua_settop(L, 1);
    store = lk_lua_object(L, LK_LUA_STORE, sizeof *store, 0);
    outcome = lk_open(url, &store->handle, &error);
    lk_lua_check(L, outcome, &error);
    (void)lua_getiuservalue(L, 2, 1);
    lk_lua_set_text(L, "url", lk_store_url(store->handle));
    lua_pop(L, 1);
    return 1;
}

static int store_close(lua_State *L) {
    struct lk_lua_store *store = store_at(L);
    struct lk_lua_feed *feeds = store->feeds;
    lk_store *handle = store->handle;

    if (store->calls > 0) { /* this is a hook, or what it calls */
        return luaL_error(L, "the store cannot be closed while a call waits for it");
    }
    lk_lua_watches_end(store);
    store->feeds = NULL;
    store->handle = NULL;
    lk_lua_feeds_end(feeds);
    lk_close(handle);
    return 0;
}

/* Pools end and leases perish in the background. A store that is waited for is only collected when
 * its state is closed by a hook: it stays as it is. */
static int store_gc(lua_State *L) {
    struct lk_lua_store *store = store_at(L);
    struct closing *closing;

    if (store->handle == NULL || store->calls > 0) {
        return 0;
    }
    lk_lua_watches_end(store);
    closing = malloc(sizeof *closing);
    if (closing != NULL) {
        *closing = (struct closing){store->handle, store->feeds};
        store->handle = NULL;
        store->feeds = NULL;
        lk_lua_dispose(closing_end, closing);
    }
    return 0;
}

static int store_text(lua_State *L) {
    struct lk_lua_store *store = store_at(L);

    (void)lua_getiuservalue(L, 1, 1);
    (void)lua_getfield(L, -1, "url");
    (void)lua_pushfstring(L, "lockkeeper.store %s%s", luaL_tolstring(L, -1, NULL),
                          store->handle == NULL ? " closed" : "");
    return 1;
}

static int store_is_closed(lua_State *L) {
    lua_pushboolean(L, store_at(L)->handle == NULL);
    return 1;
}

/* store:with(parts, [options,] body) is a scope: what it says in Lua is what it does. */
static const char with[] = "return function(store, parts, options, body)\n"
                           "    if body == nil then options, body = nil, options end\n"
                           "    local lease <close> = store:lock(parts, options)\n"
                           "    return body(lease)\n"
                           "end\n";

/* Made first in a state, so it is collected last, when the state is closed. */
static int state_gc(lua_State *L) {
    (void)L;
    lk_lua_disposals_await();
    return 0;
}

static void state_open(lua_State *L) {
    (void)lua_newuserdatauv(L, 0, 0);
    if (luaL_newmetatable(L, STATE) != 0) {
        lua_pushcfunction(L, state_gc);
        lua_setfield(L, -2, "__gc");
    }
    (void)lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, STATE ".end");
}

static void store_open(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"close", store_close},
        {"closed", store_is_closed},
        {NULL, NULL},
    };
    static const luaL_Reg metamethods[] = {
        {"__close", store_close},
        {"__gc", store_gc},
        {"__tostring", store_text},
        {NULL, NULL},
    };
    static const luaL_Reg *const files[] = {
        lk_lua_lease_methods, lk_lua_request_methods, lk_lua_value_methods, lk_lua_admin_methods,
        lk_lua_queue_methods, lk_lua_claim_methods,   lk_lua_work_methods,  lk_lua_watch_methods,
    };
    luaL_Reg all[64];
    size_t count = 0;

    for (; methods[count].name != NULL; count++) {
        all[count] = methods[count];
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        for (const luaL_Reg *method = files[i]; method->name != NULL; method++) {
            all[count++] = *method;
        }
    }
    all[count] = (luaL_Reg){NULL, NULL};
    lk_lua_class(L, LK_LUA_STORE, all, metamethods);
}

/* Adds store:with() to the methods, which are the first upvalue of __index. */
static void with_open(lua_State *L) {
    (void)luaL_getmetatable(L, LK_LUA_STORE);
    (void)lua_getfield(L, -1, "__index");
    (void)lua_getupvalue(L, -1, 1);
    if (luaL_loadbufferx(L, with, sizeof with - 1, "=lockkeeper", "t") != LUA_OK) {
        (void)lua_error(L);
    }
    lua_call(L, 0, 1);
    lua_setfield(L, -2, "with");
    lua_pop(L, 3);
}

static void version_check(lua_State *L) {
    char wanted[32];

    (void)snprintf(wanted, sizeof wanted, "%d.%d.", LK_VERSION_MAJOR, LK_VERSION_MINOR);
    if (strncmp(lk_version(), wanted, strlen(wanted)) != 0) {
        (void)luaL_error(L, "lockkeeper: built for liblockkeeper %s, and found %s", LK_VERSION,
                         lk_version());
    }
}

LK_PUBLIC int luaopen_lockkeeper(lua_State *L);

/* A thread may still run code of this module when its state is closed: it stays loaded. */
static void stay_loaded(void) {
    Dl_info module;

    if (dladdr((const void *)(uintptr_t)luaopen_lockkeeper, &module) != 0) {
        (void)dlopen(module.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

LK_PUBLIC int luaopen_lockkeeper(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"open", module_open},
        {NULL, NULL},
    };

    luaL_checkversion(L);
    version_check(L);
    stay_loaded();
    state_open(L);
    lk_lua_guards_open(L);
    lk_lua_errors_open(L);
    store_open(L);
    with_open(L);
    lk_lua_lease_open(L);
    lk_lua_work_open(L);
    lk_lua_watch_open(L);
    luaL_newlib(L, functions);
    lk_lua_set_text(L, "version", lk_version());
    return 1;
}
