/* SPDX-License-Identifier: Apache-2.0 */
/* Every statement that is prepared once and kept, by name. */
#ifndef LK_SQL_STATEMENTS_H
#define LK_SQL_STATEMENTS_H

enum lk_sql_statement {
    LK_SQL_BEGIN,
    LK_SQL_BEGIN_IMMEDIATE,
    LK_SQL_COMMIT,
    LK_SQL_ROLLBACK,
    LK_SQL_DATA_VERSION,

    LK_SQL_META_LOAD,
    LK_SQL_META_SET_BOOT,
    LK_SQL_META_RAISE_FLOOR,

    LK_SQL_REQUEST_LOAD,
    LK_SQL_REQUEST_SAVE,
    LK_SQL_REQUEST_DELETE,
    LK_SQL_REQUEST_STATE,
    LK_SQL_REQUEST_GREATEST,
    LK_SQL_PART_SAVE,
    LK_SQL_PARTS_DELETE,

    LK_SQL_ALL,
    LK_SQL_AT,
    LK_SQL_BELOW,
    LK_SQL_OVERDUE,
    LK_SQL_WAITING_OF,
    LK_SQL_LINE_AT,
    LK_SQL_LINE_BELOW,
    LK_SQL_COUNT_LIVE,

    LK_SQL_ROOT_LOAD,
    LK_SQL_ROOT_SAVE,
    LK_SQL_ROOTS_FROM,
    LK_SQL_ROOT_DELETE,

    LK_SQL_ENDED_LOAD,
    LK_SQL_ENDED_SAVE,
    LK_SQL_ENDED_SWEEP,
    LK_SQL_ENDED_BOUND,
    LK_SQL_ENDED_CLEAR,

    LK_SQL_AUDIT_SAVE,
    LK_SQL_AUDIT_BOUND,
    LK_SQL_AUDIT_LOAD,

    LK_SQL_STATEMENT_COUNT
};

/* Static storage. */
const char *lk_sql_statement_text(enum lk_sql_statement which);

#endif
