/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that make the same store at the same time, or beside readers of its file. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "fixture.h"

enum { RACERS = 50, READS = 500 };

/* All at once, from nothing: each must find a whole store, and all the same one. */
static void concurrent_creators_share_one_store(void **state) {
    struct fixture *fixture = *state;
    int gate[2];
    lk_result result = {.outcome = LK_OK};
    struct lk_engine *engine;

    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < RACERS; i++) {
        pid_t child = test_fork();
        if (child == 0) {
            char owner[32];
            char byte;
            (void)close(gate[1]);
            (void)!read(gate[0], &byte, 1); /* until the parent closes its end */
            (void)snprintf(owner, sizeof owner, "racer %d", i);
            engine = fixture_open(fixture->file, &lk_sqlite_options_default);
            _exit(fixture_ask(engine, owner, "x?limit=50", LK_TRY, 0, &result) == LK_GRANTED ? 0
                                                                                             : 1);
        }
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(test_exit_status(-1), 0);
    }
    assert_int_equal(fixture_sql(fixture->file, "SELECT count(*) FROM lk_request"), RACERS);
    assert_int_equal(fixture_sql(fixture->file, "SELECT count(*) FROM lk_meta"), 1);
}

static void *create_store(void *file) {
    lk_error error;

    return fixture_try_open(file, &lk_sqlite_options_default, &error) == LK_OK ? file : NULL;
}

/* One more connection begins to read. */
static int try_to_read(const char *file) {
    sqlite3 *handle;
    int code;

    assert_int_equal(sqlite3_open(file, &handle), SQLITE_OK);
    code = sqlite3_exec(handle, "SELECT * FROM sqlite_schema", NULL, NULL, NULL);
    (void)sqlite3_close(handle);
    return code;
}

/*
 * Readers that follow one another without a gap cannot keep a creator from its end for ever: it
 * waits for the last one and lets in few others.
 */
static void a_creator_keeps_readers_out(void **state) {
    struct fixture *fixture = *state;
    unsigned let_in = 0;
    void *created = NULL;
    sqlite3 *reader;
    pthread_t creator;

    assert_int_equal(sqlite3_open(fixture->file, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM sqlite_schema", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(pthread_create(&creator, NULL, create_store, fixture->file), 0);
    while (try_to_read(fixture->file) != SQLITE_BUSY) { /* until it would commit */
    }
    for (unsigned kept_out = 0; kept_out < READS; kept_out++) {
        while (try_to_read(fixture->file) != SQLITE_BUSY) {
            assert_true(let_in++ < READS);
        }
    }
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_int_equal(pthread_join(creator, &created), 0);
    assert_ptr_equal(created, fixture->file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(concurrent_creators_share_one_store, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_creator_keeps_readers_out, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests_name("sqlite: creation", tests, NULL, NULL);
}
