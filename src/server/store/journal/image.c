/* SPDX-License-Identifier: Apache-2.0 */
/* The present state as tables in memory: entries are applied, snapshots are made. */
#include "server/store/journal/image.h"

#include <stdlib.h>

#include "base/error.h"
#include "server/core/core.h"
#include "sql/events.h"

enum {
    ENDED_MAX = 65536,  /* ended tokens kept (R3), as the model does */
    ENDED_SLACK = 8192, /* ... and up to this many more */
    ENDED_SWEEP = 256,  /* examined at a time */
    TICK_STEPS = 10000, /* of SQLite's virtual machine: about a millisecond */
};

#define SWEEP_EVERY_US INT64_C(100000)
#define GRACE_US INT64_C(60000000) /* R11 */

/* Of no boot: the clock is that of the service that leads, and is moved by entries. */
static const char boot_id[] = "journal";

/*
 * Here rows are found by their keys alone, so what decisions and people look for is left out: it
 * would cost more than the rows themselves. A load counts by indexes in files alone (sql/load.c).
 */
static const char lean[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    " DROP INDEX lk_request_by_deadline; DROP INDEX lk_request_waiting_by_owner;"
    " DROP INDEX lk_request_claims_by_ask; DROP INDEX lk_part_by_path; DROP INDEX lk_part_waiting;"
    " DROP INDEX lk_item_by_state; DROP INDEX lk_item_by_due; DROP INDEX lk_item_parked;"
    " DROP INDEX lk_item_by_needs; DROP TRIGGER lk_item_came; DROP TRIGGER lk_item_ready;"
    " DROP TRIGGER lk_item_left; DROP TRIGGER lk_item_went;"
    " DROP TRIGGER lk_part_came; DROP TRIGGER lk_request_turned";

lk_outcome lk_journal_image_explain(const struct lk_journal_image *image, int code,
                                    lk_error *error) {
    if (code == SQLITE_NOMEM || code == SQLITE_FULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return lk_error_set(error, LK_INVALID, "what is kept in %s is damaged (%.150s)", image->title,
                        image->sql.complaint[0] != '\0' ? image->sql.complaint
                                                        : sqlite3_errmsg(image->sql.handle));
}

lk_outcome lk_journal_image_open(const char *title, struct lk_journal_image **ret_image,
                                 lk_error *error) {
    struct lk_journal_image *image = calloc(1, sizeof *image);
    int code;

    if (image == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    image->title = title;
    code = lk_sql_open(&image->sql, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code != SQLITE_OK) {
        free(image);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    code = lk_sql_format_create(&image->sql, boot_id);
    if (code == SQLITE_OK) {
        code = lk_sql_execute(&image->sql, lean);
    }
    if (code == SQLITE_OK) {
        /* Never ended: what has failed is given up as a whole. */
        code = lk_sql_execute(&image->sql, "BEGIN");
    }
    if (code != SQLITE_OK) {
        lk_outcome outcome = lk_journal_image_explain(image, code, error);

        lk_journal_image_close(image);
        return outcome;
    }
    *ret_image = image;
    return LK_OK;
}

void lk_journal_image_close(struct lk_journal_image *image) {
    if (image != NULL) {
        lk_sql_close(&image->sql);
        free(image);
    }
}

void lk_journal_image_watch(struct lk_journal_image *image, int (*tick)(void *context),
                            void *context) {
    sqlite3_progress_handler(image->sql.handle, TICK_STEPS, tick, context);
}

/* ---- writing entries ------------------------------------------------------------------------- */

void lk_journal_image_encode(struct lk_journal_image *image, const struct lk_batch *batch,
                             struct lk_buffer *out) {
    struct lk_journal_codec codec = {.out = out};
    struct lk_journal_entry entry = {.kind = LK_JOURNAL_BATCH,
                                     .now_us = batch->times.now_us,
                                     .wall_us = batch->times.wall_us,
                                     .draw_floor = batch->draw_floor,
                                     .events = batch->events};

    lk_journal_code_entry(&codec, &entry);
    for (const struct lk_row *row = batch->first; row != NULL; row = row->next) {
        if (row->kind == LK_ROW_AUDIT) {
            image->row_room.audit = ++image->audit_last;
        }
        lk_journal_write_row(&codec, &image->row_room, row);
    }
    out->failed = out->failed || codec.failed;
}

/* ---- applying them --------------------------------------------------------------------------- */

static int prepare(struct lk_journal_image *image, const char *text, sqlite3_stmt **ret_statement) {
    return sqlite3_prepare_v2(image->sql.handle, text, -1, ret_statement, NULL);
}

/* Its number is its own, so that it is there once however often it is applied. */
static int write_audit(struct lk_journal_image *image, const struct lk_audit_row *audit) {
    uint64_t number = image->row_room.audit;
    sqlite3_stmt *statement;
    int code = prepare(image,
                       "INSERT OR REPLACE INTO lk_audit (id, at_unix_us, broken_by, reason, path,"
                       " owner, note, ticket, token, held) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                       " ?9, ?9 <> 0)",
                       &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)number);
    (void)lk_sql_bind_integer(statement, 2, audit->at_unix_us);
    (void)lk_sql_bind_text(statement, 3, audit->by);
    (void)lk_sql_bind_text(statement, 4, audit->reason);
    (void)lk_sql_bind_text(statement, 5, audit->path);
    (void)lk_sql_bind_text(statement, 6, audit->owner);
    (void)lk_sql_bind_text(statement, 7, audit->note);
    (void)lk_sql_bind_integer(statement, 8, (int64_t)audit->ticket);
    (void)lk_sql_bind_integer(statement, 9, (int64_t)audit->token);
    (void)sqlite3_step(statement);
    code = sqlite3_finalize(statement);
    if (code == SQLITE_OK) {
        code = lk_sql_statement(&image->sql, LK_SQL_AUDIT_BOUND, &statement);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, LK_AUDITS_MAX);
    image->audit_last = number > image->audit_last ? number : image->audit_last;
    return lk_sql_run(statement);
}

static int write_row(struct lk_journal_image *image, const struct lk_row *row) {
    struct lk_row written = *row;

    switch (row->kind) {
    case LK_ROW_PROBE: /* that the entry was written is all that it is for */
        return SQLITE_OK;
    case LK_ROW_AUDIT:
        return write_audit(image, &row->audit);
    case LK_ROW_ITEM_NEW: /* a piece may have had it, or a former one of that name */
        written.item.replaces = true;
        break;
    case LK_ROW_ENDED:
        image->ended_count++;
        break;
    default:
        break;
    }
    return lk_sql_row_write(&image->sql, &written);
}

/* Deletes ended tokens that are too old, or too many (R3). */
static int sweep(struct lk_journal_image *image, int64_t now_us) {
    int code = SQLITE_OK;

    if (now_us >= image->sweep_after_us) {
        code = lk_sql_ended_sweep(&image->sql, now_us - LK_ENDED_MEMORY_US, ENDED_SWEEP);
        image->sweep_after_us = now_us + SWEEP_EVERY_US;
    }
    if (code == SQLITE_OK && image->ended_count > ENDED_SLACK) {
        image->ended_count = 0;
        code = lk_sql_ended_bound(&image->sql, ENDED_MAX);
    }
    return code;
}

/* The state of the event log, the floor of draws (R4), and what is too old. */
static int keep(struct lk_journal_image *image, const struct lk_journal_entry *entry) {
    const struct lk_batch_events *events = &entry->events;
    struct lk_sql *sql = &image->sql;
    struct lk_sql_meta *meta = &(struct lk_sql_meta){.format = 0};
    int code = lk_sql_meta_load(sql, meta);

    if (code == SQLITE_OK && entry->draw_floor > meta->draw_floor) {
        code = lk_sql_meta_raise_floor(sql, meta, entry->draw_floor);
    }
    if (code == SQLITE_OK && events->last > meta->last_event) {
        code = lk_sql_events_set_last(sql, events->last);
    }
    if (code == SQLITE_OK && events->has_mark) {
        code = lk_sql_events_set_watched(sql, events->watched_until_us);
    }
    if (code == SQLITE_OK && events->forgotten > 0) {
        code = lk_sql_events_forget(sql, events->forgotten, INT32_MAX);
    }
    return code == SQLITE_OK ? sweep(image, entry->now_us) : code;
}

static int run_with(struct lk_journal_image *image, const char *text, int64_t number) {
    sqlite3_stmt *statement;
    int code = prepare(image, text, &statement);

    if (code == SQLITE_OK) {
        (void)lk_sql_bind_integer(statement, 1, number);
        (void)sqlite3_step(statement);
        code = sqlite3_finalize(statement);
    }
    return code;
}

/* Another service's clock from here on; and R11: what lives then lives on for a while. */
static int begin_epoch(struct lk_journal_image *image, const struct lk_journal_entry *entry) {
    static const char *const moves[] = {
        "UPDATE lk_request SET deadline_us = deadline_us + ?1",
        "UPDATE lk_item SET due_us = due_us + ?1 WHERE state IN ('delayed', 'again', 'done')",
        "UPDATE lk_ended SET ended_us = ended_us + ?1",
        "UPDATE lk_meta SET watched_until_us = watched_until_us + ?1 WHERE watched_until_us <> 0",
    };
    sqlite3_stmt *statement;
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof moves / sizeof moves[0] && entry->delta_us != 0; i++) {
        code = code == SQLITE_OK ? run_with(image, moves[i], entry->delta_us) : code;
    }
    if (code == SQLITE_OK) {
        code = lk_sql_statement(&image->sql, LK_SQL_RESTART_STAY, &statement);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, entry->now_us);
    (void)lk_sql_bind_integer(statement, 2, entry->wall_us);
    (void)lk_sql_bind_integer(statement, 3, entry->known_us);
    (void)lk_sql_bind_integer(statement, 4, GRACE_US);
    image->sweep_after_us = 0;
    return lk_sql_run(statement);
}

lk_outcome lk_journal_image_apply(struct lk_journal_image *image, struct lk_slice bytes,
                                  lk_error *error) {
    struct lk_journal_codec codec = lk_journal_reader(bytes);
    struct lk_journal_entry entry = {.now_us = 0};
    struct lk_row row;
    int code = SQLITE_OK;

    lk_journal_code_entry(&codec, &entry);
    if (!codec.failed && entry.kind == LK_JOURNAL_BEGIN) {
        code = begin_epoch(image, &entry);
    }
    while (code == SQLITE_OK && lk_journal_has_more(&codec)
           && lk_journal_read_row(&codec, &image->row_room, &row)) {
        code = write_row(image, &row);
    }
    if (code == SQLITE_OK && !codec.failed && entry.kind == LK_JOURNAL_BATCH) {
        code = keep(image, &entry);
    }
    if (code == SQLITE_OK && codec.failed) {
        return lk_error_set(error, LK_INVALID, "what is kept in %s is damaged (an entry)",
                            image->title);
    }
    return code == SQLITE_OK ? LK_OK : lk_journal_image_explain(image, code, error);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

lk_outcome lk_journal_image_load(struct lk_journal_image *image,
                                 const struct lk_model_config *config,
                                 struct lk_core_snapshot *snapshot, lk_error *error) {
    const int64_t no_clock = INT64_MAX; /* the image's deadlines are on that of the entries */
    struct lk_sql_meta *meta = &(struct lk_sql_meta){.format = 0};
    int code = lk_sql_meta_load(&image->sql, meta);

    if (code == SQLITE_OK) {
        code = lk_sql_snapshot_fill(&image->sql, meta, &image->load_room, no_clock,
                                    meta->events_max > 0 || meta->watched_until_us != 0, snapshot);
    }
    if (code != SQLITE_OK) {
        return lk_journal_image_explain(image, code, error);
    }
    lk_sql_snapshot_bound(meta, config, snapshot);
    return LK_OK;
}
