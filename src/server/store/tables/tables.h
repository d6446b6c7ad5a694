/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shared stores in databases have in common: which rows a batch writes, by kind and in
 * which order (rows.c); leading, and what a load makes of the tables (load.c). The database itself
 * is a table of operations.
 */
#ifndef LK_SERVER_STORE_TABLES_TABLES_H
#define LK_SERVER_STORE_TABLES_TABLES_H

#include "engine/engine.h"
#include "server/store/store.h"

/* Of the tables; a macro, for texts of SQL. */
#define LK_TABLES_FORMAT 1

enum { LK_TABLES_COLUMNS_MAX = 17, LK_TABLES_PROCESS_BYTES = 33, LK_TABLES_PAGE_ROWS = 10000 };

/* Kinds of rows. All of one kind are written together. Kinds that are about the same things follow
 * each other, in the order in which they are written. */
enum lk_tables_kind {
    LK_TABLES_REQUEST,
    LK_TABLES_REQUEST_GONE,
    LK_TABLES_VALUE,
    LK_TABLES_VALUE_DOUBT,
    LK_TABLES_VALUE_GONE,
    LK_TABLES_ITEM_NEW,
    LK_TABLES_ITEM,
    LK_TABLES_ITEM_GONE,
    LK_TABLES_QUEUE_GONE,
    LK_TABLES_QUEUE,
    LK_TABLES_ENDED,
    LK_TABLES_AUDIT,
    LK_TABLES_EVENT,
    LK_TABLES_LIMITS,
    LK_TABLES_KINDS
};

/* What is too old. */
enum lk_tables_sweep {
    LK_TABLES_FORGET,      /* events up to a number */
    LK_TABLES_ENDED_BOUND, /* all but the latest LK_TABLES_ENDED_MAX ended tokens */
    LK_TABLES_ENDED_SWEEP, /* ended tokens that are older than five minutes */
    LK_TABLES_SWEEPS
};

enum { LK_TABLES_ENDED_MAX = 65536 };

/* What a load reads, in this order: items come before the requests that claim them. */
enum lk_tables_page {
    LK_TABLES_PAGE_LEADER,
    LK_TABLES_PAGE_VALUES,
    LK_TABLES_PAGE_QUEUES,
    LK_TABLES_PAGE_ITEMS,
    LK_TABLES_PAGE_REQUESTS,
    LK_TABLES_PAGE_ENDED,
    LK_TABLES_PAGE_AUDIT,
    LK_TABLES_PAGE_EVENTS,
    LK_TABLES_PAGES
};

/* What an attempt to lead has found. */
struct lk_tables_lead {
    bool leads;
    uint64_t epoch; /* that this service has begun; or that of the other one */
    int64_t left_us;
    int64_t at_us;                         /* the instant, on the clock of the database */
    char address[LK_LEADER_BYTES_MAX + 1]; /* of the other one */
};

/* The keys of rows that are not sent yet, each with the kind of its last row. */
struct lk_tables_keys {
    struct lk_tables_key {
        uint64_t hash; /* 0: free */
        enum lk_tables_kind kind;
    } * slots;
    size_t capacity; /* a power of 2 */
    size_t count;
};

struct lk_tables;

struct lk_tables_ops {
    /* Connects if there is no connection. */
    lk_outcome (*connect)(struct lk_tables *tables, lk_error *error);

    /* Begins the next epoch, unless another service leads. LK_OK in both cases. */
    lk_outcome (*lead)(struct lk_tables *tables, struct lk_tables_lead *ret_lead, lk_error *error);

    /* Called when this service has begun to lead, before it loads. NULL: nothing is to be done. */
    lk_outcome (*led)(struct lk_tables *tables, lk_error *error);

    /*
     * Reads a page, of LK_TABLES_PAGE_ROWS rows at most where `key_count` is not 0: those behind
     * these keys, which are texts and its first columns. LK_OK: the epoch was still the present one
     * after the page was read. LK_LOST: another service leads.
     */
    lk_outcome (*fetch)(struct lk_tables *tables, enum lk_tables_page page, const char *const *keys,
                        lk_error *error);
    bool (*next)(struct lk_tables *tables); /* the next row; false: there is none */
    struct lk_slice (*cell)(const struct lk_tables *tables, int column);
    int64_t (*number)(struct lk_slice cell);
    bool (*truth)(struct lk_slice cell);
    void (*fetched)(struct lk_tables *tables); /* frees the page */

    /* Collects a row of this kind, column by column. `left_us`: an instant, from now on. */
    void (*add_row)(struct lk_tables *tables, enum lk_tables_kind kind);
    void (*add_number)(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                       int64_t number);
    void (*add_left)(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                     int64_t left_us);
    void (*add_truth)(struct lk_tables *tables, enum lk_tables_kind kind, int column, bool truth);
    void (*add_bytes)(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                      struct lk_slice bytes);

    /* Sends the collected rows of a kind; or forgets them. false: the connection is lost, or memory
     * is exhausted. */
    bool (*flush)(struct lk_tables *tables, enum lk_tables_kind kind);
    void (*clear)(struct lk_tables *tables, enum lk_tables_kind kind);
    bool (*sweep)(struct lk_tables *tables, enum lk_tables_sweep sweep, uint64_t last);
};

/* Embedded first by each store. */
struct lk_tables {
    struct lk_storage storage; /* first */
    const struct lk_tables_ops *ops;
    const char *name; /* of the tables, for people */
    char advertised[LK_LEADER_BYTES_MAX + 1];
    char process[LK_TABLES_PROCESS_BYTES]; /* a random name */
    int64_t lease_us;
    uint64_t epoch;     /* that this service has begun last; 0: none */
    bool is_foreign;    /* before it another service has led, and no load has succeeded since */
    uint64_t forgotten; /* there is no event up to this number */
    int64_t ended_count;
    int64_t sweep_after_us;
    struct lk_tables_keys values;
    struct lk_tables_keys items;
};

static inline struct lk_tables *lk_tables_of(struct lk_storage *storage) {
    return (struct lk_tables *)storage;
}

/* ---- load.c: leading ------------------------------------------------------------------------- */

/* What one store is opened with. */
struct lk_tables_options {
    const char *url;
    const char *address; /* where clients find this service when it leads; copied */
    int64_t lease_us;    /* after its last commit no other service leads for so long */
};

/* Fills in what the options say. */
void lk_tables_init(struct lk_tables *tables, const struct lk_tables_options *options);
void lk_tables_done(struct lk_tables *tables);

/* As long as a call may take: after it another service leads. */
struct lk_patience lk_tables_patience(const struct lk_tables *tables);

/* LK_UNSUPPORTED with its sentence: the tables have another format (docs/operations.md). */
lk_outcome lk_tables_refuse_format(struct lk_tables *tables, int64_t format, lk_error *error);

/* For lk_storage_ops. */
lk_outcome lk_tables_load(struct lk_storage *storage, const struct lk_model_config *config,
                          const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                          lk_error *error);
lk_outcome lk_tables_announce(struct lk_storage *storage, const char *address, lk_error *error);

/* ---- rows.c ---------------------------------------------------------------------------------- */

/* Sends the batch's rows. false: the connection is lost, or memory is exhausted. */
bool lk_tables_send_rows(struct lk_tables *tables, const struct lk_batch *batch);

/* ---- load.c: pages --------------------------------------------------------------------------- */

/* How many of the first columns of such a page are its keys; 0: there is one page only. */
int lk_tables_page_keys(enum lk_tables_page page);

/*
 * Fills the snapshot from the tables. `here_us`: what is to be added to an instant of the database
 * to have it on the clock of this service.
 */
lk_outcome lk_tables_load_pages(struct lk_tables *tables, struct lk_core_snapshot *snapshot,
                                int64_t here_us, lk_error *error);

#endif
