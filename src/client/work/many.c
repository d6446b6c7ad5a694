/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about several items of a queue (R16), each one decision of the store; but for all
 * parked items, which are taken page by page. */
#include <stdlib.h>

#include "base/error.h"
#include "client/checked.h"
#include "client/wait.h"
#include "client/work/claim.h"
#include "engine/reply/reply.h"

_Static_assert(LK_MANY_MAX == LK_DECIDE_MANY_MAX, "one call is one decision");

/* ---- series ---------------------------------------------------------------------------------- */

/* Commands of one kind for one queue, and their answers. */
struct many {
    lk_store *store;
    struct lk_command *commands;
    size_t count;
    struct lk_series series;
};

static void done(struct many *many) {
    lk_series_done(&many->series);
    free(many->series.answers);
    free(many->commands);
}

/* Room for `count` commands. done() ends it, whatever the outcome. */
static lk_outcome begin(struct many *many, lk_store *store, size_t count, lk_error *error) {
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_BATCHES, error);

    *many = (struct many){.store = store, .count = count};
    if (outcome == LK_OK && (count < 1 || count > LK_MANY_MAX)) {
        outcome = lk_error_set(error, LK_INVALID, "R16: a call is about 1 to %d items, not %zu",
                               LK_MANY_MAX, count);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    many->commands = calloc(count, sizeof *many->commands);
    many->series.answers = calloc(count, sizeof *many->series.answers);
    return many->commands != NULL && many->series.answers != NULL
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "no memory for %zu items", count);
}

static size_t count_of(const struct many *many, lk_outcome outcome) {
    size_t count = 0;

    for (size_t i = 0; i < many->series.count; i++) {
        count += many->series.answers[i].outcome == outcome;
    }
    return count;
}

/* Decides the commands. LK_OK: each has an answer; else the store's outcome. */
static lk_outcome decide(struct many *many, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_engine *engine = many->store->engine;
    lk_outcome outcome = engine->ops->batches->decide_many(engine, many->commands, many->count,
                                                           &patience, &many->series);

    return lk_error_set(error, outcome, "%s", many->series.error.text);
}

/* What the answers come to: LK_OK, or `refusal` where it is the answer of any. */
static lk_outcome sum_up(const struct many *many, lk_outcome refusal, lk_error *error) {
    return count_of(many, refusal) > 0 ? lk_error_set(error, refusal, "%s", many->series.error.text)
                                       : lk_error_clear(error, LK_OK);
}

static void give_count(const struct many *many, uint64_t *ret_count) {
    if (ret_count != NULL) {
        *ret_count = count_of(many, LK_OK);
    }
}

/* ---- pushing --------------------------------------------------------------------------------- */

/* The requests are as far apart as the caller's version of the struct is large. */
static const lk_push_request *request_at(const lk_push_request *requests, size_t at) {
    return (const lk_push_request *)((const char *)requests + at * requests->size);
}

static lk_outcome read_pushes(struct many *many, const lk_push_request *requests,
                              struct lk_part *needs, lk_error *error) {
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; outcome == LK_OK && i < many->count; i++) {
        outcome = lk_push_command(many->store, request_at(requests, i), needs + i * LK_NEEDS_MAX,
                                  &many->commands[i], error);
        if (outcome == LK_OK
            && !lk_path_equal(&many->commands[i].push.queue, &many->commands[0].push.queue)) {
            outcome = lk_error_set(error, LK_INVALID, "R16: all items are pushed into one queue");
        }
    }
    return outcome;
}

static void count_pushes(const struct many *many, lk_push_counts *ret_counts) {
    *ret_counts = (lk_push_counts){.added = 0};
    for (size_t i = 0; i < many->series.count; i++) {
        const struct lk_series_answer *answer = &many->series.answers[i];

        ret_counts->added += answer->outcome == LK_OK && answer->pushed.added;
        ret_counts->duplicates += answer->outcome == LK_OK && !answer->pushed.added;
        ret_counts->changed += answer->outcome == LK_OK && answer->pushed.changed;
    }
}

lk_outcome lk_push_many(lk_store *store, const lk_push_request *requests, size_t count,
                        lk_push_counts *ret_counts, lk_error *error) {
    struct many many;
    struct lk_part *needs = NULL;
    lk_outcome outcome = begin(&many, store, count, error);

    if (outcome == LK_OK) {
        needs = calloc(count, LK_NEEDS_MAX * sizeof *needs);
        outcome = needs != NULL
                      ? read_pushes(&many, requests, needs, error)
                      : lk_error_set(error, LK_INTERNAL, "no memory for %zu items", count);
    }
    if (outcome == LK_OK) {
        outcome = decide(&many, error);
    }
    if (outcome == LK_OK) {
        if (ret_counts != NULL) {
            count_pushes(&many, ret_counts);
        }
        outcome = sum_up(&many, LK_FULL, error);
    }
    free(needs);
    done(&many);
    return outcome;
}

/* ---- ending several claims ------------------------------------------------------------------- */

lk_outcome lk_done_many(lk_store *store, const char *queue, const char *const *ids, size_t count,
                        const char *owner, uint64_t token, uint64_t *ret_done, lk_error *error) {
    struct many many;
    struct lk_path path;
    struct lk_item_path item;
    lk_outcome outcome = begin(&many, store, count, error);

    if (outcome == LK_OK) {
        outcome = lk_path_parse(lk_slice_of(queue), &path, error);
    }
    if (outcome == LK_OK) {
        outcome = owner != NULL ? lk_checked_owner(owner, error)
                                : lk_error_set(error, LK_INVALID, "R16: an owner must be named");
    }
    for (size_t i = 0; outcome == LK_OK && i < count; i++) {
        struct lk_finish *finish = &many.commands[i].finish;

        many.commands[i].kind = LK_COMMAND_FINISH;
        *finish = (struct lk_finish){.queue = path,
                                     .id = lk_slice_of(ids[i]),
                                     .owner = lk_slice_of(owner),
                                     .token = token,
                                     .kind = LK_FINISH_DONE};
        outcome = lk_finish_check(finish, &item, error);
    }
    if (outcome == LK_OK) {
        outcome = decide(&many, error);
    }
    if (outcome == LK_OK) {
        give_count(&many, ret_done);
        outcome = sum_up(&many, LK_LOST, error);
    }
    done(&many);
    return outcome;
}

/* ---- dropping and reviving ------------------------------------------------------------------- */

/* An unpark or a drop, as `like` is, of this item. */
static lk_outcome make_command(const struct lk_command *like, const struct lk_path *queue,
                               const char *id, struct lk_command *ret_command, lk_error *error) {
    struct lk_item_path item;

    *ret_command = *like;
    if (like->kind == LK_COMMAND_UNPARK) {
        ret_command->unpark = (struct lk_unpark){.queue = *queue, .id = lk_slice_of(id)};
    } else {
        ret_command->drop.queue = *queue;
        ret_command->drop.id = lk_slice_of(id);
    }
    return lk_item_path_make(queue, lk_slice_of(id), &item, error);
}

lk_outcome lk_drop(lk_store *store, const char *queue, const char *const *ids, size_t count,
                   uint64_t *ret_dropped, lk_error *error) {
    const struct lk_command drop = {.kind = LK_COMMAND_DROP};
    struct many many;
    struct lk_path path;
    lk_outcome outcome = begin(&many, store, count, error);

    if (outcome == LK_OK) {
        outcome = lk_path_parse(lk_slice_of(queue), &path, error);
    }
    for (size_t i = 0; outcome == LK_OK && i < count; i++) {
        outcome = make_command(&drop, &path, ids[i], &many.commands[i], error);
    }
    if (outcome == LK_OK) {
        outcome = decide(&many, error);
    }
    if (outcome == LK_OK) {
        give_count(&many, ret_dropped);
        outcome = sum_up(&many, LK_LOST, error);
    }
    done(&many);
    return outcome;
}

/* The command for each of the items; *count grows by those that it was done to. */
static lk_outcome decide_list(lk_store *store, const struct lk_command *like,
                              const struct lk_path *queue, const lk_item_list *list,
                              uint64_t *count, lk_error *error) {
    struct many many;
    lk_outcome outcome = begin(&many, store, list->count, error);

    for (size_t i = 0; outcome == LK_OK && i < list->count; i++) {
        outcome = make_command(like, queue, list->items[i].id, &many.commands[i], error);
    }
    if (outcome == LK_OK) {
        outcome = decide(&many, error);
    }
    if (outcome == LK_OK) {
        *count += count_of(&many, LK_OK); /* the others are not parked any more */
    }
    done(&many);
    return outcome;
}

/* The command for all parked items of a queue, page by page. */
static lk_outcome decide_parked(lk_store *store, const char *queue, const struct lk_command *like,
                                uint64_t *ret_count, lk_error *error) {
    struct lk_path path;
    struct lk_parked_query query = {.queue = &path, .max = LK_DECIDE_MANY_MAX};
    uint64_t count = 0;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_BATCHES, queue, &path, error);

    do {
        const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
        lk_item_list *list = NULL;

        if (outcome == LK_OK) {
            outcome = store->engine->ops->batches->parked(store->engine, &query, &patience, &list,
                                                          &query.behind, error);
        }
        if (outcome == LK_OK && list->count > 0) {
            outcome = decide_list(store, like, &path, list, &count, error);
        }
        lk_item_list_free(list);
    } while (outcome == LK_OK && query.behind != 0);
    if (ret_count != NULL) {
        *ret_count = count;
    }
    return outcome;
}

lk_outcome lk_unpark_all(lk_store *store, const char *queue, uint64_t *ret_unparked,
                         lk_error *error) {
    const struct lk_command unpark = {.kind = LK_COMMAND_UNPARK};

    return decide_parked(store, queue, &unpark, ret_unparked, error);
}

lk_outcome lk_drop_parked(lk_store *store, const char *queue, uint64_t *ret_dropped,
                          lk_error *error) {
    const struct lk_command drop = {.kind = LK_COMMAND_DROP, .drop.only_parked = true};

    return decide_parked(store, queue, &drop, ret_dropped, error);
}

/* ---- claims of several items in one decision ------------------------------------------------- */

bool lk_claim_begin_series(struct lk_claiming *claiming, size_t max) {
    claiming->max = max;
    claiming->commands = calloc(max, sizeof *claiming->commands);
    claiming->series = calloc(1, sizeof *claiming->series);
    if (claiming->series != NULL) {
        claiming->series->answers = calloc(max, sizeof *claiming->series->answers);
    }
    if (claiming->commands == NULL || claiming->series == NULL
        || claiming->series->answers == NULL) {
        lk_claim_end_series(claiming);
        return false;
    }
    return true;
}

void lk_claim_end_series(struct lk_claiming *claiming) {
    if (claiming->series != NULL) {
        lk_series_done(claiming->series);
        free(claiming->series->answers);
    }
    free(claiming->series);
    free(claiming->commands);
    claiming->series = NULL;
    claiming->commands = NULL;
}

/* Only the answer that makes a claim says that the item was stolen, its repetition does not. */
static void keep_stolen(struct lk_series *series, const bool stolen[LK_TAKES_MAX]) {
    for (size_t i = 0; i < series->count; i++) {
        lk_claim_info *claim = series->answers[i].claim;

        if (claim != NULL) {
            claim->is_stolen = claim->is_stolen || stolen[i];
        }
    }
}

lk_outcome lk_claim_take_series(struct lk_claiming *claiming, const struct lk_patience *patience,
                                struct lk_decision *ret_decision) {
    struct lk_engine *engine = claiming->store->engine;
    struct lk_series *series = claiming->series;
    bool stolen[LK_TAKES_MAX] = {false};

    for (size_t i = 0; i < series->count; i++) {
        stolen[i] = series->answers[i].claim != NULL && series->answers[i].claim->is_stolen;
    }
    lk_series_done(series);
    for (size_t i = 0; i < claiming->max; i++) {
        claiming->commands[i] = claiming->command;
        claiming->commands[i].take.ask_number += i;
    }
    lk_decision_begin(ret_decision, &claiming->command);
    if (engine->ops->batches->decide_many(engine, claiming->commands, claiming->max, patience,
                                          series)
        != LK_OK) {
        return lk_decision_fail(ret_decision, series->error.outcome, "%s", series->error.text);
    }
    keep_stolen(series, stolen);
    ret_decision->claim = series->answers[0].claim;
    series->answers[0].claim = NULL;
    ret_decision->cursor = series->cursor;
    ret_decision->cursor.command = &claiming->command;
    return lk_error_set(&ret_decision->error, series->answers[0].outcome, "%s", series->error.text);
}
