/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store keeps over time: over a restart of the machine (R11), tokens that were ended (R3),
 * draws of roots that were forgotten (R4), the record of breaks (R12).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/sqlite/changes.h"
#include "fixture.h"

#define SECOND_US INT64_C(1000000)

static lk_outcome ask(struct testcase *testcase, const char *owner, const char *parts,
                      lk_style style, int64_t ttl_ms) {
    return fixture_ask(testcase->engine, owner, parts, style, ttl_ms, &testcase->result);
}

/* Milliseconds left of the one request at `path`; -1: there is none. */
static int64_t left_ms(struct testcase *testcase, const char *path_text) {
    struct lk_patience patience = test_patience(20 * SECOND_US);
    lk_listing *listing = NULL;
    int64_t left = -1;
    struct lk_path path;
    lk_error error;

    assert_int_equal(lk_path_parse(lk_slice_of(path_text), &path, &error), LK_OK);
    assert_int_equal(
        testcase->engine->ops->list(testcase->engine, &path, &patience, &listing, &error), LK_OK);
    assert_true(listing->count <= 1);
    if (listing->count == 1) {
        left = listing->entries[0].expires_in_ms;
    }
    lk_listing_free(listing);
    return left;
}

static void upkeep(struct testcase *testcase) {
    struct lk_patience patience = test_patience(20 * SECOND_US);
    struct lk_sqlite_transaction transaction;
    lk_error error;

    assert_int_equal(lk_sqlite_transaction_begin((struct lk_sqlite *)testcase->engine,
                                                 LK_SQLITE_WRITE, &patience, &transaction, &error),
                     LK_OK);
    assert_int_equal(
        lk_sqlite_transaction_end(&transaction, lk_changes_upkeep(&transaction, 0), &error), LK_OK);
}

/* ---- R11: restarts --------------------------------------------------------------------------- */

static void live_leases_last_at_least_a_minute_after_a_restart(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(ask(testcase, "A", "brief", LK_TRY, 10000), LK_GRANTED);
    assert_int_equal(ask(testcase, "A", "medium", LK_TRY, 600000), LK_GRANTED);
    assert_int_equal(ask(testcase, "A", "long", LK_TRY, 86400000), LK_GRANTED);
    assert_int_equal(ask(testcase, "B", "brief", LK_QUEUE, 20000), LK_WAITING);
    testcase_restart(testcase, "second", 3600 * SECOND_US);

    assert_int_equal(ask(testcase, "A", "brief", LK_TRY, 10000), LK_GRANTED);
    assert_int_equal(left_ms(testcase, "medium"), 60000);
    assert_int_equal(left_ms(testcase, "long"), 86400000 - 3600000);
    assert_int_equal(fixture_release(testcase->engine, "A", "brief", 0, &testcase->result), LK_OK);
    assert_int_equal(left_ms(testcase, "brief"), 20000); /* B's, granted now */
}

static void the_grace_period_is_given_once(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(ask(testcase, "A", "once", LK_TRY, 60000), LK_GRANTED);
    assert_int_equal(ask(testcase, "A", "renewed", LK_TRY, 60000), LK_GRANTED);
    testcase_restart(testcase, "second", 3600 * SECOND_US);
    fixture_clock_advance(&testcase->clock, 20 * SECOND_US);
    assert_int_equal(fixture_renew(testcase->engine, "A", "renewed", 0, &testcase->result), LK_OK);
    testcase_restart(testcase, "third", 30 * SECOND_US);
    assert_int_equal(left_ms(testcase, "once"), 10000);
    assert_int_equal(left_ms(testcase, "renewed"), 60000);
    testcase_restart(testcase, "fourth", 10 * SECOND_US);
    assert_int_equal(left_ms(testcase, "once"), -1);
}

static void expired_leases_stay_expired(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(ask(testcase, "A", "dead", LK_TRY, 1000), LK_GRANTED);
    fixture_clock_advance(&testcase->clock, 2 * SECOND_US);
    /* It is not swept: the store's options forbid it to calls under other roots. */
    testcase->options.overdue_max = 0;
    testcase_reopen(testcase);
    assert_int_equal(ask(testcase, "A", "alive", LK_TRY, 1000), LK_GRANTED);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_request"), 2);
    testcase_restart(testcase, "second", 5 * SECOND_US);
    assert_int_equal(left_ms(testcase, "dead"), -1);
    assert_int_equal(left_ms(testcase, "alive"), 1000);
    assert_int_equal(fixture_renew(testcase->engine, "A", "dead", 0, &testcase->result), LK_LOST);
}

static void a_fixed_end_stays(void **state) {
    struct testcase *testcase = *state;
    struct lk_patience patience = test_patience(20 * SECOND_US);
    struct test_parts parts;
    struct lk_ask fixed = {.owner = lk_slice_of("A"), .style = LK_TRY, .blockers_max = 1};

    test_parts_parse(&parts, "soon");
    fixed.parts = parts.parts;
    fixed.part_count = parts.count;
    fixed.until_us = testcase->clock.wall_us + 30 * SECOND_US;
    assert_int_equal(call_ask(testcase->engine, &fixed, &patience, &testcase->result), LK_GRANTED);
    test_parts_parse(&parts, "late");
    fixed.until_us = testcase->clock.wall_us + 7200 * SECOND_US;
    lk_result_clear(&testcase->result);
    assert_int_equal(call_ask(testcase->engine, &fixed, &patience, &testcase->result), LK_GRANTED);
    testcase_restart(testcase, "second", 3600 * SECOND_US);
    assert_int_equal(left_ms(testcase, "soon"), -1);
    assert_int_equal(left_ms(testcase, "late"), 3600000);
    assert_int_equal(ask(testcase, "B", "soon", LK_TRY, 0), LK_GRANTED);
}

/* A wall clock that comes up in another century must not keep leases for ever. */
static void with_a_lost_wall_clock_the_grace_is_the_ttl(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(ask(testcase, "A", "x", LK_TRY, 120000), LK_GRANTED);
    testcase_restart(testcase, "second", -100000000 * SECOND_US);
    assert_int_equal(left_ms(testcase, "x"), 120000);
    assert_int_equal(ask(testcase, "B", "x", LK_QUEUE, 3600000), LK_WAITING);
    fixture_clock_advance(&testcase->clock, 121 * SECOND_US);
    assert_int_equal(ask(testcase, "B", "x", LK_TRY, 0), LK_GRANTED);
}

/* ---- R4: a grant has one token --------------------------------------------------------------- */

/* The token of the one request at `path`, as a list shows it; `ret_listing` may be NULL. */
static uint64_t shown_token(struct testcase *testcase, const char *path_text) {
    struct lk_patience patience = test_patience(20 * SECOND_US);
    lk_listing *listing = NULL;
    struct lk_path path;
    lk_error error;
    uint64_t token;

    assert_int_equal(lk_path_parse(lk_slice_of(path_text), &path, &error), LK_OK);
    assert_int_equal(
        testcase->engine->ops->list(testcase->engine, &path, &patience, &listing, &error), LK_OK);
    assert_int_equal(listing->count, 1);
    assert_true(listing->entries[0].held);
    token = listing->entries[0].token;
    lk_listing_free(listing);
    return token;
}

static void a_listing_shows_the_token_of_a_grant_by_a_deadline(void **state) {
    struct testcase *testcase = *state;
    uint64_t token;

    assert_int_equal(ask(testcase, "A", "x", LK_TRY, 1000), LK_GRANTED);
    assert_int_equal(ask(testcase, "B", "x", LK_QUEUE, 60000), LK_WAITING);
    fixture_clock_advance(&testcase->clock, 2 * SECOND_US);
    token = shown_token(testcase, "x");
    assert_true(token > 0);
    fixture_clock_advance(&testcase->clock, SECOND_US);
    assert_int_equal(shown_token(testcase, "x"), token);
    assert_int_equal(fixture_release(testcase->engine, "B", "x", token, &testcase->result), LK_OK);
}

/* Another process that keeps the write lock does not block reads. */
static void a_read_only_listing_shows_no_token(void **state) {
    struct testcase *testcase = *state;
    sqlite3 *writer = NULL;

    assert_int_equal(ask(testcase, "A", "x", LK_TRY, 1000), LK_GRANTED);
    assert_int_equal(ask(testcase, "B", "x", LK_QUEUE, 60000), LK_WAITING);
    fixture_clock_advance(&testcase->clock, 2 * SECOND_US);
    assert_int_equal(sqlite3_open(testcase->fixture.file, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(shown_token(testcase, "x"), 0);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    assert_true(shown_token(testcase, "x") > 0);
}

/* ---- one boot under two ids ------------------------------------------------------------------ */

static void containers_with_boot_ids_of_their_own_share_a_clock(void **state) {
    struct testcase *testcase = *state;
    uint64_t token;

    assert_int_equal(ask(testcase, "A", "ended", LK_TRY, 1000), LK_GRANTED);
    token = testcase->result.token;
    assert_int_equal(ask(testcase, "A", "dies", LK_TRY, 3000), LK_GRANTED);
    assert_int_equal(ask(testcase, "A", "lives", LK_TRY, 3600000), LK_GRANTED);
    assert_int_equal(fixture_release(testcase->engine, "A", "ended", token, &testcase->result),
                     LK_OK);
    for (int i = 0; i < 4; i++) {
        fixture_close(testcase->engine);
        fixture_clock_advance(&testcase->clock, SECOND_US);
        testcase->options.boot_id = i % 2 == 0 ? "container" : "first";
        testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
        assert_int_equal(left_ms(testcase, "dies"), i < 2 ? 2000 - 1000 * i : -1);
        assert_int_equal(left_ms(testcase, "lives"), 3600000 - 1000 * (i + 1));
    }
    assert_int_equal(fixture_release(testcase->engine, "A", "ended", token, &testcase->result),
                     LK_OK);
}

/* ---- R3: ended tokens ------------------------------------------------------------------------ */

static void a_release_may_be_repeated_for_five_minutes(void **state) {
    struct testcase *testcase = *state;
    uint64_t token;

    assert_int_equal(ask(testcase, "A", "x y?shared", LK_TRY, 0), LK_GRANTED);
    token = testcase->result.token;
    assert_int_equal(fixture_release(testcase->engine, "A", "y x", token, &testcase->result),
                     LK_OK);
    testcase_reopen(testcase); /* another process may have the answer to give */
    fixture_clock_advance(&testcase->clock, 299 * SECOND_US);
    assert_int_equal(fixture_release(testcase->engine, "A", "x y", token, &testcase->result),
                     LK_OK);
    assert_int_equal(fixture_release(testcase->engine, "A", "x y", token + 1, &testcase->result),
                     LK_LOST);
    assert_int_equal(fixture_release(testcase->engine, "B", "x y", token, &testcase->result),
                     LK_LOST);
    assert_int_equal(fixture_release(testcase->engine, "A", "x", token, &testcase->result),
                     LK_LOST);
    fixture_clock_advance(&testcase->clock, 2 * SECOND_US);
    assert_int_equal(fixture_release(testcase->engine, "A", "x y", token, &testcase->result),
                     LK_LOST);
}

static void ended_tokens_are_swept(void **state) {
    enum { ROUNDS = 100 };
    struct testcase *testcase = *state;

    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(ask(testcase, "A", "x", LK_TRY, 0), LK_GRANTED);
        assert_int_equal(
            fixture_release(testcase->engine, "A", "x", testcase->result.token, &testcase->result),
            LK_OK);
        fixture_clock_advance(&testcase->clock, 30 * SECOND_US);
    }
    upkeep(testcase);
    upkeep(testcase);
    /* Five minutes are ten rounds, the last of them 30 s ago. */
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_ended"), 9);
}

static void ended_tokens_are_bounded(void **state) {
    struct testcase *testcase = *state;
    struct lk_sqlite *store = (struct lk_sqlite *)testcase->engine;

    (void)fixture_sql(testcase->fixture.file,
                      "INSERT INTO lk_ended SELECT value, 'A', 'x', value FROM"
                      " (WITH RECURSIVE n (value) AS"
                      "  (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 1000)"
                      "  SELECT value FROM n)");
    assert_int_equal(lk_sql_ended_bound(&store->sql, 400), SQLITE_OK);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_ended"), 400);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT min(token) FROM lk_ended"), 601);
}

/* ---- R4: draws and forgotten roots ----------------------------------------------------------- */

static uint64_t draw_at(struct testcase *testcase, const char *parts) {
    uint64_t token;

    assert_int_equal(ask(testcase, "A", parts, LK_TRY, 0), LK_GRANTED);
    token = testcase->result.token;
    assert_int_equal(fixture_release(testcase->engine, "A", parts, 0, &testcase->result), LK_OK);
    return token;
}

static void tickets_rise_when_the_wall_clock_is_set_back(void **state) {
    struct testcase *testcase = *state;
    uint64_t last = draw_at(testcase, "x");

    testcase->clock.wall_us -= 3600 * SECOND_US;
    assert_int_equal(draw_at(testcase, "x/below"), last + 1);
    assert_true(draw_at(testcase, "y") < last);
    assert_int_equal(draw_at(testcase, "y x"), last + 2);
    assert_int_equal(draw_at(testcase, "y"), last + 3); /* remembered by each */
    assert_int_equal(ask(testcase, "A", "x", LK_TRY, 0), LK_GRANTED);
    assert_int_equal(ask(testcase, "B", "x", LK_QUEUE, 0), LK_WAITING);
    last = testcase->result.ticket;
    assert_int_equal(fixture_release(testcase->engine, "A", "x", 0, &testcase->result), LK_OK);
    assert_int_equal(ask(testcase, "B", "x", LK_TRY, 0), LK_GRANTED);
    assert_int_equal(testcase->result.token, last + 1);
}

static void unused_roots_are_removed_and_tickets_still_rise(void **state) {
    enum { ROOTS = 3000 };
    struct testcase *testcase = *state;
    uint64_t greatest = 0;

    assert_int_equal(ask(testcase, "A", "kept/x", LK_TRY, 3600000), LK_GRANTED);
    for (int i = 0; i < ROOTS; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "root-%d/x", i);
        assert_int_equal(ask(testcase, "A", path, LK_TRY, 0), LK_GRANTED);
        greatest = testcase->result.token > greatest ? testcase->result.token : greatest;
        assert_int_equal(fixture_release(testcase->engine, "A", path, 0, &testcase->result), LK_OK);
    }
    upkeep(testcase);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_root"),
                     ROOTS + 1);
    fixture_clock_advance(&testcase->clock, 61 * SECOND_US);
    for (int i = 0; i < 2 * ROOTS / LK_SQLITE_UPKEEP_ROOTS; i++) {
        upkeep(testcase);
    }
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_root"), 1);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_root"
                                                         " WHERE root = 'kept'"),
                     1);

    /* Even for a wall clock that was set back, and a root that was forgotten. */
    testcase->clock.wall_us -= 1000000 * SECOND_US;
    assert_int_equal(ask(testcase, "A", "root-7/x", LK_TRY, 0), LK_GRANTED);
    assert_true(testcase->result.token > greatest);
}

/* ---- R12: the record of breaks --------------------------------------------------------------- */

static size_t break_path(struct testcase *testcase, const char *path_text, bool at_once) {
    struct lk_patience patience = test_patience(20 * SECOND_US);
    struct lk_break broken = {.at_once = at_once};
    size_t count = 0;
    lk_error error;

    assert_int_equal(lk_path_parse(lk_slice_of(path_text), &broken.path, &error), LK_OK);
    assert_int_equal(
        call_break(testcase->engine, &broken, "root", "it hangs", &patience, &count, &error),
        LK_OK);
    return count;
}

static void breaks_are_in_the_audit(void **state) {
    struct testcase *testcase = *state;
    struct lk_patience patience = test_patience(20 * SECOND_US);
    lk_audit *audit = NULL;
    struct lk_path path;
    lk_error error;

    assert_int_equal(ask(testcase, "A", "db/x", LK_TRY, 0), LK_GRANTED);
    assert_int_equal(ask(testcase, "B", "db/x", LK_QUEUE, 0), LK_WAITING);
    assert_int_equal(break_path(testcase, "db/x", false), 2);
    assert_int_equal(break_path(testcase, "db/x", false), 0);
    assert_int_equal(fixture_renew(testcase->engine, "A", "db/x", 0, &testcase->result), LK_LOST);
    assert_int_equal(break_path(testcase, "db/x", true), 1);
    assert_int_equal(break_path(testcase, "db2", true), 0);

    assert_int_equal(lk_path_parse(lk_slice_of("db"), &path, &error), LK_OK);
    assert_int_equal(
        testcase->engine->ops->audit(testcase->engine, &path, &patience, &audit, &error), LK_OK);
    assert_int_equal(audit->count, 3);
    assert_string_equal(audit->entries[2].owner, "A");
    assert_string_equal(audit->entries[2].by, "root");
    assert_string_equal(audit->entries[2].reason, "it hangs");
    assert_true(audit->entries[2].held);
    assert_int_equal(audit->entries[2].at_unix_ms, testcase->clock.wall_us / 1000);
    lk_audit_free(audit);

    assert_int_equal(lk_path_parse(lk_slice_of("d"), &path, &error), LK_OK);
    assert_int_equal(
        testcase->engine->ops->audit(testcase->engine, &path, &patience, &audit, &error), LK_OK);
    assert_int_equal(audit->count, 0);
    lk_audit_free(audit);
}

static void the_audit_is_bounded(void **state) {
    struct testcase *testcase = *state;
    struct lk_sqlite *store = (struct lk_sqlite *)testcase->engine;
    const struct lk_audit_row audit = {.by = lk_slice_of("root"), .path = lk_slice_of("x")};

    for (int i = 0; i < 20; i++) {
        assert_int_equal(lk_sql_audit_save(&store->sql, &audit, 7), SQLITE_OK);
    }
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT count(*) FROM lk_audit"), 7);
    assert_int_equal(fixture_sql(testcase->fixture.file, "SELECT max(id) FROM lk_audit"), 20);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* As `sqlite3 FROM '.backup TO'` does. */
static void back_up(const char *from, const char *to) {
    sqlite3 *source = NULL;
    sqlite3 *target = NULL;
    sqlite3_backup *backup;

    assert_int_equal(sqlite3_open(from, &source), SQLITE_OK);
    assert_int_equal(sqlite3_open(to, &target), SQLITE_OK);
    backup = sqlite3_backup_init(target, "main", source, "main");
    assert_non_null(backup);
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    assert_int_equal(sqlite3_close(target), SQLITE_OK);
    assert_int_equal(sqlite3_close(source), SQLITE_OK);
}

static void a_backup_can_be_restored(void **state) {
    struct testcase *testcase = *state;
    char copy[PATH_MAX];
    uint64_t last;

    (void)snprintf(copy, sizeof copy, "%s-copy", testcase->fixture.file);
    assert_int_equal(ask(testcase, "A", "x", LK_TRY, 600000), LK_GRANTED);
    assert_int_equal(ask(testcase, "A", "brief", LK_TRY, 1000), LK_GRANTED);
    back_up(testcase->fixture.file, copy);
    fixture_clock_advance(&testcase->clock, 5 * SECOND_US);
    assert_int_equal(fixture_release(testcase->engine, "A", "x", 0, &testcase->result), LK_OK);
    assert_int_equal(ask(testcase, "B", "x", LK_TRY, 0), LK_GRANTED);
    last = testcase->result.token;

    fixture_close(testcase->engine); /* the last one to close it takes the log away */
    assert_int_equal(rename(copy, testcase->fixture.file), 0);
    fixture_clock_advance(&testcase->clock, 5 * SECOND_US);
    testcase->engine = fixture_open(testcase->fixture.file, &testcase->options);
    assert_int_equal(fixture_renew(testcase->engine, "A", "brief", 0, &testcase->result), LK_LOST);
    assert_int_equal(ask(testcase, "B", "x", LK_TRY, 0), LK_BUSY);
    assert_int_equal(fixture_release(testcase->engine, "A", "x", 0, &testcase->result), LK_OK);
    assert_int_equal(ask(testcase, "B", "x", LK_TRY, 0), LK_GRANTED);
    assert_true(testcase->result.token > last);
}

/* ---- what people read ------------------------------------------------------------------------ */

static void the_views_are_readable(void **state) {
    struct testcase *testcase = *state;
    struct lk_engine *engine = fixture_open(testcase->fixture.file, &lk_sqlite_options_default);

    /* By the machine's own clock, for the view reads no other. */
    assert_int_equal(
        fixture_ask(engine, "A", "db?limit=3&units=2", LK_TRY, 60000, &testcase->result),
        LK_GRANTED);
    assert_int_equal(fixture_ask(engine, "B", "db", LK_QUEUE, 60000, &testcase->result),
                     LK_WAITING);
    assert_int_equal(fixture_sql(testcase->fixture.file,
                                 "SELECT count(*) FROM lk_locks WHERE path = 'db' AND"
                                 " ((owner = 'A' AND state = 'held' AND mode = 'shared' AND"
                                 "   unit_limit = 3 AND units = 2 AND token > 0) OR"
                                 "  (owner = 'B' AND state = 'waiting' AND mode = 'exclusive' AND"
                                 "   unit_limit IS NULL AND token IS NULL)) AND"
                                 " julianday(expires) - julianday(since) BETWEEN 59 / 86400.0 AND"
                                 "  61 / 86400.0"),
                     2);
    fixture_close(engine);
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, testcase_setup, testcase_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE(live_leases_last_at_least_a_minute_after_a_restart),
        SCENE(the_grace_period_is_given_once),
        SCENE(expired_leases_stay_expired),
        SCENE(a_fixed_end_stays),
        SCENE(with_a_lost_wall_clock_the_grace_is_the_ttl),
        SCENE(containers_with_boot_ids_of_their_own_share_a_clock),
        SCENE(a_listing_shows_the_token_of_a_grant_by_a_deadline),
        SCENE(a_read_only_listing_shows_no_token),
        SCENE(a_release_may_be_repeated_for_five_minutes),
        SCENE(ended_tokens_are_swept),
        SCENE(ended_tokens_are_bounded),
        SCENE(tickets_rise_when_the_wall_clock_is_set_back),
        SCENE(unused_roots_are_removed_and_tickets_still_rise),
        SCENE(breaks_are_in_the_audit),
        SCENE(the_audit_is_bounded),
        SCENE(a_backup_can_be_restored),
        SCENE(the_views_are_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
