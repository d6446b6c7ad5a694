/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: the rows that a number of decisions changed, to be made durable in one transaction. It
 * is a deep copy, so that a writer thread never touches the model.
 *
 * What changed several times is here once, as it was when the batch was closed; what came and went
 * within it not at all. Rows of the same path, item or queue stand in the order of their changes.
 */
#ifndef LK_SERVER_BATCH_H
#define LK_SERVER_BATCH_H

#include "model/model.h"
#include "server/arena.h"
#include "server/kept.h"

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
    LK_ROW_ENDED,        /* .ended: a token that its owner ended (R3) */
    LK_ROW_AUDIT,        /* .audit: what an administrator broke (R12) */
    LK_ROW_EVENT,        /* .event (R21) */
    LK_ROW_LIMITS,       /* .limits (R21, R22): in the place of what was there */
};

struct lk_row_request {
    struct lk_record *record; /* up to its parts: `text` is not there, the paths are elsewhere */
    int64_t expires_unix_us;  /* its deadline by the wall clock */
    bool has_parts;           /* they may be others than before: write them, too */
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
        const struct lk_kept *event;
        struct {
            struct lk_quotas quotas;
            uint64_t events_max;
        } limits;
    };
};

/* What is to be known of events besides themselves. */
struct lk_batch_events {
    uint64_t last;      /* the last number that was drawn */
    uint64_t forgotten; /* of those up to here nobody will be told any more */
    bool has_mark;
    int64_t watched_until_us; /* the mark, on the clock of `times`; 0: nobody follows */
};

struct lk_batch {
    uint64_t number;
    struct lk_times times; /* of when it was closed */
    uint64_t draw_floor;   /* R4: no draw up to here may be made again, in any root */
    bool has_work;         /* something of R15 or R16 that the first format does not know */
    struct lk_batch_events events;
    size_t row_count;
    struct lk_row *first;
    struct lk_row *last;
    struct lk_arena arena; /* where all of it is */
};

#endif
