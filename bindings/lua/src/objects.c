/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binding's objects: guards, and the classes of the others; errors, which are tables with
 * `outcome`, `message`, and `blockers` or `cycle` where the answer has them; tostring() gives the
 * message. And the setters of fields that records are made with.
 */
#include <string.h>

#include "module.h"

/* ---- guards and classes ---------------------------------------------------------------------- */

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

/* ---- errors, and the setters of fields ------------------------------------------------------- */

#define ERROR "lockkeeper.error"

void lk_lua_set_text(lua_State *L, const char *name, const char *text) {
    if (text != NULL) {
        (void)lua_pushstring(L, text);
        lua_setfield(L, -2, name);
    }
}

void lk_lua_set_bytes(lua_State *L, const char *name, const void *bytes, size_t size) {
    if (bytes != NULL) {
        (void)lua_pushlstring(L, bytes, size);
        lua_setfield(L, -2, name);
    }
}

void lk_lua_set_integer(lua_State *L, const char *name, uint64_t value) {
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

void lk_lua_set_bool(lua_State *L, const char *name, bool value) {
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

void lk_lua_set_seconds(lua_State *L, const char *name, int64_t ms) {
    if (ms >= 0) {
        lua_pushnumber(L, (lua_Number)ms / 1000);
        lua_setfield(L, -2, name);
    }
}

void lk_lua_set_texts(lua_State *L, const char *name, char *const *texts, size_t count) {
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        (void)lua_pushstring(L, texts[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, name);
}

void lk_lua_push_blockers(lua_State *L, const lk_blocker_info *blockers, size_t count) {
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_createtable(L, 0, 6);
        lk_lua_set_text(L, "path", blockers[i].path);
        lk_lua_set_text(L, "owner", blockers[i].owner);
        lk_lua_set_text(L, "user", blockers[i].user);
        lk_lua_set_text(L, "note", blockers[i].note);
        lk_lua_set_integer(L, "ticket", blockers[i].ticket);
        lk_lua_set_bool(L, "held", blockers[i].held);
        lk_lua_set_seconds(L, "expires_in", blockers[i].expires_in_ms);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

void lk_lua_push_error(lua_State *L, lk_outcome outcome, const char *text,
                       const lk_result *result) {
    lua_createtable(L, 0, 4);
    lk_lua_set_text(L, "outcome", lk_outcome_name(outcome));
    lk_lua_set_text(L, "message",
                    text != NULL && text[0] != '\0' ? text : lk_outcome_text(outcome));
    if (result != NULL) {
        lk_lua_push_blockers(L, result->blockers, result->blocker_count);
        lua_setfield(L, -2, "blockers");
        lk_lua_set_texts(L, "cycle", result->cycle, result->cycle_count);
    }
    luaL_setmetatable(L, ERROR);
}

int lk_lua_raise(lua_State *L, lk_outcome outcome, const char *text) {
    lk_lua_push_error(L, outcome, text, NULL);
    return lua_error(L);
}

void lk_lua_check(lua_State *L, lk_outcome outcome, const lk_error *error) {
    if (outcome != LK_OK) {
        (void)lk_lua_raise(L, outcome, error->text);
    }
}

static int error_text(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    (void)lua_getfield(L, 1, "message");
    (void)luaL_tolstring(L, -1, NULL);
    return 1;
}

void lk_lua_errors_open(lua_State *L) {
    if (luaL_newmetatable(L, ERROR) != 0) {
        lua_pushcfunction(L, error_text);
        lua_setfield(L, -2, "__tostring");
    }
    lua_pop(L, 1);
}
