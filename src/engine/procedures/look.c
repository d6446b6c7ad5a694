/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look before a try: a client that tries without pause is refused by one statement that reads,
 * which costs the server a quarter of the call that decides.
 *
 * It is for the common case, where what is held at the path alone is in the way. Its statement
 * answers no row unless the root has one kind, no request waits or is overdue there, the asker has
 * no other request, and refusals are no events. In all other cases, and where the rows do not
 * refuse the ask, nothing is known, and the call decides.
 */
#include <stdlib.h>

#include "engine/procedures/procedures.h"
#include "engine/reply/reply.h"

/* Columns of the statement. */
enum { LOOK_UNITS, LOOK_OWNER, LOOK_NOTE, LOOK_TICKET, LOOK_LEFT_US };

/* R7, R8: whether what is held at the path refuses the part. *ret_in_use: its units. */
static bool is_refused(const struct lk_rows *rows, const struct lk_part *part,
                       uint64_t *ret_in_use) {
    uint64_t in_use = 0;
    bool has_exclusive = false;

    for (int i = 0; i < rows->count; i++) {
        uint64_t units = (uint64_t)lk_row_integer(rows, i, LOOK_UNITS);
        in_use += units;
        has_exclusive = has_exclusive || units == 0;
    }
    *ret_in_use = in_use;
    if (part->units == 0 || has_exclusive) {
        return rows->count == 1 || part->units == 0; /* of several, not all are in the way */
    }
    return part->limit > 0 && in_use + part->units > part->limit;
}

/* R20: they are counted only if any are to be named. */
static bool name_blockers(const struct lk_rows *rows, const struct lk_ask *ask, lk_result *result) {
    const struct lk_path *path = &ask->parts[0].path;
    size_t held = (size_t)rows->count;
    size_t count = held < ask->blockers_max ? held : ask->blockers_max;

    if (count == 0) {
        return true;
    }
    result->position = held;
    result->blockers = calloc(count, sizeof *result->blockers);
    for (size_t i = 0; i < count && result->blockers != NULL; i++) {
        const struct lk_slice fields[LK_PROCEDURES_BLOCKER_FIELDS] = {
            {path->bytes, path->size},
            lk_row_text(rows, (int)i, LOOK_OWNER),
            lk_row_text(rows, (int)i, LOOK_NOTE),
            lk_row_text(rows, (int)i, LOOK_TICKET),
            lk_slice_of("1"),
            lk_row_text(rows, (int)i, LOOK_LEFT_US)};
        result->blocker_count++;
        if (!lk_procedures_fill_blocker(fields, &result->blockers[i])) {
            return false;
        }
    }
    return result->blockers != NULL;
}

bool lk_procedures_look(struct lk_procedures *store, const struct lk_ask *ask,
                        const struct lk_patience *patience, struct lk_decision *decision) {
    struct lk_rows *rows = NULL;
    lk_error ignored;
    char *sql;
    uint64_t in_use = 0;
    bool is_done = false;

    if (store->database->write_look == NULL || ask->style != LK_TRY || ask->part_count != 1
        || !atomic_load(&store->has_refused)) {
        return false;
    }
    sql = store->database->write_look(store, ask, LK_PROCEDURES_LOOK_MAX + 1);
    if (sql != NULL && lk_procedures_ask_sql(store, sql, patience, &rows, &ignored) == LK_OK) {
        is_done = rows->count > 0 && rows->count <= LK_PROCEDURES_LOOK_MAX
                  && is_refused(rows, &ask->parts[0], &in_use);
    }
    if (is_done && name_blockers(rows, ask, &decision->result)) {
        decision->result.in_use = in_use;
    } else {
        lk_result_clear(&decision->result);
        is_done = false;
    }
    lk_rows_free(rows);
    free(sql);
    return is_done;
}
