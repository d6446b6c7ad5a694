/* SPDX-License-Identifier: Apache-2.0 */
/* What a store keeps besides its requests. */
#include "sql/meta.h"

#include <stdio.h>

/* ---- the store itself ------------------------------------------------------------------------ */

static int complain(struct lk_sql *sql, const char *about) {
    (void)snprintf(sql->complaint, sizeof sql->complaint, "%s", about);
    return SQLITE_CORRUPT;
}

static uint64_t unsigned_column(sqlite3_stmt *statement, int column) {
    int64_t value = sqlite3_column_int64(statement, column);

    return value > 0 ? (uint64_t)value : 0;
}

/* R4: a last draw or a floor; false if the value is beyond what a store can have drawn. */
static bool draw_column(sqlite3_stmt *statement, int column, uint64_t *ret_draw) {
    int64_t value = sqlite3_column_int64(statement, column);

    if (value < 0 || value > LK_SQL_INSTANT_MAX) {
        return false;
    }
    *ret_draw = (uint64_t)value;
    return true;
}

static int decode_meta(struct lk_sql *sql, sqlite3_stmt *statement, struct lk_sql_meta *meta) {
    struct lk_slice boot_id = lk_sql_column_text(statement, 2);
    struct lk_slice sweep_root = lk_sql_column_text(statement, 4);
    struct lk_slice served = lk_sql_column_text(statement, 9);

    if (boot_id.size > LK_SQL_BOOT_ID_MAX) {
        return complain(sql, "boot_id in lk_meta is too long");
    }
    if (sweep_root.size > LK_SEGMENT_BYTES_MAX) {
        return complain(sql, "sweep_root in lk_meta is too long");
    }
    if (served.size > LK_SQL_SERVED_MAX) {
        return complain(sql, "served in lk_meta is too long");
    }
    if (!draw_column(statement, 3, &meta->draw_floor)) {
        return complain(sql, "draw_floor in lk_meta is out of range");
    }
    meta->format = sqlite3_column_int64(statement, 0);
    meta->writable_from = sqlite3_column_int64(statement, 1);
    memcpy(meta->boot_id, boot_id.bytes != NULL ? boot_id.bytes : "", boot_id.size);
    meta->boot_id[boot_id.size] = '\0';
    memcpy(meta->sweep_root, sweep_root.bytes != NULL ? sweep_root.bytes : "", sweep_root.size);
    meta->sweep_root_size = sweep_root.size;
    memcpy(meta->served, served.bytes != NULL ? served.bytes : "", served.size);
    meta->served[served.size] = '\0';
    meta->quotas = (struct lk_quotas){
        .live_max = unsigned_column(statement, 5),
        .live_per_owner_max = unsigned_column(statement, 6),
        .live_per_root_max = unsigned_column(statement, 7),
        .waiters_per_path_max = unsigned_column(statement, 8),
    };
    meta->events_max = unsigned_column(statement, 10);
    meta->watched_until_us = sqlite3_column_int64(statement, 11);
    meta->last_event = unsigned_column(statement, 12);
    return SQLITE_OK;
}

int lk_sql_meta_load(struct lk_sql *sql, struct lk_sql_meta *ret_meta) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_META_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        code = decode_meta(sql, statement, ret_meta);
    } else if (code == SQLITE_DONE) {
        code = complain(sql, "table meta has no row");
    }
    return lk_sql_done(statement, code);
}

int lk_sql_meta_is_usable(struct lk_sql *sql, const struct lk_sql_formats *formats,
                          bool *ret_is_usable) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_META_FORMAT, &statement);

    *ret_is_usable = false;
    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_is_usable = lk_sql_format_is_usable(formats, sqlite3_column_int64(statement, 0),
                                                 sqlite3_column_int64(statement, 1));
    }
    return lk_sql_done(statement, code);
}

static int set_text(struct lk_sql *sql, enum lk_sql_statement which, const char *text) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, lk_slice_of(text));
    return lk_sql_run(statement);
}

int lk_sql_meta_set_boot(struct lk_sql *sql, const char *boot_id) {
    return set_text(sql, LK_SQL_META_SET_BOOT, boot_id);
}

int lk_sql_meta_set_served(struct lk_sql *sql, const char *address) {
    return set_text(sql, LK_SQL_META_SET_SERVED, address);
}

/* ---- R4 -------------------------------------------------------------------------------------- */

int lk_sql_root_load(struct lk_sql *sql, struct lk_slice root, uint64_t *ret_last_draw) {
    sqlite3_stmt *statement;
    uint64_t last_draw = 0;
    int code = lk_sql_statement(sql, LK_SQL_ROOT_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, root);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW && !draw_column(statement, 0, &last_draw)) {
        code = complain(sql, "a last_draw in lk_root is out of range");
    }
    code = lk_sql_done(statement, code);
    if (code == SQLITE_OK) {
        *ret_last_draw = last_draw;
    }
    return code;
}

int lk_sql_root_save(struct lk_sql *sql, struct lk_slice root, uint64_t last_draw) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ROOT_SAVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, root);
    (void)lk_sql_bind_integer(statement, 2, (int64_t)last_draw);
    return lk_sql_run(statement);
}

static int delete_root(struct lk_sql *sql, struct lk_slice root) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ROOT_DELETE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, root);
    return lk_sql_run(statement);
}

static int raise_floor(struct lk_sql *sql, uint64_t floor, struct lk_slice sweep_root) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_META_RAISE_FLOOR, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)floor);
    (void)lk_sql_bind_text(statement, 2, sweep_root);
    return lk_sql_run(statement);
}

int lk_sql_meta_raise_floor(struct lk_sql *sql, const struct lk_sql_meta *meta, uint64_t floor) {
    return raise_floor(sql, floor, (struct lk_slice){meta->sweep_root, meta->sweep_root_size});
}

int lk_sql_roots_greatest(struct lk_sql *sql, const struct lk_sql_meta *meta, uint64_t *ret_draw) {
    sqlite3_stmt *statement;
    uint64_t draw = 0;
    int code = lk_sql_statement(sql, LK_SQL_ROOTS_GREATEST, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW && !draw_column(statement, 0, &draw)) {
        code = complain(sql, "a last_draw in lk_root is out of range");
    }
    code = lk_sql_done(statement, code);
    if (code == SQLITE_OK) {
        *ret_draw = draw > meta->draw_floor ? draw : meta->draw_floor;
    }
    return code;
}

int lk_sql_roots_sweep(struct lk_sql *sql, struct lk_sql_meta *meta, uint64_t before, int max) {
    char last[LK_SEGMENT_BYTES_MAX]; /* the last root visited, copied */
    struct lk_slice reached = {last, 0};
    uint64_t floor = meta->draw_floor;
    int seen = 0;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ROOTS_FROM, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1,
                           (struct lk_slice){meta->sweep_root, meta->sweep_root_size});
    (void)lk_sql_bind_integer(statement, 2, (int64_t)before);
    (void)lk_sql_bind_integer(statement, 3, max);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct lk_slice root = lk_sql_column_text(statement, 0);
        uint64_t last_draw = 0;
        if (root.size > sizeof last) {
            code = complain(sql, "a root in lk_root is too long");
            break;
        }
        if (!draw_column(statement, 1, &last_draw)) {
            code = complain(sql, "a last_draw in lk_root is out of range");
            break;
        }
        memcpy(last, root.bytes != NULL ? root.bytes : "", root.size);
        reached.size = root.size;
        seen++;
        if (sqlite3_column_int(statement, 2) != 0) {
            floor = last_draw > floor ? last_draw : floor;
            code = delete_root(sql, reached);
            if (code != SQLITE_OK) {
                break;
            }
        }
    }
    code = lk_sql_done(statement, code);
    if (code != SQLITE_OK || (seen == 0 && meta->sweep_root_size == 0)) {
        return code;
    }
    if (seen < max) {
        reached.size = 0; /* no more roots: the next call starts over */
    }
    meta->draw_floor = floor;
    memcpy(meta->sweep_root, last, reached.size);
    meta->sweep_root_size = reached.size;
    return raise_floor(sql, floor, reached);
}

/* ---- R3 -------------------------------------------------------------------------------------- */

enum { ENDED_PATHS_MAX = LK_PARTS_MAX * (LK_PATH_BYTES_MAX + 1) };

/* The target's paths in byte order, a space between: the same set gives the same text (R3). */
static struct lk_slice ended_paths(const struct lk_target *target, char *buffer) {
    const struct lk_path *order[LK_PARTS_MAX];
    size_t size = 0;

    for (size_t i = 0; i < target->part_count; i++) {
        size_t at = i;
        while (at > 0 && lk_path_compare(order[at - 1], &target->parts[i].path) > 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = &target->parts[i].path;
    }
    for (size_t i = 0; i < target->part_count; i++) {
        if (i > 0) {
            buffer[size++] = ' ';
        }
        memcpy(buffer + size, order[i]->bytes, order[i]->size);
        size += order[i]->size;
    }
    return (struct lk_slice){buffer, size};
}

/* Parses paths separated by spaces, as ended_paths() writes them. false: not such a text. */
static bool parse_paths(struct lk_slice text, struct lk_part *parts, size_t *ret_count) {
    const char *at = text.bytes;
    const char *end = at + text.size;
    size_t count = 0;

    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        struct lk_slice path = {at, (size_t)((space != NULL ? space : end) - at)};
        if (count == LK_PARTS_MAX || lk_path_parse(path, &parts[count].path, NULL) != LK_OK) {
            return false;
        }
        parts[count].mode = LK_EXCLUSIVE;
        count++;
        at = space != NULL ? space + 1 : end;
    }
    *ret_count = count;
    return count > 0;
}

int lk_sql_ended_each(struct lk_sql *sql, lk_sql_visit_ended *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ENDED_ALL, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct lk_part parts[LK_PARTS_MAX] = {0};
        struct lk_target target = {
            .owner = lk_sql_column_text(statement, 1),
            .parts = parts,
            .token = unsigned_column(statement, 0),
        };
        code = parse_paths(lk_sql_column_text(statement, 2), parts, &target.part_count)
                   ? visit(context, &target, sqlite3_column_int64(statement, 3))
                   : complain(sql, "the paths of a row in lk_ended are none");
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_ended_load(struct lk_sql *sql, const struct lk_target *target, int64_t *ret_ended_us) {
    char paths[ENDED_PATHS_MAX];
    bool found;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ENDED_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)target->token);
    (void)lk_sql_bind_text(statement, 2, target->owner);
    (void)lk_sql_bind_text(statement, 3, ended_paths(target, paths));
    code = sqlite3_step(statement);
    found = code == SQLITE_ROW;
    if (found) {
        *ret_ended_us = sqlite3_column_int64(statement, 0);
    }
    code = lk_sql_done(statement, code);
    return code == SQLITE_OK && !found ? SQLITE_EMPTY : code;
}

int lk_sql_ended_save(struct lk_sql *sql, const struct lk_target *target, int64_t ended_us) {
    char paths[ENDED_PATHS_MAX];
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ENDED_SAVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)target->token);
    (void)lk_sql_bind_text(statement, 2, target->owner);
    (void)lk_sql_bind_text(statement, 3, ended_paths(target, paths));
    (void)lk_sql_bind_integer(statement, 4, ended_us);
    return lk_sql_run(statement);
}

int lk_sql_ended_sweep(struct lk_sql *sql, int64_t until_us, int max) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ENDED_SWEEP, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, until_us);
    (void)lk_sql_bind_integer(statement, 2, max);
    return lk_sql_run(statement);
}

int lk_sql_ended_bound(struct lk_sql *sql, int max) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ENDED_BOUND, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, max);
    return lk_sql_run(statement);
}

int lk_sql_ended_clear(struct lk_sql *sql) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_ENDED_CLEAR, &statement);

    return code == SQLITE_OK ? lk_sql_run(statement) : code;
}

/* ---- R12 ------------------------------------------------------------------------------------- */

int lk_sql_audit_save(struct lk_sql *sql, const struct lk_audit_row *audit, int max) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_AUDIT_SAVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, audit->at_unix_us);
    (void)lk_sql_bind_text(statement, 2, audit->by);
    (void)lk_sql_bind_text(statement, 3, audit->reason);
    (void)lk_sql_bind_text(statement, 4, audit->path);
    (void)lk_sql_bind_text(statement, 5, audit->owner);
    (void)lk_sql_bind_text(statement, 6, audit->note);
    (void)lk_sql_bind_integer(statement, 7, (int64_t)audit->ticket);
    (void)lk_sql_bind_integer(statement, 8, (int64_t)audit->token);
    (void)lk_sql_bind_integer(statement, 9, audit->token != 0);
    code = lk_sql_run(statement);
    if (code == SQLITE_OK) {
        code = lk_sql_statement(sql, LK_SQL_AUDIT_BOUND, &statement);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, max);
    return lk_sql_run(statement);
}

int lk_sql_audit_each(struct lk_sql *sql, struct lk_slice path, lk_sql_visit_audit *visit,
                      void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_AUDIT_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct lk_audit_row audit = {
            .at_unix_us = sqlite3_column_int64(statement, 0),
            .by = lk_sql_column_text(statement, 1),
            .reason = lk_sql_column_text(statement, 2),
            .path = lk_sql_column_text(statement, 3),
            .owner = lk_sql_column_text(statement, 4),
            .note = lk_sql_column_text(statement, 5),
            .ticket = unsigned_column(statement, 6),
            .token = unsigned_column(statement, 7),
        };
        code = visit(context, &audit);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_audit_news(struct lk_sql *sql, bool is_first, uint64_t *last, size_t max,
                      uint64_t *ret_tokens, size_t *ret_count) {
    sqlite3_stmt *statement;
    size_t count = 0;
    int code = lk_sql_statement(sql, LK_SQL_AUDIT_NEWS, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    if (!is_first) { /* else it is NULL */
        (void)lk_sql_bind_integer(statement, 1, (int64_t)*last);
    }
    (void)lk_sql_bind_integer(statement, 2, (int64_t)max);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        *last = unsigned_column(statement, 0);
        ret_tokens[count] = unsigned_column(statement, 1);
        count += ret_tokens[count] != 0;
    }
    *ret_count = count;
    return lk_sql_done(statement, code);
}
