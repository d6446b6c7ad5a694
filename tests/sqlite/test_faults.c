/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the system can refuse a store: rights, room on the disk, its file, its process. Each is one
 * clear answer, and what was granted before stays.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/sqlite/files.h"
#include "fixture.h"

enum { ORDINARY_USER = 65534 };

static lk_outcome try_open(const char *rest) {
    lk_error error;

    return fixture_try_open(rest, &lk_sqlite_options_default, &error);
}

/* Runs `body` in a child as an ordinary user, who may not do all; its result must be 0. */
static void in_unprivileged_child(const struct fixture *fixture,
                                  int (*body)(const struct fixture *fixture)) {
    pid_t child;

    child = test_fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(ORDINARY_USER) != 0 || setuid(ORDINARY_USER) != 0)) {
            _exit(100);
        }
        _exit(body(fixture));
    }
    assert_true(child > 0);
    assert_int_equal(test_exit_status(child), 0);
}

/* ---- rights ---------------------------------------------------------------------------------- */

static int expect_denied(const struct fixture *fixture) {
    lk_error error;
    lk_outcome outcome = fixture_try_open(fixture->file, &lk_sqlite_options_default, &error);

    if (outcome != LK_DENIED || error.text[0] == '\0') {
        (void)fprintf(stderr, "%s: %s\n", lk_outcome_name(outcome), error.text);
        return 1;
    }
    return 0;
}

static void a_file_that_may_not_be_written_is_denied(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_int_equal(chmod(fixture->directory, 0777), 0);
    assert_int_equal(chmod(fixture->file, 0444), 0);
    in_unprivileged_child(fixture, expect_denied);
    assert_int_equal(chmod(fixture->file, 0000), 0);
    in_unprivileged_child(fixture, expect_denied);
    assert_int_equal(fixture_sql(fixture->file, "SELECT count(*) FROM lk_request"), 0);
}

static void a_directory_that_may_not_be_written_is_denied(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(chmod(fixture->directory, 0555), 0);
    in_unprivileged_child(fixture, expect_denied); /* no file can be made */
    assert_int_equal(chmod(fixture->directory, 0700), 0);
    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_int_equal(chmod(fixture->file, 0666), 0);
    assert_int_equal(chmod(fixture->directory, 0555), 0);
    in_unprivileged_child(fixture, expect_denied); /* no log can be made beside it */
}

/* ---- a full disk ----------------------------------------------------------------------------- */

#define FILL_PATH "%0180d/%d" /* long, so that it takes few */

/* Asks until the store has no room left; returns how many were granted. */
static int fill(struct lk_engine *engine, lk_outcome *ret_outcome) {
    lk_result result = {.outcome = LK_OK};
    int granted = 0;

    for (int i = 0; i < 100000; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, FILL_PATH, 7, i);
        *ret_outcome = fixture_ask(engine, "A", path, LK_TRY, 0, &result);
        if (*ret_outcome != LK_GRANTED) {
            break;
        }
        granted++;
    }
    if (*ret_outcome == LK_UNAVAILABLE && result.error == NULL) {
        granted = -1;
    }
    lk_result_clear(&result);
    return granted;
}

/* The examination of the store of this directory; *ret_warnings is its warnings, to be freed. */
static lk_outcome examine(const struct fixture *fixture, char **ret_warnings) {
    const struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    lk_report *report = NULL;
    lk_outcome outcome = engine->ops->examine(engine, &patience, &report, NULL);

    *ret_warnings = outcome == LK_OK ? strdup(report->warnings) : NULL;
    lk_report_free(report);
    fixture_close(engine);
    return outcome;
}

enum { NO_RIGHT = 100, EXAMINED_FULL = 0 };

/* A small file system of its own, which a file beside the store's fills. */
static int expect_full_disk_told(const struct fixture *fixture) {
    char path[PATH_MAX];
    char *warnings = NULL;
    static char filling[4096];
    int file;

    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
        || mount("none", fixture->directory, "tmpfs", 0, "size=1m") != 0) {
        return NO_RIGHT;
    }
    if (examine(fixture, &warnings) != LK_OK || strstr(warnings, "MiB are left") == NULL) {
        return 1;
    }
    free(warnings);
    (void)snprintf(path, sizeof path, "%s/filling", fixture->directory);
    file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (write(file, filling, sizeof filling) == (ssize_t)sizeof filling) {
    }
    if (examine(fixture, &warnings) != LK_OK || strstr(warnings, "the disk is full") == NULL) {
        return 2;
    }
    free(warnings);
    return EXAMINED_FULL;
}

static void the_examination_tells_of_a_full_disk(void **state) {
    const struct fixture *fixture = *state;
    int status;
    pid_t child = test_fork();

    if (child == 0) {
        _exit(expect_full_disk_told(fixture));
    }
    status = test_exit_status(child);
    if (status == NO_RIGHT) {
        print_message("no right to a namespace here\n");
        skip();
    }
    assert_int_equal(status, EXAMINED_FULL);
}

/* A limit of the process has the same effect, and another remedy. */
static void the_examination_tells_of_a_limit_on_files(void **state) {
    const struct fixture *fixture = *state;
    struct rlimit former;
    struct rlimit small;
    char *warnings = NULL;
    lk_outcome outcome;

    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &former), 0);
    small = (struct rlimit){.rlim_cur = 200 * 1024, .rlim_max = former.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    outcome = examine(fixture, &warnings);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &former), 0);
    assert_int_equal(outcome, LK_OK);
    assert_non_null(strstr(warnings, "ulimit -f"));
    free(warnings);
}

/* The first try of a handle, and one after a refused one, need no write lock to be refused. */
static void a_refused_try_does_not_wait_for_a_writer(void **state) {
    struct fixture *fixture = *state;
    struct lk_sqlite_options options = {.overdue_max = 64, .crowd_max = 24};
    struct lk_engine *engine = fixture_open(fixture->file, &options);
    struct lk_engine *fresh = fixture_open(fixture->file, &options);
    struct lk_patience patience = test_patience(fixture_stretched(300000));
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of("B"), .style = LK_TRY, .ttl_ms = 60000};
    lk_result result = {.outcome = LK_OK};
    sqlite3 *writer = NULL;

    test_parts_parse(&parts, "x");
    ask.parts = parts.parts;
    ask.part_count = parts.count;
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(fixture_ask(engine, "B", "x", LK_TRY, 0, &result), LK_BUSY);
    assert_int_equal(sqlite3_open(fixture->file, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    lk_result_clear(&result);
    assert_int_equal(call_ask(engine, &ask, &patience, &result), LK_BUSY);
    lk_result_clear(&result);
    assert_int_equal(call_ask(fresh, &ask, &patience, &result), LK_BUSY);
    assert_int_equal(sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(writer);
    /* What is granted is written, as ever. */
    assert_int_equal(fixture_release(engine, "A", "x", 0, &result), LK_OK);
    assert_int_equal(fixture_ask(engine, "B", "x", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(fixture_sql(fixture->file, "SELECT count(*) FROM lk_request"), 1);
    lk_result_clear(&result);
    fixture_close(fresh);
    fixture_close(engine);
}

static void a_full_file_is_unavailable_and_keeps_its_leases(void **state) {
    struct fixture *fixture = *state;
    struct lk_sqlite_options options = {.overdue_max = 64, .page_max = 40};
    struct lk_engine *engine = fixture_open(fixture->file, &options);
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = LK_OK;
    char path[200];
    int granted = fill(engine, &outcome);

    assert_true(granted > 0);
    assert_int_equal(outcome, LK_UNAVAILABLE);
    assert_int_equal(fixture_sql(fixture->file, "SELECT count(*) FROM lk_request"), granted);
    assert_int_equal(fixture_sql(fixture->file, "SELECT integrity_check = 'ok'"
                                                " FROM pragma_integrity_check"),
                     1);
    /* What is there can still be ended, and makes room. */
    for (int i = 0; i < granted; i++) {
        (void)snprintf(path, sizeof path, FILL_PATH, 7, i);
        assert_int_equal(fixture_release(engine, "A", path, 0, &result), LK_OK);
    }
    assert_int_equal(fixture_ask(engine, "A", path, LK_TRY, 0, &result), LK_GRANTED);
    lk_result_clear(&result);
    fixture_close(engine);
}

/* The system refuses to let any file grow further, as a full disk does. */
static int fill_limited(const struct fixture *fixture) {
    struct rlimit limit = {.rlim_cur = 256 * 1024, .rlim_max = 256 * 1024};
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    lk_outcome outcome = LK_OK;
    int granted;

    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    granted = fill(engine, &outcome);
    if (outcome != LK_UNAVAILABLE || granted <= 0) {
        return 2;
    }
    /* Another look at the file, by a connection without that bound in its way. */
    if (fixture_sql(fixture->file, "SELECT count(*) FROM lk_request") != granted) {
        return 3;
    }
    /* The log is moved to the file and begun again: what is there can be ended without room. */
    for (int i = 0; i < granted; i++) {
        char path[200];
        lk_result result = {.outcome = LK_OK};
        (void)snprintf(path, sizeof path, FILL_PATH, 7, i);
        outcome = fixture_release(engine, "A", path, 0, &result);
        lk_result_clear(&result);
        if (outcome != LK_OK) {
            return 4;
        }
    }
    return 0;
}

static void a_failing_disk_is_unavailable(void **state) {
    struct fixture *fixture = *state;
    lk_result result = {.outcome = LK_OK};
    struct lk_engine *engine;

    assert_int_equal(chmod(fixture->directory, 0777), 0);
    in_unprivileged_child(fixture, fill_limited);
    engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    assert_int_equal(fixture_ask(engine, "B", "y", LK_TRY, 0, &result), LK_GRANTED);
    lk_result_clear(&result);
    fixture_close(engine);
}

/* ---- a file that goes away, a process that forks --------------------------------------------- */

static void a_deleted_file_is_unavailable(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    assert_int_equal(unlink(fixture->file), 0);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_UNAVAILABLE);
    assert_non_null(strstr(result.error, "open it again"));
    lk_result_clear(&result);
    fixture_close(engine);
}

/* What locks are on is the inode of -shm, and what is committed is in -wal. */
static void a_store_without_its_log_is_unavailable(void **state) {
    static const char *const suffixes[] = {"-wal", "-shm"};
    struct fixture *fixture = *state;
    lk_result result = {.outcome = LK_OK};

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s%s", fixture->file, suffixes[i]);
        assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(fixture_ask(engine, "A", "y", LK_TRY, 0, &result), LK_UNAVAILABLE);
        assert_non_null(strstr(result.error, "open it again"));
        assert_int_equal(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0, 1);
        assert_int_equal(fixture_ask(engine, "A", "y", LK_TRY, 0, &result), LK_UNAVAILABLE);
        fixture_close(engine);
        (void)unlink(path);
    }
    lk_result_clear(&result);
}

/* With a relative path of its own, SQLite's and the service's lock have to be found again. */
static void a_running_service_is_detected_from_any_directory(void **state) {
    struct fixture *fixture = *state;
    lk_result result = {.outcome = LK_OK};
    char former[PATH_MAX];
    char link_path[PATH_MAX];
    struct lk_engine *engine;
    int lock = -1;

    assert_int_equal(try_open(fixture->file), LK_OK);
    assert_non_null(getcwd(former, sizeof former));
    (void)snprintf(link_path, sizeof link_path, "%s/link", fixture->directory);
    assert_int_equal(symlink(fixture->file, link_path), 0);
    assert_int_equal(chdir(fixture->directory), 0);
    engine = fixture_open("link", &lk_sqlite_options_default);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(lk_sqlite_service_lock_take(link_path, &lock), 0);
    (void)fixture_sql(fixture->file, "UPDATE lk_meta SET served = 'lk://here'");
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_DENIED);
    assert_int_equal(fixture_sql(fixture->file, "SELECT served = 'lk://here' FROM lk_meta"), 1);
    assert_int_equal(close(lock), 0);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    lk_result_clear(&result);
    fixture_close(engine);
    assert_int_equal(chdir(former), 0);
}

static void an_inherited_handle_is_refused_in_a_forked_child(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    lk_result result = {.outcome = LK_OK};
    pid_t child;

    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    child = test_fork();
    if (child == 0) {
        lk_outcome outcome = fixture_ask(engine, "A", "x", LK_TRY, 0, &result);
        fixture_close(engine); /* harmless */
        _exit(outcome == LK_INTERNAL ? 0 : 1);
    }
    assert_int_equal(test_exit_status(child), 0);
    assert_int_equal(fixture_ask(engine, "A", "x", LK_TRY, 0, &result), LK_GRANTED);
    lk_result_clear(&result);
    fixture_close(engine);
}

static void signal_other(int pipe_end) {
    assert_int_equal(write(pipe_end, "", 1), 1);
}

static void await_other(int pipe_end) {
    char byte;

    assert_int_equal(read(pipe_end, &byte, 1), 1);
}

static bool try_path(struct lk_engine *engine, const char *owner, const char *path) {
    lk_result result = {.outcome = LK_OK};
    lk_outcome outcome = fixture_ask(engine, owner, path, LK_TRY, 0, &result);

    lk_result_clear(&result);
    return outcome == LK_GRANTED;
}

/*
 * SQLite takes locks of the parent's for the child's own. The parent was the last one that had any:
 * were the child without, the log would go with the parent, and with it what the child is granted.
 */
static void a_forked_child_can_open_its_own_handle(void **state) {
    struct fixture *fixture = *state;
    struct lk_engine *engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    int to_child[2];
    int to_parent[2];
    pid_t child;

    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
    assert_true(try_path(engine, "parent", "x"));
    child = test_fork();
    if (child == 0) {
        struct lk_engine *own = fixture_open(fixture->file, &lk_sqlite_options_default);
        bool is_right = !try_path(own, "child", "x") && try_path(own, "child", "y");
        signal_other(to_parent[1]);
        await_other(to_child[0]);
        is_right = is_right && try_path(own, "child", "z");
        fixture_close(own);
        fixture_close(engine); /* harmless, again */
        _exit(is_right ? 0 : 1);
    }
    await_other(to_parent[0]);
    fixture_close(engine);
    engine = fixture_open(fixture->file, &lk_sqlite_options_default);
    assert_false(try_path(engine, "other", "y"));
    signal_other(to_child[1]);
    assert_int_equal(test_exit_status(child), 0);
    assert_false(try_path(engine, "other", "z"));
    fixture_close(engine);
    for (size_t i = 0; i < 2; i++) {
        (void)close(to_child[i]);
        (void)close(to_parent[i]);
    }
}

/* The other thread may lock AddressSanitizer's allocator at the fork: it stays locked (GCC 12). */
#ifndef __SANITIZE_ADDRESS__
struct busy {
    struct lk_engine *engine;
    atomic_bool is_over;
};

static void *keep_asking(void *context) {
    struct busy *busy = context;
    lk_result result = {.outcome = LK_OK};

    while (!atomic_load(&busy->is_over)) {
        (void)fixture_ask(busy->engine, "busy", "b", LK_TRY, 0, &result);
        (void)fixture_release(busy->engine, "busy", "b", 0, &result);
    }
    lk_result_clear(&result);
    return NULL;
}

/* At whatever moment another thread's transaction is forked. */
static void a_forked_child_inherits_no_transaction(void **state) {
    struct fixture *fixture = *state;
    struct busy busy = {.engine = fixture_open(fixture->file, &lk_sqlite_options_default)};
    unsigned forks = test_scaled(100);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, keep_asking, &busy), 0);
    for (unsigned i = 0; i < forks; i++) {
        pid_t child;
        child = test_fork();
        if (child == 0) {
            _exit(try_path(fixture_open(fixture->file, &lk_sqlite_options_default), "child",
                           "c?limit=1000000")
                      ? 0
                      : 1);
        }
        assert_int_equal(test_exit_status(child), 0);
    }
    atomic_store(&busy.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_close(busy.engine);
}
#endif

#define IN_A_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_examination_tells_of_a_full_disk, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(the_examination_tells_of_a_limit_on_files, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_refused_try_does_not_wait_for_a_writer, fixture_setup,
                                        fixture_teardown),
        IN_A_DIRECTORY(a_file_that_may_not_be_written_is_denied),
        IN_A_DIRECTORY(a_directory_that_may_not_be_written_is_denied),
        IN_A_DIRECTORY(a_full_file_is_unavailable_and_keeps_its_leases),
        IN_A_DIRECTORY(a_failing_disk_is_unavailable),
        IN_A_DIRECTORY(a_deleted_file_is_unavailable),
        IN_A_DIRECTORY(a_store_without_its_log_is_unavailable),
        IN_A_DIRECTORY(a_running_service_is_detected_from_any_directory),
        IN_A_DIRECTORY(an_inherited_handle_is_refused_in_a_forked_child),
        IN_A_DIRECTORY(a_forked_child_can_open_its_own_handle),
#ifndef __SANITIZE_ADDRESS__
        IN_A_DIRECTORY(a_forked_child_inherits_no_transaction),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
