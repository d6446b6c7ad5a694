/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and transactions: freeing them, and explaining failures. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/procedures/table.h"

void lk_source_sql_done(struct lk_source_sql *table) {
    for (size_t i = 0; i < LK_TABLE_TEXTS; i++) {
        free(table->texts[i]);
    }
    free(table->done.text);
}

bool lk_source_sql_is_whole(const struct lk_source_sql *table) {
    for (size_t i = 0; i < LK_TABLE_TEXTS; i++) {
        if (table->texts[i] == NULL) {
            return false;
        }
    }
    return true;
}

void lk_transaction_done(struct lk_transaction *transaction) {
    for (size_t i = 0; i < LK_STEPS_MAX; i++) {
        lk_rows_free(transaction->rows[i]);
        transaction->rows[i] = NULL;
    }
    transaction->failure = LK_FAILURE_NONE;
}

lk_outcome lk_transaction_blame(const struct lk_transaction *transaction, const char *what,
                                lk_outcome outcome, lk_error *error) {
    switch (transaction->failure) {
    case LK_FAILURE_WRONG:
        return lk_error_set(error, LK_INVALID, "R17: %s: %.400s", what, transaction->words);
    case LK_FAILURE_DENIED:
        return lk_error_set(error, LK_DENIED,
                            "R17: %s: %.300s; the table's owner grants SELECT, and what the "
                            "--done statement needs",
                            what, transaction->words);
    default:
        return outcome;
    }
}

lk_outcome lk_transaction_read(struct lk_procedures *store, struct lk_transaction *transaction,
                               const char *what, const struct lk_patience *patience,
                               struct lk_rows **ret_rows, lk_error *error) {
    lk_outcome outcome = lk_procedures_transact(store, transaction, patience, error);

    if (outcome == LK_OK) {
        *ret_rows = transaction->rows[0];
        transaction->rows[0] = NULL;
    } else {
        outcome = lk_transaction_blame(transaction, what, outcome, error);
    }
    lk_transaction_done(transaction);
    return outcome;
}
