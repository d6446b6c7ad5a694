/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases that are revoked (R12): the end of the record of breaks, read again and again. It is read
 * whole, as the numbers of its rows need not come in the order of the commits.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"

#define PATIENCE_US INT64_C(10000000)

/* Columns of the query. */
enum { NUMBER, TOKEN };

static char *query_of(const char *table) {
    return lk_text_make("SELECT id, token FROM %s ORDER BY id DESC LIMIT %d", table,
                        LK_REVOKED_MAX);
}

/* The position is a hash of the rows' numbers: the tokens are told if there is another row. */
static void take(const struct lk_rows *rows, struct lk_revoked *revoked) {
    uint64_t position = 0;
    size_t count = 0;

    for (int row = 0; row < rows->count && row < LK_REVOKED_MAX; row++) {
        uint64_t token = (uint64_t)lk_row_integer(rows, row, TOKEN);

        position = lk_hash_number(position, (uint64_t)lk_row_integer(rows, row, NUMBER));
        if (token != 0) {
            revoked->tokens[count++] = token;
        }
    }
    revoked->count = revoked->has_position && revoked->position == position ? 0 : count;
    revoked->position = position;
    revoked->has_position = true;
}

lk_outcome lk_procedures_poll_revoked(struct lk_procedures *store, const char *table,
                                      struct lk_revoked *revoked, struct lk_waker *waker) {
    const struct lk_patience patience = {lk_clock_now_us() + PATIENCE_US, waker};
    struct lk_rows *rows = NULL;
    char *query = query_of(table);
    lk_outcome outcome = LK_INTERNAL;
    lk_error error;

    if (query != NULL) {
        outcome = lk_procedures_ask_sql(store, query, &patience, &rows, &error);
    }
    if (outcome == LK_OK) {
        take(rows, revoked);
    }
    lk_rows_free(rows);
    free(query);
    return outcome;
}
