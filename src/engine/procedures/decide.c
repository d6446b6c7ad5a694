/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: one CALL each, and the decoding of its answer. Decisions about work are in work.c. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"
#include "engine/reply/reply.h"
#include "model/command_check.h"

enum {
    CYCLE_MAX = 1024,
    BLOCKER_FIELDS = 6, /* path, owner, note, ticket, held, microseconds left */
};

/* Columns of lk_ask(). */
enum {
    ASK_OUTCOME,
    ASK_SENTENCE,
    ASK_REQUEST,
    ASK_TICKET,
    ASK_TOKEN,
    ASK_TTL_MS,
    ASK_LEFT_US,
    ASK_IN_USE,
    ASK_IN_THE_WAY,
    ASK_CREATED,
    ASK_FIXED,
    ASK_BYTES,
    ASK_SIZES,
    ASK_BLOCKERS,
    ASK_CYCLE,
    ASK_LOOK_US,
};

/* Columns of lk_renew(), and the first two of all the others. */
enum { END_OUTCOME, END_SENTENCE, END_TICKET, END_TOKEN, END_TTL_MS, END_LEFT_US, END_FIXED };

/* Behind them, of lk_cancel(). */
enum { CANCEL_BROKEN = 2 };

static const char *const style_names[] = {
    [LK_TRY] = "try", [LK_QUEUE] = "queue", [LK_WAIT] = "wait"};

/* ---- answers --------------------------------------------------------------------------------- */

lk_outcome lk_procedures_answered(const struct lk_rows *rows, int row,
                                  struct lk_decision *decision) {
    return lk_error_set(&decision->error, lk_row_outcome(rows, row, END_OUTCOME), "%s",
                        lk_row_text(rows, row, END_SENTENCE).bytes);
}

static bool fill_blocker(const struct lk_slice fields[BLOCKER_FIELDS], lk_blocker_info *info) {
    int64_t left_us = strtoll(fields[5].bytes, NULL, 10);

    info->path = lk_text_copy(fields[0]);
    info->owner = lk_text_copy(fields[1]);
    info->note = fields[2].size > 0 ? lk_text_copy(fields[2]) : NULL;
    info->ticket = strtoull(fields[3].bytes, NULL, 10);
    info->held = fields[4].size > 0 && (fields[4].bytes[0] == 't' || fields[4].bytes[0] == '1');
    info->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
    return info->path != NULL && info->owner != NULL && (info->note != NULL || fields[2].size == 0);
}

static bool fill_blockers(const struct lk_rows *rows, lk_result *result) {
    struct lk_slice *fields = NULL;
    char *text = NULL;
    size_t count = 0;
    bool is_whole = true;

    if (lk_row_is_null(rows, 0, ASK_BLOCKERS)) {
        return true;
    }
    fields = calloc(LK_BLOCKERS_MAX * BLOCKER_FIELDS, sizeof *fields);
    if (fields == NULL
        || !lk_row_list(rows, 0, ASK_BLOCKERS, fields, LK_BLOCKERS_MAX * BLOCKER_FIELDS, &count,
                        &text)) {
        free(fields);
        return false;
    }
    count /= BLOCKER_FIELDS;
    result->blockers = count > 0 ? calloc(count, sizeof *result->blockers) : NULL;
    is_whole = count == 0 || result->blockers != NULL;
    for (size_t i = 0; i < count && is_whole; i++) {
        result->blocker_count++;
        is_whole = fill_blocker(&fields[i * BLOCKER_FIELDS], &result->blockers[i]);
    }
    free(text);
    free(fields);
    return is_whole;
}

static bool fill_cycle(const struct lk_rows *rows, lk_result *result) {
    struct lk_slice owners[CYCLE_MAX];
    char *text = NULL;
    size_t count = 0;
    bool is_whole = true;

    if (lk_row_is_null(rows, 0, ASK_CYCLE)) {
        return true;
    }
    if (!lk_row_list(rows, 0, ASK_CYCLE, owners, CYCLE_MAX, &count, &text)) {
        return false;
    }
    result->cycle = count > 0 ? calloc(count, sizeof *result->cycle) : NULL;
    is_whole = count == 0 || result->cycle != NULL;
    for (size_t i = 0; i < count && is_whole; i++) {
        result->cycle[i] = lk_text_copy(owners[i]);
        is_whole = result->cycle[i] != NULL;
        result->cycle_count += is_whole;
    }
    free(text);
    return is_whole;
}

/*
 * R15: the values of all parts, one behind the other, as their sizes tell: of each -1 if there is
 * none, else twice its size, and 1 more if it is in doubt.
 */
static bool split_values(struct lk_slice bytes, const struct lk_slice *sizes, size_t count,
                         lk_result *result) {
    size_t at = 0;

    if (!lk_result_hold_values(result, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t told = strtoll(sizes[i].bytes, NULL, 10);
        size_t size = told > 0 ? (size_t)told / 2 : 0;
        const struct lk_slice value = {.bytes = bytes.bytes + at, .size = size};

        if (size > bytes.size - at
            || (told >= 0 && !lk_result_set_value(result, i, value, told % 2 != 0))) {
            return false;
        }
        at += size;
    }
    return true;
}

static bool fill_values(const struct lk_rows *rows, lk_result *result) {
    struct lk_slice sizes[LK_PARTS_MAX];
    struct lk_slice bytes = {.bytes = "", .size = 0};
    char *text = NULL;
    void *copy = NULL;
    size_t count = 0;
    bool is_whole;

    if (lk_row_is_null(rows, 0, ASK_SIZES)) {
        return true;
    }
    if (!lk_row_is_null(rows, 0, ASK_BYTES)) {
        copy = lk_row_bytes(rows, 0, ASK_BYTES, &bytes.size);
        bytes.bytes = copy;
    }
    is_whole = bytes.bytes != NULL
               && lk_row_list(rows, 0, ASK_SIZES, sizes, LK_PARTS_MAX, &count, &text)
               && split_values(bytes, sizes, count, result);
    free(text);
    free(copy);
    return is_whole;
}

static void fill_state(const struct lk_rows *rows, int first, lk_result *result) {
    bool lives = !lk_row_is_null(rows, 0, first + END_LEFT_US - END_TICKET);
    int64_t left_us = lk_row_integer(rows, 0, first + END_LEFT_US - END_TICKET);

    result->ticket = (uint64_t)lk_row_integer(rows, 0, first);
    result->token = (uint64_t)lk_row_integer(rows, 0, first + END_TOKEN - END_TICKET);
    result->ttl_ms = lk_row_integer(rows, 0, first + END_TTL_MS - END_TICKET);
    result->expires_in_ms = !lives ? -1 : left_us > 0 ? left_us / 1000 : 0;
}

static bool fill_asked(const struct lk_rows *rows, lk_result *result) {
    fill_state(rows, ASK_TICKET, result);
    result->fixed = lk_row_boolean(rows, 0, ASK_FIXED);
    result->created = lk_row_boolean(rows, 0, ASK_CREATED);
    result->in_use = (uint64_t)lk_row_integer(rows, 0, ASK_IN_USE);
    result->position = (size_t)lk_row_integer(rows, 0, ASK_IN_THE_WAY);
    return fill_blockers(rows, result) && fill_cycle(rows, result) && fill_values(rows, result);
}

lk_outcome lk_procedures_perform(struct lk_procedures *store, const char *name,
                                 enum lk_repeat repeat, struct lk_arguments *arguments,
                                 const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_rows *rows = NULL;
    lk_outcome outcome =
        lk_procedures_call(store, name, repeat, arguments, patience, &rows, &decision->error);

    if (outcome == LK_OK) {
        outcome = lk_procedures_answered(rows, 0, decision);
        lk_rows_free(rows);
    }
    return outcome;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void add_ask(struct lk_arguments *arguments, const struct lk_ask *ask) {
    lk_arguments_add_text(arguments, ask->owner);
    lk_arguments_add_parts(arguments, ask->parts, ask->part_count);
    lk_arguments_add_identity(arguments, ask->parts, ask->part_count);
    lk_arguments_add_roots(arguments, ask->parts, ask->part_count);
    lk_arguments_add_text(arguments, lk_slice_of(style_names[ask->style]));
    lk_arguments_add_integer(arguments, ask->ttl_ms);
    lk_arguments_add_integer(arguments, ask->until_us);
    if (ask->note_given) {
        lk_arguments_add_text(arguments, ask->note);
    } else {
        lk_arguments_add_null(arguments);
    }
    lk_arguments_add_integer(arguments, (int64_t)ask->blockers_max);
    lk_arguments_add_boolean(arguments, ask->wants_value);
    lk_arguments_add_above(arguments, &ask->parts[0].path);
}

static lk_outcome ask_for(struct lk_procedures *store, const struct lk_ask *ask,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    uint64_t version = lk_procedures_version(store);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    bool is_whole;
    lk_outcome outcome;

    if (lk_procedures_look(store, ask, patience, decision)) {
        return LK_BUSY;
    }
    lk_arguments_init(&arguments, store->database->lists);
    add_ask(&arguments, ask);
    outcome = lk_procedures_call(store, "lk_ask", LK_REPEATABLE, &arguments, patience, &rows,
                                 &decision->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_procedures_answered(rows, 0, decision);
    atomic_store(&store->has_refused, outcome == LK_BUSY);
    is_whole = fill_asked(rows, &decision->result);
    if (outcome == LK_WAITING) {
        decision->cursor.id = (uint64_t)lk_row_integer(rows, 0, ASK_REQUEST);
        decision->cursor.version = version;
        decision->cursor.in_the_way = decision->result.position;
        decision->cursor.due_us = lk_row_is_null(rows, 0, ASK_LOOK_US)
                                      ? LK_NEVER
                                      : lk_clock_now_us() + lk_row_integer(rows, 0, ASK_LOOK_US);
    }
    lk_rows_free(rows);
    return is_whole ? outcome : lk_decision_fail(decision, LK_INTERNAL, "memory is exhausted");
}

/* ---- renewing and releasing ------------------------------------------------------------------ */

static lk_outcome renew(struct lk_procedures *store, const struct lk_renew *renew,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    const struct lk_target *target = &renew->target;
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_text(&arguments, target->owner);
    lk_arguments_add_paths(&arguments, target->parts, target->part_count);
    lk_arguments_add_identity(&arguments, target->parts, target->part_count);
    lk_arguments_add_roots(&arguments, target->parts, target->part_count);
    lk_arguments_add_integer(&arguments, (int64_t)target->token);
    lk_arguments_add_integer(&arguments, renew->ttl_ms);
    outcome = lk_procedures_call(store, "lk_renew", LK_REPEATABLE, &arguments, patience, &rows,
                                 &decision->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    fill_state(rows, END_TICKET, &decision->result);
    decision->result.fixed = lk_row_boolean(rows, 0, END_FIXED);
    outcome = lk_procedures_answered(rows, 0, decision);
    lk_rows_free(rows);
    return outcome;
}

static lk_outcome release(struct lk_procedures *store, const struct lk_release *release,
                          const struct lk_patience *patience, struct lk_decision *decision) {
    const struct lk_target *target = &release->target;
    struct lk_arguments arguments;
    char *joined = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_text(&arguments, target->owner);
    lk_arguments_add_put_paths(&arguments, release);
    lk_arguments_add_identity(&arguments, target->parts, target->part_count);
    lk_arguments_add_roots(&arguments, target->parts, target->part_count);
    lk_arguments_add_integer(&arguments, (int64_t)target->token);
    if (!lk_arguments_add_puts(&arguments, release, &joined)) {
        lk_arguments_done(&arguments);
        return lk_decision_fail(decision, LK_INTERNAL, "memory is exhausted");
    }
    outcome =
        lk_procedures_perform(store, "lk_release", target->token != 0 ? LK_REPEATABLE : LK_ONCE,
                              &arguments, patience, decision);
    free(joined);
    if (outcome == LK_OK || outcome == LK_LOST) {
        lk_procedures_sweep_sometimes(store);
    }
    return outcome;
}

/* ---- breaking and putting -------------------------------------------------------------------- */

static lk_outcome break_all(struct lk_procedures *store, const struct lk_break *broken,
                            const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &broken->path);
    lk_arguments_add_root(&arguments, &broken->path);
    lk_arguments_add_text(&arguments, broken->owner);
    lk_arguments_add_boolean(&arguments, broken->at_once);
    lk_arguments_add_text(&arguments, broken->by);
    lk_arguments_add_text(&arguments, broken->reason);
    outcome = lk_procedures_call(store, "lk_break", LK_ONCE, &arguments, patience, &rows,
                                 &decision->error);
    if (outcome == LK_OK) {
        decision->broken = (size_t)lk_row_integer(rows, 0, 0);
        lk_rows_free(rows);
        (void)lk_error_clear(&decision->error, LK_OK);
    }
    return outcome;
}

/* R16: of an item. */
static lk_outcome cancel(struct lk_procedures *store, const struct lk_break *broken,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &broken->path);
    lk_arguments_add_root(&arguments, &broken->path);
    lk_arguments_add_boolean(&arguments, broken->at_once);
    lk_arguments_add_text(&arguments, broken->by);
    lk_arguments_add_text(&arguments, broken->reason);
    outcome = lk_procedures_call(store, "lk_cancel", LK_ONCE, &arguments, patience, &rows,
                                 &decision->error);
    if (outcome == LK_OK) {
        outcome = lk_procedures_answered(rows, 0, decision);
        decision->broken = (size_t)lk_row_integer(rows, 0, CANCEL_BROKEN);
        lk_rows_free(rows);
    }
    return outcome;
}

static lk_outcome put(struct lk_procedures *store, const struct lk_put *put,
                      const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_arguments arguments;
    lk_outcome outcome = lk_put_check(put, &decision->error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, &put->path);
    lk_arguments_add_above(&arguments, &put->path);
    lk_arguments_add_root(&arguments, &put->path);
    lk_arguments_add_text(&arguments, put->owner);
    lk_arguments_add_integer(&arguments, (int64_t)put->token);
    if (put->deletes) {
        lk_arguments_add_null(&arguments);
    } else {
        lk_arguments_add_bytes(&arguments, put->bytes);
    }
    return lk_procedures_perform(store, "lk_put", LK_ONCE, &arguments, patience, decision);
}

/* ---- any command ----------------------------------------------------------------------------- */

static lk_outcome decide(struct lk_procedures *store, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return ask_for(store, &command->ask, patience, decision);
    case LK_COMMAND_RENEW:
        return renew(store, &command->renew, patience, decision);
    case LK_COMMAND_RELEASE:
        return release(store, &command->release, patience, decision);
    case LK_COMMAND_BREAK:
        return command->broken.cancels ? cancel(store, &command->broken, patience, decision)
                                       : break_all(store, &command->broken, patience, decision);
    case LK_COMMAND_PUT:
        return put(store, &command->put, patience, decision);
    case LK_COMMAND_PUSH:
        return lk_procedures_push(store, &command->push, patience, decision);
    case LK_COMMAND_TAKE:
        return lk_procedures_take(store, &command->take, patience, decision);
    case LK_COMMAND_FINISH:
        return lk_procedures_finish(store, &command->finish, patience, decision);
    case LK_COMMAND_UNPARK:
        return lk_procedures_unpark(store, &command->unpark, patience, decision);
    case LK_COMMAND_DROP:
        return lk_procedures_drop(store, &command->drop, patience, decision);
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE:
        break;
    }
    return lk_decision_refuse(decision);
}

lk_outcome lk_procedures_decide(struct lk_engine *engine, const struct lk_command *command,
                                const struct lk_patience *patience,
                                struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, command);
    return lk_decision_end(ret_decision,
                           decide(lk_procedures_of(engine), command, patience, ret_decision));
}
