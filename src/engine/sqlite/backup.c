/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the whole file as it is at one moment, by SQLite's online backup. A reading transaction
 * is open all the while: in a write-ahead log it keeps its moment and lets other processes write,
 * so the copy never has to begin again. The copy gets its name once it is whole and flushed.
 */
#include "base/error.h"
#include "base/new_file.h"
#include "engine/sqlite/store.h"

enum {
    PAGES_A_STEP = 256, /* a megabyte: between two steps a caller may give up */
};

/* All pages of the transaction's moment. *ret_code is the source's; the copy's is explained. */
static lk_outcome copy_pages(struct lk_sqlite *store, sqlite3 *copy, const char *path,
                             const struct lk_patience *patience, lk_error *error) {
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", store->sql.handle, "main");
    int code = backup != NULL ? SQLITE_OK : sqlite3_errcode(copy);
    bool is_cancelled = false;

    while (code == SQLITE_OK && !is_cancelled) {
        code = sqlite3_backup_step(backup, PAGES_A_STEP);
        is_cancelled = code == SQLITE_OK && lk_waker_sleep(patience->waker, 0);
    }
    if (backup != NULL) {
        int ended = sqlite3_backup_finish(backup);
        code = code == SQLITE_DONE ? ended : code;
    }
    if (is_cancelled) {
        return lk_error_set(error, LK_CANCELLED, "cancelled while the store was copied");
    }
    if (code == SQLITE_OK) {
        return LK_OK;
    }
    return lk_error_set(error, LK_UNAVAILABLE, "the copy %s: %s", path, sqlite3_errstr(code));
}

/*
 * Into an empty file that is there. It needs no journal, which a disk that is full would leave
 * behind: a copy that fails is removed, and flushed is one that is whole.
 */
static lk_outcome copy_into(struct lk_sqlite *store, const char *path,
                            const struct lk_patience *patience, lk_error *error) {
    sqlite3 *copy = NULL;
    int code = sqlite3_open_v2(path, &copy, SQLITE_OPEN_READWRITE, NULL);
    lk_outcome outcome;

    if (code == SQLITE_OK) {
        code = sqlite3_exec(copy, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL,
                            NULL);
    }
    outcome = code == SQLITE_OK ? copy_pages(store, copy, path, patience, error)
                                : lk_error_set(error, LK_UNAVAILABLE, "the copy %s: %s", path,
                                               sqlite3_errstr(code));
    code = sqlite3_close(copy);
    if (outcome == LK_OK && code != SQLITE_OK) {
        outcome =
            lk_error_set(error, LK_UNAVAILABLE, "the copy %s: %s", path, sqlite3_errstr(code));
    }
    return outcome;
}

lk_outcome lk_sqlite_copy(struct lk_engine *engine, const char *path,
                          const struct lk_patience *patience, lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct lk_sqlite_transaction transaction;
    lk_error ended;
    lk_outcome end;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = copy_into(store, path, patience, error);
    end = lk_sqlite_transaction_end(&transaction, SQLITE_OK, &ended);
    return outcome == LK_OK && end != LK_OK ? lk_error_set(error, end, "%s", ended.text) : outcome;
}

lk_outcome lk_sqlite_backup(struct lk_engine *engine, const char *path,
                            const struct lk_patience *patience, lk_error *error) {
    struct lk_new_file file;
    lk_outcome outcome = lk_new_file_begin(&file, path, error);

    if (outcome == LK_OK) {
        outcome = lk_sqlite_copy(engine, file.part, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_new_file_publish(&file, error);
    }
    lk_new_file_end(&file);
    return outcome;
}
