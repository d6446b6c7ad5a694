/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the Lua binding need of the system, and Lua does not have: processes. */
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 16, LINE_MAX_BYTES = 4096 };

int luaopen_system(lua_State *L);

/* spawn{program, word, ...}: its id, and the descriptors of its input and output. */
static int spawn(lua_State *L) {
    char *words[WORDS_MAX + 1] = {NULL};
    int in[2], out[2];
    pid_t process;

    for (int i = 0; i < WORDS_MAX && lua_rawgeti(L, 1, i + 1) == LUA_TSTRING; i++) {
        words[i] = strdup(lua_tostring(L, -1));
    }
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        return luaL_error(L, "no pipe");
    }
    process = fork();
    if (process == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)execvp(words[0], words);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    for (int i = 0; i < WORDS_MAX; i++) {
        free(words[i]);
    }
    lua_pushinteger(L, process);
    lua_pushinteger(L, in[1]);
    lua_pushinteger(L, out[0]);
    return 3;
}

/* A line, or what is left before the end; nil: the end. */
static int read_line(lua_State *L) {
    int file = (int)luaL_checkinteger(L, 1);
    char line[LINE_MAX_BYTES];
    size_t size = 0;

    while (size < sizeof line && read(file, line + size, 1) == 1) {
        if (line[size] == '\n') {
            (void)lua_pushlstring(L, line, size);
            return 1;
        }
        size++;
    }
    if (size == 0) {
        lua_pushnil(L);
    } else {
        (void)lua_pushlstring(L, line, size);
    }
    return 1;
}

static int write_line(lua_State *L) {
    size_t size;
    const char *line = luaL_checklstring(L, 2, &size);

    lua_pushboolean(L, write((int)luaL_checkinteger(L, 1), line, size) == (ssize_t)size);
    return 1;
}

static int close_file(lua_State *L) {
    (void)close((int)luaL_checkinteger(L, 1));
    return 0;
}

static int send_signal(lua_State *L) {
    lua_pushboolean(L, kill((pid_t)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2)) == 0);
    return 1;
}

/* Waits for a process; what it ended with: its code, or less than 0, its signal. */
static int wait_for(lua_State *L) {
    int status = 0;

    (void)waitpid((pid_t)luaL_checkinteger(L, 1), &status, 0);
    lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return 1;
}

static int fork_here(lua_State *L) {
    lua_pushinteger(L, fork());
    return 1;
}

static int end_at_once(lua_State *L) {
    _exit((int)luaL_checkinteger(L, 1));
}

static int sleep_ms(lua_State *L) {
    lua_Integer ms = luaL_checkinteger(L, 1);
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
    return 0;
}

static int process_id(lua_State *L) {
    lua_pushinteger(L, getpid());
    return 1;
}

/* ---- signals with handlers in Lua, as libraries for POSIX make them -------------------------- */

static lua_State *handled_state;
static lua_Hook former_hook;

static void hook(lua_State *L, lua_Debug *activation) {
    (void)activation;
    lua_sethook(L, former_hook, 0, 0);
    (void)lua_getfield(L, LUA_REGISTRYINDEX, "system.handler");
    lua_call(L, 0, 0);
}

static void on_signal(int number) {
    (void)number;
    lua_sethook(handled_state, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

static int handle(lua_State *L) {
    struct sigaction action = {.sa_handler = on_signal};

    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_setfield(L, LUA_REGISTRYINDEX, "system.handler");
    handled_state = L;
    (void)sigaction((int)luaL_checkinteger(L, 1), &action, NULL);
    return 0;
}

/* ---- memory that is used up ----------------------------------------------------------------- */

static lua_Alloc former_allocate;
static lua_Integer left = -1; /* how often memory can grow; -1: always */

static void *allocate(void *context, void *block, size_t old_size, size_t size) {
    if (left >= 0 && size > (block == NULL ? 0 : old_size) && left-- == 0) {
        left = 0;
        return NULL;
    }
    return former_allocate(context, block, old_size, size);
}

/* call_short(n, function, argument): what it returns, or nothing, with memory for n allocations. */
static int call_short(lua_State *L) {
    void *context;
    int status;

    former_allocate = lua_getallocf(L, &context);
    lua_setallocf(L, allocate, context);
    left = luaL_checkinteger(L, 1);
    status = lua_pcall(L, lua_gettop(L) - 2, 1, 0);
    left = -1;
    lua_setallocf(L, former_allocate, context);
    return status == LUA_OK ? 1 : 0;
}

__attribute__((visibility("default"))) int luaopen_system(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"spawn", spawn},      {"read", read_line},   {"write", write_line},
        {"close", close_file}, {"kill", send_signal}, {"wait", wait_for},
        {"fork", fork_here},   {"exit", end_at_once}, {"sleep", sleep_ms},
        {"pid", process_id},   {"handle", handle},    {"call_short", call_short},
        {NULL, NULL},
    };

    (void)signal(SIGPIPE, SIG_IGN);
    luaL_newlib(L, functions);
    return 1;
}
