/* SPDX-License-Identifier: Apache-2.0 */
/* Which formats are refused, and the steps from an older one. */
#include "engine/sqlite/upgrade.h"

#include "base/error.h"
#include "base/text.h"
#include "engine/sqlite/files.h"
#include "sql/counts.h"

lk_outcome lk_sqlite_check_format(const struct lk_sqlite *store, int64_t format,
                                  int64_t writable_from, lk_error *error) {
    const struct lk_sql_formats *formats = store->options.formats;

    return lk_sql_format_is_usable(formats, format, writable_from)
               ? LK_OK
               : lk_sql_format_refuse("the store's tables", format, formats->format,
                                      store->address.path, error);
}

lk_outcome lk_sqlite_check_foreign(struct lk_sqlite *store, int *ret_code, lk_error *error) {
    char name[LK_SQL_NAME_MAX];
    int code = lk_sql_begin_read(&store->sql);

    if (code == SQLITE_OK) {
        code = lk_sql_find_foreign(&store->sql, name);
    }
    if (code == SQLITE_OK && name[0] != '\0') {
        return lk_error_set(error, LK_INVALID,
                            "the store's file has a trigger or view '%s' that Lockkeeper has not "
                            "made, which could change what it grants; drop it if you know whose it "
                            "is, else restore the file from a copy: %s",
                            name, store->address.path);
    }
    *ret_code = code == SQLITE_OK ? lk_sql_commit(&store->sql) : code;
    return *ret_code == SQLITE_OK ? LK_OK : LK_UNAVAILABLE;
}

/* ---- what is in use -------------------------------------------------------------------------- */

struct in_use {
    int64_t held;
    int64_t claimed;
    int64_t waiting;
};

/*
 * What lives in tables of an older format. In another boot than the file's, by the wall clock:
 * holders of before the restart have ended with it, but not those beside a container.
 */
static int count_in_use(struct lk_sqlite *store, struct in_use *ret_in_use) {
    static const char query[] =
        "SELECT ifnull(sum(state = 'held' AND NOT is_claim), 0),"
        " ifnull(sum(state = 'held' AND is_claim), 0), ifnull(sum(state = 'waiting'), 0)"
        " FROM lk_request WHERE CASE WHEN (SELECT boot_id FROM lk_meta) = ?1"
        " THEN deadline_us > ?2 ELSE expires_unix_us > ?3 END";
    const struct lk_time_source *time = store->options.time;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->sql.handle, query, -1, &statement, NULL);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, lk_slice_of(store->boot_id));
    (void)lk_sql_bind_integer(statement, 2, time->now_us(time->context));
    (void)lk_sql_bind_integer(statement, 3, time->wall_us(time->context));
    if (sqlite3_step(statement) == SQLITE_ROW) {
        ret_in_use->held = sqlite3_column_int64(statement, 0);
        ret_in_use->claimed = sqlite3_column_int64(statement, 1);
        ret_in_use->waiting = sqlite3_column_int64(statement, 2);
    }
    return sqlite3_finalize(statement);
}

static void add_count(struct lk_text *text, int64_t count, const char *one, const char *many) {
    if (count > 0) {
        lk_text_format(text, "%s%lld %s", text->size > 0 ? ", " : "", (long long)count,
                       count == 1 ? one : many);
    }
}

static lk_outcome refuse_in_use(const struct lk_sqlite *store, int64_t format,
                                const struct in_use *in_use, lk_error *error) {
    char bytes[128];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    add_count(&text, in_use->held, "lease is held", "leases are held");
    add_count(&text, in_use->claimed, "item is claimed", "items are claimed");
    add_count(&text, in_use->waiting, "request waits", "requests wait");
    return lk_error_set(error, LK_UNSUPPORTED,
                        "%s by programs of the earlier version: the store has format %lld, and is "
                        "brought to format %d once nothing of it is in use; let those programs "
                        "end, or use that version: %s",
                        bytes, (long long)format, store->options.formats->format,
                        store->address.path);
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* The bounds may need triggers and an index, which are as this format has them. */
static int run_steps(struct lk_sqlite *store, int64_t format) {
    struct lk_sql *sql = &store->sql;
    struct lk_sql_meta meta;
    int code = lk_sql_format_upgrade(sql, store->options.formats, format);

    if (code == SQLITE_OK) {
        code = lk_sql_meta_load(sql, &meta);
    }
    return code == SQLITE_OK ? lk_sql_quotas_count(sql, &meta.quotas) : code;
}

static lk_outcome upgrade_from(struct lk_sqlite *store, int64_t format, int *ret_code,
                               lk_error *error) {
    struct in_use in_use = {.held = 0};
    int code;

    if (lk_sqlite_service_lock_is_held(sqlite3_db_filename(store->sql.handle, "main"))) {
        return lk_error_set(error, LK_DENIED,
                            "a running service of an older version keeps this store, whose "
                            "tables must be brought up to date first; end it: %s",
                            store->address.path);
    }
    code = count_in_use(store, &in_use);
    if (code == SQLITE_OK && in_use.held + in_use.claimed + in_use.waiting > 0) {
        return refuse_in_use(store, format, &in_use, error);
    }
    code = code == SQLITE_OK ? run_steps(store, format) : code;
    if (code == SQLITE_ERROR) { /* a name of the owner's, or a view that shows what is not there */
        return lk_error_set(error, LK_INVALID,
                            "the store's tables cannot be brought up to date (%s); nothing was "
                            "changed: %s",
                            sqlite3_errmsg(store->sql.handle), store->address.path);
    }
    *ret_code = code == SQLITE_OK ? lk_sql_commit(&store->sql) : code;
    return *ret_code == SQLITE_OK ? LK_OK : LK_UNAVAILABLE;
}

/* Another process may have upgraded the tables since they were looked at, also too far. */
lk_outcome lk_sqlite_upgrade(struct lk_sqlite *store, enum lk_sqlite_access access, int *ret_code,
                             lk_error *error) {
    struct lk_sql *sql = &store->sql;
    int64_t format = 0;
    int64_t writable_from = 0;
    lk_outcome outcome;
    int code = access == LK_SQLITE_READ ? lk_sql_begin_read(sql) : lk_sql_begin_write(sql);

    if (code == SQLITE_OK) {
        code = lk_sql_format_read(sql, &format, &writable_from);
    }
    if (code != SQLITE_OK) {
        *ret_code = code;
        return LK_UNAVAILABLE;
    }
    if (!lk_sql_format_has_steps(store->options.formats, format)) {
        outcome = lk_sqlite_check_format(store, format, writable_from, error);
    } else if (access == LK_SQLITE_READ) {
        outcome =
            lk_error_set(error, LK_UNSUPPORTED,
                         "the store has format %lld, and this program reads format %d: the "
                         "first call of it that writes brings the store up to date; until "
                         "then use the earlier version: %s",
                         (long long)format, store->options.formats->format, store->address.path);
    } else {
        outcome = upgrade_from(store, format, ret_code, error);
    }
    lk_sql_rollback(sql); /* what is committed stays */
    if (outcome == LK_OK) {
        outcome = lk_sqlite_check_foreign(store, ret_code, error);
    }
    store->is_behind = outcome != LK_OK;
    return outcome;
}

lk_outcome lk_sqlite_bring_up_to_date(struct lk_engine *engine, const struct lk_patience *patience,
                                      lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_LOOK, patience, &transaction, error);

    return outcome == LK_OK ? lk_sqlite_transaction_end(&transaction, SQLITE_OK, error) : outcome;
}
