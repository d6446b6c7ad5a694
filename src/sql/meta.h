/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store keeps besides its requests: the row about itself, the last draw of each root (R4),
 * the memory of ended tokens (R3) and the record of what was broken (R12).
 */
#ifndef LK_SQL_META_H
#define LK_SQL_META_H

#include "sql/database.h"
#include "sql/format.h"
#include "sql/rows.h"

enum { LK_SQL_SERVED_MAX = 255 }; /* bytes of a service's address */

struct lk_sql_meta {
    int64_t format;
    int64_t writable_from;
    char boot_id[LK_SQL_BOOT_ID_MAX + 1];
    uint64_t draw_floor;
    char sweep_root[LK_SEGMENT_BYTES_MAX]; /* not terminated */
    size_t sweep_root_size;
    struct lk_quotas quotas;
    char served[LK_SQL_SERVED_MAX
                + 1];         /* the address of the service that keeps the file; empty: none */
    uint64_t events_max;      /* R21: kept at all times; 0: only while watched */
    int64_t watched_until_us; /* on the clock of the boot */
    uint64_t last_event;
};

int lk_sql_meta_load(struct lk_sql *sql, struct lk_sql_meta *ret_meta);

/* Whether the program may use the tables, by what each format has of the row. */
int lk_sql_meta_is_usable(struct lk_sql *sql, const struct lk_sql_formats *formats,
                          bool *ret_is_usable);
int lk_sql_meta_set_boot(struct lk_sql *sql, const char *boot_id);

int lk_sql_meta_set_served(struct lk_sql *sql, const char *address);

/* ---- R4 -------------------------------------------------------------------------------------- */

/* 0: the root is not known. */
int lk_sql_root_load(struct lk_sql *sql, struct lk_slice root, uint64_t *ret_last_draw);

/* The greatest last draw of all roots, forgotten ones included. */
int lk_sql_roots_greatest(struct lk_sql *sql, const struct lk_sql_meta *meta, uint64_t *ret_draw);

/*
 * Raises the floor to a draw, for a service that keeps one draw for all roots: later draws are not
 * smaller.
 */
int lk_sql_meta_raise_floor(struct lk_sql *sql, const struct lk_sql_meta *meta, uint64_t floor);

/* Never lowers it. */
int lk_sql_root_save(struct lk_sql *sql, struct lk_slice root, uint64_t last_draw);

/*
 * Visits the next `max` roots. Forgets those that have no live request and a last draw smaller than
 * `before`, after raising the floor to at least their draws: also in `meta`, since later steps of
 * the same transaction no longer find the roots. The next call continues after them.
 */
int lk_sql_roots_sweep(struct lk_sql *sql, struct lk_sql_meta *meta, uint64_t before, int max);

/* ---- R3 -------------------------------------------------------------------------------------- */

/*
 * When exactly this target and token ended: SQLITE_OK, or SQLITE_EMPTY if that is not remembered.
 */
int lk_sql_ended_load(struct lk_sql *sql, const struct lk_target *target, int64_t *ret_ended_us);
int lk_sql_ended_save(struct lk_sql *sql, const struct lk_target *target, int64_t ended_us);

/* All ended tokens, the oldest first. Any code but SQLITE_OK ends the walk. */
typedef int lk_sql_visit_ended(void *context, const struct lk_target *target, int64_t ended_us);
int lk_sql_ended_each(struct lk_sql *sql, lk_sql_visit_ended *visit, void *context);

/* Deletes what ended by `until_us`, among the `max` smallest tokens. */
int lk_sql_ended_sweep(struct lk_sql *sql, int64_t until_us, int max);

/* Deletes all but the `max` greatest tokens. Costs a count of all. */
int lk_sql_ended_bound(struct lk_sql *sql, int max);
int lk_sql_ended_clear(struct lk_sql *sql);

/* ---- R12 ------------------------------------------------------------------------------------- */

/* Adds a record, and deletes all but the last `max`. */
int lk_sql_audit_save(struct lk_sql *sql, const struct lk_audit_row *audit, int max);

/* Called for each record, which is borrowed for the call. A code but SQLITE_OK ends the walk. */
typedef int lk_sql_visit_audit(void *context, const struct lk_audit_row *audit);

/* The records at or below `path` (empty: all), oldest first. */
int lk_sql_audit_each(struct lk_sql *sql, struct lk_slice path, lk_sql_visit_audit *visit,
                      void *context);

/*
 * The tokens of the first `max` records behind record *last, or of the last `max` if `is_first`.
 * Moves *last behind them. Those of waiting requests and items have no token, and are left out.
 */
int lk_sql_audit_news(struct lk_sql *sql, bool is_first, uint64_t *last, size_t max,
                      uint64_t *ret_tokens, size_t *ret_count);

#endif
