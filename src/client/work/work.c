/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about work (R16) that do not wait; claims are in claim.c, pools in pool.c. */
#include "base/error.h"
#include "client/answer.h"
#include "client/checked.h"
#include "client/wait.h"
#include "client/work/claim.h"
#include "client/work/finder.h"

/* From which counters on lk_stats_hint() has a hint. */
enum {
    HINT_CLAIMS_MIN = 20,
    HINT_CLAIMS_PER_STEAL = 10,     /* up to one steal in so many claims is normal */
    HINT_DUPLICATES_PER_PUSHED = 3, /* and up to so many duplicates for each item */
};

/* The queue, of a store that is capable of work, and an id. They borrow the caller's texts. */
static lk_outcome check_item(const lk_store *store, const char *queue, const char *id,
                             struct lk_path *ret_queue, struct lk_slice *ret_id, lk_error *error) {
    *ret_id = lk_slice_of(id);
    return lk_checked_path(store, LK_CAN_WORK, queue, ret_queue, error);
}

/* ---- adding ---------------------------------------------------------------------------------- */

lk_outcome lk_push_item(lk_store *store, const lk_push_request *request, lk_push_result *ret_result,
                        lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_part needs[LK_NEEDS_MAX];
    struct lk_command command;
    struct lk_decision decision;
    lk_outcome outcome = lk_push_command(store, request, needs, &command, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = store->engine->ops->decide(store->engine, &command, &patience, &decision);
    if (outcome == LK_OK && decision.pushed.added != (decision.pushed.was == NULL)) {
        outcome = lk_error_set(&decision.error, LK_INTERNAL,
                               "the store has not said whether it had the item");
    }
    if (outcome == LK_OK && ret_result != NULL) {
        *ret_result = decision.pushed;
    }
    return lk_answer_end(&decision, error);
}

lk_outcome lk_push(lk_store *store, const lk_push_request *request, bool *ret_added,
                   lk_error *error) {
    lk_push_result result;
    lk_outcome outcome = lk_push_item(store, request, &result, error);

    if (outcome == LK_OK && ret_added != NULL) {
        *ret_added = result.added;
    }
    return outcome;
}

/* ---- ending a claim -------------------------------------------------------------------------- */

/* `source` NULL: the queue is no table, or its row is not of interest. */
static lk_outcome finish(lk_store *store, const struct lk_source *source, const char *queue,
                         const char *id, const char *owner, const struct lk_finish *given,
                         lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_command command = {.kind = LK_COMMAND_FINISH, .finish = *given};
    struct lk_finish *finish = &command.finish;
    struct lk_decision decision;
    struct lk_item_path item;
    lk_outcome outcome = check_item(store, queue, id, &finish->queue, &finish->id, error);

    if (outcome == LK_OK) {
        outcome = owner != NULL ? lk_checked_owner(owner, error)
                                : lk_error_set(error, LK_INVALID, "R16: an owner must be named");
    }
    if (outcome == LK_OK) {
        finish->owner = lk_slice_of(owner);
        outcome = lk_finish_check(finish, &item, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    (void)lk_claim_decide(&(struct lk_claiming){.store = store, .source = source}, &command,
                          &patience, &decision);
    return lk_answer_end(&decision, error);
}

lk_outcome lk_done(lk_store *store, const char *queue, const char *id, const char *owner,
                   uint64_t token, lk_error *error) {
    const struct lk_finish done = {.kind = LK_FINISH_DONE, .token = token};

    return finish(store, NULL, queue, id, owner, &done, error);
}

lk_outcome lk_done_row(lk_store *store, const char *queue, const lk_work_table *table,
                       const char *id, const char *owner, uint64_t token, lk_error *error) {
    const struct lk_finish done = {.kind = LK_FINISH_DONE, .token = token};
    char path[LK_QUEUE_TEXT_MAX];
    struct lk_table_text text;
    lk_outcome outcome = lk_table_text_make(store, queue, table, &text, error);

    if (outcome == LK_OK && token == 0) {
        /* The statement runs for the claim that it marks, and never for another one. */
        outcome = lk_error_set(error, LK_INVALID, "R17: the claim's token must be named");
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    *(char *)mempcpy(path, text.source.queue.bytes, text.source.queue.size) = '\0';
    return finish(store, &text.source, path, id, owner, &done, error);
}

/* A store that does not decide on several items together keeps no results and no progress. */
static lk_outcome check_can_keep(const lk_store *store, lk_error *error) {
    return lk_store_check_can(store, LK_CAN_BATCHES, error);
}

lk_outcome lk_done_item(lk_store *store, const lk_done_request *request, lk_error *error) {
    lk_done_request known;
    struct lk_finish done = {.kind = LK_FINISH_DONE};
    lk_outcome outcome = lk_checked_copy(&known, sizeof known, request, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_value(known.result, known.result_size, error);
    }
    if (outcome == LK_OK && (known.keep_ms != 0 || known.result != NULL)) {
        outcome = check_can_keep(store, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    done.token = known.token;
    done.result = (struct lk_slice){known.result, known.result != NULL ? known.result_size : 0};
    done.keep_ms = known.keep_ms;
    return finish(store, NULL, known.queue, known.id, known.owner, &done, error);
}

lk_outcome lk_progress(lk_store *store, const char *queue, const char *id, const char *owner,
                       uint64_t token, const void *text, size_t text_size, lk_error *error) {
    const struct lk_finish progress = {.kind = LK_FINISH_PROGRESS,
                                       .token = token,
                                       .progress = {text, text != NULL ? text_size : 0}};
    lk_outcome outcome = check_can_keep(store, error);

    return outcome == LK_OK ? finish(store, NULL, queue, id, owner, &progress, error) : outcome;
}

lk_outcome lk_retry(lk_store *store, const char *queue, const char *id, const char *owner,
                    uint64_t token, int64_t delay_ms, lk_error *error) {
    const struct lk_finish retry = {.kind = LK_FINISH_RETRY, .token = token, .delay_ms = delay_ms};

    return finish(store, NULL, queue, id, owner, &retry, error);
}

lk_outcome lk_retry_failed(lk_store *store, const lk_retry_request *request, lk_error *error) {
    lk_retry_request known;
    struct lk_finish retry = {.kind = LK_FINISH_RETRY};
    lk_outcome outcome = lk_checked_copy(&known, sizeof known, request, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    retry.token = known.token;
    retry.delay_ms = known.delay_ms;
    retry.is_uncounted = known.uncounted;
    retry.parks = known.parks;
    retry.failure =
        (struct lk_item_failure){.has_exit = known.has_exit,
                                 .exit_code = known.exit_code,
                                 .text = {known.error, known.error != NULL ? known.error_size : 0}};
    if (lk_item_failure_is_given(&retry.failure)) {
        outcome = lk_store_check_can(store, LK_CAN_BATCHES, error);
    }
    return outcome == LK_OK ? finish(store, NULL, known.queue, known.id, known.owner, &retry, error)
                            : outcome;
}

lk_outcome lk_unpark(lk_store *store, const char *queue, const char *id, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_command command = {.kind = LK_COMMAND_UNPARK};
    struct lk_unpark *unpark = &command.unpark;
    struct lk_decision decision;
    struct lk_item_path item;
    lk_outcome outcome = check_item(store, queue, id, &unpark->queue, &unpark->id, error);

    if (outcome == LK_OK) {
        outcome = lk_item_path_make(&unpark->queue, unpark->id, &item, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    (void)store->engine->ops->decide(store->engine, &command, &patience, &decision);
    return lk_answer_end(&decision, error);
}

/* ---- reads ----------------------------------------------------------------------------------- */

lk_outcome lk_items(lk_store *store, const char *queue, lk_item_list **ret_list, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_path path;
    const struct lk_item_query query = {.queue = &path};
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &path, error);

    return outcome == LK_OK
               ? store->engine->ops->items(store->engine, &query, &patience, ret_list, error)
               : outcome;
}

lk_outcome lk_stats(lk_store *store, const char *queue, lk_queue_stats *ret_stats,
                    lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_path path;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &path, error);

    return outcome == LK_OK ? store->engine->ops->stats(store->engine, &path, LK_STATS_WHOLE,
                                                        &patience, ret_stats, error)
                            : outcome;
}

const char *lk_stats_hint(const lk_queue_stats *stats) {
    if (stats->claims < HINT_CLAIMS_MIN) {
        return NULL;
    }
    if (stats->steals > stats->claims / HINT_CLAIMS_PER_STEAL) {
        return "many claims perish and are stolen: workers die, or there are too many of them to "
               "keep their claims alive within the ttl";
    }
    if (stats->duplicates / HINT_DUPLICATES_PER_PUSHED > stats->pushed) {
        return "most of the work is announced many times over: there are too many finders";
    }
    return NULL;
}
