/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: the rows that a number of decisions changed, to be made durable in one transaction. It
 * is a deep copy, so that the writer thread never touches the model.
 *
 * A record that changed several times is here once, as it was when the batch was closed. A record
 * that was made and removed within the batch is not here. Rows of the same path, item or queue are
 * in the order of their changes.
 */
#ifndef LK_SERVER_CORE_BATCH_H
#define LK_SERVER_CORE_BATCH_H

#include "engine/stored_event.h"
#include "model/model.h"
#include "server/core/arena.h"

enum lk_row_kind {
    LK_ROW_REQUEST,      /* .request: new or changed */
    LK_ROW_REQUEST_GONE, /* .gone: its id */
    LK_ROW_VALUE,        /* .value */
    LK_ROW_VALUE_DOUBT,  /* .value.path */
    LK_ROW_VALUE_GONE,   /* .value.path */
    LK_ROW_ITEM_NEW,     /* .item, with its value */
    LK_ROW_ITEM,         /* .item: state, due_us, attempts, was_lost */
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

struct lk_row_request {
    struct lk_record *record; /* filled up to its parts: `text` is absent, the paths are stored
                               * elsewhere */
    int64_t expires_unix_us;  /* its deadline by the wall clock */
    bool has_parts;           /* the parts may have changed: write them, too */
    bool bound;               /* R18 */
};

struct lk_row_item {
    struct lk_path queue;
    struct lk_slice id;
    uint64_t sequence;
    enum lk_item_state state;
    int64_t due_us;
    int64_t due_unix_us;
    uint32_t attempts;
    bool was_lost;
    struct lk_slice value;
    size_t need_count;
    const struct lk_part *needs;
};

struct lk_row {
    enum lk_row_kind kind;
    struct lk_row *next;
    union {
        struct lk_row_request request;
        uint64_t gone;
        struct {
            struct lk_slice path;
            struct lk_slice bytes;
        } value;
        struct lk_row_item item;
        struct {
            struct lk_slice path;
            struct lk_queue_counts counts;
        } queue;
        struct {
            struct lk_target target;
            int64_t ended_us;
        } ended;
        struct {
            int64_t at_unix_us;
            struct lk_slice by;
            struct lk_slice reason;
            struct lk_slice path;
            struct lk_slice owner;
            struct lk_slice note;
            uint64_t ticket;
            uint64_t token; /* 0: it was waiting */
        } audit;
        const struct lk_stored_event *event;
        struct {
            struct lk_quotas quotas;
            uint64_t events_max;
        } limits;
    };
};

/* The state of the event log, besides the events. */
struct lk_batch_events {
    uint64_t last;      /* the last number that was drawn */
    uint64_t forgotten; /* events up to this number have been dropped */
    bool has_mark;
    int64_t watched_until_us; /* until when events are kept, on the clock of `times`; 0: no
                               * followers */
};

struct lk_batch {
    uint64_t number;
    struct lk_times times; /* when the batch was closed */
    uint64_t draw_floor;   /* R4: no draw up to this one may be made again, in any root */
    bool has_work;         /* has records of R15 or R16, which the first file format does not
                            * have */
    struct lk_batch_events events;
    size_t row_count;
    struct lk_row *first;
    struct lk_row *last;
    struct lk_arena arena; /* holds all rows of the batch */
};

#endif
