/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that a program of a former format has made and written is brought to the present format
 * when it is opened: nothing of it is lost, and it becomes what a new file would be.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/event.h"
#include "engine/sqlite/service_lock.h"
#include "fixture.h"
#include "format_1.sql.h"
#include "format_2.sql.h"
#include "format_3.sql.h"
#include "sql/format.h"
#include "store_2.sql.h"
#include "store_4.sql.h"
#include "store_6.sql.h"

enum { RACERS = 12 };

/* On fixture_clock_init()'s clocks: A holds x and waits nowhere, B waits for it, C gave y back. */
static const char rows[] =
    "INSERT INTO meta (only_row, format, writable_from, boot_id, draw_floor, sweep_root)"
    " VALUES (1, 1, 1, 'first', 77, '');"
    "INSERT INTO requests VALUES (1, 'A', 'a note', 'held', 0, 0, 0, 0, 1699999999000000,"
    " 1699999999000000, 60000, 1000000000 + 50000000, 1700000000000000 + 50000000);"
    "INSERT INTO parts VALUES (1, 0, 'x', 'exclusive', 0, 0);"
    "INSERT INTO requests VALUES (2, 'B', '', 'waiting', 0, 0, 0, 0, 1699999999000001,"
    " 0, 60000, 1000000000 + 50000000, 1700000000000000 + 50000000);"
    "INSERT INTO parts VALUES (2, 0, 'x', 'exclusive', 0, 0);"
    "INSERT INTO parts VALUES (2, 1, 'z', 'shared', 3, 2);"
    "INSERT INTO roots VALUES ('x', 1699999999000001), ('z', 1699999999000001);"
    "INSERT INTO ended VALUES (5, 'C', 'y', 1000000000 - 1000000);"
    "INSERT INTO audit (at_unix_us, broken_by, reason, path, owner, note, ticket, token, held)"
    " VALUES (1, 'root', 'for a test', 'x', 'D', '', 3, 4, 1);";

/* The same store when it had come to format 2, with a value, and an item that W works on. */
static const char rows_2[] =
    "INSERT INTO meta (only_row, format, writable_from, boot_id, draw_floor, sweep_root)"
    " VALUES (1, 2, 2, 'first', 77, '');"
    "INSERT INTO requests VALUES (1, 'A', 'a note', 'held', 0, 0, 0, 0, 1699999999000000,"
    " 1699999999000000, 60000, 1000000000 + 50000000, 1700000000000000 + 50000000, 1, 0, 0, 0);"
    "INSERT INTO parts VALUES (1, 0, 'x', 'exclusive', 0, 0);"
    "INSERT INTO requests VALUES (2, 'W', '', 'held', 0, 0, 0, 0, 1699999999000001,"
    " 1699999999000001, 60000, 1000000000 + 50000000, 1700000000000000 + 50000000, 0, 1, 9, 3);"
    "INSERT INTO parts VALUES (2, 0, 'q/1', 'exclusive', 0, 0);"
    "INSERT INTO roots VALUES ('x', 1699999999000000), ('q', 1699999999000001);"
    "INSERT INTO path_values VALUES ('x', 1, 'a value');"
    "INSERT INTO queues VALUES ('q', 1, 0, 1, 0, 0, 0, 0);"
    "INSERT INTO items VALUES (1, 'q', '1', 1699999999000000, 'claimed', 0, 0, 1, 0, '');"
    "INSERT INTO item_values VALUES (1, 'work');";

static const char rows_3[] =
    "INSERT INTO meta (only_row, format, writable_from, boot_id, draw_floor, sweep_root)"
    " VALUES (1, 3, 3, 'first', 77, '');";

struct testcase {
    struct fixture fixture;
    struct fixture_clock clock;
    struct lk_sqlite_options options;
};

static void run(const char *file, const char *text) {
    sqlite3 *handle = NULL;

    if (sqlite3_open(file, &handle) != SQLITE_OK
        || sqlite3_exec(handle, text, NULL, NULL, NULL) != SQLITE_OK) {
        test_die("%s: %s", file, sqlite3_errmsg(handle));
    }
    (void)sqlite3_close(handle);
}

static int set_up(void **state, const char *tables, const char *content) {
    struct testcase *testcase = calloc(1, sizeof *testcase);

    if (testcase == NULL) {
        return 1;
    }
    testcase->fixture = fixture_make();
    fixture_clock_init(&testcase->clock);
    testcase->options = lk_sqlite_options_default;
    testcase->options.time = &testcase->clock.source;
    testcase->options.boot_id = "first";
    run(testcase->fixture.file, tables);
    run(testcase->fixture.file, content);
    run(testcase->fixture.file, "PRAGMA journal_mode = WAL");
    *state = testcase;
    return 0;
}

static int set_up_format_1(void **state) {
    return set_up(state, format_1_text, rows);
}

static int set_up_format_2(void **state) {
    return set_up(state, format_2_text, rows_2);
}

static int set_up_format_3(void **state) {
    return set_up(state, format_3_text, rows_3);
}

/* Stores that programs of those formats have made and written, two minutes ago. */
static int set_up_store(void **state, const char *content, int64_t written_unix_us) {
    int failed = set_up(state, content, "");

    if (failed == 0) {
        struct testcase *testcase = *state;
        testcase->clock.wall_us = written_unix_us + INT64_C(120000000);
    }
    return failed;
}

static int set_up_store_2(void **state) {
    return set_up_store(state, store_2_text, INT64_C(1795261884000000));
}

static int set_up_store_4(void **state) {
    return set_up_store(state, store_4_text, INT64_C(1795261884000000));
}

static int set_up_store_6(void **state) {
    return set_up_store(state, store_6_text, INT64_C(1795447811000000));
}

static int teardown(void **state) {
    struct testcase *testcase = *state;

    fixture_remove(&testcase->fixture);
    free(testcase);
    return 0;
}

static void a_migration_loses_nothing(void **state) {
    struct testcase *testcase = *state;
    struct lk_engine *engine = fixture_open(testcase->fixture.file, &testcase->options);
    struct lk_patience patience = test_patience(1000000);
    const char *file = testcase->fixture.file;
    lk_result result = {.outcome = LK_OK};
    lk_audit *audit = NULL;
    lk_error error;

    assert_int_equal(fixture_sql(file, "SELECT format FROM lk_meta"), LK_SQL_FORMAT);
    assert_int_equal(fixture_sql(file, "SELECT draw_floor FROM lk_meta"), 77);
    assert_int_equal(fixture_ask(engine, "E", "x", LK_TRY, 0, &result), LK_BUSY);
    assert_int_equal(result.position, 2);
    assert_int_equal(fixture_renew(engine, "A", "x", 1699999999000000, &result), LK_OK);
    assert_int_equal(fixture_release(engine, "A", "x", 1699999999000000, &result), LK_OK);
    assert_int_equal(fixture_ask(engine, "B", "x z?limit=3&units=2", LK_TRY, 0, &result),
                     LK_GRANTED);
    assert_true(result.token > 1699999999000001);
    assert_int_equal(fixture_release(engine, "C", "y", 5, &result), LK_OK);
    assert_int_equal(engine->ops->audit(engine, NULL, &patience, &audit, &error), LK_OK);
    assert_int_equal(audit->count, 1);
    lk_audit_free(audit);
    lk_result_clear(&result);
    fixture_close(engine);
}

static void what_is_new_works(void **state) {
    struct testcase *testcase = *state;
    struct lk_engine *engine = fixture_open(testcase->fixture.file, &testcase->options);
    const char *file = testcase->fixture.file;
    lk_claim_info *claim = NULL;

    /* A program of a former format finds no table under the name that it knows. */
    assert_int_equal(fixture_sql(file, "SELECT writable_from FROM lk_meta"),
                     LK_SQL_FORMAT_WRITABLE_FROM);
    assert_int_equal(fixture_put(engine, "y", lk_slice_of("value")), LK_OK);
    assert_int_equal(fixture_push(engine, "q", "1", lk_slice_of("work"), 0, ""), LK_OK);
    assert_int_equal(fixture_take(engine, "q", "w", 0, &claim, NULL), LK_GRANTED);
    assert_int_equal(fixture_finish(engine, claim, LK_FINISH_DONE, 0), LK_OK);
    lk_claim_free(claim);
    fixture_close(engine);
}

static void values_and_work_go_on(void **state) {
    struct testcase *testcase = *state;
    struct lk_engine *engine = fixture_open(testcase->fixture.file, &testcase->options);
    const lk_claim_info claim = {
        .queue = (char *)"q", .id = (char *)"1", .owner = (char *)"W", .token = 1699999999000001};
    lk_value *value = fixture_get(engine, "x");
    lk_result result = {.outcome = LK_OK};

    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT format FROM lk_meta"),
                     LK_SQL_FORMAT);
    assert_non_null(value);
    assert_string_equal(value->bytes, "a value");
    assert_true(value->in_doubt);
    lk_value_free(value);
    assert_int_equal(fixture_finish(engine, &claim, LK_FINISH_DONE, 0), LK_OK);
    assert_int_equal(fixture_renew(engine, "A", "x", 1699999999000000, &result), LK_OK);
    lk_result_clear(&result);
    fixture_close(engine);
}

/* A holds x, B waits for it and z, V holds v and has asked for its value, W works on q/1. */
static void a_former_programs_store_goes_on(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;
    int64_t live_max = fixture_sql(file, "SELECT format FROM meta") >= 4 ? 50 : 0;
    struct lk_engine *engine = fixture_open(file, &testcase->options);
    struct lk_patience patience = test_patience(1000000);
    int64_t draw = fixture_sql(file, "SELECT max(last_draw) FROM lk_root");
    lk_result result = {.outcome = LK_OK};
    lk_audit *audit = NULL;
    lk_value *value;
    lk_error error;

    assert_int_equal(fixture_sql(file, "SELECT format FROM lk_meta"), LK_SQL_FORMAT);
    assert_int_equal(fixture_sql(file, "SELECT live_max FROM lk_meta"), live_max);
    assert_int_equal(fixture_ask(engine, "E", "x", LK_TRY, 0, &result), LK_BUSY);
    assert_int_equal(result.position, 2);
    assert_int_equal(fixture_release(engine, "A", "x", 0, &result), LK_OK);
    assert_int_equal(fixture_ask(engine, "B", "x z?limit=3&units=2", LK_TRY, 0, &result),
                     LK_GRANTED);
    assert_true(result.token > (uint64_t)draw);
    value = fixture_get(engine, "w");
    assert_non_null(value);
    assert_int_equal(value->size, strlen("a value"));
    lk_value_free(value);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_item WHERE state = 'claimed'"), 1);
    assert_int_equal(fixture_ask(engine, "E", "pool?limit=3&units=2", LK_TRY, 0, &result), LK_BUSY);
    assert_int_equal(fixture_ask(engine, "E", "q/1", LK_TRY, 0, &result), LK_BUSY);
    assert_int_equal(engine->ops->audit(engine, NULL, &patience, &audit, &error), LK_OK);
    assert_int_equal(audit->count, 1);
    lk_audit_free(audit);
    lk_result_clear(&result);
    fixture_close(engine);
}

static void a_migrated_store_records_events(void **state) {
    struct testcase *testcase = *state;
    struct lk_engine *engine = fixture_open(testcase->fixture.file, &testcase->options);
    struct lk_patience patience = test_patience(1000000);
    const struct lk_event_query query = {.after = 1, .max = 10};
    struct lk_event_page *page = NULL;
    lk_result result = {.outcome = LK_OK};
    lk_error error;

    assert_int_equal(engine->ops->events->read(engine, &query, &patience, &page, &error), LK_OK);
    assert_int_equal(page->count, 0);
    lk_event_page_free(page);
    assert_int_equal(fixture_release(engine, "A", "x", 0, &result), LK_OK);
    assert_int_equal(engine->ops->events->read(engine, &query, &patience, &page, &error), LK_OK);
    assert_int_equal(page->count, 1);
    assert_int_equal(page->events[0].kind, LK_WATCH_RELEASED);
    lk_event_page_free(page);
    lk_result_clear(&result);
    fixture_close(engine);
}

/* The text that a query gives. */
static char *ask_text(const char *file, const char *query) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    char *text;

    assert_int_equal(sqlite3_open(file, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, query, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    text = strdup((const char *)sqlite3_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(handle);
    assert_non_null(text);
    return text;
}

/* Names and columns of all there is; how the text is laid out may differ. */
static char *describe(const char *file) {
    return ask_text(
        file,
        "SELECT group_concat(line, char(10)) FROM ("
        " SELECT schema.type || ' ' || schema.name || ' ' || ifnull(info.name || ' ' || info.type"
        "  || ' ' || info.\"notnull\" || ' ' || ifnull(info.dflt_value, '-') || ' ' || info.pk,"
        "  schema.sql) AS line"
        " FROM sqlite_schema AS schema LEFT JOIN pragma_table_info(schema.name) AS info"
        "  ON schema.type <> 'index'"
        " ORDER BY schema.type, schema.name, info.cid)");
}

/* A new store with the bounds of the migrated one, which may need triggers and an index. */
static void a_migrated_file_equals_a_new_one(void **state) {
    struct testcase *testcase = *state;
    struct fixture fresh = fixture_make();
    struct lk_engine *migrated_engine = fixture_open(testcase->fixture.file, &testcase->options);
    struct lk_engine *fresh_engine = fixture_open(fresh.file, &testcase->options);
    struct lk_patience patience = test_patience(1000000);
    lk_limits limits = {.size = sizeof limits};
    char *migrated_text;
    char *fresh_text;
    lk_error error;

    assert_int_equal(migrated_engine->ops->limits->get(migrated_engine, &patience, &limits, &error),
                     LK_OK);
    assert_int_equal(fresh_engine->ops->limits->set(fresh_engine, &limits, &patience, &error),
                     LK_OK);
    fixture_close(migrated_engine);
    fixture_close(fresh_engine);
    migrated_text = describe(testcase->fixture.file);
    fresh_text = describe(fresh.file);
    assert_non_null(strstr(fresh_text, "lk_items"));
    assert_string_equal(migrated_text, fresh_text);
    free(migrated_text);
    free(fresh_text);
    fixture_remove(&fresh);
}

/* The items of a former format have no priority and no cause of failure. */
static void a_migration_adds_columns(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;

    fixture_close(fixture_open(file, &testcase->options));
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_item WHERE priority = 0"
                                       " AND last_exit IS NULL AND last_error IS NULL"),
                     3);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM pragma_foreign_key_list('lk_part')"
                                       " WHERE \"table\" = 'lk_request'"),
                     1);
    assert_int_equal(fixture_sql(file, "SELECT requests FROM lk_request_count"),
                     fixture_sql(file, "SELECT count(*) FROM lk_request"));
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM lk_event"), 7);
    assert_int_equal(fixture_sql(file, "SELECT last_event FROM lk_meta"), 15);
}

static void items_that_need_the_same_become_groups(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;

    run(file, "WITH RECURSIVE n (n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM n WHERE n < 15)"
              " INSERT INTO items SELECT n, 'w', 'i' || n, n, 'ready', 0, 0, 0, 0,"
              " CASE WHEN n < 12 THEN '' WHEN n % 2 THEN 'a' ELSE 'b' END FROM n");
    fixture_close(fixture_open(file, &testcase->options));
    assert_int_equal(fixture_sql(file, "SELECT sum(behind) FROM lk_item"), 2);
    assert_int_equal(fixture_sql(file, "SELECT behind FROM lk_item WHERE id = 'i14'"), 1);
    assert_int_equal(fixture_sql(file, "SELECT behind FROM lk_item WHERE id = 'i15'"), 1);
}

static void views_of_the_owner_go_on(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;

    run(file, "CREATE VIEW holders AS SELECT path, owner FROM lk_locks WHERE state = 'held'");
    run(file, "CREATE VIEW owners AS SELECT owner FROM requests WHERE state = 'held'");
    fixture_close(fixture_open(file, &testcase->options));
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM holders WHERE owner = 'A'"), 1);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM owners WHERE owner = 'A'"), 1);
}

static char *schema_of(const char *file) {
    return ask_text(file, "SELECT group_concat(name || sql, char(10)) FROM sqlite_schema");
}

/* Runs `hindrance`, and expects that nothing is migrated until `help` is run. */
static void expect_hindered(struct testcase *testcase, const char *hindrance, const char *name,
                            const char *help) {
    const char *file = testcase->fixture.file;
    char *before;
    char *after;
    lk_error error;

    run(file, hindrance);
    before = schema_of(file);
    assert_int_equal(fixture_try_open(file, &testcase->options, &error), LK_INVALID);
    assert_non_null(strstr(error.text, name));
    assert_non_null(strstr(error.text, "nothing was changed"));
    after = schema_of(file);
    assert_string_equal(before, after);
    free(before);
    free(after);
    run(file, help);
    assert_int_equal(fixture_try_open(file, &testcase->options, &error), LK_OK);
}

static void a_name_that_is_taken_leaves_the_old_format(void **state) {
    expect_hindered(*state, "CREATE TABLE lk_item (x)", "lk_item", "DROP TABLE lk_item");
}

static void a_view_of_nothing_leaves_the_old_format(void **state) {
    expect_hindered(*state, "CREATE VIEW lost AS SELECT * FROM nowhere", "lost", "DROP VIEW lost");
}

static void a_running_service_keeps_the_old_format(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;
    int lock = -1;
    lk_error error;

    assert_int_equal(lk_sqlite_service_lock_take(file, &lock), 0);
    assert_int_equal(fixture_try_open(file, &testcase->options, &error), LK_DENIED);
    assert_int_equal(fixture_sql(file, "SELECT format FROM meta"), 6);
    (void)close(lock);
    assert_int_equal(fixture_try_open(file, &testcase->options, &error), LK_OK);
    assert_int_equal(fixture_sql(file, "SELECT format FROM lk_meta"), LK_SQL_FORMAT);
}

static void a_kill_in_the_middle_leaves_the_old_format(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;
    char *before = schema_of(file);
    char *after;
    int status;
    pid_t child = test_fork();

    if (child == 0) {
        struct lk_sql sql;
        (void)lk_sql_open(&sql, file, SQLITE_OPEN_READWRITE, NULL);
        (void)lk_sql_execute(&sql,
                             "PRAGMA cache_size = 1"); /* pages go to the log before the end */
        if (lk_sql_begin_write(&sql) != SQLITE_OK
            || lk_sql_format_migrate(&sql, lk_sql_format_steps, 6, LK_SQL_FORMAT) != SQLITE_OK) {
            _exit(1);
        }
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    after = schema_of(file);
    assert_string_equal(before, after);
    assert_int_equal(fixture_sql(file, "SELECT count(*) FROM items"), 3);
    free(before);
    free(after);
    a_former_programs_store_goes_on(state);
}

static void a_full_disk_leaves_the_old_format(void **state) {
    struct testcase *testcase = *state;
    const char *file = testcase->fixture.file;
    lk_error error;

    testcase->options.page_max = (int)fixture_sql(file, "PRAGMA page_count");
    assert_int_equal(fixture_try_open(file, &testcase->options, &error), LK_UNAVAILABLE);
    assert_int_equal(fixture_sql(file, "SELECT format FROM meta"), 1);
    assert_int_equal(
        fixture_sql(file, "SELECT count(*) FROM sqlite_schema WHERE name IN ('items', 'lk_item')"),
        0);
    testcase->options.page_max = 0;
    assert_int_equal(fixture_try_open(file, &testcase->options, &error), LK_OK);
    assert_int_equal(fixture_sql(file, "SELECT format FROM lk_meta"), LK_SQL_FORMAT);
}

static void concurrent_openers_migrate_once(void **state) {
    struct testcase *testcase = *state;

    for (int i = 0; i < RACERS; i++) {
        pid_t child = test_fork();
        if (child == 0) {
            lk_error error;
            _exit(fixture_try_open(testcase->fixture.file, &testcase->options, &error) == LK_OK
                      ? 0
                      : 1);
        }
    }
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(test_exit_status(-1), 0);
    }
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT format FROM lk_meta"),
                     LK_SQL_FORMAT);
}

#define OF_FORMAT_1(test) cmocka_unit_test_setup_teardown(test, set_up_format_1, teardown)
#define OF_FORMAT_2(test) cmocka_unit_test_setup_teardown(test, set_up_format_2, teardown)
#define OF_FORMAT_3(test) cmocka_unit_test_setup_teardown(test, set_up_format_3, teardown)

#define OF_STORE_2(test) cmocka_unit_test_setup_teardown(test, set_up_store_2, teardown)
#define OF_STORE_4(test) cmocka_unit_test_setup_teardown(test, set_up_store_4, teardown)
#define OF_STORE_6(test) cmocka_unit_test_setup_teardown(test, set_up_store_6, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        OF_FORMAT_1(a_migration_loses_nothing),
        OF_FORMAT_1(what_is_new_works),
        OF_FORMAT_1(a_migrated_file_equals_a_new_one),
        OF_FORMAT_1(a_full_disk_leaves_the_old_format),
        OF_FORMAT_1(concurrent_openers_migrate_once),
        OF_FORMAT_2(values_and_work_go_on),
        OF_FORMAT_2(a_migrated_store_records_events),
        OF_FORMAT_2(a_migrated_file_equals_a_new_one),
        OF_FORMAT_3(a_migrated_file_equals_a_new_one),
        OF_STORE_2(a_former_programs_store_goes_on),
        OF_STORE_2(a_migrated_file_equals_a_new_one),
        OF_STORE_4(a_former_programs_store_goes_on),
        OF_STORE_4(a_migrated_file_equals_a_new_one),
        OF_STORE_6(a_former_programs_store_goes_on),
        OF_STORE_6(a_migrated_file_equals_a_new_one),
        OF_STORE_6(a_migration_adds_columns),
        OF_STORE_6(items_that_need_the_same_become_groups),
        OF_STORE_6(views_of_the_owner_go_on),
        OF_STORE_6(a_name_that_is_taken_leaves_the_old_format),
        OF_STORE_6(a_view_of_nothing_leaves_the_old_format),
        OF_STORE_6(a_running_service_keeps_the_old_format),
        OF_STORE_6(a_kill_in_the_middle_leaves_the_old_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
