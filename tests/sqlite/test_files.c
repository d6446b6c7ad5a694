/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's file: what is made, what is refused, and that whatever is refused is left exactly as
 * it was.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/sqlite/address.h"
#include "fixture.h"
#include "sql/format.h"

#ifndef CLONE_NEWTIME /* glibc 2.31 lacks it */
#define CLONE_NEWTIME 0x00000080
#endif

enum { CONTENT_MAX = 256 * 1024, NO_RIGHT = 100 };

/* ---- helpers --------------------------------------------------------------------------------- */

struct content {
    char bytes[CONTENT_MAX];
    size_t size;
};

static void write_file(const char *path, const void *bytes, size_t size) {
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), (ssize_t)size);
    assert_int_equal(close(file), 0);
}

static void read_file(const char *path, struct content *ret_content) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size;

    assert_true(file >= 0);
    size = read(file, ret_content->bytes, sizeof ret_content->bytes);
    assert_true(size >= 0 && size < CONTENT_MAX);
    ret_content->size = (size_t)size;
    assert_int_equal(close(file), 0);
}

static lk_outcome try_open(const char *rest) {
    lk_error error;

    return fixture_try_open(rest, &lk_sqlite_options_default, &error);
}

/* Opening `path` ends so, and leaves the file and its directory as they were. */
static void assert_refused_untouched(const struct fixture *fixture, lk_outcome expected) {
    static struct content before;
    static struct content after;
    size_t files = fixture_count_files(fixture);

    read_file(fixture->file, &before);
    assert_int_equal(try_open(fixture->file), expected);
    read_file(fixture->file, &after);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    assert_int_equal(fixture_count_files(fixture), files);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void urls_are_checked(void **state) {
    struct lk_sqlite_address address = {.is_relaxed = false};
    static const char *const wrong[] = {
        "",
        "?durability=full",
        "f?durability=",
        "f?durability=maybe",
        "f?",
        ":memory:",
        "f?durability=relaxed&",
        "f?mode=ro",
        "file:x",
        "//",
        "//x.db",
        "//host/x.db?share=yes",
    };
    lk_error error;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(lk_sqlite_address_parse(lk_slice_of(wrong[i]), &address, &error),
                         LK_INVALID);
        assert_true(error.text[0] != '\0');
    }
    assert_int_equal(
        lk_sqlite_address_parse(lk_slice_of("a/b?durability=relaxed"), &address, &error), LK_OK);
    assert_true(address.is_relaxed);
    assert_string_equal(address.path, "a/b");
    assert_int_equal(lk_sqlite_address_parse(lk_slice_of("/c?durability=full"), &address, &error),
                     LK_OK);
    assert_false(address.is_relaxed);
    assert_int_equal(lk_sqlite_address_parse(lk_slice_of("///c/d"), &address, &error), LK_OK);
    assert_string_equal(address.path, "/c/d");
    assert_int_equal(lk_sqlite_address_parse(lk_slice_of("//ana:secret@c/d"), &address, &error),
                     LK_INVALID);
    assert_null(strstr(error.text, "secret"));
}

static void durability_is_full_unless_relaxed(void **state) {
    struct fixture *fixture = *state;
    struct lk_patience patience = test_patience(10000000);
    struct lk_engine *engine = NULL;
    lk_report *report = NULL;
    lk_error error;

    assert_int_equal(lk_sqlite_open(lk_slice_of(fixture->file), &lk_sqlite_options_default,
                                    &patience, &engine, &error),
                     LK_OK);
    assert_int_equal(engine->ops->examine(engine, &patience, &report, &error), LK_OK);
    assert_non_null(strstr(report->text, "durability: full"));
    assert_non_null(strstr(report->text, "journal mode: wal"));
    assert_string_equal(report->warnings, "");
    lk_report_free(report);
    fixture_close(engine);

    engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    assert_int_equal(engine->ops->examine(engine, &patience, &report, &error), LK_OK);
    assert_non_null(strstr(report->text, "durability: relaxed"));
    lk_report_free(report);
    fixture_close(engine);
}

static void network_file_systems_are_known(void **state) {
    (void)state;
    assert_string_equal(lk_sqlite_address_network_name(0x6969), "NFS");
    assert_string_equal(lk_sqlite_address_network_name(0xFF534D42), "CIFS");
    assert_string_equal(lk_sqlite_address_network_name(0x01021997), "9p");
    assert_string_equal(lk_sqlite_address_network_name(0x65735546), "FUSE");
    assert_null(lk_sqlite_address_network_name(0xEF53));     /* ext4 */
    assert_null(lk_sqlite_address_network_name(0x01021994)); /* tmpfs */
    assert_null(lk_sqlite_address_network_name(0x794C7630)); /* overlayfs */
}

/* ---- making ---------------------------------------------------------------------------------- */

static void a_new_file_is_accessible_to_its_owner_only(void **state) {
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    struct fixture *fixture = *state;
    mode_t mask = umask(0);
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);

    (void)umask(mask);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char path[PATH_MAX];
        struct stat status;
        (void)snprintf(path, sizeof path, "%s%s", fixture->file, suffixes[i]);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    fixture_close(engine);
}

static void an_empty_file_becomes_a_store(void **state) {
    struct fixture *fixture = *state;

    write_file(fixture->file, "", 0);
    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_int_equal(fixture_sql(fixture->file, "PRAGMA application_id"), 1280012402);
}

static void a_missing_directory_is_invalid(void **state) {
    struct fixture *fixture = *state;
    char rest[PATH_MAX];
    lk_error error;

    (void)snprintf(rest, sizeof rest, "%s/none/locks.db", fixture->directory);
    assert_int_equal(fixture_try_open(rest, &lk_sqlite_options_default, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "make it first"));
    assert_int_equal(fixture_count_files(fixture), 0);
}

static void a_directory_is_refused(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(try_open(fixture->directory), LK_INVALID);
    assert_int_equal(fixture_count_files(fixture), 0);
}

static void a_link_to_nothing_is_invalid(void **state) {
    struct fixture *fixture = *state;
    lk_error error;

    assert_int_equal(symlink("none.db", fixture->file), 0);
    assert_int_equal(fixture_try_open(fixture->file, &lk_sqlite_options_default, &error),
                     LK_INVALID);
    assert_non_null(strstr(error.text, "link"));
    assert_int_equal(fixture_count_files(fixture), 1);
}

/* Makes directories below, until a file in the last has a whole path of `size` bytes. */
static void make_long_path(const struct fixture *fixture, size_t size, char path[PATH_MAX]) {
    char whole[PATH_MAX];

    assert_non_null(realpath(fixture->directory, whole));
    (void)snprintf(path, PATH_MAX, "%s", whole);
    while (size - strlen(path) > 200) {
        (void)snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%0100d", 0);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    (void)snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%0*d",
                   (int)(size - strlen(path)) - 1, 0);
}

static void remove_long_path(const struct fixture *fixture, char path[PATH_MAX]) {
    static const char *const suffixes[] = {"-wal", "-shm", ""};
    size_t size = strlen(path);
    char whole[PATH_MAX];

    assert_non_null(realpath(fixture->directory, whole));
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        (void)snprintf(path + size, PATH_MAX - size, "%s", suffixes[i]);
        (void)unlink(path);
    }
    for (*strrchr(path, '/') = '\0'; strcmp(path, whole) != 0; *strrchr(path, '/') = '\0') {
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(fixture_count_files(fixture), 0);
}

/* SQLite knows paths of 512 bytes, those of a journal among them. */
/* Such as one in the directory of a group; only root can be two users. */
static void a_link_of_another_user_is_not_followed(void **state) {
    const struct fixture *fixture = *state;
    char other[PATH_MAX];

    if (geteuid() == 0) {
        (void)snprintf(other, sizeof other, "%s/other", fixture->directory);
        write_file(other, "", 0);
        assert_int_equal(symlink(other, fixture->file), 0);
        assert_int_equal(lchown(fixture->file, 12345, 12345), 0);
        assert_refused_untouched(fixture, LK_DENIED);
        assert_int_equal(lchown(fixture->file, 0, 0), 0);
        assert_int_equal(try_open(fixture->file), LK_OK);
    }
}

static void a_path_too_long_is_invalid(void **state) {
    struct fixture *fixture = *state;
    char path[PATH_MAX];
    lk_error error;

    make_long_path(fixture, 504, path);
    assert_int_equal(try_open(path), LK_OK);
    remove_long_path(fixture, path);
    make_long_path(fixture, 505, path);
    assert_int_equal(fixture_try_open(path, &lk_sqlite_options_default, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "504 bytes"));
    assert_int_equal(access(path, F_OK), -1);
    remove_long_path(fixture, path);
}

/*
 * A process that dies while it writes the tables leaves the first pages and a journal that says the
 * file was empty; the next one takes them back and begins again.
 */
static void a_creation_that_was_killed_is_completed(void **state) {
    static const unsigned char journal[512] = {
        0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, /* what a journal begins with */
        0,    0,    0,    0,    1,    2,    3,    4,    /* pages kept: none; a nonce */
        0,    0,    0,    0,    0,    0,    2,    0,    /* pages before: none; sector: 512 */
        0,    0,    0x10, 0,                            /* page: 4096 */
    };
    struct fixture *fixture = *state;
    static struct content content;
    char path[PATH_MAX];

    assert_int_equal(try_open(fixture->file), LK_OK);
    read_file(fixture->file, &content);
    /* The mode of a file that is being made is not yet the write-ahead log. */
    content.bytes[18] = content.bytes[19] = 1;
    write_file(fixture->file, content.bytes, 4096);
    (void)snprintf(path, sizeof path, "%s-journal", fixture->file);
    write_file(path, journal, sizeof journal);

    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_int_equal(fixture_sql(fixture->file, "SELECT format FROM lk_meta"), LK_SQL_FORMAT);
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static void garbage_is_refused(void **state) {
    struct fixture *fixture = *state;
    static char garbage[10000];
    struct lk_random random = {1};

    for (size_t i = 0; i < sizeof garbage; i++) {
        garbage[i] = (char)lk_random_next(&random);
    }
    write_file(fixture->file, garbage, sizeof garbage);
    assert_refused_untouched(fixture, LK_INVALID);
    write_file(fixture->file, "x", 1);
    assert_refused_untouched(fixture, LK_INVALID);
    write_file(fixture->file, "SQLite format 3", 16); /* and no more */
    assert_refused_untouched(fixture, LK_INVALID);
}

static void a_foreign_database_is_refused(void **state) {
    struct fixture *fixture = *state;

    (void)fixture_sql(fixture->file, "CREATE TABLE requests (id INTEGER PRIMARY KEY)");
    assert_refused_untouched(fixture, LK_INVALID);
    (void)fixture_sql(fixture->file, "PRAGMA application_id = 7");
    (void)fixture_sql(fixture->file, "PRAGMA journal_mode = WAL");
    assert_refused_untouched(fixture, LK_INVALID);
}

/* Its owner has dropped the tables, or has made others in an empty store. */
static void a_marked_file_without_a_store_is_foreign(void **state) {
    struct fixture *fixture = *state;

    (void)fixture_sql(fixture->file, "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    (void)fixture_sql(fixture->file, "PRAGMA application_id = 1280012402");
    assert_refused_untouched(fixture, LK_INVALID);
}

/* With a journal beside it that any reader would roll back. */
static void a_foreign_database_with_a_hot_journal_is_not_touched(void **state) {
    struct fixture *fixture = *state;
    pid_t child;

    (void)fixture_sql(fixture->file, "CREATE TABLE mine (id INTEGER PRIMARY KEY)");
    child = test_fork();
    if (child == 0) {
        sqlite3 *handle = NULL;
        if (sqlite3_open(fixture->file, &handle) != SQLITE_OK
            || sqlite3_exec(handle, "BEGIN IMMEDIATE; INSERT INTO mine VALUES (1)", NULL, NULL,
                            NULL)
                   != SQLITE_OK) {
            _exit(1);
        }
        (void)sqlite3_db_cacheflush(handle);
        (void)raise(SIGKILL);
    }
    assert_int_equal(test_exit_status(child), 128 + SIGKILL);
    assert_int_equal(fixture_count_files(fixture), 2);
    assert_refused_untouched(fixture, LK_INVALID);
}

/* By each name there would be another log, and another store. */
static void a_second_hard_link_is_refused(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    lk_result result = {.outcome = LK_OK};
    char other[PATH_MAX];
    lk_error error;

    (void)snprintf(other, sizeof other, "%s/other", fixture->directory);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(link(fixture->file, other), 0);
    assert_int_equal(fixture_try_open(other, &lk_sqlite_options_default, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "hard links"));
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink(fixture->file, other), 0); /* SQLite follows these */
    struct lk_engine *same = fixture_open(other, &lk_sqlite_options_default);
    assert_int_equal(fixture_ask(same, "B", "x", LK_TRY, 0, &result), LK_BUSY);
    lk_result_clear(&result);
    fixture_close(same);
    fixture_close(engine);
}

static int expect_mount_refused(const struct fixture *fixture) {
    char alone[PATH_MAX];
    lk_error error;

    (void)snprintf(alone, sizeof alone, "%s/alone", fixture->directory);
    write_file(alone, "", 0);
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return NO_RIGHT;
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
        || mount(fixture->file, alone, NULL, MS_BIND, NULL) != 0) {
        return NO_RIGHT;
    }
    return fixture_try_open(alone, &lk_sqlite_options_default, &error) == LK_INVALID
                   && strstr(error.text, "mount its directory") != NULL
               ? 0
               : 1;
}

static int expect_read_only_mount_named(const struct fixture *fixture) {
    const char *directory = fixture->directory;
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
    lk_error error;

    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return NO_RIGHT;
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
        || mount(directory, directory, NULL, MS_BIND, NULL) != 0) {
        return NO_RIGHT;
    }
    /* In a user namespace these flags of the directory's own mount must stay. */
    if (mount(NULL, directory, NULL, flags, NULL) != 0
        && mount(NULL, directory, NULL, flags | MS_NOSUID | MS_NODEV, NULL) != 0) {
        return NO_RIGHT;
    }
    return fixture_try_open(fixture->file, &lk_sqlite_options_default, &error) == LK_DENIED
                   && strstr(error.text, "mount it for writing") != NULL
               ? 0
               : 1;
}

static int expect_shifted_clock_refused(const struct fixture *fixture) {
    static const char shift[] = "boottime 1000 0";
    lk_error error;
    int offsets;
    pid_t child;

    if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) {
        return NO_RIGHT;
    }
    offsets = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (offsets < 0 || write(offsets, shift, sizeof shift - 1) != (ssize_t)sizeof shift - 1) {
        return NO_RIGHT;
    }
    child = test_fork(); /* only a new process sees the shifted clock */
    if (child == 0) {
        _exit(fixture_try_open(fixture->file, &lk_sqlite_options_default, &error) == LK_UNSUPPORTED
                      && strstr(error.text, "time namespace") != NULL
                  ? 0
                  : 1);
    }
    return test_exit_status(child);
}

/* Runs `body` in a child process, which may create namespaces; it must return 0. */
static void in_namespace(const struct fixture *fixture,
                         int (*body)(const struct fixture *fixture)) {
    pid_t child;
    int status;

    assert_int_equal(try_open(fixture->file), LK_OK);
    child = test_fork();
    if (child == 0) {
        _exit(body(fixture));
    }
    status = test_exit_status(child);
    if (status == NO_RIGHT) {
        print_message("no right to a namespace here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void a_time_namespace_is_refused(void **state) {
    in_namespace(*state, expect_shifted_clock_refused);
}

static void a_file_system_that_can_only_be_read_is_named(void **state) {
    in_namespace(*state, expect_read_only_mount_named);
}

/* As a container may be given it. */
static void a_file_mounted_by_itself_is_refused(void **state) {
    in_namespace(*state, expect_mount_refused);
}

static void impossible_rows_are_reported(void **state) {
    static const char *const damages[] = {
        "UPDATE lk_request SET ttl_ms = -1",
        "UPDATE lk_request SET deadline_us = 9223372036854775807",
        "UPDATE lk_request SET owner = ''",
        "UPDATE lk_request SET token = 0",
        "UPDATE lk_part SET path = '/x'",
        "UPDATE lk_part SET path = 'x', units = 9999999999",
        "UPDATE lk_part SET request = request + 1",
    };
    struct fixture *fixture = *state;
    lk_result result = {.outcome = LK_OK};

    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
        struct lk_patience patience = test_patience(10000000);
        lk_listing *listing = NULL;
        lk_error error;
        assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
        (void)fixture_sql(fixture->file, damages[i]);
        assert_int_equal(engine->ops->list(engine, NULL, &patience, &listing, &error),
                         LK_UNAVAILABLE);
        assert_non_null(strstr(error.text, "request "));
        fixture_close(engine);
        (void)fixture_sql(fixture->file, "DELETE FROM lk_request");
        (void)fixture_sql(fixture->file, "DELETE FROM lk_part");
    }
    lk_result_clear(&result);
}

static void a_damaged_file_is_unavailable(void **state) {
    struct fixture *fixture = *state;
    struct stat status;
    static char noise[4096];
    lk_error error;
    int file;

    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_int_equal(stat(fixture->file, &status), 0);
    memset(noise, 0x5a, sizeof noise);
    file = open(fixture->file, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    for (off_t at = 4096; at < status.st_size; at += 4096) {
        assert_int_equal(pwrite(file, noise, sizeof noise, at), (ssize_t)sizeof noise);
    }
    assert_int_equal(close(file), 0);
    assert_int_equal(fixture_try_open(fixture->file, &lk_sqlite_options_default, &error),
                     LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "damaged"));
}

#define IN_A_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_checked),
        cmocka_unit_test(network_file_systems_are_known),
        IN_A_DIRECTORY(durability_is_full_unless_relaxed),
        IN_A_DIRECTORY(a_new_file_is_accessible_to_its_owner_only),
        IN_A_DIRECTORY(an_empty_file_becomes_a_store),
        IN_A_DIRECTORY(a_missing_directory_is_invalid),
        IN_A_DIRECTORY(a_directory_is_refused),
        IN_A_DIRECTORY(a_link_to_nothing_is_invalid),
        IN_A_DIRECTORY(a_link_of_another_user_is_not_followed),
        IN_A_DIRECTORY(a_path_too_long_is_invalid),
        IN_A_DIRECTORY(a_creation_that_was_killed_is_completed),
        IN_A_DIRECTORY(garbage_is_refused),
        IN_A_DIRECTORY(a_foreign_database_is_refused),
        IN_A_DIRECTORY(a_marked_file_without_a_store_is_foreign),
        IN_A_DIRECTORY(a_foreign_database_with_a_hot_journal_is_not_touched),
        IN_A_DIRECTORY(a_second_hard_link_is_refused),
        IN_A_DIRECTORY(a_file_mounted_by_itself_is_refused),
        IN_A_DIRECTORY(a_file_system_that_can_only_be_read_is_named),
        IN_A_DIRECTORY(a_time_namespace_is_refused),
        IN_A_DIRECTORY(impossible_rows_are_reported),
        IN_A_DIRECTORY(a_damaged_file_is_unavailable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
