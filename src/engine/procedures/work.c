/* SPDX-License-Identifier: Apache-2.0 */
/* Items pushed, taken, finished, unparked, dropped (R16): one CALL each. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"
#include "engine/reply/reply.h"
#include "model/command_check.h"

/* Columns of lk_push_item(). */
enum { PUSH_ADDED, PUSH_CHANGED, PUSH_WAS };

/* Columns of lk_take(). */
enum {
    TAKE_OUTCOME,
    TAKE_SENTENCE,
    TAKE_ID,
    TAKE_TOKEN,
    TAKE_ATTEMPT,
    TAKE_STOLEN,
    TAKE_TTL_MS,
    TAKE_LEFT_US,
    TAKE_VALUE,
    TAKE_LOOK_US,
    TAKE_HAS_HELD,
};

static lk_push_result read_pushed(const struct lk_rows *rows) {
    bool was_there = !lk_row_is_null(rows, 0, PUSH_WAS);

    return (lk_push_result){
        .added = lk_row_boolean(rows, 0, PUSH_ADDED),
        .changed = lk_row_boolean(rows, 0, PUSH_CHANGED),
        .was =
            was_there ? lk_item_state_name(lk_item_state_of(lk_row_text(rows, 0, PUSH_WAS))) : NULL,
    };
}

static void add_bytes_if_any(struct lk_arguments *arguments, struct lk_slice bytes) {
    if (bytes.size > 0) {
        lk_arguments_add_bytes(arguments, bytes);
    } else {
        lk_arguments_add_null(arguments);
    }
}

lk_outcome lk_procedures_push(struct lk_procedures *store, const struct lk_push *push,
                              const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    struct lk_item_path item;
    lk_outcome outcome = lk_push_check(push, &item, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &push->queue);
    lk_arguments_add_text(&arguments, push->id);
    lk_arguments_add_root(&arguments, &push->queue);
    add_bytes_if_any(&arguments, push->value);
    lk_arguments_add_integer(&arguments, push->delay_ms);
    lk_arguments_add_parts(&arguments, push->needs, push->need_count);
    lk_arguments_add_roots(&arguments, push->needs, push->need_count);
    lk_arguments_add_integer(&arguments, push->priority);
    lk_arguments_add_integer(&arguments, push->kind);
    lk_arguments_add_integer(&arguments, push->keep_ms);
    outcome =
        lk_procedures_call(store, "lk_push_item", LK_ONCE, &arguments, patience, &rows, error);
    if (outcome == LK_OK) {
        decision->pushed = read_pushed(rows);
        lk_rows_free(rows);
        (void)lk_error_clear(error, LK_OK);
    }
    return outcome;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static bool fill_claim(const struct lk_rows *rows, int row, const struct lk_take *take,
                       lk_claim_info *claim) {
    int64_t left_us = lk_row_integer(rows, row, TAKE_LEFT_US);

    claim->queue = lk_text_copy((struct lk_slice){take->queue.bytes, take->queue.size});
    claim->id = lk_text_copy(lk_row_text(rows, row, TAKE_ID));
    claim->owner = lk_text_copy(take->owner);
    claim->token = (uint64_t)lk_row_integer(rows, row, TAKE_TOKEN);
    claim->attempt = (uint32_t)lk_row_integer(rows, row, TAKE_ATTEMPT);
    claim->is_stolen = lk_row_boolean(rows, row, TAKE_STOLEN);
    claim->ttl_ms = lk_row_integer(rows, row, TAKE_TTL_MS);
    claim->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
    if (!lk_row_is_null(rows, row, TAKE_VALUE)) {
        claim->value = lk_row_bytes(rows, row, TAKE_VALUE, &claim->value_size);
        if (claim->value == NULL) {
            return false;
        }
    }
    return claim->queue != NULL && claim->id != NULL && claim->owner != NULL;
}

lk_outcome lk_procedures_taken(const struct lk_rows *rows, int row, const struct lk_take *take,
                               uint64_t version, struct lk_decision *decision) {
    lk_outcome outcome = lk_row_outcome(rows, row, TAKE_OUTCOME);
    lk_claim_info *claim;

    if (outcome == LK_BUSY) {
        decision->cursor.version = version;
        decision->cursor.in_the_way = lk_row_boolean(rows, row, TAKE_HAS_HELD);
        decision->cursor.due_us = lk_row_is_null(rows, row, TAKE_LOOK_US)
                                      ? LK_NEVER
                                      : lk_clock_now_us() + lk_row_integer(rows, row, TAKE_LOOK_US);
    }
    if (outcome != LK_GRANTED) {
        return lk_error_set(&decision->error, outcome, "%s",
                            lk_row_text(rows, row, TAKE_SENTENCE).bytes);
    }
    claim = calloc(1, sizeof *claim);
    if (claim == NULL || !fill_claim(rows, row, take, claim)) {
        lk_claim_free(claim);
        return lk_decision_fail(decision, LK_INTERNAL, "no memory for the claim");
    }
    decision->claim = claim;
    return lk_error_clear(&decision->error, LK_GRANTED);
}

lk_outcome lk_procedures_take(struct lk_procedures *store, const struct lk_take *take,
                              const struct lk_patience *patience, struct lk_decision *decision) {
    uint64_t version = lk_procedures_version(store);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome = lk_take_check(take, &decision->error);
    int64_t begun_us = lk_clock_now_us();

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &take->queue);
    lk_arguments_add_above(&arguments, &take->queue);
    lk_arguments_add_root(&arguments, &take->queue);
    lk_arguments_add_text(&arguments, take->owner);
    lk_arguments_add_integer(&arguments, take->ttl_ms);
    lk_arguments_add_integer(&arguments, take->max_attempts);
    lk_arguments_add_integer(&arguments, (int64_t)take->ask_number);
    lk_arguments_add_text(&arguments, take->note_given ? take->note : (struct lk_slice){"", 0});
    outcome = lk_procedures_call(store, "lk_take", take->ask_number != 0 ? LK_REPEATABLE : LK_ONCE,
                                 &arguments, patience, &rows, &decision->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_procedures_taken(rows, 0, take, version, decision);
    decision->cursor.took_us = lk_clock_now_us() - begun_us;
    lk_rows_free(rows);
    return outcome;
}

/* ---- finishing ------------------------------------------------------------------------------- */

/* Adds the exit code and the text of a failure, each NULL where it is not given. */
static void add_failure(struct lk_arguments *arguments, const struct lk_item_failure *failure) {
    if (failure->has_exit) {
        lk_arguments_add_integer(arguments, failure->exit_code);
    } else {
        lk_arguments_add_null(arguments);
    }
    add_bytes_if_any(arguments, failure->text);
}

/* Which claim, of which owner. */
static void add_claim(struct lk_arguments *arguments, const struct lk_finish *finish) {
    lk_arguments_add_path(arguments, &finish->queue);
    lk_arguments_add_text(arguments, finish->id);
    lk_arguments_add_root(arguments, &finish->queue);
    lk_arguments_add_text(arguments, finish->owner);
    lk_arguments_add_integer(arguments, (int64_t)finish->token);
}

/* Repeated it does the same again. */
static lk_outcome tell_progress(struct lk_procedures *store, const struct lk_finish *finish,
                                const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_arguments arguments;

    lk_arguments_init(&arguments, store->database->lists);
    add_claim(&arguments, finish);
    add_bytes_if_any(&arguments, finish->progress);
    return lk_procedures_perform(store, "lk_progress", LK_REPEATABLE, &arguments, patience,
                                 decision);
}

lk_outcome lk_procedures_finish(struct lk_procedures *store, const struct lk_finish *finish,
                                const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_arguments arguments;
    struct lk_item_path item;
    lk_outcome outcome = lk_finish_check(finish, &item, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (finish->kind == LK_FINISH_PROGRESS) {
        return tell_progress(store, finish, patience, decision);
    }
    lk_arguments_init(&arguments, store->database->lists);
    add_claim(&arguments, finish);
    if (finish->kind == LK_FINISH_DONE) {
        lk_arguments_add_null(&arguments);
    } else {
        lk_arguments_add_integer(&arguments, finish->delay_ms);
    }
    add_failure(&arguments, &finish->failure);
    lk_arguments_add_boolean(&arguments, finish->is_uncounted);
    lk_arguments_add_boolean(&arguments, finish->parks);
    add_bytes_if_any(&arguments, finish->result);
    lk_arguments_add_integer(&arguments, finish->keep_ms);
    outcome = lk_procedures_perform(store, "lk_finish_claim",
                                    finish->token != 0 ? LK_REPEATABLE : LK_ONCE, &arguments,
                                    patience, decision);
    if (outcome == LK_OK) {
        lk_procedures_sweep_sometimes(store);
    }
    return outcome;
}

lk_outcome lk_procedures_unpark(struct lk_procedures *store, const struct lk_unpark *unpark,
                                const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_arguments arguments;
    struct lk_item_path item;
    lk_outcome outcome = lk_item_path_make(&unpark->queue, unpark->id, &item, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &unpark->queue);
    lk_arguments_add_text(&arguments, unpark->id);
    lk_arguments_add_root(&arguments, &unpark->queue);
    return lk_procedures_perform(store, "lk_unpark", LK_ONCE, &arguments, patience, decision);
}

lk_outcome lk_procedures_drop(struct lk_procedures *store, const struct lk_drop *drop,
                              const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_arguments arguments;
    struct lk_item_path item;
    lk_outcome outcome = lk_item_path_make(&drop->queue, drop->id, &item, &decision->error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &drop->queue);
    lk_arguments_add_text(&arguments, drop->id);
    lk_arguments_add_root(&arguments, &drop->queue);
    lk_arguments_add_boolean(&arguments, drop->only_parked);
    return lk_procedures_perform(store, "lk_drop", LK_ONCE, &arguments, patience, decision);
}
