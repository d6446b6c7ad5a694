/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many connections a process has: one while it holds a lease; and one that listens while it
 * waits, however often the store is open and however many threads wait.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support.h"
#include "base/clock.h"
#include "engine/postgresql/listener.h"
#include "lockkeeper/lockkeeper.h"

enum { WAITERS = 3, TRIES = 1200, PAUSE_MS = 50 };

struct waiter {
    pthread_t thread;
    unsigned number;
};

static const char listening[] = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'";
static const char all[] =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'";
static const char waiting[] = "SELECT count(*) FROM connections.requests WHERE NOT held";

static PGconn *administrator(void) {
    char url[256];

    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s",
                   getenv("LK_TEST_SERVER"));
    return PQconnectdb(url);
}

static long answer(const char *sql) {
    PGconn *connection = administrator();
    PGresult *result = PQexec(connection, sql);
    long number;

    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        test_die("%s: %s", sql, PQerrorMessage(connection));
    }
    number = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    PQfinish(connection);
    return number;
}

/* Whether it becomes so within a minute. */
static bool comes_to(const char *sql, long number) {
    for (int i = 0; i < TRIES; i++) {
        if (answer(sql) == number) {
            return true;
        }
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return false;
}

static lk_store *open_store(void) {
    char url[512];
    lk_store *store = NULL;
    lk_error error;

    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s&schema=connections",
                   getenv("LK_TEST_SERVER"));
    if (lk_open(url, &store, &error) != LK_OK) {
        test_die("%s", error.text);
    }
    return store;
}

static lk_lease *acquire(lk_store *store, const char *path, const char *owner) {
    lk_request request = lk_request_init(&path, 1);
    lk_lease *lease = NULL;
    lk_error error;

    request.owner = owner;
    if (lk_acquire(store, &request, &lease, NULL, &error) != LK_GRANTED) {
        test_die("%s", error.text);
    }
    return lease;
}

/* Opens the store once more, waits, and is woken. */
static void *wait_for_it(void *context) {
    const struct waiter *waiter = context;
    lk_store *store = open_store();
    char path[32];
    char owner[32];
    lk_lease *lease;

    (void)snprintf(path, sizeof path, "shop/%u", waiter->number);
    (void)snprintf(owner, sizeof owner, "waiter-%u", waiter->number);
    lease = acquire(store, path, owner);
    (void)lk_lease_release(lease, NULL);
    lk_close(store);
    return NULL;
}

static void test_one_connection_listens(void **state) {
    struct waiter waiters[WAITERS];
    lk_store *store = open_store();
    lk_lease *lease = acquire(store, "shop", "holder");

    (void)state;
    assert_true(answer(all) == 1);
    assert_true(answer(listening) == 0);
    for (unsigned i = 0; i < WAITERS; i++) {
        waiters[i].number = i;
        assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_for_it, &waiters[i]), 0);
    }
    assert_true(comes_to(waiting, WAITERS));
    assert_true(comes_to(listening, 1));
    (void)lk_lease_release(lease, NULL);
    for (unsigned i = 0; i < WAITERS; i++) {
        (void)pthread_join(waiters[i].thread, NULL);
    }
    lk_close(store);
    assert_true(comes_to(all, 0));
}

/* One that sleeps until it is woken twice: when its channel is listened on, and when it is told. */
struct sleeper {
    struct lk_postgresql_listener *listener;
    const char *owner;
    pthread_t thread;
    atomic_bool is_awake;
};

static void *sleep_twice(void *context) {
    struct sleeper *sleeper = context;

    for (int i = 0; i < 2; i++) {
        uint64_t version = lk_postgresql_listener_version(sleeper->listener);
        (void)lk_postgresql_listener_sleep(sleeper->listener, lk_slice_of(sleeper->owner),
                                           lk_slice_of("5"), version,
                                           lk_clock_now_us() + INT64_C(3600000000), NULL);
    }
    atomic_store(&sleeper->is_awake, true);
    return NULL;
}

/* The store tells it again and again, within a minute. */
static void wake_up(struct sleeper *sleeper) {
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT count(connections.wake(5, '%s'))", sleeper->owner);
    for (int i = 0; !atomic_load(&sleeper->is_awake); i++) {
        if (i == TRIES) {
            test_die("%s is not woken", sleeper->owner);
        }
        (void)answer(sql);
        (void)poll(NULL, 0, PAUSE_MS);
    }
}

static void test_owners_are_woken_on_their_channels(void **state) {
    static const char *const owners[] = {
        "process-7", "process-8", "Zo\xC3\xA9", "\xE6\x97\xA5\xE6\x9C\xAC", "\xF0\x9F\x94\x92", ""};
    char url[512];
    struct lk_postgresql_address address = {.listen_url = url, .schema = "connections"};
    struct lk_postgresql_listener *listener;

    (void)state;
    lk_close(open_store()); /* which makes it */
    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s",
                   getenv("LK_TEST_SERVER"));
    listener = lk_postgresql_listener_join(&address);
    assert_non_null(listener);
    for (size_t i = 0; owners[i][0] != '\0'; i++) {
        struct sleeper sleeper = {.listener = listener, .owner = owners[i]};

        assert_int_equal(pthread_create(&sleeper.thread, NULL, sleep_twice, &sleeper), 0);
        wake_up(&sleeper);
        (void)pthread_join(sleeper.thread, NULL);
    }
    lk_postgresql_listener_leave(listener);
}

static void test_listeners_are_shared(void **state) {
    char url[] = "postgresql:nowhere"; /* no connection is made before a wait */
    struct lk_postgresql_address address = {.listen_url = url, .schema = "one"};
    struct lk_postgresql_listener *first = lk_postgresql_listener_join(&address);
    struct lk_postgresql_listener *again = lk_postgresql_listener_join(&address);
    struct lk_postgresql_listener *other;

    (void)state;
    assert_non_null(first);
    assert_ptr_equal(again, first);
    address.schema[0] = 'x';
    other = lk_postgresql_listener_join(&address);
    assert_non_null(other);
    assert_ptr_not_equal(other, first);
    lk_postgresql_listener_leave(first);
    address.schema[0] = 'o';
    assert_ptr_equal(lk_postgresql_listener_join(&address), again);
    lk_postgresql_listener_leave(again);
    lk_postgresql_listener_leave(again);
    lk_postgresql_listener_leave(other);
}

/* ---- whose code it is, on a later connection ------------------------------------------------- */

static void run(const char *sql) {
    PGconn *connection = administrator();
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        test_die("%s: %s", sql, PQerrorMessage(connection));
    }
    PQclear(result);
    PQfinish(connection);
}

/* The connections of the store end; its next call makes another one. */
static void end_connections(void) {
    run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'lockkeeper'");
    assert_true(comes_to(all, 0));
}

static lk_outcome ask(lk_store *store, lk_error *error) {
    const char *path = "later";
    lk_request request = lk_request_init(&path, 1);
    lk_lease *lease = NULL;
    lk_outcome outcome = lk_acquire(store, &request, &lease, NULL, error);

    if (lease != NULL) {
        assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    }
    return outcome;
}

static lk_outcome list(lk_store *store, lk_error *error) {
    lk_listing *listing = NULL;
    lk_outcome outcome = lk_list(store, NULL, &listing, error);

    lk_listing_free(listing);
    return outcome;
}

static lk_outcome report(lk_store *store, lk_error *error) {
    lk_report *result = NULL;
    lk_outcome outcome = lk_examine(store, &result, error);

    lk_report_free(result);
    return outcome;
}

/* By a transaction, which is sent in another way. */
static lk_outcome values(lk_store *store, lk_error *error) {
    lk_value_list *list = NULL;
    lk_outcome outcome = lk_values(store, NULL, NULL, &list, error);

    lk_value_list_free(list);
    return outcome;
}

static const struct {
    lk_outcome (*call)(lk_store *store, lk_error *error);
    lk_outcome good;
} calls[] = {{ask, LK_GRANTED}, {list, LK_OK}, {report, LK_OK}, {values, LK_OK}};

enum { CALLS = sizeof calls / sizeof calls[0] };

static void assert_allowed(lk_store *store, size_t at) {
    lk_error error = {.text = ""};

    if (calls[at].call(store, &error) != calls[at].good) {
        test_die("call %zu: %s", at, error.text);
    }
}

static void assert_refused(lk_store *store, size_t at) {
    lk_error error = {.text = ""};

    if (calls[at].call(store, &error) != LK_DENIED
        || strstr(error.text, "the function extra belongs to later_stranger, whose") == NULL) {
        test_die("call %zu is not refused: %s", at, error.text);
    }
}

static void test_each_connection_checks_the_owners(void **state) {
    lk_store *store = open_store();

    (void)state;
    run("CREATE ROLE later_stranger");
    for (size_t i = 0; i < CALLS; i++) {
        end_connections();
        run("CREATE FUNCTION connections.extra() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';"
            "ALTER FUNCTION connections.extra() OWNER TO later_stranger");
        assert_refused(store, i);
        assert_refused(store, i); /* the connection that is idle now stays unchecked */
        assert_refused(store, (i + 1) % CALLS);
        assert_true(answer(all) == 1);
        run("DROP FUNCTION connections.extra()");
        for (size_t k = 0; k < CALLS; k++) { /* the first of them is the first of the connection */
            assert_allowed(store, (i + k) % CALLS);
        }
        end_connections();
        assert_allowed(store, i);
    }
    lk_close(store);
    run("DROP ROLE later_stranger");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_connection_listens),
                                       cmocka_unit_test(test_owners_are_woken_on_their_channels),
                                       cmocka_unit_test(test_listeners_are_shared),
                                       cmocka_unit_test(test_each_connection_checks_the_owners)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
