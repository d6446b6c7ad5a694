/* SPDX-License-Identifier: Apache-2.0 */
/*
 * with_server.sh test_looks: of two tries that are refused, the second is answered by a look
 * (engine/procedures/look.c) where what is held at the path alone is in the way, and else by the
 * procedure, as the first. Its answer is the same. The server counts the calls.
 */
#include <mysql.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support.h"
#include "lockkeeper/lockkeeper.h"

enum { HELD_MAX = 65, TTL_MS = 3600000, NAMED = 4 };

struct fixture {
    lk_store *store;
    MYSQL *server;
};

/* What is there, below a root of its own; what is tried; and by what the second try is answered. */
struct refusal {
    const char *held;    /* by `holders`, named by their numbers */
    const char *waiting; /* by one request; NULL: none */
    const char *others;  /* of the owner that tries; NULL: nothing */
    const char *sql;     /* before the tries; NULL: nothing */
    const char *tried;
    int holders;
    bool is_looked;  /* else it is called */
    bool is_unnamed; /* no blockers are to be named */
};

static MYSQL *connect_to_server(void) {
    MYSQL *server = mysql_init(NULL);
    char socket[512];

    (void)snprintf(socket, sizeof socket, "%s/socket", getenv("LK_TEST_SERVER"));
    if (mysql_real_connect(server, NULL, "root", NULL, "test", 0, socket, 0) == NULL) {
        test_die("no connection: %s", mysql_error(server));
    }
    return server;
}

/* The second column of the first row, or 0. */
static long long run(MYSQL *server, const char *sql) {
    MYSQL_RES *result;
    MYSQL_ROW row;
    long long got = 0;

    if (mysql_query(server, sql) != 0) {
        test_die("%s: %s", sql, mysql_error(server));
    }
    result = mysql_store_result(server);
    row = result != NULL ? mysql_fetch_row(result) : NULL;
    if (row != NULL) {
        got = strtoll(row[1], NULL, 10);
    }
    mysql_free_result(result);
    return got;
}

static long long calls(const struct fixture *fixture) {
    return run(fixture->server, "SHOW GLOBAL STATUS LIKE 'Com_call_procedure'");
}

static lk_result *ask(const struct fixture *fixture, const char *owner, const char *part,
                      lk_style style, size_t named, lk_outcome expected) {
    const char *const parts[] = {part};
    lk_request request = lk_request_init(parts, 1);
    lk_result *result = NULL;
    lk_error error = {0};

    request.owner = owner;
    request.note = "it's \"so\" \\ \xc3\xbc";
    request.ttl_ms = TTL_MS;
    request.style = style;
    request.blockers_max = named;
    if (lk_ask(fixture->store, &request, &result, &error) != expected) {
        test_die("%s: %s: %s", part, lk_outcome_name(result->outcome), error.text);
    }
    return result;
}

static void expect_same(const lk_result *called, const lk_result *looked) {
    assert_int_equal(looked->in_use, called->in_use);
    assert_int_equal(looked->position, called->position);
    assert_int_equal(looked->ticket, called->ticket);
    assert_int_equal(looked->token, called->token);
    assert_int_equal(looked->ttl_ms, called->ttl_ms);
    assert_int_equal(looked->expires_in_ms, called->expires_in_ms);
    assert_int_equal(looked->created, called->created);
    assert_int_equal(looked->fixed, called->fixed);
    assert_int_equal(looked->blocker_count, called->blocker_count);
    for (size_t i = 0; i < called->blocker_count; i++) {
        const lk_blocker_info *blocker = &called->blockers[i];
        const lk_blocker_info *same = &looked->blockers[i];
        assert_string_equal(same->path, blocker->path);
        assert_string_equal(same->owner, blocker->owner);
        assert_string_equal(same->note, blocker->note);
        assert_int_equal(same->ticket, blocker->ticket);
        assert_int_equal(same->held, blocker->held);
        assert_true(same->expires_in_ms > 0 && same->expires_in_ms <= blocker->expires_in_ms);
    }
}

static void refuse_twice(void **state, const struct refusal *refusal) {
    const struct fixture *fixture = *state;
    lk_result *called;
    lk_result *looked;
    size_t named = refusal->is_unnamed ? 0 : NAMED;
    long long before;
    char owner[32];

    for (int i = 0; i < refusal->holders; i++) {
        (void)snprintf(owner, sizeof owner, "holder %d", i);
        lk_result_free(ask(fixture, owner, refusal->held, LK_TRY, NAMED, LK_GRANTED));
    }
    if (refusal->waiting != NULL) {
        lk_result_free(ask(fixture, "waiter", refusal->waiting, LK_QUEUE, NAMED, LK_WAITING));
    }
    if (refusal->others != NULL) {
        lk_result_free(ask(fixture, "eve", refusal->others, LK_TRY, NAMED, LK_GRANTED));
    }
    if (refusal->sql != NULL) {
        (void)run(fixture->server, refusal->sql);
    }
    called = ask(fixture, "eve", refusal->tried, LK_TRY, named, LK_BUSY);
    before = calls(fixture);
    looked = ask(fixture, "eve", refusal->tried, LK_TRY, named, LK_BUSY);
    assert_int_equal(calls(fixture) == before, refusal->is_looked);
    expect_same(called, looked);
    lk_result_free(called);
    lk_result_free(looked);
}

#define REFUSAL(name, ...)                                                                         \
    static void name(void **state) {                                                               \
        refuse_twice(state, &(const struct refusal){__VA_ARGS__});                                 \
    }

REFUSAL(an_exclusive_lease_is_looked_at, .held = "a/it", .holders = 1, .tried = "a/it",
        .is_looked = true)
REFUSAL(so_are_slots_that_are_all_held, .held = "b/it?limit=5", .holders = 5,
        .tried = "b/it?limit=5", .is_looked = true)
REFUSAL(and_units_by_the_limit_that_is_named_now, .held = "c/it?limit=9&units=2", .holders = 4,
        .tried = "c/it?limit=8", .is_looked = true)
REFUSAL(and_readers_in_the_way_of_a_writer, .held = "d?shared", .holders = 3, .tried = "d",
        .is_looked = true)
REFUSAL(and_a_writer_in_the_way_of_a_reader, .held = "e/it", .holders = 1, .tried = "e/it?shared",
        .is_looked = true)
REFUSAL(and_leases_that_are_not_to_be_named, .held = "m/it?limit=2", .holders = 2,
        .tried = "m/it?limit=2", .is_looked = true, .is_unnamed = true)
REFUSAL(what_is_held_above_is_not, .held = "f", .holders = 1, .tried = "f/it")
REFUSAL(nor_is_what_is_held_below, .held = "g/it", .holders = 1, .tried = "g")
REFUSAL(nor_is_a_root_where_one_waits, .held = "h/it", .holders = 1, .waiting = "h/it",
        .tried = "h/it")
REFUSAL(nor_does_an_owner_look_that_has_a_lease, .held = "i/it", .holders = 1, .others = "other/it",
        .tried = "i/it")
REFUSAL(nor_are_more_leases_than_a_look_reads, .held = "j/it?limit=65", .holders = HELD_MAX,
        .tried = "j/it?limit=65")
REFUSAL(nor_is_a_root_where_something_is_due, .held = "k/it", .holders = 1, .tried = "k/it",
        .sql = "UPDATE lk_roots SET due_us = 1 WHERE root = 'k'")
/* Last: a refusal is an event from here on. */
REFUSAL(nor_is_a_store_that_is_watched, .held = "l/it", .holders = 1, .tried = "l/it",
        .sql = "UPDATE lk_meta SET events_max = 10")

static int set_up(void **state) {
    static struct fixture fixture;
    char url[512];
    lk_error error;

    (void)snprintf(url, sizeof url, "mysql://root@/test?socket=%s/socket",
                   getenv("LK_TEST_SERVER"));
    if (lk_open(url, &fixture.store, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    fixture.server = connect_to_server();
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    const struct fixture *fixture = *state;

    mysql_close(fixture->server);
    lk_close(fixture->store);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exclusive_lease_is_looked_at),
        cmocka_unit_test(so_are_slots_that_are_all_held),
        cmocka_unit_test(and_units_by_the_limit_that_is_named_now),
        cmocka_unit_test(and_readers_in_the_way_of_a_writer),
        cmocka_unit_test(and_a_writer_in_the_way_of_a_reader),
        cmocka_unit_test(and_leases_that_are_not_to_be_named),
        cmocka_unit_test(what_is_held_above_is_not),
        cmocka_unit_test(nor_is_what_is_held_below),
        cmocka_unit_test(nor_is_a_root_where_one_waits),
        cmocka_unit_test(nor_does_an_owner_look_that_has_a_lease),
        cmocka_unit_test(nor_are_more_leases_than_a_look_reads),
        cmocka_unit_test(nor_is_a_root_where_something_is_due),
        cmocka_unit_test(nor_is_a_store_that_is_watched),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
