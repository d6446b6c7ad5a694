/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look before a try: a client that tries without pause is refused by one statement that reads,
 * which costs the server a quarter of the call that decides.
 *
 * It is for the common case, where what is held at the path alone is in the way. Its statement
 * answers no row unless the root has one kind, no request waits or is overdue there, the asker has
 * no other request, and refusals are no events. The rows go into a fresh model, which takes the
 * step. Where it does not refuse the ask, nothing is known, and the call decides.
 */
#include <stdlib.h>

#include "engine/procedures/procedures.h"
#include "engine/reply/reply.h"

enum { LOOK_MAX = 64 }; /* leases at a path that a look reads */

/* Columns of the statement. */
enum { LOOK_UNITS, LOOK_OWNER, LOOK_NOTE, LOOK_TICKET, LOOK_LEFT_US };

/* The step's moment is 0. What a refusal does not depend on is made up: token, limit, ttl. */
static lk_outcome restore(struct lk_model *model, const struct lk_rows *rows, int row,
                          const struct lk_path *path, struct lk_record *record) {
    uint32_t units = (uint32_t)lk_row_integer(rows, row, LOOK_UNITS);
    uint64_t ticket = (uint64_t)lk_row_integer(rows, row, LOOK_TICKET);

    *record = (struct lk_record){
        .id = (uint64_t)row + 1,
        .owner = lk_row_text(rows, row, LOOK_OWNER),
        .note = lk_row_text(rows, row, LOOK_NOTE),
        .state = LK_STATE_HELD,
        .ticket = ticket,
        .token = ticket,
        .ttl_ms = 1,
        .deadline_us = lk_row_integer(rows, row, LOOK_LEFT_US),
        .part_count = 1,
        .parts = {{.path = *path,
                   .mode = units == 0 ? LK_EXCLUSIVE : LK_SHARED,
                   .units = units,
                   .limit = units}},
    };
    return lk_model_restore(model, record);
}

/* The model's answer. false: no refusal, or the rows are none that a model can have. */
static bool is_refused(const struct lk_rows *rows, const struct lk_ask *ask,
                       struct lk_decision *decision) {
    static const struct lk_model_config config = {.hash_seed = 0}; /* it is small */
    const struct lk_command command = {.kind = LK_COMMAND_ASK, .ask = *ask};
    struct lk_model *model = lk_model_new(&config);
    struct lk_record *record = malloc(sizeof *record);
    bool is_whole = model != NULL && record != NULL;
    bool is_done = false;

    for (int i = 0; is_whole && i < rows->count; i++) {
        is_whole = restore(model, rows, i, &ask->parts[0].path, record) == LK_OK;
    }
    if (is_whole) {
        const struct lk_effects *effects = lk_model_step(model, &command);
        is_done = effects->answer.outcome == LK_BUSY
                  && lk_decision_from_effects(model, effects, &command, decision);
    }
    free(record);
    lk_model_free(model);
    return is_done;
}

bool lk_procedures_look(struct lk_procedures *store, const struct lk_ask *ask,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_rows *rows = NULL;
    lk_error ignored;
    char *sql;
    bool is_done = false;

    if (store->database->write_look == NULL || ask->style != LK_TRY || ask->part_count != 1
        || !atomic_load(&store->has_refused)) {
        return false;
    }
    sql = store->database->write_look(store, ask, LOOK_MAX + 1);
    if (sql != NULL && lk_procedures_ask_sql(store, sql, patience, &rows, &ignored) == LK_OK) {
        is_done = rows->count > 0 && rows->count <= LOOK_MAX && is_refused(rows, ask, decision);
    }
    lk_rows_free(rows);
    free(sql);
    return is_done;
}
