/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch costs the service's store: steps of SQLite's machine, and system calls. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "../support.h"
#include "server/core/core.h"
#include "server/store/store.h"

struct fixture {
    char directory[128];
    struct lk_storage *storage;
    struct lk_times times;
};

/* What the store's connection did since the last reset. */
static struct {
    uint64_t steps;
    unsigned writes;
    unsigned flushes;
    unsigned not_flushed; /* writes since the last flush */
    unsigned times;       /* queries of the times of the log */
} counts;

static unsigned writes_until_full; /* 0: the disk has room */

/* SQLite calls this in place of the C library's. */
__attribute__((visibility("default"))) int fdatasync(int descriptor) {
    counts.flushes++;
    counts.not_flushed = 0;
    return (int)syscall(SYS_fdatasync, descriptor);
}

__attribute__((visibility("default"))) int stat(const char *path, struct stat *ret_status) {
    size_t size = strlen(path);

    counts.times += size >= 4 && strcmp(path + size - 4, "-wal") == 0;
    return fstatat(AT_FDCWD, path, ret_status, 0);
}

static ssize_t count_write(int descriptor, const void *bytes, size_t size, off_t offset) {
    counts.writes++;
    counts.not_flushed++;
    if (writes_until_full > 0 && --writes_until_full == 0) {
        writes_until_full = 1;
        errno = ENOSPC;
        return -1;
    }
    return pwrite(descriptor, bytes, size, offset);
}

static void count_writes(bool counts_them) {
    static const char *const names[] = {"pwrite", "pwrite64"};
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)vfs->xSetSystemCall(vfs, names[i],
                                  counts_them ? (sqlite3_syscall_ptr)count_write : NULL);
    }
}

static int on_statement(unsigned kind, void *context, void *statement, void *nanoseconds) {
    (void)kind;
    (void)context;
    (void)nanoseconds;
    counts.steps += (uint64_t)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
}

static int trace(sqlite3 *handle) {
    return sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, on_statement, NULL);
}

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const struct lk_store_sqlite_options options = {.directory = fixture->directory};
    const struct lk_model_config config = {.hash_seed = 1};
    const char *temporary = getenv("TMPDIR");
    struct lk_core_snapshot *snapshot = NULL;

    fixture->times = (struct lk_times){.now_us = 1000000000, .wall_us = INT64_C(1700000000000000)};
    (void)snprintf(fixture->directory, sizeof fixture->directory, "%s/lk-cost-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    (void)sqlite3_auto_extension((void (*)(void))trace);
    count_writes(true);
    *state = fixture;
    if (mkdtemp(fixture->directory) == NULL
        || lk_store_sqlite_open(&options, &fixture->storage, NULL) != LK_OK
        || fixture->storage->ops->load(fixture->storage, &config, &fixture->times, &snapshot, NULL)
               != LK_OK) {
        return -1;
    }
    lk_core_snapshot_free(snapshot);
    return 0;
}

static int end(void **state) {
    static const char *const names[] = {"locks.db", "locks.db-wal", "locks.db-shm",
                                        "locks.db-served"};
    struct fixture *fixture = *state;
    char path[200];

    fixture->storage->ops->close(fixture->storage);
    sqlite3_reset_auto_extension();
    count_writes(false);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(fixture->directory);
    free(fixture);
    return 0;
}

/* Writes `rows`, which are linked here, as a batch of their own with a draw at the present time. */
static lk_outcome write_rows(struct fixture *fixture, struct lk_row *rows, size_t count) {
    struct lk_batch batch = {.number = 1,
                             .times = fixture->times,
                             .draw_floor = (uint64_t)fixture->times.wall_us,
                             .first = rows,
                             .last = &rows[count - 1],
                             .row_count = count};

    for (size_t i = 0; i + 1 < count; i++) {
        rows[i].next = &rows[i + 1];
    }
    return fixture->storage->ops->write(fixture->storage, &batch, NULL);
}

/* Rows of `count` ended tokens, from `first` on. Their part is `part`. */
static struct lk_row *make_ended(const struct fixture *fixture, struct lk_part *part,
                                 uint64_t first, size_t count) {
    struct lk_row *rows = calloc(count, sizeof *rows);

    assert_non_null(rows);
    *part = (struct lk_part){.mode = LK_EXCLUSIVE};
    (void)lk_path_parse(lk_slice_of("db/t1"), &part->path, NULL);
    for (size_t i = 0; i < count; i++) {
        rows[i].kind = LK_ROW_ENDED;
        rows[i].ended.target = (struct lk_target){
            .owner = lk_slice_of("me"), .parts = part, .part_count = 1, .token = first + i};
        rows[i].ended.ended_us = fixture->times.now_us;
    }
    return rows;
}

static void write_ended(struct fixture *fixture, uint64_t first, size_t count) {
    struct lk_part part;
    struct lk_row *rows = make_ended(fixture, &part, first, count);

    assert_int_equal(write_rows(fixture, rows, count), LK_OK);
    free(rows);
}

/* The steps of ten batches of one ended token each, a millisecond apart. */
static uint64_t steps_of_ten(struct fixture *fixture, uint64_t first) {
    write_ended(fixture, first, 1);
    counts.steps = 0;
    for (uint64_t i = 1; i <= 10; i++) {
        fixture->times.now_us += 1000;
        fixture->times.wall_us += 1000;
        write_ended(fixture, first + i, 1);
    }
    return counts.steps;
}

static void a_batch_does_not_walk_the_ended_tokens(void **state) {
    struct fixture *fixture = *state;
    uint64_t few = steps_of_ten(fixture, 1);
    uint64_t many;

    write_ended(fixture, 1000, 5000);
    many = steps_of_ten(fixture, 10000);
    assert_in_range(many, 1, few * 2);
}

/* Also how other processes see the file. */
static int64_t count_ended(const struct fixture *fixture) {
    sqlite3 *handle;
    sqlite3_stmt *statement;
    int64_t count;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/locks.db", fixture->directory);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(handle, "SELECT count(*) FROM lk_ended", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    count = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(handle);
    return count;
}

/* R3: what is older than five minutes goes, at more than 220 tokens a second. */
static void old_ended_tokens_are_swept(void **state) {
    struct fixture *fixture = *state;

    write_ended(fixture, 1, 5000);
    fixture->times.now_us += INT64_C(301000000);
    for (uint64_t i = 0; i < 25; i++) {
        fixture->times.now_us += 1000000;
        write_ended(fixture, 10000 + i, 1);
    }
    assert_int_equal(count_ended(fixture), 25);
}

/*
 * R4: after a crash at any of these moments the next draw is greater than every draw before it. Nor
 * is the floor ahead of them: draws ahead of the clock could be made again by a restored copy.
 */
static void the_floor_is_the_greatest_draw(void **state) {
    struct fixture *fixture = *state;
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_core_snapshot *snapshot = NULL;

    for (int64_t i = 1; i <= 50; i++) {
        fixture->times.now_us += i * 1000;
        fixture->times.wall_us += i * 1000;
        write_ended(fixture, (uint64_t)i, 1);
        assert_int_equal(fixture->storage->ops->load(fixture->storage, &config, &fixture->times,
                                                     &snapshot, NULL),
                         LK_OK);
        assert_int_equal(lk_model_floor(snapshot->model), fixture->times.wall_us);
        lk_core_snapshot_free(snapshot);
    }
}

/* ---- the log --------------------------------------------------------------------------------- */

static int64_t log_bytes(const struct fixture *fixture) {
    struct stat status;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/locks.db-wal", fixture->directory);
    assert_int_equal(fstatat(AT_FDCWD, path, &status, 0), 0);
    return status.st_size;
}

static void a_batch_is_one_write_and_one_flush(void **state) {
    struct fixture *fixture = *state;
    int64_t length;
    unsigned lengths = 0;

    write_ended(fixture, 1, 2000); /* rows on many pages */
    length = log_bytes(fixture);
    memset(&counts, 0, sizeof counts);
    for (uint64_t i = 0; i < 100; i++) {
        fixture->times.now_us += 1000;
        fixture->times.wall_us += 1000;
        write_ended(fixture, 10000 + i * 10, 10);
        assert_int_equal(counts.not_flushed, 0);
        lengths += log_bytes(fixture) != length;
        length = log_bytes(fixture);
    }
    assert_int_equal(counts.flushes, 100);
    assert_int_equal(counts.times, 0);
    assert_in_range(lengths, 1, 10);
    assert_in_range(counts.writes, 100, 100 + 10 * lengths);
    assert_int_equal(count_ended(fixture), 3000);
}

static void copy_file(const struct fixture *fixture, const char *name, const char *copy) {
    static char bytes[1 << 16];
    char path[200];
    FILE *from;
    FILE *to;
    size_t size;

    (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, name);
    from = fopen(path, "rbe");
    (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, copy);
    to = fopen(path, "wbe");
    assert_true(from != NULL && to != NULL);
    while ((size = fread(bytes, 1, sizeof bytes, from)) > 0) {
        assert_int_equal(fwrite(bytes, 1, size, to), size);
    }
    (void)fclose(from);
    assert_int_equal(fclose(to), 0);
}

static sqlite3 *open_by_name(const struct fixture *fixture, const char *name) {
    sqlite3 *handle;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, name);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    return handle;
}

/* The first column of the first row. */
static void assert_answer(sqlite3 *handle, const char *question, const char *expected) {
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_prepare_v2(handle, question, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
    (void)sqlite3_finalize(statement);
}

/* The files as other processes read them have so many ended tokens. */
static void assert_copy(const struct fixture *fixture, const char *ended_count) {
    static const char *const names[] = {"copy.db", "copy.db-wal", "copy.db-shm"};
    sqlite3 *copy;
    char path[200];

    copy_file(fixture, "locks.db", names[0]);
    copy_file(fixture, "locks.db-wal", names[1]);
    copy = open_by_name(fixture, names[0]);
    assert_answer(copy, "SELECT count(*) FROM lk_ended", ended_count);
    assert_answer(copy, "PRAGMA integrity_check", "ok");
    (void)sqlite3_close(copy);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, names[i]);
        (void)unlink(path);
    }
}

/* What a crash leaves after each batch. */
static void each_batch_is_in_a_copy_of_the_files(void **state) {
    struct fixture *fixture = *state;
    struct lk_random random = test_random();
    uint64_t count = 0;
    char expected[24];

    for (int i = 0; i < 40; i++) {
        bool is_large = lk_random_between(&random, 1, 6) == 1;
        uint64_t more = (uint64_t)lk_random_between(&random, 1, is_large ? 2000 : 50);
        sqlite3 *other = open_by_name(fixture, "locks.db");

        write_ended(fixture, count + 1, more);
        count += more;
        (void)snprintf(expected, sizeof expected, "%" PRIu64, count);
        assert_copy(fixture, expected);
        if (lk_random_between(&random, 1, 4) == 1) { /* the log begins again */
            assert_answer(other, "PRAGMA wal_checkpoint(PASSIVE)", "0");
        }
        (void)sqlite3_close(other);
    }
}

static int frames_in_log(sqlite3 *handle) {
    sqlite3_stmt *statement;
    int frames;

    assert_int_equal(sqlite3_prepare_v2(handle, "PRAGMA wal_checkpoint", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    frames = sqlite3_column_int(statement, 1);
    (void)sqlite3_finalize(statement);
    return frames;
}

static void load_again(const struct fixture *fixture) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_core_snapshot *snapshot = NULL;

    assert_int_equal(
        fixture->storage->ops->load(fixture->storage, &config, &fixture->times, &snapshot, NULL),
        LK_OK);
    lk_core_snapshot_free(snapshot);
}

/*
 * No other process should write the file, but if one does, its changes and those of the store are
 * all there; also if the log begins again, and if it then ends where it ended before.
 */
static void a_log_that_another_process_has_written_goes_on(void **state) {
    struct fixture *fixture = *state;
    struct lk_random random = test_random();
    uint64_t count = 0;
    char expected[24];

    for (int i = 0; i < 60; i++) {
        uint64_t more = (uint64_t)lk_random_between(&random, 1, 60);
        sqlite3 *other = open_by_name(fixture, "locks.db");
        int64_t changes = lk_random_between(&random, 0, 4);

        if (lk_random_between(&random, 1, 3) == 1) {
            changes = lk_random_between(&random, 0, 1) == 0 ? changes : frames_in_log(other);
            assert_answer(other, "PRAGMA wal_checkpoint(RESTART)", "0");
        }
        for (int64_t j = 0; j < changes; j++) {
            assert_int_equal(sqlite3_exec(other,
                                          "UPDATE lk_meta SET live_max = 1 - min(live_max, 1)",
                                          NULL, NULL, NULL),
                             SQLITE_OK);
        }
        if (lk_random_between(&random, 1, 3) == 1) {
            load_again(fixture);
        }
        write_ended(fixture, count + 1, more);
        count += more;
        (void)snprintf(expected, sizeof expected, "%" PRIu64, count);
        assert_copy(fixture, expected);
        assert_answer(other, "SELECT count(*) FROM lk_ended", expected);
        (void)sqlite3_close(other);
    }
}

/* More than is collected. */
static void a_large_batch_is_written_whole(void **state) {
    struct fixture *fixture = *state;

    memset(&counts, 0, sizeof counts);
    write_ended(fixture, 1, 50000);
    assert_int_equal(counts.not_flushed, 0);
    assert_int_equal(count_ended(fixture), 50000);
}

/* A write that fails, early or late, fails its batch and no other. */
static void a_batch_that_finds_no_room_fails(void **state) {
    struct fixture *fixture = *state;

    for (unsigned until = 1; until <= 40; until++) {
        struct lk_part part;
        struct lk_row *rows = make_ended(fixture, &part, 1000000, 3000);
        lk_outcome outcome;

        writes_until_full = until;
        outcome = write_rows(fixture, rows, 3000);
        writes_until_full = 0;
        free(rows);
        assert_int_equal(count_ended(fixture), until - 1 + (outcome == LK_OK ? 3000 : 0));
        write_ended(fixture, until, 1);
        if (outcome == LK_OK) {
            return;
        }
        assert_int_equal(outcome, LK_UNAVAILABLE);
    }
    fail_msg("no batch had room");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_does_not_walk_the_ended_tokens, begin, end),
        cmocka_unit_test_setup_teardown(old_ended_tokens_are_swept, begin, end),
        cmocka_unit_test_setup_teardown(the_floor_is_the_greatest_draw, begin, end),
        cmocka_unit_test_setup_teardown(a_batch_is_one_write_and_one_flush, begin, end),
        cmocka_unit_test_setup_teardown(a_large_batch_is_written_whole, begin, end),
        cmocka_unit_test_setup_teardown(each_batch_is_in_a_copy_of_the_files, begin, end),
        cmocka_unit_test_setup_teardown(a_log_that_another_process_has_written_goes_on, begin, end),
        cmocka_unit_test_setup_teardown(a_batch_that_finds_no_room_fails, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
