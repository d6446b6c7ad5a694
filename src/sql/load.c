/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads all that a store keeps into a model: items come before the requests that claim them. And
 * checks it.
 */
#include "sql/load.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "sql/values.h"

/* ---- loading --------------------------------------------------------------------------------- */

/* Rows that were loaded. */
struct counts {
    int64_t requests;
    int64_t parts;
    int64_t items;
    int64_t values;
    int64_t claimed; /* of the items */
    int64_t claims;  /* of the requests */
};

struct loading {
    struct lk_sql *sql;
    struct counts counts;
    struct lk_model *model;
    enum lk_sql_depth depth;
    lk_sql_visit_request *visit;
    void *context;
};

/* `what` names the row if the model rejects it. */
static int taken(const struct loading *loading, lk_outcome outcome, const char *what) {
    if (outcome == LK_OK) {
        return SQLITE_OK;
    }
    if (outcome == LK_INTERNAL) {
        return SQLITE_NOMEM;
    }
    (void)snprintf(loading->sql->complaint, sizeof loading->sql->complaint,
                   "%s cannot be together with the other rows", what);
    return SQLITE_CORRUPT;
}

static int load_value(void *context, struct lk_slice text, struct lk_slice bytes, bool in_doubt) {
    struct loading *loading = context;
    struct lk_path path;
    lk_outcome outcome = lk_path_parse(text, &path, NULL);

    if (outcome == LK_OK) {
        outcome = lk_model_restore_value(loading->model, &path, bytes, in_doubt);
    }
    loading->counts.values++;
    return taken(loading, outcome, "a value");
}

static int load_queue(void *context, struct lk_slice text, const struct lk_queue_counts *counts) {
    struct loading *loading = context;
    struct lk_path path;
    lk_outcome outcome = lk_path_parse(text, &path, NULL);

    if (outcome == LK_OK) {
        outcome = lk_model_restore_queue(loading->model, &path, counts);
    }
    return taken(loading, outcome, "a queue");
}

static int load_item(void *context, const struct lk_sql_item *item) {
    struct loading *loading = context;
    struct lk_item_record record = item->record;

    loading->counts.items++;
    loading->counts.claimed += lk_item_is_claimed(record.state);
    /* It becomes claimed when its claim is restored. */
    record.state = record.state == LK_ITEM_CLAIMED ? LK_ITEM_READY : record.state;
    return taken(loading, lk_model_restore_item(loading->model, &record), "an item");
}

static int load_request(void *context, const struct lk_sql_request *request) {
    struct loading *loading = context;
    char what[64];
    int code;

    loading->counts.requests++;
    loading->counts.parts += (int64_t)request->record.part_count;
    loading->counts.claims += request->record.is_claim;
    (void)snprintf(what, sizeof what, "request %llu", (unsigned long long)request->record.id);
    code = taken(loading, lk_model_restore(loading->model, &request->record), what);
    return code == SQLITE_OK ? loading->visit(loading->context, request) : code;
}

static int load_ended(void *context, const struct lk_target *target, int64_t ended_us) {
    struct loading *loading = context;

    return taken(loading, lk_model_restore_ended(loading->model, target, ended_us),
                 "an ended token");
}

/* SQLITE_CORRUPT if not all of the `there` rows of a table were loaded, or more. */
static int compare(struct lk_sql *sql, const char *table, int64_t loaded, int64_t there) {
    if (loaded == there) {
        return SQLITE_OK;
    }
    (void)snprintf(sql->complaint, sizeof sql->complaint,
                   "%s: %lld rows are sound, and there should be %lld", table, (long long)loaded,
                   (long long)there);
    return SQLITE_CORRUPT;
}

/*
 * A page that another one has replaced has no damage of its own, but the rows of one table or of
 * one index are gone: counting shows it where a walk of the table does not meet them. Tables in
 * memory have no pages to lose, and may be without these indexes.
 */
static int check_rows(struct lk_sql *sql, const struct counts *loaded) {
    static const char *const tables[] = {"lk_request", "lk_part", "lk_part", "lk_item", "lk_value"};
    const int64_t expected[] = {loaded->requests, loaded->parts, loaded->parts, loaded->items,
                                loaded->values};
    int64_t there[sizeof expected / sizeof expected[0]] = {0};
    const char *file = sqlite3_db_filename(sql->handle, "main");
    sqlite3_stmt *statement;
    int code;

    if (file == NULL || file[0] == '\0') {
        return SQLITE_OK;
    }
    code = lk_sql_statement(sql, LK_SQL_COUNT_ROWS, &statement);
    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    for (size_t i = 0; i < sizeof there / sizeof there[0] && code == SQLITE_ROW; i++) {
        there[i] = sqlite3_column_int64(statement, (int)i);
    }
    code = lk_sql_done(statement, code);
    for (size_t i = 0; i < sizeof there / sizeof there[0] && code == SQLITE_OK; i++) {
        code = compare(sql, tables[i], expected[i], there[i]);
    }
    return code;
}

static int check_counts(struct lk_sql *sql, const struct counts *loaded) {
    int code = check_rows(sql, loaded);

    return code == SQLITE_OK ? compare(sql, "claims of lk_item", loaded->claims, loaded->claimed)
                             : code;
}

/* R5, R6: two leases that exclude each other are of two states of the store. */
static int check_leases(struct lk_sql *sql, const struct lk_model *model, int64_t now_us) {
    lk_ref request = lk_model_conflict(model, now_us);

    if (request == 0) {
        return SQLITE_OK;
    }
    (void)snprintf(sql->complaint, sizeof sql->complaint,
                   "request %llu and another one hold what excludes them",
                   (unsigned long long)lk_model_request_id(model, request));
    return SQLITE_CORRUPT;
}

static int load(struct loading *loading, const struct lk_sql_meta *meta,
                struct lk_sql_load_room *room, int64_t now_us) {
    struct lk_sql *sql = loading->sql;
    uint64_t floor = 0;
    int code = lk_sql_roots_greatest(sql, meta, &floor);

    if (code == SQLITE_OK) {
        lk_model_restore_floor(loading->model, floor);
        code = lk_sql_values_each(sql, loading->depth, load_value, loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_queues_each(sql, load_queue, loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_items_each_anywhere(sql, loading->depth, &room->item, load_item, loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_requests_each(sql, &room->request, load_request, loading);
    }
    if (code == SQLITE_OK) {
        code = lk_sql_ended_each(sql, load_ended, loading);
    }
    if (code == SQLITE_OK) {
        code = check_counts(sql, &loading->counts);
    }
    return code == SQLITE_OK ? check_leases(sql, loading->model, now_us) : code;
}

int lk_sql_load(struct lk_sql *sql, const struct lk_sql_meta *meta, struct lk_model *model,
                struct lk_sql_load_room *room, int64_t now_us, lk_sql_visit_request *visit,
                void *context) {
    struct loading loading = {
        .sql = sql, .model = model, .depth = LK_SQL_WITH_BYTES, .visit = visit, .context = context};

    return load(&loading, meta, room, now_us);
}

static int visit_nothing(void *context, const struct lk_sql_request *request) {
    (void)context;
    (void)request;
    return SQLITE_OK;
}

int lk_sql_load_check(struct lk_sql *sql, const struct lk_sql_meta *meta, int64_t now_us) {
    const struct lk_model_config config = {.hash_seed = lk_random_draw()};
    struct lk_sql_load_room *room = calloc(1, sizeof *room);
    struct loading loading = {.sql = sql,
                              .model = lk_model_new(&config),
                              .depth = LK_SQL_WITHOUT_BYTES,
                              .visit = visit_nothing};
    int code =
        room != NULL && loading.model != NULL ? load(&loading, meta, room, now_us) : SQLITE_NOMEM;

    lk_model_free(loading.model);
    free(room);
    return code;
}

/* ---- whether a store is sound ---------------------------------------------------------------- */

/*
 * SQLite's own check, table by table: a quick one would not compare indexes with their tables, and
 * a lock is looked up by an index. Then what SQLite cannot know: how the rows depend on each other.
 */

static int complain(struct lk_sql *sql, const char *about, const char *finding) {
    (void)snprintf(sql->complaint, sizeof sql->complaint, "%s: %s", about, finding);
    return SQLITE_CORRUPT;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int check_table(struct lk_sql *sql, const char *name) {
    char pragma[128];
    sqlite3_stmt *statement = NULL;
    int code;

    (void)sqlite3_snprintf((int)sizeof pragma, pragma, "PRAGMA integrity_check(%Q)", name);
    code = sqlite3_prepare_v2(sql->handle, pragma, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        const char *finding = (const char *)sqlite3_column_text(statement, 0);
        code = finding != NULL && strcmp(finding, "ok") == 0
                   ? SQLITE_OK
                   : complain(sql, name, finding != NULL ? finding : "unknown");
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static int check_tables(struct lk_sql *sql) {
    sqlite3_stmt *tables = NULL;
    int code = sqlite3_prepare_v2(sql->handle,
                                  "SELECT name FROM sqlite_schema"
                                  " WHERE type = 'table' AND name LIKE 'lk\\_%' ESCAPE '\\'",
                                  -1, &tables, NULL);

    while (code == SQLITE_OK && (code = sqlite3_step(tables)) == SQLITE_ROW) {
        code = check_table(sql, (const char *)sqlite3_column_text(tables, 0));
    }
    (void)sqlite3_finalize(tables);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* R4: no draw was greater than those of its root and of the roots that are forgotten. */
#define IS_LOST(draw, path)                                                                        \
    "(" draw ") > (SELECT draw_floor FROM lk_meta) AND NOT EXISTS (SELECT 1 FROM lk_root"          \
    " WHERE root = substr(" path ", 1, instr(" path " || '/', '/') - 1) AND last_draw >= " draw    \
    ")"

/* Each selects how many rows are wrong; what loading the rows finds (load.h) is not among them. */
static const struct {
    const char *table; /* that may not be there; NULL: it is */
    const char *query;
    const char *about;
} rules[] = {
    {NULL,
     "SELECT count(*) FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
     " WHERE turn <> CASE state WHEN 'waiting' THEN ticket ELSE 0 END",
     "rows do not have the turns of their requests"},
    {NULL,
     "SELECT count(*) FROM lk_item_value"
     " WHERE NOT EXISTS (SELECT 1 FROM lk_item WHERE number = lk_item_value.item)",
     "rows are values of no item"},
    {NULL,
     "SELECT count(*) FROM lk_strict_need AS need LEFT JOIN lk_item ON number = need.item"
     " WHERE number IS NULL OR need.is_head <> lk_item.is_head",
     "strict needs are those of no item, or not the head's"},
    /* Items that a log of etcd has brought have no size (the image is in memory, without pages). */
    {NULL,
     "SELECT count(*) FROM lk_item LEFT JOIN lk_item_value ON item = number"
     " WHERE value_bytes IS NOT NULL AND value_bytes <> ifnull(length(bytes), -1)",
     "items do not have the values they were pushed with"},
    /* Both are written with the row, and swept only where there is none any more. */
    {NULL,
     "SELECT count(*) FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
     " WHERE " IS_LOST("max(ticket, token)", "lk_part.path"),
     "rows have draws that their roots have not made"},
    {NULL, "SELECT count(*) FROM lk_item WHERE " IS_LOST("sequence", "queue"),
     "items have draws that their roots have not made"},
    {NULL,
     "SELECT count(*) FROM lk_item"
     " WHERE NOT EXISTS (SELECT 1 FROM lk_queue WHERE path = lk_item.queue)",
     "items are in no queue"},
    {"lk_request_count",
     "SELECT count(*) <> 1 OR max(requests) <> (SELECT count(*) FROM lk_request)"
     " FROM lk_request_count",
     "row counts other requests than there are"},
};

static int check_rules(struct lk_sql *sql) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && code == SQLITE_OK; i++) {
        int64_t wrong = 0;
        char number[32];

        if (rules[i].table != NULL
            && sqlite3_table_column_metadata(sql->handle, "main", rules[i].table, NULL, NULL, NULL,
                                             NULL, NULL, NULL)
                   != SQLITE_OK) {
            continue;
        }
        code = lk_sql_integer(sql, rules[i].query, &wrong);
        if (code == SQLITE_OK && wrong > 0) {
            (void)snprintf(number, sizeof number, "%lld", (long long)wrong);
            code = complain(sql, number, rules[i].about);
        }
    }
    return code;
}

int lk_sql_integrity_check(struct lk_sql *sql, const struct lk_sql_meta *meta, int64_t now_us) {
    int code = check_tables(sql);

    if (code == SQLITE_OK) {
        code = check_rules(sql);
    }
    return code == SQLITE_OK ? lk_sql_load_check(sql, meta, now_us) : code;
}

int lk_sql_integrity_check_locks(struct lk_sql *sql) {
    static const char *const tables[] = {"lk_meta", "lk_root", "lk_request", "lk_part"};
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && code == SQLITE_OK; i++) {
        code = check_table(sql, tables[i]);
    }
    return code;
}
