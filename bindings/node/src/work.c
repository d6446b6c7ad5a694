/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed: lk_work() with one worker in a thread of its own; a loop in JavaScript decides on its
 * items. The library claims, renews, finishes and retries; here is only the hand-over. Items,
 * losses and steps are told to the event loop with the feed's number; the thread sleeps until the
 * loop has decided.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"

enum { FAILURE_MAX = 1024, VERDICT_DONE = 0, VERDICT_FAILED = 1 };

/* The verdict that parks; what is parked has failed, so the library is told why. */
enum { PARKED = 2 };

/* What an item is done with. */
struct ending {
    void *result; /* NULL: none */
    size_t size;
    int64_t keep_ms;
};

struct feed {
    struct lk_node_thing thing;
    lk_store *store;   /* of the worker's thread */
    lk_cancel *cancel; /* NULL: ended */
    int64_t number;    /* by which index.js finds it */

    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t decided;
    lk_lease *lease; /* of the present item; NULL: none */
    uint64_t item;   /* counts items */
    bool is_decided, is_closing;
    int verdict;
    char failure[FAILURE_MAX];
    size_t failure_size;
    bool has_exit;
    int32_t exit_code;
    bool has_delay, is_uncounted;
    int64_t delay_ms;
    struct ending *ending; /* NULL: none, or the worker's thread has taken it */
    bool is_ending;        /* the item has one; then the loss of its claim is its own doing */
    lk_outcome refusal;    /* of the ending; LK_OK: none */
    lk_error why;
};

static void ending_free(struct ending *ending) {
    if (ending != NULL) {
        free(ending->result);
        free(ending);
    }
}

/* ---- what is told ---------------------------------------------------------------------------- */

enum news_kind { NEWS_ITEM, NEWS_STEP, NEWS_LOST };

struct news {
    struct lk_node_task task;
    enum news_kind kind;
    int64_t feed;
    uint64_t item;
    lk_work_step step;
    lk_work_counts counts;
    lk_outcome refusal; /* LK_OK: none */
    lk_error why;
    char *queue, *id, *owner, *row_id; /* copies */
    void *value;
    lk_claim_info claim; /* of those */
};

static void news_free(struct news *news) {
    free(news->queue);
    free(news->id);
    free(news->owner);
    free(news->row_id);
    free(news->value);
    free(news);
}

static void news_settle(napi_env env, struct lk_node_task *task) {
    static const char *const kinds[] = {"item", "step", "lost"};
    struct news *news = (struct news *)task;

    if (env != NULL) {
        napi_value what = lk_node_object(env);

        lk_node_set_text(env, what, "kind", kinds[news->kind]);
        lk_node_set_number(env, what, "number", news->feed);
        lk_node_set_number(env, what, "item", (int64_t)news->item);
        if (news->kind == NEWS_STEP) {
            napi_value counts = lk_node_object(env);

            lk_node_set_number(env, what, "step", news->step);
            lk_node_set_counts(env, counts, &news->counts);
            lk_node_set(env, what, "counts", counts);
            if (news->refusal != LK_OK) {
                napi_value refusal = lk_node_object(env);

                lk_node_set_number(env, refusal, "outcome", news->refusal);
                lk_node_set_text(env, refusal, "text", news->why.text);
                lk_node_set(env, what, "refusal", refusal);
            }
        } else if (news->kind == NEWS_ITEM) {
            lk_node_set_claim(env, what, &news->claim);
        }
        lk_node_tell(env, what);
    }
    news_free(news);
}

static char *copy_text(const char *text) {
    return text == NULL ? NULL : strdup(text);
}

static struct news *news_of_claim(const lk_claim_info *claim) {
    struct news *news = calloc(1, sizeof *news);

    if (news == NULL) {
        return NULL;
    }
    news->queue = copy_text(claim->queue);
    news->id = copy_text(claim->id);
    news->owner = copy_text(claim->owner);
    news->row_id = copy_text(claim->row_id);
    news->value = claim->value == NULL ? NULL : malloc(claim->value_size + 1);
    if (news->value != NULL) {
        (void)memcpy(news->value, claim->value, claim->value_size);
    }
    if (news->queue == NULL || news->id == NULL || news->owner == NULL
        || (news->value == NULL && claim->value != NULL)) {
        news_free(news);
        return NULL;
    }
    news->claim = *claim;
    news->claim.queue = news->queue;
    news->claim.id = news->id;
    news->claim.owner = news->owner;
    news->claim.row_id = news->row_id;
    news->claim.value = news->value;
    return news;
}

static void news_send(struct feed *feed, struct news *news) {
    news->feed = feed->number;
    news->task.home = feed->thing.home;
    news->task.settle = news_settle;
    lk_node_notice(feed->thing.home, &news->task);
}

/* ---- the worker's thread --------------------------------------------------------------------- */

/* In a thread of the library. The claim does not end, and no item begins, before it returns. */
static void lost(void *context, lk_lease *lease) {
    struct feed *feed = context;
    struct news *news = NULL;
    uint64_t item;
    bool is_ending;

    (void)lease;
    (void)pthread_mutex_lock(&feed->mutex);
    item = feed->item;
    is_ending = feed->is_ending;
    (void)pthread_mutex_unlock(&feed->mutex);
    if (!is_ending) {
        news = calloc(1, sizeof *news);
    }
    if (news != NULL) {
        news->item = item;
        news->kind = NEWS_LOST;
        news_send(feed, news);
    }
}

/* The number of the item that begins; 0: the feed is closing, and the item goes back untold. */
static uint64_t begin_item(struct feed *feed, lk_lease *lease) {
    uint64_t item = 0;

    (void)pthread_mutex_lock(&feed->mutex);
    if (!feed->is_closing) {
        item = ++feed->item;
        feed->lease = lease;
        feed->is_decided = false;
        feed->has_exit = false;
        feed->failure_size = 0;
        feed->is_ending = false;
        feed->refusal = LK_OK;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    return item;
}

static bool is_closing(struct feed *feed) {
    bool closing;

    (void)pthread_mutex_lock(&feed->mutex);
    closing = feed->is_closing;
    (void)pthread_mutex_unlock(&feed->mutex);
    return closing;
}

/* The verdict on an item whose ending was refused, or may not have reached the store. The latter is
 * given back: to end it without its result would lose that. */
static int refuse(struct feed *feed, lk_outcome outcome, const lk_error *error) {
    int verdict = outcome == LK_UNAVAILABLE ? LK_WORK_GIVE_BACK : VERDICT_FAILED;

    (void)pthread_mutex_lock(&feed->mutex);
    feed->refusal = outcome;
    feed->why = *error;
    feed->verdict = verdict;
    feed->failure_size = strlen(error->text);
    (void)memcpy(feed->failure, error->text, feed->failure_size);
    (void)pthread_mutex_unlock(&feed->mutex);
    return verdict;
}

/*
 * Ends the claim with a result. Returns what lk_work(), which knows of none, has to do: to end as
 * done what is done already changes nothing (R16).
 */
static int end_with_result(struct feed *feed, const lk_claim_info *claim, const lk_lease *lease,
                           const struct ending *ending) {
    const lk_done_request request = {.size = sizeof request,
                                     .queue = claim->queue,
                                     .id = claim->id,
                                     .owner = claim->owner,
                                     .token = claim->token,
                                     .result = ending->result,
                                     .result_size = ending->size,
                                     .keep_ms = ending->keep_ms};
    lk_error error = {0};
    lk_outcome outcome;
    bool is_last;

    do {
        is_last = is_closing(feed) || lk_lease_is_lost(lease);
        outcome = lk_done_item(feed->store, &request, &error);
    } while (outcome == LK_UNAVAILABLE && !is_last);
    if (outcome == LK_OK || outcome == LK_LOST) {
        return VERDICT_DONE;
    }
    return refuse(feed, outcome, &error);
}

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct feed *feed = context;
    struct news *news = news_of_claim(claim);
    struct ending *ending;
    int verdict;

    if (news == NULL) {
        return VERDICT_FAILED; /* no memory: later */
    }
    news->item = begin_item(feed, lease);
    if (news->item == 0) {
        news_free(news);
        return LK_WORK_GIVE_BACK;
    }
    news_send(feed, news);
    lk_lease_on_lost(lease, lost, feed);
    (void)pthread_mutex_lock(&feed->mutex);
    while (!feed->is_decided) {
        (void)pthread_cond_wait(&feed->decided, &feed->mutex);
    }
    verdict = feed->verdict;
    feed->lease = NULL;
    ending = feed->ending;
    feed->ending = NULL;
    (void)pthread_mutex_unlock(&feed->mutex);
    if (ending != NULL) {
        verdict = end_with_result(feed, claim, lease, ending);
        ending_free(ending);
    }
    return verdict;
}

static void progress(void *context, const lk_work_progress *step) {
    struct feed *feed = context;
    struct news *news;

    if (step->claim == NULL || step->step == LK_WORK_CLAIMED) {
        return;
    }
    news = calloc(1, sizeof *news);
    if (news != NULL) {
        (void)pthread_mutex_lock(&feed->mutex);
        news->item = feed->item;
        news->refusal = feed->refusal;
        news->why = feed->why;
        (void)pthread_mutex_unlock(&feed->mutex);
        news->kind = NEWS_STEP;
        news->step = step->step;
        news->counts = step->counts;
        news_send(feed, news);
    }
}

/* What it refers to stays until the next item. */
static void explain(void *context, const lk_claim_info *claim, lk_work_failure *ret_failure) {
    struct feed *feed = context;

    (void)claim;
    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->failure_size > 0) {
        ret_failure->text = feed->failure;
        ret_failure->text_size = feed->failure_size;
    }
    ret_failure->has_exit = feed->has_exit;
    ret_failure->exit_code = feed->exit_code;
    ret_failure->has_delay = feed->has_delay;
    ret_failure->delay_ms = feed->delay_ms;
    ret_failure->uncounted = feed->is_uncounted;
    ret_failure->parks = feed->verdict == PARKED;
    (void)pthread_mutex_unlock(&feed->mutex);
}

/* ---- the feed -------------------------------------------------------------------------------- */

/* Ends the claiming. The present item stays with its handler, unless it is to be given back. */
static void end_claiming(struct feed *feed, bool gives_back) {
    if (feed->cancel != NULL) { /* before the item is decided on, or the next one is claimed */
        lk_cancel_now(feed->cancel);
    }
    (void)pthread_mutex_lock(&feed->mutex);
    feed->is_closing = true;
    if (gives_back && !feed->is_decided) {
        feed->is_decided = true;
        feed->verdict = LK_WORK_GIVE_BACK;
        (void)pthread_cond_broadcast(&feed->decided);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
}

/* The environment ends, or nothing refers to the feed: no handler runs any more. */
static void feed_stop(struct lk_node_thing *thing) {
    end_claiming((struct feed *)thing, true);
}

static void feed_end(struct lk_node_thing *thing) {
    struct feed *feed = (struct feed *)thing;

    lk_cancel_free(feed->cancel);
    feed->cancel = NULL;
}

struct work_call {
    struct lk_node_call call;
    struct feed *feed; /* counted */
    lk_work_options options;
    lk_work_table table;
    lk_work_counts counts;
};

static void work_run(struct lk_node_call *call) {
    struct work_call *work = (struct work_call *)call;

    work->feed->store = call->store->handle;
    call->outcome = lk_work(call->store->handle, &work->options, &work->counts, &call->error);
}

static void work_fill(napi_env env, struct lk_node_call *call, napi_value answer) {
    struct work_call *work = (struct work_call *)call;
    napi_value counts = lk_node_object(env);

    lk_node_set_counts(env, counts, &work->counts);
    lk_node_set(env, answer, "counts", counts);
}

static void work_destroy(struct lk_node_call *call) {
    lk_node_thing_drop(((struct work_call *)call)->feed);
}

/* feedMake(number): its items will be told with this number. */
static napi_value feed_make(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct feed *feed;

    lk_node_arguments(env, info, arguments);
    feed = lk_node_thing_new(lk_node_home(env), sizeof *feed, feed_stop, feed_end);
    if (feed == NULL) {
        (void)napi_throw_error(env, NULL, "no memory for work");
        return NULL;
    }
    (void)napi_get_value_int64(env, arguments[0], &feed->number);
    (void)pthread_mutex_init(&feed->mutex, NULL);
    (void)pthread_cond_init(&feed->decided, NULL);
    feed->is_decided = true;
    feed->thing.is_stopped_when_collected = true;
    feed->cancel = lk_cancel_new();
    return lk_node_thing_wrap(env, feed, &lk_node_feed_tag);
}

const lk_work_table *lk_node_table(struct lk_node_call *call, napi_value given,
                                   lk_work_table *table) {
    table->size = sizeof *table;
    table->name = lk_node_text(call, lk_node_get(call, given, "name"));
    table->id = lk_node_text(call, lk_node_get(call, given, "id"));
    table->where = lk_node_text(call, lk_node_get(call, given, "where"));
    table->order = lk_node_text(call, lk_node_get(call, given, "order"));
    table->done = lk_node_text(call, lk_node_get(call, given, "done"));
    return table->name == NULL ? NULL : table;
}

static void options_read(struct lk_node_call *call, napi_value given, lk_work_options *options) {
    options->size = sizeof *options;
    options->queue = lk_node_text(call, lk_node_get(call, given, "queue"));
    options->note = lk_node_text(call, lk_node_get(call, given, "note"));
    options->ttl_ms = lk_node_integer(call, lk_node_get(call, given, "ttl"), 0);
    options->max_attempts =
        (uint32_t)lk_node_integer(call, lk_node_get(call, given, "maxAttempts"), 0);
    options->retry_min_ms = lk_node_integer(call, lk_node_get(call, given, "retryMin"), 0);
    options->retry_max_ms = lk_node_integer(call, lk_node_get(call, given, "retryMax"), 0);
    options->patience_ms = lk_node_integer(call, lk_node_get(call, given, "patience"), 0);
    options->drain = lk_node_flag(call, lk_node_get(call, given, "drain"));
}

/* feedRun(store, feed, options): the promise of its end. */
static napi_value feed_run(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct work_call *work;
    struct feed *feed;

    lk_node_arguments(env, info, arguments);
    feed = lk_node_thing_of(env, arguments[1], &lk_node_feed_tag);
    work = feed == NULL ? NULL : lk_node_store_call(env, arguments[0], sizeof *work, work_run);
    if (work == NULL) {
        return NULL;
    }
    work->call.fill = work_fill;
    work->call.destroy = work_destroy;
    work->feed = lk_node_thing_hold(feed);
    options_read(&work->call, arguments[2], &work->options);
    work->options.table =
        lk_node_table(&work->call, lk_node_get(&work->call, arguments[2], "table"), &work->table);
    work->options.handle = handle;
    work->options.progress = progress;
    work->options.explain = explain;
    work->options.context = feed;
    work->options.workers = 1;
    work->options.cancel = feed->cancel;
    return lk_node_call_start(&work->call, LK_NODE_WAIT);
}

/* ---- the loop's side ------------------------------------------------------------------------- */

static struct feed *feed_first(napi_env env, napi_callback_info info, napi_value *arguments) {
    lk_node_arguments(env, info, arguments);
    return lk_node_thing_of(env, arguments[0], &lk_node_feed_tag);
}

static void decide_locked(struct feed *feed, int32_t verdict, const void *failure, size_t size) {
    feed->is_decided = true;
    feed->verdict = verdict;
    feed->failure_size = size < sizeof feed->failure ? size : sizeof feed->failure;
    if (feed->failure_size > 0) {
        (void)memcpy(feed->failure, failure, feed->failure_size);
    }
    (void)pthread_cond_broadcast(&feed->decided);
}

/* feedDecide(feed, item, verdict, failure, exitCode, delay, uncounted): whether it was not decided
 * on before. */
static napi_value feed_decide(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], answer = NULL;
    struct feed *feed = feed_first(env, info, arguments);
    int64_t item = 0, delay_ms = 0;
    int32_t verdict = 0, exit_code = 0;
    bool is_mine, has_exit, has_delay, is_uncounted = false;
    void *failure = NULL;
    size_t size = 0;

    if (feed == NULL) {
        return NULL;
    }
    (void)napi_get_value_int64(env, arguments[1], &item);
    (void)napi_get_value_int32(env, arguments[2], &verdict);
    (void)napi_get_buffer_info(env, arguments[3], &failure, &size);
    has_exit = napi_get_value_int32(env, arguments[4], &exit_code) == napi_ok;
    has_delay = napi_get_value_int64(env, arguments[5], &delay_ms) == napi_ok;
    (void)napi_get_value_bool(env, arguments[6], &is_uncounted);
    (void)pthread_mutex_lock(&feed->mutex);
    is_mine = !feed->is_decided && feed->item == (uint64_t)item;
    if (is_mine) {
        feed->has_exit = has_exit;
        feed->exit_code = exit_code;
        feed->has_delay = has_delay;
        feed->delay_ms = delay_ms;
        feed->is_uncounted = is_uncounted;
        decide_locked(feed, verdict, failure, size);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    (void)napi_get_boolean(env, is_mine, &answer);
    return answer;
}

static struct ending *ending_new(const void *result, size_t size, int64_t keep_ms) {
    struct ending *ending = calloc(1, sizeof *ending);

    if (ending == NULL) {
        return NULL;
    }
    ending->keep_ms = keep_ms;
    if (result != NULL) {
        ending->size = size;
        ending->result = malloc(size + 1);
        if (ending->result == NULL) {
            free(ending);
            return NULL;
        }
        (void)memcpy(ending->result, result, size);
    }
    return ending;
}

/* feedDone(feed, item, result, keep): as feedDecide(), with what it is done. */
static napi_value feed_done(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], answer = NULL;
    struct feed *feed = feed_first(env, info, arguments);
    int64_t item = 0, keep_ms = 0;
    struct ending *ending;
    void *result = NULL;
    bool is_mine;
    size_t size = 0;

    if (feed == NULL) {
        return NULL;
    }
    (void)napi_get_value_int64(env, arguments[1], &item);
    (void)napi_get_buffer_info(env, arguments[2], &result, &size);
    (void)napi_get_value_int64(env, arguments[3], &keep_ms);
    ending = ending_new(result, size, keep_ms); /* an empty result is none (R16) */
    if (ending == NULL) {
        (void)napi_throw_error(env, NULL, "no memory for a result");
        return NULL;
    }
    (void)pthread_mutex_lock(&feed->mutex);
    is_mine = !feed->is_decided && feed->item == (uint64_t)item;
    if (is_mine) {
        feed->has_exit = feed->has_delay = feed->is_uncounted = false;
        feed->is_ending = true;
        feed->ending = ending;
        decide_locked(feed, VERDICT_DONE, NULL, 0);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    if (!is_mine) {
        ending_free(ending);
    }
    (void)napi_get_boolean(env, is_mine, &answer);
    return answer;
}

/* feedStop(feed, givesBack): claims no more; whether the present item is given back. */
static napi_value feed_stop_now(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX];
    struct feed *feed = feed_first(env, info, arguments);
    bool gives_back = false;

    if (feed != NULL) {
        (void)napi_get_value_bool(env, arguments[1], &gives_back);
        end_claiming(feed, gives_back);
    }
    return NULL;
}

/* feedRemaining(feed, item): milliseconds left of the item's claim; 0: lost, or it has ended. */
static napi_value feed_remaining(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], answer = NULL;
    struct feed *feed = feed_first(env, info, arguments);
    int64_t item = 0, ms = 0;

    if (feed == NULL) {
        return NULL;
    }
    (void)napi_get_value_int64(env, arguments[1], &item);
    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->lease != NULL && feed->item == (uint64_t)item) {
        ms = lk_lease_remaining_ms(feed->lease);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    (void)napi_create_int64(env, ms, &answer);
    return answer;
}

/* feedLost(feed, item): whether the item's claim is lost; false once the item is decided on. */
static napi_value feed_lost(napi_env env, napi_callback_info info) {
    napi_value arguments[LK_NODE_ARGUMENTS_MAX], answer = NULL;
    struct feed *feed = feed_first(env, info, arguments);
    int64_t item = 0;
    bool is_lost;

    if (feed == NULL) {
        return NULL;
    }
    (void)napi_get_value_int64(env, arguments[1], &item);
    (void)pthread_mutex_lock(&feed->mutex);
    is_lost =
        feed->lease != NULL && feed->item == (uint64_t)item && lk_lease_is_lost(feed->lease);
    (void)pthread_mutex_unlock(&feed->mutex);
    (void)napi_get_boolean(env, is_lost, &answer);
    return answer;
}

void lk_node_work_open(napi_env env, napi_value exports) {
    static const struct lk_node_function functions[] = {
        {"feedMake", feed_make},           {"feedRun", feed_run},
        {"feedDecide", feed_decide},       {"feedStop", feed_stop_now},
        {"feedRemaining", feed_remaining}, {"feedLost", feed_lost},
        {"feedDone", feed_done},           {NULL, NULL},
    };

    lk_node_functions(env, exports, functions);
}
