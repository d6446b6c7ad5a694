/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is, for `lk doctor`. Each kind of database has its own question. */
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"
#include "engine/reply/reply.h"

enum { NOW_US };

lk_outcome lk_procedures_examine(struct lk_procedures *store, const char *question,
                                 lk_make_report *make_report, const struct lk_patience *patience,
                                 lk_report **ret_report, lk_error *error) {
    struct lk_rows *rows = NULL;
    int64_t begun_us = lk_clock_wall_us();
    int64_t ended_us;
    lk_report *report;
    lk_outcome outcome;

    if (question == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_procedures_ask_sql(store, question, patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    ended_us = lk_clock_wall_us();
    report = make_report(store, rows);
    if (report == NULL) {
        lk_rows_free(rows);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    report->round_trip_us = ended_us - begun_us;
    report->clock_offset_us = lk_row_integer(rows, 0, NOW_US) - (begun_us + ended_us) / 2;
    lk_rows_free(rows);
    *ret_report = report;
    return lk_error_clear(error, LK_OK);
}

void lk_procedures_report_limits(struct lk_text *text, const struct lk_rows *rows, int column) {
    const struct lk_quotas quotas = {
        .live_max = (uint64_t)lk_row_integer(rows, 0, column),
        .live_per_owner_max = (uint64_t)lk_row_integer(rows, 0, column + 1),
        .live_per_root_max = (uint64_t)lk_row_integer(rows, 0, column + 2),
        .waiters_per_path_max = (uint64_t)lk_row_integer(rows, 0, column + 3),
    };

    lk_limits_report(text, &quotas, (uint64_t)lk_row_integer(rows, 0, column + 4),
                     lk_row_boolean(rows, 0, column + 5));
}
