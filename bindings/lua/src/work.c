/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over claimed items: `for item in store:work("mails") do ... end`.
 *
 * To ask for the next item says that the present one is done. An error that leaves the loop gives
 * the present item back as failed, unless it comes from what stops the loop. Whatever else leaves
 * the loop (break, return, a coroutine that is closed) cannot be told apart, so it gives the item
 * back as not failed: work that is repeated does less harm than work that is forgotten.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "module.h"

struct work {
    struct lk_lua_feed *feed; /* NULL: it has ended */
    uint64_t taken;           /* the number of the last item that was handed out */
    bool is_stopped;
    void (*on_sigint)(int); /* when it began */
    lk_work_counts counts;  /* once it has ended */
};

struct item {
    struct lk_lua_feed *feed; /* counted */
    uint64_t number;
    bool is_lost;
    bool is_unknown; /* whether the decision has taken effect */
};

static struct work *work_at(lua_State *L, int arg) {
    return luaL_checkudata(L, arg, LK_LUA_WORK);
}

static void process_check(lua_State *L, const struct lk_lua_feed *feed) {
    if (feed->process != getpid()) {
        (void)lk_lua_raise(L, LK_INTERNAL, "the work began before fork(): a child begins its own");
    }
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* The text of a field of the table at `arg`; it belongs to that. */
static const char *table_text(lua_State *L, int arg, const char *name) {
    const char *text = NULL;

    (void)lua_pushstring(L, name);
    if (lua_rawget(L, arg) != LUA_TNIL) {
        text = lk_lua_top_text(L, name);
    }
    lua_pop(L, 1);
    return text;
}

/* Reads the option "table": a name, or a table of texts. Pushes it. */
static void table_read(lua_State *L, int arg, lk_work_table *table) {
    enum { NAMES = 5 };
    static const char *const names[NAMES] = {"name", "id", "where", "order", "done"};
    const char **const members[NAMES] = {&table->name, &table->id, &table->where, &table->order,
                                         &table->done};
    size_t count;

    lua_pushnil(L);
    if (!lua_istable(L, arg)) {
        return;
    }
    lua_pushliteral(L, "table");
    (void)lua_rawget(L, arg);
    lua_replace(L, -2);
    if (lua_isnil(L, -1)) {
        return;
    }
    luaL_argcheck(L, lua_istable(L, -1), arg, "table must be a table of names and SQL");
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

        for (count = 0; count < NAMES && strcmp(names[count], name) != 0; count++) {
        }
        luaL_argcheck(L, count < NAMES, arg, "table has name, id, where, order and done");
    }
    for (size_t i = 0; i < NAMES; i++) {
        *members[i] = table_text(L, lua_gettop(L), names[i]);
    }
    luaL_argcheck(L, table->name != NULL, arg, "table needs a name");
    table->size = sizeof *table;
}

/* Forgets those of the store's feeds that have ended. */
static void feeds_prune(struct lk_lua_store *store) {
    struct lk_lua_feed **link = &store->feeds;

    while (*link != NULL) {
        struct lk_lua_feed *feed = *link;
        bool is_over = feed->process != getpid(); /* its mutex may be locked for ever */

        if (!is_over) {
            (void)pthread_mutex_lock(&feed->mutex);
            is_over = feed->is_over;
            (void)pthread_mutex_unlock(&feed->mutex);
        }
        if (is_over) {
            *link = feed->next;
            lk_lua_feed_free(feed);
        } else {
            link = &feed->next;
        }
    }
}

static bool feed_fill(struct lk_lua_feed *feed, const char *queue,
                      const struct lk_lua_options *options, const lk_work_table *table) {
    bool is_made = true;

    feed->options.queue = lk_lua_feed_text(feed, queue, &is_made);
    feed->options.note = lk_lua_feed_text(feed, options->note, &is_made);
    feed->options.ttl_ms = options->ttl_ms;
    feed->options.max_attempts = options->max_attempts;
    feed->options.retry_min_ms = options->retry_min_ms;
    feed->options.retry_max_ms = options->retry_max_ms;
    feed->options.patience_ms = options->patience_ms;
    feed->options.drain = options->drain;
    if (table->name != NULL) {
        feed->table = *table;
        feed->table.name = lk_lua_feed_text(feed, table->name, &is_made);
        feed->table.id = lk_lua_feed_text(feed, table->id, &is_made);
        feed->table.where = lk_lua_feed_text(feed, table->where, &is_made);
        feed->table.order = lk_lua_feed_text(feed, table->order, &is_made);
        feed->table.done = lk_lua_feed_text(feed, table->done, &is_made);
        feed->options.table = &feed->table;
    }
    return is_made;
}

/* store:work(queue [, options]), or store:work(nil, {table = {name = ...}}). As a `for` needs it:
 * the iterator, two values that it does not use, and what the loop closes. */
static int store_work(lua_State *L) {
    struct lk_lua_store *store = lk_lua_store(L, 1);
    const char *queue = lk_lua_optional_text(L, 2);
    struct lk_lua_options options;
    lk_work_table table = {0};
    struct work *work;

    lk_lua_options(L, 3, " table ttl max_attempts note retry_min retry_max drain patience ",
                   &options);
    lua_settop(L, 3);
    table_read(L, 3, &table);
    luaL_argcheck(L, queue != NULL || table.name != NULL, 2, "a queue or a table is needed");
    work = lk_lua_object(L, LK_LUA_WORK, sizeof *work, 1);
    work->feed = lk_lua_feed_new(store->handle);
    if (work->feed == NULL || !feed_fill(work->feed, queue, &options, &table)) {
        return lk_lua_raise(L, LK_INTERNAL, "no memory for a pool of work");
    }
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, 5);
    return 4;
}

const luaL_Reg lk_lua_work_methods[] = {
    {"work", store_work},
    {NULL, NULL},
};

/* ---- the loop -------------------------------------------------------------------------------- */

/* Fills the fields of the item on top of the stack from its claim, which the verdict ends. */
static void item_fill(lua_State *L, const lk_claim_info *claim) {
    (void)lua_getiuservalue(L, -1, 1);
    lk_lua_set_text(L, "queue", claim->queue);
    lk_lua_set_text(L, "id", claim->id);
    lk_lua_set_text(L, "owner", claim->owner);
    lk_lua_set_bytes(L, "value", claim->value, claim->value_size);
    lk_lua_set_integer(L, "token", claim->token);
    lk_lua_set_integer(L, "attempt", claim->attempt);
    lk_lua_set_bool(L, "is_stolen", claim->is_stolen);
    lk_lua_set_text(L, "row_id", claim->row_id);
    lua_pop(L, 1);
}

enum news { NEWS_NONE, NEWS_ITEM, NEWS_END };

static enum news news_of(struct lk_lua_feed *feed, uint64_t taken, const lk_claim_info **claim) {
    enum news news = NEWS_NONE;

    (void)pthread_mutex_lock(&feed->mutex);
    *claim = feed->claim;
    if (feed->claim != NULL && feed->number != taken && !feed->is_decided) {
        news = NEWS_ITEM;
    } else if (feed->is_over) {
        news = NEWS_END;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    return news;
}

static void (*sigint_handler(void))(int) {
    struct sigaction action = {.sa_handler = SIG_DFL};

    (void)sigaction(SIGINT, NULL, &action);
    return action.sa_handler;
}

static void work_begin(lua_State *L, struct work *work) {
    struct lk_lua_store *store;

    process_check(L, work->feed);
    if (work->feed->is_started) {
        return;
    }
    work->on_sigint = sigint_handler();
    (void)lua_getiuservalue(L, 1, 2);
    store = lk_lua_store(L, lua_gettop(L));
    feeds_prune(store);
    if (!lk_lua_feed_start(work->feed)) {
        (void)lk_lua_raise(L, LK_INTERNAL, "the system has no thread for the work");
    }
    (void)atomic_fetch_add(&work->feed->count, 1);
    work->feed->next = store->feeds;
    store->feeds = work->feed;
    lua_pop(L, 1);
}

/* The work has no feed any more; its outcome is raised unless it was drained or closed. */
static int work_over(lua_State *L, struct work *work) {
    struct lk_lua_feed *feed = work->feed;
    lk_outcome outcome = feed->outcome;
    bool is_closing = feed->is_closing;
    lk_error error = feed->error;

    work->counts = feed->counts;
    work->feed = NULL;
    lk_lua_feed_free(feed);
    if (outcome != LK_OK && !(is_closing && outcome == LK_CANCELLED)) {
        return lk_lua_raise(L, outcome, error.text);
    }
    lua_pushnil(L);
    return 1;
}

static int work_next(lua_State *L) {
    struct work *work = work_at(L, 1);
    const lk_claim_info *claim;
    struct item *item;
    enum news news;

    lua_settop(L, 1);
    if (work->feed == NULL) {
        lua_pushnil(L);
        return 1;
    }
    if (work->is_stopped && !work->feed->is_started) {
        lua_pushnil(L);
        return 1;
    }
    work_begin(L, work);
    (void)lk_lua_feed_decide(work->feed, work->taken,
                             &(struct lk_lua_verdict){.verdict = LK_LUA_DONE});
    (void)lua_getiuservalue(L, 1, 2);
    item = lk_lua_object(L, LK_LUA_ITEM, sizeof *item, -1); /* it keeps the store */
    item->feed = work->feed;
    (void)atomic_fetch_add(&item->feed->count, 1);
    while ((news = news_of(item->feed, work->taken, &claim)) == NEWS_NONE) {
        if (!lk_lua_sleep(L, &item->feed->news)) {
            return lua_error(L);
        }
        if (work->feed == NULL) { /* a hook has closed it */
            lua_pushnil(L);
            return 1;
        }
    }
    if (news == NEWS_END) {
        return work_over(L, work);
    }
    item_fill(L, claim);
    item->number = ++work->taken;
    return 1;
}

static int work_call(lua_State *L) {
    return work_next(L);
}

/* Claims nothing more: the loop ends with its next turn, and decides on the item that it has. */
static int work_stop(lua_State *L) {
    struct work *work = work_at(L, 1);

    if (work->feed != NULL) {
        process_check(L, work->feed);
        lk_lua_feed_stop(work->feed, work->taken);
        work->is_stopped = true;
    }
    return 0;
}

/* Whether the loop was stopped, its store closed, or `lua` interrupted: that resets its handler of
 * SIGINT when one comes. */
static bool is_stopping(const struct work *work) {
    bool is_closing;

    (void)pthread_mutex_lock(&work->feed->mutex);
    is_closing = work->feed->is_closing;
    (void)pthread_mutex_unlock(&work->feed->mutex);
    return is_closing || (work->feed->is_started && sigint_handler() != work->on_sigint);
}

/* Whether the error at `arg` has the form of one that stops the program or a wait, and says nothing
 * of the item: that of `lua` for a SIGINT, or an outcome "cancelled". Work that raises it itself
 * has failed: its item would be claimed again for ever (R16). */
static bool is_interruption(lua_State *L, int arg) {
    static const char interrupted[] = "interrupted!";
    size_t size = 0;
    const char *text = lua_isstring(L, arg) ? lua_tolstring(L, arg, &size) : NULL;
    bool is_cancelled = false;

    if (lua_istable(L, arg)) {
        lua_pushliteral(L, "outcome");
        (void)lua_rawget(L, arg);
        text = lua_tostring(L, -1);
        is_cancelled = text != NULL && strcmp(text, "cancelled") == 0;
        lua_pop(L, 1);
        return is_cancelled;
    }
    return size >= sizeof interrupted - 1
           && strcmp(text + size - (sizeof interrupted - 1), interrupted) == 0;
}

/* Gives the present item back, and returns when nothing of this work is claimed. */
static int work_close(lua_State *L) {
    struct work *work = work_at(L, 1);
    struct lk_lua_feed *feed = work->feed;
    struct lk_lua_verdict verdict = lk_lua_given_back;

    if (feed == NULL) {
        return 0;
    }
    if (!lua_isnoneornil(L, 2) && feed->process == getpid()
        && !(is_interruption(L, 2) && is_stopping(work))) {
        verdict.verdict = LK_LUA_FAILED;
        verdict.failure = luaL_tolstring(L, 2, &verdict.failure_size);
    }
    work->feed = NULL;
    lk_lua_feed_cancel(feed, &verdict);
    lk_lua_feed_await(feed);
    work->counts = feed->counts;
    lk_lua_feed_free(feed);
    return 0;
}

/* The store waits for its end, when it is closed. */
static int work_gc(lua_State *L) {
    struct work *work = work_at(L, 1);
    struct lk_lua_feed *feed = work->feed;

    work->feed = NULL;
    if (feed != NULL) {
        lk_lua_feed_cancel(feed, &lk_lua_given_back);
        lk_lua_feed_free(feed);
    }
    return 0;
}

/* What has become of the items so far. */
static int work_counts(lua_State *L) {
    struct work *work = work_at(L, 1);
    lk_work_counts counts = work->counts;

    if (work->feed != NULL) {
        process_check(L, work->feed);
        (void)pthread_mutex_lock(&work->feed->mutex);
        counts = work->feed->counts;
        (void)pthread_mutex_unlock(&work->feed->mutex);
    }
    lua_createtable(L, 0, 12);
    lk_lua_set_integer(L, "claims", counts.claims);
    lk_lua_set_integer(L, "steals", counts.steals);
    lk_lua_set_integer(L, "done", counts.done);
    lk_lua_set_integer(L, "retried", counts.retried);
    lk_lua_set_integer(L, "parked", counts.parked);
    lk_lua_set_integer(L, "lost", counts.lost);
    lk_lua_set_integer(L, "unknown", counts.unknown);
    lk_lua_set_integer(L, "announced", counts.announced);
    lk_lua_set_integer(L, "duplicates", counts.duplicates);
    lk_lua_set_integer(L, "left", counts.left);
    lk_lua_set_integer(L, "skipped", counts.skipped);
    return 1;
}

/* ---- items ----------------------------------------------------------------------------------- */

static struct item *item_at(lua_State *L, int arg) {
    struct item *item = luaL_checkudata(L, arg, LK_LUA_ITEM);

    process_check(L, item->feed);
    return item;
}

static int item_gc(lua_State *L) {
    struct item *item = luaL_checkudata(L, 1, LK_LUA_ITEM);
    struct lk_lua_feed *feed = item->feed;

    item->feed = NULL;
    if (feed != NULL) {
        lk_lua_feed_free(feed);
    }
    return 0;
}

/* Whether the claim is lost. Of an item that is decided on: whether it was then. */
static int item_lost(lua_State *L) {
    struct item *item = item_at(L, 1);
    struct lk_lua_feed *feed = item->feed;

    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->number == item->number) {
        if (feed->lease != NULL && !feed->is_decided && lk_lease_is_lost(feed->lease)) {
            feed->is_lost = true;
        }
        item->is_lost = item->is_lost || feed->is_lost;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    lua_pushboolean(L, item->is_lost);
    return 1;
}

static int item_remaining(lua_State *L) {
    struct item *item = item_at(L, 1);
    struct lk_lua_feed *feed = item->feed;
    int64_t ms = 0;

    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->number == item->number && feed->lease != NULL && !feed->is_decided) {
        ms = lk_lease_remaining_ms(feed->lease);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    lua_pushnumber(L, (lua_Number)ms / 1000);
    return 1;
}

static bool has_stepped(struct lk_lua_feed *feed, uint64_t number) {
    bool has_stepped;

    (void)pthread_mutex_lock(&feed->mutex);
    has_stepped = feed->stepped >= number || feed->number > number || feed->is_over;
    (void)pthread_mutex_unlock(&feed->mutex);
    return has_stepped;
}

/* Reads the claim of the item at 1, in texts that belong to it. Returns its store, an open one. */
static struct lk_lua_store *claim_of(lua_State *L, lk_retry_request *claim) {
    struct lk_lua_store *store;

    *claim = (lk_retry_request){.size = sizeof *claim};
    (void)lua_getiuservalue(L, 1, 2);
    store = lk_lua_store(L, lua_gettop(L));
    (void)lua_getiuservalue(L, 1, 1);
    claim->queue = table_text(L, lua_gettop(L), "queue");
    claim->id = table_text(L, lua_gettop(L), "id");
    claim->owner = table_text(L, lua_gettop(L), "owner");
    (void)lua_getfield(L, -1, "token");
    claim->token = (uint64_t)lua_tointeger(L, -1);
    return store;
}

/* The claim has gone with the first decision. It is named by its owner and token. */
static int decide_again(lua_State *L, struct item *item, const struct lk_lua_verdict *verdict) {
    enum { RETRY_MIN_MS = 1000 }; /* as in the library, unless retry_min says otherwise */
    const lk_work_options *options = &item->feed->options;
    const int64_t delay_ms = options->retry_min_ms != 0 ? options->retry_min_ms : RETRY_MIN_MS;
    lk_retry_request end;
    struct lk_lua_store *store = claim_of(L, &end);
    lk_outcome outcome;
    lk_error error;

    if (verdict->verdict == LK_LUA_DONE && options->table != NULL) {
        outcome = lk_done_row(store->handle, end.queue, options->table, end.id, end.owner,
                              end.token, &error);
    } else if (verdict->verdict == LK_LUA_DONE) {
        const lk_done_request done = {.size = sizeof done,
                                      .queue = end.queue,
                                      .id = end.id,
                                      .owner = end.owner,
                                      .token = end.token,
                                      .result = verdict->result,
                                      .result_size = verdict->result_size,
                                      .keep_ms = verdict->keep_ms};

        outcome = lk_done_item(store->handle, &done, &error);
    } else {
        end.uncounted = verdict->is_uncounted || verdict->verdict == LK_WORK_GIVE_BACK;
        end.parks = verdict->verdict == LK_LUA_PARKED;
        if (verdict->verdict == LK_LUA_FAILED) {
            end.delay_ms = verdict->has_delay ? verdict->delay_ms : delay_ms;
        }
        end.has_exit = verdict->has_exit;
        end.exit_code = verdict->exit_code;
        end.error = verdict->failure;
        end.error_size =
            verdict->failure_size < LK_LUA_FAILURE_MAX ? verdict->failure_size : LK_LUA_FAILURE_MAX;
        outcome = lk_retry_failed(store->handle, &end, &error);
    }
    item->is_lost = item->is_lost || outcome == LK_LOST;
    lk_lua_check(L, outcome, &error);
    item->is_unknown = false;
    return 0;
}

/* Decides, and waits for what comes of it. */
static int decide(lua_State *L, const struct lk_lua_verdict *verdict) {
    struct item *item = item_at(L, 1);
    struct lk_lua_feed *feed = item->feed;
    lk_outcome end = LK_OK;
    lk_work_step step;
    lk_error error;
    bool has_end;

    if (item->is_unknown) {
        return decide_again(L, item, verdict);
    }
    if (!lk_lua_feed_decide(feed, item->number, verdict)) {
        return luaL_error(L, "the item has been decided on");
    }
    while (!has_stepped(feed, item->number)) {
        if (!lk_lua_sleep(L, &feed->news)) {
            return lua_error(L);
        }
    }
    (void)pthread_mutex_lock(&feed->mutex);
    step = feed->stepped == item->number ? feed->step : LK_WORK_UNKNOWN;
    has_end = feed->ended == item->number;
    if (has_end) {
        end = feed->end;
        error = feed->end_error;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    if (has_end && end == LK_OK) {
        return 0; /* the library may have seen the loss of a claim that had ended */
    }
    if (end == LK_UNAVAILABLE || (end != LK_LOST && step == LK_WORK_UNKNOWN)) {
        item->is_unknown = true;
        return lk_lua_raise(L, LK_UNAVAILABLE, "unknown whether the claim has been ended");
    }
    if (end != LK_OK && end != LK_LOST) {
        return lk_lua_raise(L, end, error.text);
    }
    if (end == LK_LOST || step == LK_WORK_LOST) {
        item->is_lost = true;
        return lk_lua_raise(L, LK_LOST, "the claim was lost; the item is left to its next claim");
    }
    return 0;
}

/* item:done([result [, {keep}]]): it is done and removed, or kept with its result. */
static int item_done(lua_State *L) {
    struct lk_lua_verdict verdict = {.verdict = LK_LUA_DONE};
    struct item *item = item_at(L, 1);
    struct lk_lua_options options;

    if (!lua_isnoneornil(L, 2)) {
        verdict.result = lk_lua_bytes(L, 2, &verdict.result_size);
        luaL_argcheck(L, verdict.result_size <= LK_VALUE_MAX, 2, "must have at most 65536 bytes");
    }
    lk_lua_options(L, 3, " keep ", &options);
    verdict.keep_ms = options.keep_ms;
    if (item->feed->options.table != NULL && (verdict.result != NULL || verdict.keep_ms > 0)) {
        return luaL_error(L, "the row of a table has no result, and is not kept");
    }
    return decide(L, &verdict);
}

/* item:progress([text]): how far the work is; without a text it is not said any more. */
static int item_progress(lua_State *L) {
    const char *text = NULL;
    size_t size = 0;
    lk_retry_request claim;
    struct lk_lua_store *store;
    lk_outcome outcome;
    lk_error error;

    (void)item_at(L, 1);
    if (!lua_isnoneornil(L, 2)) {
        text = lk_lua_bytes(L, 2, &size);
    }
    store = claim_of(L, &claim);
    outcome = lk_progress(store->handle, claim.queue, claim.id, claim.owner, claim.token, text,
                          size, &error);
    lk_lua_check(L, outcome, &error);
    return 0;
}

static int item_give_back(lua_State *L) {
    return decide(L, &(struct lk_lua_verdict){.verdict = LK_WORK_GIVE_BACK});
}

/* item:retry([error [, {exit_code, delay, uncounted}]]): it has failed, and why. */
static int item_retry(lua_State *L) {
    struct lk_lua_verdict verdict = {.verdict = LK_LUA_FAILED};
    struct lk_lua_options options;

    lk_lua_options(L, 3, " exit_code delay uncounted ", &options);
    if (lua_istable(L, 3)) {
        verdict.has_delay = lua_getfield(L, 3, "delay") != LUA_TNIL;
        lua_pop(L, 1);
    }
    verdict.delay_ms = options.delay_ms;
    verdict.is_uncounted = options.uncounted;
    verdict.has_exit = options.has_exit;
    verdict.exit_code = options.exit_code;
    if (!lua_isnoneornil(L, 2)) {
        verdict.failure = luaL_tolstring(L, 2, &verdict.failure_size);
    }
    return decide(L, &verdict);
}

/* item:park([error [, {exit_code}]]): it cannot succeed, and why. */
static int item_park(lua_State *L) {
    struct lk_lua_verdict verdict = {.verdict = LK_LUA_PARKED};
    struct lk_lua_options options;

    lk_lua_options(L, 3, " exit_code ", &options);
    verdict.has_exit = options.has_exit;
    verdict.exit_code = options.exit_code;
    if (!lua_isnoneornil(L, 2)) {
        verdict.failure = luaL_tolstring(L, 2, &verdict.failure_size);
    }
    return decide(L, &verdict);
}

static int item_check(lua_State *L) {
    (void)item_lost(L);
    if (lua_toboolean(L, -1) != 0) {
        return lk_lua_raise(L, LK_LOST, "the claim is lost");
    }
    return 0;
}

void lk_lua_work_open(lua_State *L) {
    static const luaL_Reg work_methods[] = {
        {"next", work_next},     {"stop", work_stop}, {"close", work_close},
        {"counts", work_counts}, {NULL, NULL},
    };
    static const luaL_Reg work_metamethods[] = {
        {"__call", work_call},
        {"__close", work_close},
        {"__gc", work_gc},
        {NULL, NULL},
    };
    static const luaL_Reg item_methods[] = {
        {"done", item_done}, {"retry", item_retry}, {"give_back", item_give_back},
        {"lost", item_lost}, {"check", item_check}, {"remaining", item_remaining},
        {"park", item_park}, {"progress", item_progress}, {NULL, NULL},
    };
    static const luaL_Reg item_metamethods[] = {
        {"__gc", item_gc},
        {NULL, NULL},
    };

    lk_lua_class(L, LK_LUA_WORK, work_methods, work_metamethods);
    lk_lua_class(L, LK_LUA_ITEM, item_methods, item_metamethods);
}
