/* SPDX-License-Identifier: Apache-2.0 */
/* Claims by hand (rule R16), without a loop and without keep-alive: claim, done, progress and
 * retry, of one item or of several. */
#include <stdlib.h>
#include <string.h>

#include "module.h"

enum { TEXTS = 3 };

struct claim {
    struct lk_lua_job job;
    lk_store *store;
    lk_claim_request request;
    char *texts[TEXTS]; /* of the request */
    size_t max;         /* of lk_claim_many(); 0: lk_claim_next() */
    lk_claim_info *info;
    lk_claim_list *list;
    lk_outcome outcome;
    lk_error error;
};

static void claim_run(struct lk_lua_job *job) {
    struct claim *claim = (struct claim *)job;

    claim->outcome =
        claim->max == 0
            ? lk_claim_next(claim->store, &claim->request, &claim->info, &claim->error)
            : lk_claim_many(claim->store, &claim->request, claim->max, &claim->list, &claim->error);
}

static void claim_destroy(struct lk_lua_job *job) {
    struct claim *claim = (struct claim *)job;

    lk_claim_free(claim->info);
    lk_claim_list_free(claim->list);
    for (size_t i = 0; i < TEXTS; i++) {
        free(claim->texts[i]);
    }
    free(claim);
}

static bool claim_fill(struct claim *claim, const char *queue,
                       const struct lk_lua_options *options) {
    const char *const texts[TEXTS] = {queue, options->owner, options->note};

    for (size_t i = 0; i < TEXTS; i++) {
        claim->texts[i] = texts[i] == NULL ? NULL : strdup(texts[i]);
        if (texts[i] != NULL && claim->texts[i] == NULL) {
            return false;
        }
    }
    claim->request = (lk_claim_request){
        .size = sizeof claim->request,
        .queue = claim->texts[0],
        .owner = claim->texts[1],
        .note = claim->texts[2],
        .wait_ms = options->wait_ms,
        .ttl_ms = options->ttl_ms,
        .max_attempts = options->max_attempts,
        .patience_ms = options->patience_ms,
        .cancel = claim->job.cancel,
    };
    return true;
}

static void push_claim(lua_State *L, const lk_claim_info *info) {
    lua_createtable(L, 0, 9);
    lk_lua_set_text(L, "queue", info->queue);
    lk_lua_set_text(L, "id", info->id);
    lk_lua_set_text(L, "owner", info->owner);
    lk_lua_set_bytes(L, "value", info->value, info->value_size);
    lk_lua_set_integer(L, "token", info->token);
    lk_lua_set_integer(L, "attempt", info->attempt);
    lk_lua_set_bool(L, "is_stolen", info->is_stolen);
    lk_lua_set_seconds(L, "ttl", info->ttl_ms);
    lk_lua_set_seconds(L, "expires_in", info->expires_in_ms);
}

static void push_claims(lua_State *L, const lk_claim_list *list) {
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        push_claim(L, list->claims[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void give_back(lk_store *store, const lk_claim_info *info) {
    const lk_retry_request request = {.size = sizeof request,
                                      .queue = info->queue,
                                      .id = info->id,
                                      .owner = info->owner,
                                      .token = info->token,
                                      .uncounted = true};

    (void)lk_retry_failed(store, &request, NULL);
}

/* Gives back what an interrupted wait has claimed meanwhile. */
static void claim_undo(const struct claim *claim) {
    if (claim->outcome != LK_GRANTED) {
        return;
    }
    if (claim->info != NULL) {
        give_back(claim->store, claim->info);
    }
    for (size_t i = 0; claim->list != NULL && i < claim->list->count; i++) {
        give_back(claim->store, claim->list->claims[i]);
    }
}

/* Claims as the options at `arg` say. Pushes one claim, or with `max` a list of them. */
static int claimed(lua_State *L, size_t max, int arg) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    struct lk_lua_options options;
    struct lk_lua_guard *guard;
    struct claim *claim;

    lk_lua_options(L, arg, " wait ttl owner note max_attempts patience ", &options);
    guard = lk_lua_guard(L, lk_lua_job_free);
    claim = calloc(1, sizeof *claim);
    if (claim == NULL) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a claim");
    }
    claim->job.run = claim_run;
    claim->job.destroy = claim_destroy;
    claim->max = max;
    guard->thing = claim;
    if (!lk_lua_job_init(&claim->job) || !claim_fill(claim, queue, &options)) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a claim");
    }
    claim->store = store->handle;
    if (options.wait_ms == 0) {
        claim_run(&claim->job);
    } else if (!lk_lua_job_run(L, store, &claim->job)) {
        claim_undo(claim);
        return lua_error(L);
    }
    if (claim->outcome == LK_GRANTED) {
        if (claim->list != NULL) {
            push_claims(L, claim->list);
        } else {
            push_claim(L, claim->info);
        }
        return 1;
    }
    if (claim->outcome == LK_BUSY || claim->outcome == LK_TIMEOUT) {
        lua_pushnil(L);
        lk_lua_push_error(L, claim->outcome, claim->error.text, NULL);
        return 2;
    }
    return lk_lua_raise(L, claim->outcome, claim->error.text);
}

/* store:claim(queue [, options]): a table; or nil and the error "busy" or "timeout": there is
 * nothing to claim. */
static int store_claim(lua_State *L) {
    return claimed(L, 0, 3);
}

/* store:claim_many(queue, max [, options]): a list of such tables, with one owner and one token, as
 * soon as there is one; or nil and the error. */
static int store_claim_many(lua_State *L) {
    lua_Integer max = luaL_checkinteger(L, 3);

    if (max < 1 || max > LK_CLAIMS_MAX) {
        return luaL_argerror(L, 3, lua_pushfstring(L, "must be 1 to %d", LK_CLAIMS_MAX));
    }
    return claimed(L, (size_t)max, 4);
}

/* A text of the claim at 2, which it belongs to. */
static const char *claim_text(lua_State *L, const char *name) {
    const char *text;

    lua_pushstring(L, name);
    (void)lua_rawget(L, 2);
    text = lk_lua_top_text(L, name);
    lua_pop(L, 1);
    return text;
}

/* What a claim's table says of its lease. A token is needed, so that no later claim is ended unless
 * the caller says "any". */
static lk_retry_request claim_read(lua_State *L) {
    lk_retry_request request = {.size = sizeof request};

    luaL_checktype(L, 2, LUA_TTABLE);
    request.queue = claim_text(L, "queue");
    request.id = claim_text(L, "id");
    request.owner = claim_text(L, "owner");
    lua_pushliteral(L, "token");
    (void)lua_rawget(L, 2);
    if (lua_type(L, -1) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "any") != 0) {
        luaL_argcheck(L, lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0, 2, "it has no token");
        request.token = (uint64_t)lua_tointeger(L, -1);
    }
    lua_pop(L, 1);
    return request;
}

/* store:done(claim [, result [, {keep}]]): the item is done: removed, or kept with its result. */
static int store_done(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_retry_request claim = claim_read(L);
    lk_done_request request = {.size = sizeof request,
                               .queue = claim.queue,
                               .id = claim.id,
                               .owner = claim.owner,
                               .token = claim.token};
    struct lk_lua_options options;
    lk_error error;

    if (!lua_isnoneornil(L, 3)) {
        request.result = lk_lua_bytes(L, 3, &request.result_size);
    }
    lk_lua_options(L, 4, " keep ", &options);
    request.keep_ms = options.keep_ms;
    lk_lua_check(L, lk_done_item(store->handle, &request, &error), &error);
    return 0;
}

/* store:progress(claim [, text]): how far the work is; without a text it is not said any more. */
static int store_progress(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_retry_request claim = claim_read(L);
    const char *text = NULL;
    size_t size = 0;
    lk_error error;

    if (!lua_isnoneornil(L, 3)) {
        text = lk_lua_bytes(L, 3, &size);
    }
    lk_lua_check(L,
                 lk_progress(store->handle, claim.queue, claim.id, claim.owner, claim.token, text,
                             size, &error),
                 &error);
    return 0;
}

/* store:done_many(queue, ids, {owner = ..., token = ...}): how many claims of the owner are done;
 * the others were lost. Without a token: whatever token each has. */
static int store_done_many(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_text(L, 2);
    struct lk_lua_options options;
    const char **ids;
    size_t count;
    uint64_t done = 0;
    lk_outcome outcome;
    lk_error error;

    lk_lua_options(L, 4, " owner token ", &options);
    luaL_argcheck(L, options.owner != NULL, 4, "needs the option 'owner'");
    ids = lk_lua_ids(L, 3, &count);
    outcome =
        lk_done_many(store->handle, queue, ids, count, options.owner, options.token, &done, &error);
    if (outcome != LK_LOST) {
        lk_lua_check(L, outcome, &error);
    }
    lua_pushinteger(L, (lua_Integer)done);
    return 1;
}

/* store:retry(claim [, error [, {delay, exit_code, uncounted, park}]]): given back, and why. */
static int store_retry(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    lk_retry_request request = claim_read(L);
    struct lk_lua_options options;
    lk_error error;

    lk_lua_options(L, 4, " delay exit_code uncounted park ", &options);
    request.delay_ms = options.delay_ms;
    request.has_exit = options.has_exit;
    request.exit_code = options.exit_code;
    request.uncounted = options.uncounted;
    request.parks = options.park;
    if (!lua_isnoneornil(L, 3)) {
        request.error = lk_lua_bytes(L, 3, &request.error_size);
    }
    lk_lua_check(L, lk_retry_failed(store->handle, &request, &error), &error);
    return 0;
}

const luaL_Reg lk_lua_claim_methods[] = {
    {"claim", store_claim},         {"claim_many", store_claim_many}, {"done", store_done},
    {"done_many", store_done_many}, {"progress", store_progress},     {"retry", store_retry},
    {NULL, NULL},
};
