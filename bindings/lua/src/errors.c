/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error objects: tables with `outcome`, `message`, and `blockers` or `cycle` where the answer has
 * them; tostring() gives the message. And the setters of fields that records are made with.
 */
#include "module.h"

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
