/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is flushed, and when: a file system below the store's own watches every write and flush of
 * the file and of its log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "fixture.h"

enum { HEADER_BYTES = 32, HANDLES_MAX = 16, ROUNDS = 60 };

enum kind { DATABASE, LOG, KINDS };

/* ---- the watch ------------------------------------------------------------------------------- */

static struct {
    bool is_dirty[KINDS]; /* has been written to since the last flush */
    unsigned flushes[KINDS];
    unsigned directory_flushes;        /* by the first flush of a log that was opened to be made */
    bool is_name_durable;              /* of the log */
    bool is_begun_again;               /* a log with frames has a new header, not flushed yet */
    sqlite3_file *makers[HANDLES_MAX]; /* logs that were opened so, and not flushed yet */
    const char *complaint;
} seen;

static sqlite3_vfs watching;
static sqlite3_vfs *below;
static sqlite3_io_methods real[KINDS];
static sqlite3_io_methods watched[KINDS];

static void complain_if(bool is_wrong, const char *what) {
    if (is_wrong && seen.complaint == NULL) {
        seen.complaint = what;
    }
}

static int write_database(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    complain_if(seen.is_dirty[LOG], "the file is written before its log is flushed");
    seen.is_dirty[DATABASE] = true;
    return real[DATABASE].xWrite(file, bytes, size, offset);
}

static int write_log(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    sqlite3_int64 before = 0;

    (void)real[LOG].xFileSize(file, &before);
    complain_if(offset == 0 && before > HEADER_BYTES && seen.is_dirty[DATABASE],
                "a log with frames is begun again before the file is flushed");
    complain_if(offset != 0 && seen.is_begun_again,
                "the header of a log with old frames is not flushed before new ones are written");
    seen.is_begun_again = offset == 0 && before > HEADER_BYTES;
    seen.is_dirty[LOG] = true;
    return real[LOG].xWrite(file, bytes, size, offset);
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    complain_if(seen.is_dirty[DATABASE], "the log is emptied before the file is flushed");
    return real[LOG].xTruncate(file, size);
}

static int flush_database(sqlite3_file *file, int flags) {
    seen.is_dirty[DATABASE] = false;
    seen.flushes[DATABASE]++;
    return real[DATABASE].xSync(file, flags);
}

static int flush_log(sqlite3_file *file, int flags) {
    seen.is_dirty[LOG] = false;
    seen.is_begun_again = false;
    seen.flushes[LOG]++;
    for (size_t i = 0; i < HANDLES_MAX; i++) {
        if (seen.makers[i] == file) {
            seen.makers[i] = NULL;
            seen.directory_flushes++;
            seen.is_name_durable = true;
        }
    }
    complain_if(!seen.is_name_durable, "a commit is durable in a log whose name is not");
    return real[LOG].xSync(file, flags);
}

static int close_log(sqlite3_file *file) {
    for (size_t i = 0; i < HANDLES_MAX; i++) {
        seen.makers[i] = seen.makers[i] == file ? NULL : seen.makers[i];
    }
    return real[LOG].xClose(file);
}

static void watch(sqlite3_file *file, enum kind kind) {
    if (watched[kind].xWrite == NULL) {
        real[kind] = watched[kind] = *file->pMethods;
        watched[kind].xWrite = kind == LOG ? write_log : write_database;
        watched[kind].xSync = kind == LOG ? flush_log : flush_database;
        if (kind == LOG) {
            watched[kind].xTruncate = truncate_log;
            watched[kind].xClose = close_log;
        }
    }
    file->pMethods = &watched[kind];
}

static void note_maker(sqlite3_file *file) {
    for (size_t i = 0; i < HANDLES_MAX; i++) {
        if (seen.makers[i] == NULL) {
            seen.makers[i] = file;
            return;
        }
    }
    fail_msg("more than %d logs are open", HANDLES_MAX);
}

static int open_watched(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                        int *ret_flags) {
    int code = below->xOpen(below, path, file, flags, ret_flags);

    (void)vfs;
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        watch(file, DATABASE);
    }
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
        watch(file, LOG);
        if ((flags & SQLITE_OPEN_CREATE) != 0) {
            note_maker(file);
        }
    }
    return code;
}

/* Before the first store is opened: the store's own file system stands on the default one. */
static int begin_watching(void **state) {
    (void)state;
    below = sqlite3_vfs_find(NULL);
    watching = *below;
    watching.zName = "watching";
    watching.xOpen = open_watched;
    return sqlite3_vfs_register(&watching, 1);
}

static int set_up(void **state) {
    memset(&seen, 0, sizeof seen);
    return fixture_setup(state);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static void path_beside(const struct fixture *fixture, const char *suffix, char path[PATH_MAX]) {
    (void)snprintf(path, PATH_MAX, "%s%s", fixture->file, suffix);
}

static long size_beside(const struct fixture *fixture, const char *suffix) {
    char path[PATH_MAX];
    struct stat status;

    path_beside(fixture, suffix, path);
    return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

static void take_and_give_back(struct lk_engine *engine, const char *owner, bool is_durable) {
    lk_result result = {0};

    assert_int_equal(fixture_ask(engine, owner, owner, LK_TRY, 60000, &result), LK_GRANTED);
    complain_if(is_durable && seen.is_dirty[LOG], "a grant is answered before it is durable");
    assert_int_equal(fixture_release(engine, owner, owner, result.token, &result), LK_OK);
    complain_if(is_durable && seen.is_dirty[LOG], "a release is answered before it is durable");
    lk_result_clear(&result);
}

/* As `lk run` does with a short command. */
static void run_once(const char *file) {
    struct lk_engine *engine = fixture_open_durable(file);

    take_and_give_back(engine, "a", true);
    fixture_close(engine);
}

static void assert_flushes(unsigned log, unsigned database, unsigned directory) {
    assert_int_equal(seen.flushes[LOG], log);
    assert_int_equal(seen.flushes[DATABASE], database);
    assert_int_equal(seen.directory_flushes, directory);
    assert_null(seen.complaint);
    memset(seen.flushes, 0, sizeof seen.flushes);
    seen.directory_flushes = 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_short_process_flushes_what_it_commits_and_the_file(void **state) {
    struct fixture *fixture = *state;

    run_once(fixture->file); /* makes the store */
    memset(seen.flushes, 0, sizeof seen.flushes);
    seen.directory_flushes = 0;
    for (int i = 0; i < 3; i++) {
        run_once(fixture->file);
        assert_flushes(3, 1, 0); /* a grant, a release, and both again for the file */
        assert_in_range(size_beside(fixture, "-wal"), 1, HEADER_BYTES);
    }
}

static void a_log_that_is_made_again_gets_its_name_flushed(void **state) {
    struct fixture *fixture = *state;
    char path[PATH_MAX];

    run_once(fixture->file);
    path_beside(fixture, "-wal", path);
    assert_int_equal(unlink(path), 0);
    memset(&seen, 0, sizeof seen);
    run_once(fixture->file);
    assert_flushes(3, 1, 1);
}

/* A copy has the mark's bytes, and an inode of its own. */
static void a_log_that_was_copied_gets_its_name_flushed(void **state) {
    struct fixture *fixture = *state;
    char path[PATH_MAX];
    char other[PATH_MAX];
    char mark[HEADER_BYTES];

    run_once(fixture->file);
    path_beside(fixture, "-wal", path);
    path_beside(fixture, "-copy", other);
    FILE *from = fopen(path, "r");
    FILE *to = fopen(other, "w");
    assert_non_null(from);
    assert_non_null(to);
    size_t size = fread(mark, 1, sizeof mark, from);
    assert_int_equal(fwrite(mark, 1, size, to), size);
    assert_int_equal(fclose(from) | fclose(to), 0);
    assert_int_equal(rename(other, path), 0);
    memset(&seen, 0, sizeof seen);
    run_once(fixture->file);
    assert_flushes(3, 1, 1);
}

/* Nothing in it is a frame: it is emptied by a process that has flushed nothing. */
static void a_log_that_was_emptied_without_a_flush_has_no_mark(void **state) {
    struct fixture *fixture = *state;
    char path[PATH_MAX];
    char nothing[100] = "";

    run_once(fixture->file);
    path_beside(fixture, "-wal", path);
    assert_int_equal(unlink(path), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(nothing, 1, sizeof nothing, file), sizeof nothing);
    assert_int_equal(fclose(file), 0);
    memset(&seen, 0, sizeof seen);
    fixture_close(fixture_open_durable(fixture->file));
    assert_flushes(0, 0, 0);
    run_once(fixture->file);
    assert_flushes(3, 1, 1);
}

static void a_store_of_several_users_leaves_nothing_beside_it(void **state) {
    struct fixture *fixture = *state;
    FILE *file = fopen(fixture->file, "w");

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(fixture->file, 0660), 0);
    run_once(fixture->file);
    assert_int_equal(fixture_count_files(fixture), 1);
    assert_null(seen.complaint);
}

/* A reader of the file alone finds all that was committed. */
static void the_file_alone_is_all_of_it(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = fixture_open_durable(fixture->file);
    lk_result result = {0};
    char path[PATH_MAX];

    assert_int_equal(fixture_ask(engine, "a", "kept", LK_TRY, 60000, &result), LK_GRANTED);
    lk_result_clear(&result);
    fixture_close(engine);
    path_beside(fixture, "-wal", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fixture_sql(fixture->file, "SELECT count(*) FROM lk_request"), 1);
}

/* Durable and relaxed stores on one file, opened and closed in any order. */
static void nothing_is_written_before_what_it_relies_on_is_flushed(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engines[4] = {NULL};
    unsigned number = 1;

    for (int round = 0; round < ROUNDS; round++) {
        size_t i = (number = number * 1103515245 + 12345) >> 16 & 3;
        bool is_durable = i < 2;
        if (engines[i] == NULL) {
            engines[i] = is_durable ? fixture_open_durable(fixture->file)
                                    : fixture_open(fixture->file, &lk_sqlite_options_default);
        } else if ((number >> 20 & 3) == 0) {
            fixture_close(engines[i]);
            engines[i] = NULL;
        } else {
            for (int times = 0; times < 30; times++) {
                take_and_give_back(engines[i], is_durable ? "a" : "b", is_durable);
            }
        }
        assert_null(seen.complaint);
    }
    for (size_t i = 0; i < 4; i++) {
        if (engines[i] != NULL) {
            fixture_close(engines[i]);
        }
    }
    assert_null(seen.complaint);
}

#define IN_A_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_DIRECTORY(a_short_process_flushes_what_it_commits_and_the_file),
        IN_A_DIRECTORY(a_log_that_is_made_again_gets_its_name_flushed),
        IN_A_DIRECTORY(a_log_that_was_copied_gets_its_name_flushed),
        IN_A_DIRECTORY(a_log_that_was_emptied_without_a_flush_has_no_mark),
        IN_A_DIRECTORY(a_store_of_several_users_leaves_nothing_beside_it),
        IN_A_DIRECTORY(the_file_alone_is_all_of_it),
        IN_A_DIRECTORY(nothing_is_written_before_what_it_relies_on_is_flushed),
    };

    return cmocka_run_group_tests(tests, begin_watching, NULL);
}
