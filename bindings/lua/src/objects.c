/* SPDX-License-Identifier: Apache-2.0 */
/* Guards, and the classes of the binding's objects. */
#include <string.h>

#include "module.h"

#define GUARD "lockkeeper.guard"

void lk_lua_guard_end(struct lk_lua_guard *guard) {
    void *thing = guard->thing;

    guard->thing = NULL;
    if (thing != NULL) {
        guard->release(thing);
    }
}

static int guard_gc(lua_State *L) {
    lk_lua_guard_end(luaL_checkudata(L, 1, GUARD));
    return 0;
}

struct lk_lua_guard *lk_lua_guard(lua_State *L, void (*release)(void *thing)) {
    struct lk_lua_guard *guard = lua_newuserdatauv(L, sizeof *guard, 0);

    guard->thing = NULL;
    guard->release = release;
    luaL_setmetatable(L, GUARD);
    return guard;
}

void lk_lua_guards_open(lua_State *L) {
    if (luaL_newmetatable(L, GUARD) != 0) {
        lua_pushcfunction(L, guard_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_pop(L, 1);
}

/* A method, else a field. Objects cannot be written to. */
static int object_index(lua_State *L) {
    (void)luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(2)));
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
        return 1;
    }
    lua_pop(L, 1);
    if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushvalue(L, 2);
    (void)lua_rawget(L, -2);
    return 1;
}

void lk_lua_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *metamethods) {
    if (luaL_newmetatable(L, name) != 0) {
        luaL_setfuncs(L, metamethods, 0);
        lua_newtable(L);
        luaL_setfuncs(L, methods, 0);
        (void)lua_pushstring(L, name);
        lua_pushcclosure(L, object_index, 2);
        lua_setfield(L, -2, "__index");
        lua_pushliteral(L, "it belongs to lockkeeper"); /* getmetatable(): __gc is not for others */
        lua_setfield(L, -2, "__metatable");
    }
    lua_pop(L, 1);
}

void *lk_lua_object(lua_State *L, const char *name, size_t size, int keeps) {
    void *object;

    keeps = keeps == 0 ? 0 : lua_absindex(L, keeps);
    object = lua_newuserdatauv(L, size, 2);
    (void)memset(object, 0, size);
    lua_newtable(L);
    (void)lua_setiuservalue(L, -2, 1);
    if (keeps != 0) {
        lua_pushvalue(L, keeps);
        (void)lua_setiuservalue(L, -2, 2);
    }
    luaL_setmetatable(L, name);
    return object;
}

struct lk_lua_store *lk_lua_store(lua_State *L, int arg) {
    struct lk_lua_store *store = luaL_checkudata(L, arg, LK_LUA_STORE);

    if (store->handle == NULL) {
        (void)luaL_error(L, "the store is closed");
    }
    return store;
}
