/* SPDX-License-Identifier: Apache-2.0 */
/* Items pushed, taken, finished, unparked (R16): one CALL each. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"
#include "engine/reply/reply.h"

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

/* R16: the id must make a path below its queue; if it does not, the model gives the sentence. */
static lk_outcome check_item(const struct lk_path *queue, struct lk_slice id, lk_error *error) {
    char bytes[LK_PATH_BYTES_MAX + LK_SEGMENT_BYTES_MAX + 2];
    lk_error cause = {.text = "an item's id is one segment of a path, 1 to 255 bytes without '/'"};
    struct lk_path path;

    if (id.size >= 1 && id.size <= LK_SEGMENT_BYTES_MAX && memchr(id.bytes, '/', id.size) == NULL) {
        memcpy(bytes, queue->bytes, queue->size);
        bytes[queue->size] = '/';
        memcpy(bytes + queue->size + 1, id.bytes, id.size);
        if (lk_path_parse((struct lk_slice){bytes, queue->size + 1u + id.size}, &path, &cause)
            == LK_OK) {
            return LK_OK;
        }
    }
    return lk_error_set(error, LK_INVALID, "R16: the item's path: %.300s", cause.text);
}

static lk_outcome check_needs(const struct lk_push *push, lk_error *error) {
    struct lk_part parts[LK_PARTS_MAX];
    char bytes[LK_PATH_BYTES_MAX + 1];
    size_t size = push->queue.size + 1u + push->id.size;
    lk_error cause;

    if (push->need_count > LK_NEEDS_MAX) {
        return lk_error_set(error, LK_INVALID, "R16: work needs at most %d parts, not %zu",
                            LK_NEEDS_MAX, push->need_count);
    }
    memcpy(bytes, push->queue.bytes, push->queue.size);
    bytes[push->queue.size] = '/';
    memcpy(bytes + push->queue.size + 1, push->id.bytes, push->id.size);
    parts[0] = (struct lk_part){.mode = LK_EXCLUSIVE};
    (void)lk_path_parse((struct lk_slice){bytes, size}, &parts[0].path, NULL);
    for (size_t i = 0; i < push->need_count; i++) {
        parts[i + 1] = push->needs[i];
    }
    if (lk_parts_check(parts, push->need_count + 1, &cause) == LK_OK) {
        return LK_OK;
    }
    return lk_error_set(error, LK_INVALID, "R16: what the work needs: %.300s", cause.text);
}

static lk_outcome check_delay(int64_t delay_ms, lk_error *error) {
    return delay_ms >= 0 && delay_ms <= LK_TTL_MAX_MS
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "R16: a delay is 0 to 366 days");
}

lk_outcome lk_procedures_push(struct lk_procedures *store, const struct lk_push *push,
                              const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome = check_item(&push->queue, push->id, error);

    if (outcome == LK_OK && push->value.size > LK_VALUE_BYTES_MAX) {
        outcome = lk_error_set(error, LK_INVALID, "R15: a value has at most %d bytes, not %zu",
                               LK_VALUE_BYTES_MAX, push->value.size);
    }
    if (outcome == LK_OK) {
        outcome = check_delay(push->delay_ms, error);
    }
    if (outcome == LK_OK) {
        outcome = check_needs(push, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &push->queue);
    lk_arguments_add_text(&arguments, push->id);
    lk_arguments_add_root(&arguments, &push->queue);
    if (push->value.size > 0) {
        lk_arguments_add_bytes(&arguments, push->value);
    } else {
        lk_arguments_add_null(&arguments);
    }
    lk_arguments_add_integer(&arguments, push->delay_ms);
    lk_arguments_add_parts(&arguments, push->needs, push->need_count);
    lk_arguments_add_roots(&arguments, push->needs, push->need_count);
    outcome = lk_procedures_call(store, "lk_push", LK_ONCE, &arguments, patience, &rows, error);
    if (outcome == LK_OK) {
        decision->is_added = lk_row_boolean(rows, 0, 0);
        lk_rows_free(rows);
        (void)lk_error_clear(error, LK_OK);
    }
    return outcome;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static bool fill_claim(const struct lk_rows *rows, const struct lk_take *take,
                       lk_claim_info *claim) {
    int64_t left_us = lk_row_integer(rows, 0, TAKE_LEFT_US);

    claim->queue = lk_text_copy((struct lk_slice){take->queue.bytes, take->queue.size});
    claim->id = lk_text_copy(lk_row_text(rows, 0, TAKE_ID));
    claim->owner = lk_text_copy(take->owner);
    claim->token = (uint64_t)lk_row_integer(rows, 0, TAKE_TOKEN);
    claim->attempt = (uint32_t)lk_row_integer(rows, 0, TAKE_ATTEMPT);
    claim->is_stolen = lk_row_boolean(rows, 0, TAKE_STOLEN);
    claim->ttl_ms = lk_row_integer(rows, 0, TAKE_TTL_MS);
    claim->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
    if (!lk_row_is_null(rows, 0, TAKE_VALUE)) {
        claim->value = lk_row_bytes(rows, 0, TAKE_VALUE, &claim->value_size);
        if (claim->value == NULL) {
            return false;
        }
    }
    return claim->queue != NULL && claim->id != NULL && claim->owner != NULL;
}

lk_outcome lk_procedures_taken(const struct lk_rows *rows, const struct lk_take *take,
                               uint64_t version, struct lk_decision *decision) {
    lk_outcome outcome = lk_row_outcome(rows, 0, TAKE_OUTCOME);
    lk_claim_info *claim;

    if (outcome == LK_BUSY) {
        decision->cursor.version = version;
        decision->cursor.in_the_way = lk_row_boolean(rows, 0, TAKE_HAS_HELD);
        decision->cursor.due_us = lk_row_is_null(rows, 0, TAKE_LOOK_US)
                                      ? LK_NEVER
                                      : lk_clock_now_us() + lk_row_integer(rows, 0, TAKE_LOOK_US);
    }
    if (outcome != LK_GRANTED) {
        return lk_error_set(&decision->error, outcome, "%s",
                            lk_row_text(rows, 0, TAKE_SENTENCE).bytes);
    }
    claim = calloc(1, sizeof *claim);
    if (claim == NULL || !fill_claim(rows, take, claim)) {
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
    lk_outcome outcome;

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
    outcome = lk_procedures_taken(rows, take, version, decision);
    lk_rows_free(rows);
    return outcome;
}

/* ---- finishing ------------------------------------------------------------------------------- */

lk_outcome lk_procedures_finish(struct lk_procedures *store, const struct lk_finish *finish,
                                const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_arguments arguments;
    lk_outcome outcome = check_item(&finish->queue, finish->id, error);

    if (outcome == LK_OK) {
        outcome = check_delay(finish->delay_ms, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &finish->queue);
    lk_arguments_add_text(&arguments, finish->id);
    lk_arguments_add_root(&arguments, &finish->queue);
    lk_arguments_add_text(&arguments, finish->owner);
    lk_arguments_add_integer(&arguments, (int64_t)finish->token);
    if (finish->kind == LK_FINISH_DONE) {
        lk_arguments_add_null(&arguments);
    } else {
        lk_arguments_add_integer(&arguments, finish->delay_ms);
    }
    outcome =
        lk_procedures_perform(store, "lk_finish", finish->token != 0 ? LK_REPEATABLE : LK_ONCE,
                              &arguments, patience, decision);
    if (outcome == LK_OK) {
        lk_procedures_sweep_sometimes(store);
    }
    return outcome;
}

lk_outcome lk_procedures_unpark(struct lk_procedures *store, const struct lk_unpark *unpark,
                                const struct lk_patience *patience, struct lk_decision *decision) {
    lk_error *error = &decision->error;
    struct lk_arguments arguments;
    lk_outcome outcome = check_item(&unpark->queue, unpark->id, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &unpark->queue);
    lk_arguments_add_text(&arguments, unpark->id);
    lk_arguments_add_root(&arguments, &unpark->queue);
    return lk_procedures_perform(store, "lk_unpark", LK_ONCE, &arguments, patience, decision);
}
