/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row that a decision changed, for every program that keeps a model's state in SQLite. The
 * embedded engine writes each row at once; the service copies rows into a batch, and its writer
 * thread writes them. Both make rows here, and both write them here.
 *
 * This header includes nothing of SQLite, so that the service's core can include it.
 */
#ifndef LK_SQL_ROWS_H
#define LK_SQL_ROWS_H

#include "model/model.h"

struct lk_sql; /* sql/database.h */

/* Breaks kept on record (R12). */
/* An event (R21) as its row has it. Readers interpret the names. */
struct lk_sql_event {
    uint64_t sequence;
    int64_t at_unix_us;
    struct lk_slice event;
    struct lk_slice refusal; /* empty: none */
    struct lk_slice parts;
    struct lk_slice owner;
    struct lk_slice note;
    uint64_t ticket;
    uint64_t token;
    uint32_t attempt;
    bool is_of_item;
    bool is_deletion;
    struct lk_slice by; /* of a break; else empty */
    struct lk_slice reason;
};

enum lk_row_kind {
    LK_ROW_REQUEST,      /* .request: new or changed */
    LK_ROW_REQUEST_GONE, /* .gone: its id */
    LK_ROW_VALUE,        /* .value */
    LK_ROW_VALUE_DOUBT,  /* .value.path */
    LK_ROW_VALUE_GONE,   /* .value.path */
    LK_ROW_ITEM_NEW,     /* .item, with its value and needs; in place of one with its id */
    LK_ROW_ITEM,         /* .item: state, due_us, attempts, was_lost, is_head, last_failure,
                            progress */
    LK_ROW_ITEM_GONE,    /* .item: queue and id */
    LK_ROW_QUEUE,        /* .queue */
    LK_ROW_QUEUE_GONE,   /* .queue.path */
    LK_ROW_ENDED,        /* .ended: a token that its owner ended (R3) */
    LK_ROW_AUDIT,        /* .audit: what an administrator broke (R12) */
    LK_ROW_EVENT,        /* .event (R21) */
    LK_ROW_LIMITS,       /* .limits (R21, R22): replaces the stored ones */
    LK_ROW_PROBE,        /* changes nothing, only proves that a write succeeds: one draw is
                          * skipped (R4) */
};

/* Everything is borrowed. The `text` of records is not used: a copy may end with its last part. */
struct lk_row {
    enum lk_row_kind kind;
    struct lk_row *next; /* in a batch; else not used */
    union {
        struct {
            const struct lk_record *record;
            int64_t expires_unix_us; /* its deadline by the wall clock */
            bool has_parts;          /* the parts may have changed: write them, too */
            bool bound;              /* R18 */
        } request;
        uint64_t gone;
        struct {
            struct lk_slice path;
            struct lk_slice bytes;
        } value;
        struct {
            const struct lk_item_record *record; /* value and needs only if it is new */
            int64_t due_unix_us;                 /* when it is due, or ready since: schema.sql */
            bool replaces; /* LK_ROW_ITEM_NEW: there may be an item with its id */
        } item;
        struct {
            struct lk_slice path;
            struct lk_queue_counts counts;
        } queue;
        struct {
            struct lk_target target;
            int64_t ended_us;
        } ended;
        struct lk_audit_row audit;
        struct lk_sql_event event;
        struct {
            struct lk_quotas quotas;
            uint64_t events_max;
        } limits;
    };
};

/*
 * The row of a change that is about a value, an item or a queue, as the model has it now. The row
 * borrows from `room`, whose content it replaces, and from the model.
 */
struct lk_row lk_row_of_change(const struct lk_model *model, const struct lk_change *change,
                               const struct lk_times *times, struct lk_item_record *room);

/* R3: what a release or the end of a claim names, with room for the item. */
struct lk_row_named {
    struct lk_target target;
    struct lk_part part;
    struct lk_item_path item;
};

/* NULL: the command names no token to end. A claim is named by its item's path. */
const struct lk_target *lk_row_named(const struct lk_command *command, struct lk_row_named *room);

/* Whether the step ended what its command named, so that the token is to be remembered. */
static inline bool lk_row_has_ended(const struct lk_answer *answer) {
    return answer->outcome == LK_OK && (answer->request != 0 || answer->item != 0);
}

/* An instant of the now_us axis by the wall clock. */
static inline int64_t lk_times_unix_us(const struct lk_times *times, int64_t instant_us) {
    return times->wall_us + instant_us - times->now_us;
}

/*
 * Writes the row, in a write transaction. Writing a row again changes nothing, except for audit,
 * events and the probe. Returns SQLite's code.
 */
int lk_sql_row_write(struct lk_sql *sql, const struct lk_row *row);

#endif
