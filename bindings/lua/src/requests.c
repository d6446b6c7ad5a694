/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as C takes them, and those without keep-alive: ask, renew and release. */
#include <stdlib.h>
#include <string.h>

#include "module.h"

static const char *request_text(struct lk_lua_request *made, const char *text, bool *is_made) {
    if (text == NULL) {
        return NULL;
    }
    made->texts[made->text_count] = strdup(text);
    *is_made = *is_made && made->texts[made->text_count] != NULL;
    return made->texts[made->text_count++];
}

bool lk_lua_request_make(struct lk_lua_request *made, const char *const *parts, size_t count,
                         const struct lk_lua_options *options) {
    lk_request *request = &made->request;
    bool is_made = true;

    made->text_count = 0;
    for (size_t i = 0; i < count; i++) {
        made->parts[i] = request_text(made, parts[i], &is_made);
    }
    *request = lk_request_init(made->parts, count);
    request->owner = request_text(made, options->owner, &is_made);
    request->note = request_text(made, options->note, &is_made);
    request->wait_ms = options->wait_ms;
    request->ttl_ms = options->ttl_ms;
    request->until_unix_ms = options->until_unix_ms;
    request->patience_ms = options->patience_ms;
    request->shared = options->shared;
    request->limit = options->limit;
    request->units = options->units;
    request->value = options->value;
    request->bound = options->bound;
    request->outlives = options->outlives;
    request->at_least_ms = options->at_least_ms;
    return is_made;
}

void lk_lua_request_free(struct lk_lua_request *made) {
    for (size_t i = 0; i < made->text_count; i++) {
        free(made->texts[i]);
    }
    made->text_count = 0;
}

void lk_lua_request_values(lua_State *L, const lk_result *result) {
    if (result->values == NULL) {
        return;
    }
    lk_lua_set_bytes(L, "value", result->value, result->value_size);
    lk_lua_set_bool(L, "in_doubt", result->in_doubt);
    lua_createtable(L, 0, (int)result->value_count);
    for (size_t i = 0; i < result->value_count; i++) {
        if (result->values[i].value != NULL) {
            lk_lua_set_bytes(L, result->paths[i], result->values[i].value,
                             result->values[i].value_size);
        }
    }
    lua_setfield(L, -2, "values");
    lua_createtable(L, 0, (int)result->value_count);
    for (size_t i = 0; i < result->value_count; i++) {
        lk_lua_set_bool(L, result->paths[i], result->values[i].in_doubt);
    }
    lua_setfield(L, -2, "doubts");
}

static void push_answer(lua_State *L, const lk_result *result) {
    lua_createtable(L, 0, 16);
    lk_lua_set_text(L, "outcome", lk_outcome_name(result->outcome));
    lk_lua_set_texts(L, "paths", result->paths, result->path_count);
    lk_lua_set_text(L, "owner", result->owner);
    lk_lua_set_integer(L, "ticket", result->ticket);
    lk_lua_set_integer(L, "token", result->token);
    lk_lua_set_seconds(L, "ttl", result->ttl_ms);
    lk_lua_set_seconds(L, "expires_in", result->expires_in_ms);
    lk_lua_set_integer(L, "in_use", result->in_use);
    lk_lua_set_integer(L, "position", result->position);
    lk_lua_set_bool(L, "created", result->created);
    lk_lua_set_bool(L, "fixed", result->fixed);
    lk_lua_push_blockers(L, result->blockers, result->blocker_count);
    lua_setfield(L, -2, "blockers");
    lk_lua_request_values(L, result);
}

static void result_free(void *result) {
    lk_result_free(result);
}

/* ---- without a wait -------------------------------------------------------------------------- */

/* Pushes the answer, or raises. `guard` has the result. */
static int answered(lua_State *L, struct lk_lua_guard *guard, lk_outcome outcome,
                    const lk_error *error) {
    const lk_result *result = guard->thing;

    if (result == NULL || (outcome != LK_OK && outcome != LK_GRANTED && outcome != LK_WAITING)) {
        lk_lua_push_error(L, outcome, error->text, result);
        lk_lua_guard_end(guard);
        return lua_error(L);
    }
    push_answer(L, result);
    lk_lua_guard_end(guard);
    return 1;
}

static lk_request plain_request(lua_State *L, const char *parts[LK_LUA_PARTS_MAX],
                                const char *allowed, struct lk_lua_options *options) {
    size_t count = lk_lua_texts(L, 2, parts);
    lk_request request;

    lk_lua_options(L, 3, allowed, options);
    request = lk_request_init(parts, count);
    request.owner = options->owner;
    request.ttl_ms = options->ttl_ms;
    return request;
}

static int store_renew(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *parts[LK_LUA_PARTS_MAX];
    struct lk_lua_options options;
    lk_request request = plain_request(L, parts, " owner token ttl ", &options);
    struct lk_lua_guard *guard = lk_lua_guard(L, result_free);
    lk_result *result = NULL;
    lk_error error;
    lk_outcome outcome = lk_renew(store->handle, &request, options.token, &result, &error);

    guard->thing = result;
    return answered(L, guard, outcome, &error);
}

static int store_release(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *parts[LK_LUA_PARTS_MAX];
    struct lk_lua_options options;
    lk_request request = plain_request(L, parts, " owner token put ", &options);
    size_t count;
    const lk_part_put *puts = lk_lua_puts(L, 3, &count);
    struct lk_lua_guard *guard = lk_lua_guard(L, result_free);
    lk_result *result = NULL;
    lk_error error;
    lk_outcome outcome = puts == NULL
                             ? lk_release(store->handle, &request, options.token, &result, &error)
                             : lk_release_put_all(store->handle, &request, options.token, puts,
                                                  count, &result, &error);

    guard->thing = result;
    return answered(L, guard, outcome, &error);
}

/* ---- with a wait ----------------------------------------------------------------------------- */

struct ask {
    struct lk_lua_job job;
    lk_store *store;
    struct lk_lua_request made;
    lk_result *result;
    lk_outcome outcome;
    lk_error error;
};

static void ask_run(struct lk_lua_job *job) {
    struct ask *ask = (struct ask *)job;

    ask->outcome = lk_ask(ask->store, &ask->made.request, &ask->result, &ask->error);
}

static void ask_destroy(struct lk_lua_job *job) {
    struct ask *ask = (struct ask *)job;

    lk_result_free(ask->result);
    lk_lua_request_free(&ask->made);
    free(ask);
}

static lk_style style_of(lua_State *L, const char *style) {
    static const char *const names[] = {"try", "queue", "wait"};

    for (int i = 0; style != NULL && i < 3; i++) {
        if (strcmp(style, names[i]) == 0) {
            return (lk_style)i;
        }
    }
    if (style != NULL) {
        (void)luaL_argerror(L, 3, "style must be \"try\", \"queue\" or \"wait\"");
    }
    return LK_TRY;
}

/* What an interrupted wait has been granted meanwhile. */
static void ask_undo(struct ask *ask) {
    if (ask->outcome == LK_GRANTED && ask->result != NULL && ask->result->created) {
        ask->made.request.owner = ask->result->owner;
        (void)lk_release(ask->store, &ask->made.request, ask->result->token, NULL, NULL);
    }
}

static int store_ask(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *parts[LK_LUA_PARTS_MAX];
    size_t count = lk_lua_texts(L, 2, parts);
    struct lk_lua_options options;
    struct lk_lua_guard *guard;
    struct ask *ask;
    lk_style style;

    lk_lua_options(L, 3, LK_LUA_REQUEST_OPTIONS "style ", &options);
    style = style_of(L, options.style);
    guard = lk_lua_guard(L, lk_lua_job_free);
    ask = calloc(1, sizeof *ask);
    if (ask == NULL) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a request");
    }
    ask->job.run = ask_run;
    ask->job.destroy = ask_destroy;
    guard->thing = ask;
    if (!lk_lua_job_init(&ask->job) || !lk_lua_request_make(&ask->made, parts, count, &options)) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a request");
    }
    ask->store = store->handle;
    ask->made.request.style = style;
    ask->made.request.outlives = true; /* another process may end it */
    ask->made.request.cancel = ask->job.cancel;
    if (style != LK_WAIT) {
        ask_run(&ask->job);
    } else if (!lk_lua_job_run(L, store, &ask->job)) {
        ask_undo(ask);
        return lua_error(L);
    }
    if (ask->result == NULL || ask->outcome > LK_WAITING) {
        lk_lua_push_error(L, ask->outcome, ask->error.text, ask->result);
        return lua_error(L);
    }
    push_answer(L, ask->result);
    return 1;
}

const luaL_Reg lk_lua_request_methods[] = {
    {"ask", store_ask},
    {"renew", store_renew},
    {"release", store_release},
    {NULL, NULL},
};
