/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments as C takes them. What C would cut silently is refused here: a text at its first NUL, a
 * number at the width of its type. A name that is no option is refused, too, because a mistyped one
 * would be ignored. Everything else is the library's to judge.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

enum kind { TEXT, FLAG, WAIT, DURATION, INSTANT, COUNT, NUMBER, BIG, LEFT };

static const struct option {
    const char *name;
    enum kind kind;
    size_t offset;
} options_known[] = {
#define OPTION(name, kind, member)                                                                 \
    { name, kind, offsetof(struct lk_lua_options, member) }
    OPTION("owner", TEXT, owner),
    OPTION("note", TEXT, note),
    OPTION("style", TEXT, style),
    OPTION("reason", TEXT, reason),
    OPTION("by", TEXT, by),
    OPTION("shared", FLAG, shared),
    OPTION("value", FLAG, value),
    OPTION("bound", FLAG, bound),
    OPTION("outlives", FLAG, outlives),
    OPTION("drain", FLAG, drain),
    OPTION("at_once", FLAG, at_once),
    OPTION("uncounted", FLAG, uncounted),
    OPTION("park", FLAG, park),
    OPTION("again", FLAG, again),
    OPTION("replace", FLAG, replace),
    OPTION("wait", WAIT, wait_ms),
    OPTION("ttl", DURATION, ttl_ms),
    OPTION("until", INSTANT, until_unix_ms),
    OPTION("patience", DURATION, patience_ms),
    OPTION("at_least", DURATION, at_least_ms),
    OPTION("now", FLAG, now),
    OPTION("delay", WAIT, delay_ms),
    OPTION("keep", DURATION, keep_ms),
    OPTION("retry_min", DURATION, retry_min_ms),
    OPTION("retry_max", DURATION, retry_max_ms),
    OPTION("limit", COUNT, limit),
    OPTION("units", COUNT, units),
    OPTION("max_attempts", COUNT, max_attempts),
    OPTION("token", BIG, token),
    OPTION("after", BIG, after),
    OPTION("priority", NUMBER, priority),
    OPTION("exit_code", NUMBER, exit_code),
    {"put", LEFT, 0},
    {"needs", LEFT, 0},
    {"table", LEFT, 0},
#undef OPTION
};

static int wrong(lua_State *L, const char *name, const char *expected) {
    return luaL_error(L, "%s must be %s, not %s", name, expected, luaL_typename(L, -1));
}

const char *lk_lua_top_text(lua_State *L, const char *name) {
    size_t size;
    const char *text;

    if (lua_type(L, -1) != LUA_TSTRING) {
        (void)wrong(L, name, "a string");
    }
    text = lua_tolstring(L, -1, &size);
    if (strlen(text) != size) {
        (void)luaL_error(L, "%s must not contain a NUL character", name);
    }
    return text;
}

/* Seconds on top of the stack as milliseconds, rounded up. */
static int64_t milliseconds(lua_State *L, const char *name) {
    lua_Number seconds;

    if (lua_type(L, -1) != LUA_TNUMBER) {
        (void)wrong(L, name, "a number of seconds");
    }
    seconds = lua_tonumber(L, -1);
    if (isnan(seconds)) {
        (void)luaL_error(L, "%s must be a number of seconds, not nan", name);
    }
    if (seconds < 0) {
        (void)luaL_error(L, "%s must not be negative", name);
    }
    if (seconds * 1000 >= (lua_Number)INT64_MAX) {
        (void)luaL_error(L, "%s is too long", name);
    }
    return (int64_t)ceil(seconds * 1000);
}

static int64_t wait_of(lua_State *L, const char *name) {
    if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) == (lua_Number)INFINITY) {
        return LK_FOREVER;
    }
    return milliseconds(L, name);
}

/* One that is 0 would stand for the default. */
static int64_t duration(lua_State *L, const char *name) {
    int64_t ms = milliseconds(L, name);

    if (ms == 0) {
        (void)luaL_error(L, "%s must be longer than 0", name);
    }
    return ms;
}

static int64_t whole(lua_State *L, const char *name, int64_t least, int64_t most) {
    int is_whole = 0;
    lua_Integer number = 0;

    if (lua_type(L, -1) == LUA_TNUMBER) {
        number = lua_tointegerx(L, -1, &is_whole);
    } else {
        (void)wrong(L, name, "a whole number");
    }
    if (is_whole == 0 || number < least || number > most) {
        (void)luaL_error(L, "%s must be a whole number, %I to %I", name, (LUAI_UACINT)least,
                         (LUAI_UACINT)most);
    }
    return number;
}

/* Stores the value on top of the stack. */
static void option_read(lua_State *L, const struct option *option, struct lk_lua_options *options) {
    void *member = (char *)options + option->offset;

    switch (option->kind) {
    case TEXT:
        *(const char **)member = lk_lua_top_text(L, option->name);
        break;
    case FLAG:
        if (!lua_isboolean(L, -1)) {
            (void)wrong(L, option->name, "a boolean");
        }
        *(bool *)member = lua_toboolean(L, -1) != 0;
        break;
    case WAIT:
        *(int64_t *)member = wait_of(L, option->name);
        break;
    case DURATION:
    case INSTANT:
        *(int64_t *)member = duration(L, option->name);
        break;
    case COUNT:
        *(uint32_t *)member = (uint32_t)whole(L, option->name, 1, UINT32_MAX);
        break;
    case NUMBER:
        *(int32_t *)member = (int32_t)whole(L, option->name, INT32_MIN, INT32_MAX);
        break;
    case BIG:
        *(uint64_t *)member = (uint64_t)whole(L, option->name, 1, INT64_MAX);
        break;
    case LEFT:
        break;
    }
}

/* The option whose name is below the top of the stack. */
static const struct option *option_named(lua_State *L, const char *allowed) {
    char spaced[32];

    if (lua_type(L, -2) == LUA_TSTRING && lua_rawlen(L, -2) < sizeof spaced - 2) {
        const char *name = lua_tostring(L, -2);

        (void)snprintf(spaced, sizeof spaced, " %s ", name);
        for (size_t i = 0; i < sizeof options_known / sizeof options_known[0]; i++) {
            if (strcmp(options_known[i].name, name) == 0 && strstr(allowed, spaced) != NULL) {
                return &options_known[i];
            }
        }
    }
    return NULL;
}

void lk_lua_options(lua_State *L, int arg, const char *allowed, struct lk_lua_options *options) {
    *options = (struct lk_lua_options){.wait_ms = LK_FOREVER};
    if (lua_isnoneornil(L, arg)) {
        return;
    }
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, arg) != 0) {
        const struct option *option = option_named(L, allowed);

        if (option == NULL) {
            lua_pop(L, 1);
            (void)luaL_tolstring(L, -1, NULL);
            (void)luaL_argerror(L, arg,
                                lua_pushfstring(L, "there is no option '%s'", lua_tostring(L, -1)));
            return;
        }
        option_read(L, option, options);
        options->has_exit = options->has_exit || strcmp(option->name, "exit_code") == 0;
        lua_pop(L, 1);
    }
}

const char *lk_lua_text(lua_State *L, int arg) {
    const char *text;

    luaL_checktype(L, arg, LUA_TSTRING);
    text = lua_tostring(L, arg);
    luaL_argcheck(L, strlen(text) == lua_rawlen(L, arg), arg, "must not contain a NUL character");
    return text;
}

const char *lk_lua_optional_text(lua_State *L, int arg) {
    return lua_isnoneornil(L, arg) ? NULL : lk_lua_text(L, arg);
}

const char *lk_lua_bytes(lua_State *L, int arg, size_t *ret_size) {
    luaL_checktype(L, arg, LUA_TSTRING);
    return lua_tolstring(L, arg, ret_size);
}

int64_t lk_lua_wait(lua_State *L, int arg) {
    int64_t ms;

    if (lua_isnoneornil(L, arg)) {
        return LK_FOREVER;
    }
    lua_pushvalue(L, arg);
    ms = wait_of(L, "wait");
    lua_pop(L, 1);
    return ms;
}

/* Of the value on top of the stack. */
static size_t texts_of(lua_State *L, const char *name, const char *texts[LK_LUA_PARTS_MAX]) {
    size_t count;

    if (lua_type(L, -1) == LUA_TSTRING) {
        texts[0] = lk_lua_top_text(L, name);
        return 1;
    }
    if (lua_type(L, -1) != LUA_TTABLE) {
        (void)wrong(L, name, "a string or a list of strings");
    }
    count = lua_rawlen(L, -1) < LK_LUA_PARTS_MAX ? lua_rawlen(L, -1) : LK_LUA_PARTS_MAX;
    for (size_t i = 0; i < count; i++) {
        (void)lua_rawgeti(L, -1, (lua_Integer)i + 1);
        texts[i] = lk_lua_top_text(L, name);
        lua_pop(L, 1);
    }
    return count;
}

size_t lk_lua_texts(lua_State *L, int arg, const char *texts[LK_LUA_PARTS_MAX]) {
    size_t count;

    luaL_argexpected(L, lua_type(L, arg) == LUA_TSTRING || lua_istable(L, arg), arg,
                     "string or a list of strings");
    lua_pushvalue(L, arg);
    count = texts_of(L, "each part", texts);
    lua_pop(L, 1);
    return count;
}

const char **lk_lua_ids(lua_State *L, int arg, size_t *ret_count) {
    const char **ids;
    size_t count;

    luaL_checktype(L, arg, LUA_TTABLE);
    count = (size_t)lua_rawlen(L, arg);
    ids = lua_newuserdatauv(L, (count + 1) * sizeof *ids, 0);
    for (size_t i = 0; i < count; i++) {
        (void)lua_rawgeti(L, arg, (lua_Integer)i + 1);
        ids[i] = lk_lua_top_text(L, "each id");
        lua_pop(L, 1);
    }
    *ret_count = count;
    return ids;
}

size_t lk_lua_field_texts(lua_State *L, int arg, const char *name,
                          const char *texts[LK_LUA_PARTS_MAX]) {
    size_t count = 0;

    if (lua_istable(L, arg)) {
        lua_pushstring(L, name);
        if (lua_rawget(L, arg) != LUA_TNIL) {
            count = texts_of(L, name, texts);
        }
        lua_pop(L, 1);
    }
    return count;
}

static void put_value(lua_State *L, lk_part_put *put) {
    if (lua_type(L, -1) != LUA_TSTRING) {
        (void)wrong(L, "put", "a string, or strings by path");
    }
    put->value = lua_tolstring(L, -1, &put->value_size);
}

const lk_part_put *lk_lua_puts(lua_State *L, int arg, size_t *ret_count) {
    lk_part_put *puts;
    size_t count = 0;

    *ret_count = 0;
    if (!lua_istable(L, arg)) {
        lua_pushnil(L);
        return NULL;
    }
    lua_pushliteral(L, "put");
    if (lua_rawget(L, arg) == LUA_TNIL) {
        return NULL;
    }
    if (lua_istable(L, -1)) {
        for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
            count++;
        }
    }
    puts = lua_newuserdatauv(L, (count + 1) * sizeof *puts, 0); /* above what it was made of */
    lua_insert(L, -2);
    (void)memset(puts, 0, (count + 1) * sizeof *puts);
    if (!lua_istable(L, -1)) {
        put_value(L, &puts[0]);
        count = 1;
    } else {
        count = 0;
        for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
            put_value(L, &puts[count]);
            lua_pushvalue(L, -2);
            puts[count++].path = lk_lua_top_text(L, "a path of put");
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    *ret_count = count;
    return puts;
}
