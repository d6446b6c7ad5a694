/* SPDX-License-Identifier: Apache-2.0 */
/* Events as rows. */
#include "sql/events.h"

#include <stdio.h>

/* The columns of LK_SQL_EVENTS_FROM, and the parameters of LK_SQL_EVENT_ADD less one. */
enum {
    COLUMN_SEQUENCE,
    COLUMN_AT,
    COLUMN_EVENT,
    COLUMN_REFUSAL,
    COLUMN_PARTS,
    COLUMN_OWNER,
    COLUMN_NOTE,
    COLUMN_TICKET,
    COLUMN_TOKEN,
    COLUMN_ATTEMPT,
    COLUMN_IS_OF_ITEM,
    COLUMN_IS_DELETION,
    COLUMN_BROKEN_BY,
    COLUMN_REASON,
};

int lk_sql_event_add(struct lk_sql *sql, const struct lk_sql_event *event) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_EVENT_ADD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, COLUMN_SEQUENCE + 1, (int64_t)event->sequence);
    (void)lk_sql_bind_integer(statement, COLUMN_AT + 1, event->at_unix_us);
    (void)lk_sql_bind_text(statement, COLUMN_EVENT + 1, event->event);
    (void)lk_sql_bind_text(statement, COLUMN_REFUSAL + 1, event->refusal);
    (void)lk_sql_bind_text(statement, COLUMN_PARTS + 1, event->parts);
    (void)lk_sql_bind_text(statement, COLUMN_OWNER + 1, event->owner);
    (void)lk_sql_bind_text(statement, COLUMN_NOTE + 1, event->note);
    (void)lk_sql_bind_integer(statement, COLUMN_TICKET + 1, (int64_t)event->ticket);
    (void)lk_sql_bind_integer(statement, COLUMN_TOKEN + 1, (int64_t)event->token);
    (void)lk_sql_bind_integer(statement, COLUMN_ATTEMPT + 1, event->attempt);
    (void)lk_sql_bind_integer(statement, COLUMN_IS_OF_ITEM + 1, event->is_of_item);
    (void)lk_sql_bind_integer(statement, COLUMN_IS_DELETION + 1, event->is_deletion);
    (void)lk_sql_bind_text(statement, COLUMN_BROKEN_BY + 1, event->by);
    (void)lk_sql_bind_text(statement, COLUMN_REASON + 1, event->reason);
    return lk_sql_run(statement);
}

/* Returns what is wrong with the row, or NULL. */
static const char *decode(sqlite3_stmt *statement, struct lk_sql_event *event) {
    int64_t attempt = sqlite3_column_int64(statement, COLUMN_ATTEMPT);
    int64_t ticket = sqlite3_column_int64(statement, COLUMN_TICKET);
    int64_t token = sqlite3_column_int64(statement, COLUMN_TOKEN);

    *event = (struct lk_sql_event){
        .sequence = (uint64_t)sqlite3_column_int64(statement, COLUMN_SEQUENCE),
        .at_unix_us = sqlite3_column_int64(statement, COLUMN_AT),
        .event = lk_sql_column_text(statement, COLUMN_EVENT),
        .refusal = lk_sql_column_text(statement, COLUMN_REFUSAL),
        .parts = lk_sql_column_text(statement, COLUMN_PARTS),
        .owner = lk_sql_column_text(statement, COLUMN_OWNER),
        .note = lk_sql_column_text(statement, COLUMN_NOTE),
        .ticket = (uint64_t)ticket,
        .token = (uint64_t)token,
        .attempt = (uint32_t)attempt,
        .is_of_item = sqlite3_column_int(statement, COLUMN_IS_OF_ITEM) != 0,
        .is_deletion = sqlite3_column_int(statement, COLUMN_IS_DELETION) != 0,
        .by = lk_sql_column_text(statement, COLUMN_BROKEN_BY),
        .reason = lk_sql_column_text(statement, COLUMN_REASON),
    };
    if (ticket < 0 || token < 0 || attempt < 0 || attempt > UINT32_MAX) {
        return "a number is out of range";
    }
    if (event->owner.size > LK_IDENTITY_BYTES_MAX || event->note.size > LK_NOTE_BYTES_MAX) {
        return "its owner or note is too long";
    }
    if (event->by.size > LK_BREAKER_BYTES_MAX || event->reason.size > LK_REASON_BYTES_MAX) {
        return "the name or the reason of its break is too long";
    }
    return event->parts.size > LK_SQL_EVENT_PARTS_MAX ? "it has too many parts" : NULL;
}

static int visit_row(struct lk_sql *sql, sqlite3_stmt *statement, lk_sql_visit_event *visit,
                     void *context) {
    struct lk_sql_event event;
    const char *wrong = decode(statement, &event);

    if (wrong != NULL) {
        (void)snprintf(sql->complaint, sizeof sql->complaint, "event %llu: %s",
                       (unsigned long long)event.sequence, wrong);
        return SQLITE_CORRUPT;
    }
    return visit(context, &event);
}

int lk_sql_events_each(struct lk_sql *sql, uint64_t after, lk_sql_visit_event *visit,
                       void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_EVENTS_FROM, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, after < INT64_MAX ? (int64_t)after : INT64_MAX);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit_row(sql, statement, visit, context);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_events_forget(struct lk_sql *sql, uint64_t sequence, int max) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_EVENTS_FORGET, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)sequence);
    (void)lk_sql_bind_integer(statement, 2, max);
    return lk_sql_run(statement);
}

static int set(struct lk_sql *sql, enum lk_sql_statement which, int64_t value) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, value);
    return lk_sql_run(statement);
}

int lk_sql_events_set_last(struct lk_sql *sql, uint64_t last_event) {
    return set(sql, LK_SQL_META_SET_LAST_EVENT, (int64_t)last_event);
}

int lk_sql_events_set_watched(struct lk_sql *sql, int64_t watched_until_us) {
    return set(sql, LK_SQL_META_SET_WATCHED, watched_until_us);
}

int lk_sql_events_probe(struct lk_sql *sql, uint64_t *ret_last_event, int64_t *ret_next_due_us) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_EVENTS_PROBE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_last_event = (uint64_t)sqlite3_column_int64(statement, 0);
        *ret_next_due_us = sqlite3_column_type(statement, 1) != SQLITE_NULL
                               ? sqlite3_column_int64(statement, 1)
                               : LK_NEVER;
    }
    return lk_sql_done(statement, code);
}
