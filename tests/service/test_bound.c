/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the library that end with their connection to a service (R18). */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "launch.h"
#include "lockkeeper/lockkeeper.h"

#define LONGEST_MS (INT64_C(366) * 24 * 60 * 60 * 1000)
#define PATIENCE_MS 20000

struct fixture {
    struct service service;
    char directory[100];
    char url[160];
};

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *temporary = getenv("TMPDIR");
    char path[120];

    *state = fixture;
    (void)snprintf(fixture->directory, sizeof fixture->directory, "%s/lk-bound-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(fixture->directory) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/s", fixture->directory);
    fixture->service.program = getenv("LK_PROGRAM");
    if (!service_place(&fixture->service, path)) {
        return -1;
    }
    fixture->service.directory[0] = '\0';
    (void)snprintf(fixture->url, sizeof fixture->url, "lk+unix:%s", fixture->service.socket);
    return service_start(&fixture->service) ? 0 : -1;
}

static int end(void **state) {
    struct fixture *fixture = *state;

    (void)service_end(&fixture->service, SIGTERM);
    (void)remove(fixture->service.socket);
    (void)remove(fixture->directory);
    free(fixture);
    return 0;
}

static lk_store *open_store(const struct fixture *fixture) {
    lk_store *store = NULL;
    lk_error error;

    if (lk_open(fixture->url, &store, &error) != LK_OK) {
        fail_msg("%s: %s", fixture->url, error.text);
    }
    return store;
}

static lk_request request_of(const char *const *part, const char *owner) {
    lk_request request = lk_request_init(part, 1);

    request.owner = owner;
    request.wait_ms = PATIENCE_MS;
    return request;
}

/* The outcome of a bound ask; *ret_ttl_ms is the ttl of its request. */
static lk_outcome ask_bound(lk_store *store, const char *part, lk_style style, int64_t ttl_ms,
                            int64_t *ret_ttl_ms) {
    lk_request request = request_of(&part, "bound");
    lk_result *result = NULL;
    lk_outcome outcome;

    request.style = style;
    request.ttl_ms = ttl_ms;
    request.bound = true;
    outcome = lk_ask(store, &request, &result, NULL);
    assert_non_null(result);
    *ret_ttl_ms = result->ttl_ms;
    lk_result_free(result);
    return outcome;
}

static lk_outcome wait_for(lk_store *store, const char *part) {
    lk_request request = request_of(&part, "waiter");

    return lk_ask(store, &request, NULL, NULL);
}

static lk_outcome try_once(lk_store *store, const char *part, const char *owner) {
    lk_request request = request_of(&part, owner);

    request.style = LK_TRY;
    return lk_ask(store, &request, NULL, NULL);
}

static void a_bound_lease_ends_with_its_store(void **state) {
    lk_store *first = open_store(*state);
    lk_store *second = open_store(*state);
    int64_t ttl_ms;

    assert_int_equal(ask_bound(first, "x", LK_TRY, 0, &ttl_ms), LK_GRANTED);
    assert_int_equal(ttl_ms, LONGEST_MS);
    assert_int_equal(ask_bound(first, "y", LK_WAIT, 70000, &ttl_ms), LK_GRANTED);
    assert_int_equal(ttl_ms, 70000);
    assert_int_equal(try_once(first, "kept", "unbound"), LK_GRANTED);
    assert_int_equal(try_once(second, "x", "other"), LK_BUSY);
    lk_close(first);
    assert_int_equal(wait_for(second, "x"), LK_GRANTED);
    assert_int_equal(wait_for(second, "y"), LK_GRANTED);
    assert_int_equal(try_once(second, "kept", "other"), LK_BUSY);
    lk_close(second);
}

static void a_bound_wait_ends_with_its_store(void **state) {
    lk_store *holder = open_store(*state);
    lk_store *bound = open_store(*state);
    lk_request request;
    const char *part = "w";
    int64_t ttl_ms;

    assert_int_equal(try_once(holder, "w", "holder"), LK_GRANTED);
    assert_int_equal(ask_bound(bound, "w", LK_QUEUE, 0, &ttl_ms), LK_WAITING);
    assert_int_equal(ttl_ms, LONGEST_MS);
    lk_close(bound);
    request = request_of(&part, "holder");
    assert_int_equal(lk_release(holder, &request, 0, NULL, NULL), LK_OK);
    assert_int_equal(wait_for(holder, "w"), LK_GRANTED);
    lk_close(holder);
}

/* A wait blocks over another connection than the one that its request ends with. */
static void a_bound_request_that_waited_is_held(void **state) {
    lk_store *bound = open_store(*state);
    lk_store *other = open_store(*state);
    lk_request request;
    const char *part = "v";
    int64_t ttl_ms;

    request = request_of(&part, "brief");
    request.ttl_ms = 100;
    assert_int_equal(lk_ask(other, &request, NULL, NULL), LK_GRANTED);
    assert_int_equal(ask_bound(bound, "v", LK_WAIT, 0, &ttl_ms), LK_GRANTED);
    assert_int_equal(ttl_ms, LONGEST_MS);
    assert_int_equal(try_once(bound, "u", "more"), LK_GRANTED);
    assert_int_equal(try_once(other, "v", "other"), LK_BUSY);
    lk_close(bound);
    assert_int_equal(wait_for(other, "v"), LK_GRANTED);
    lk_close(other);
}

static void a_bound_lease_is_renewed_and_released(void **state) {
    lk_store *store = open_store(*state);
    const char *part = "z";
    lk_request request = request_of(&part, "bound");
    lk_result *result = NULL;
    lk_lease *lease = NULL;

    request.bound = true;
    assert_int_equal(lk_acquire(store, &request, &lease, &result, NULL), LK_GRANTED);
    assert_int_equal(result->ttl_ms, LONGEST_MS);
    lk_result_free(result);
    assert_int_equal(lk_renew(store, &request, lk_lease_token(lease), NULL, NULL), LK_OK);
    assert_int_equal(lk_lease_release(lease, NULL), LK_OK);
    assert_int_equal(try_once(store, "z", "other"), LK_GRANTED);
    lk_close(store);
}

static void a_bound_lease_is_lost_when_its_store_is_closed(void **state) {
    lk_store *store = open_store(*state);
    lk_store *other = open_store(*state);
    const char *part = "closed";
    lk_request request = request_of(&part, "bound");
    lk_lease *lease = NULL;

    request.bound = true;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    lk_close(store);
    assert_true(lk_lease_is_lost(lease));
    assert_int_equal(wait_for(other, "closed"), LK_GRANTED);
    lk_lease_abandon(lease);
    lk_close(other);
}

static void a_bound_lease_ends_when_it_is_abandoned(void **state) {
    lk_store *store = open_store(*state);
    const char *part = "abandoned";
    lk_request request = request_of(&part, "bound");
    lk_lease *lease = NULL;

    request.bound = true;
    assert_int_equal(lk_acquire(store, &request, &lease, NULL, NULL), LK_GRANTED);
    lk_lease_abandon(lease);
    assert_int_equal(wait_for(store, "abandoned"), LK_GRANTED);
    lk_close(store);
}

static void count_loss(void *context, lk_lease *lease) {
    int *descriptor = context;

    (void)lease;
    assert_int_equal(write(*descriptor, "x", 1), 1);
}

/* The service is up again before the holder looks: what it had granted is gone all the same. */
static void a_bound_lease_is_lost_with_its_service(void **state) {
    struct fixture *fixture = *state;
    lk_store *store = open_store(fixture);
    const char *part = "killed";
    lk_request request = request_of(&part, "bound");
    lk_lease *leases[2] = {NULL, NULL};
    char told[2];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    request.bound = true;
    assert_int_equal(lk_acquire(store, &request, &leases[0], NULL, NULL), LK_GRANTED);
    part = "killed/2";
    request.shared = true;
    request.owner = "bound";
    assert_int_equal(lk_acquire(store, &request, &leases[1], NULL, NULL), LK_GRANTED);
    lk_lease_on_lost(leases[0], count_loss, &ends[1]);
    lk_lease_on_lost(leases[1], count_loss, &ends[1]);
    assert_false(lk_lease_is_lost(leases[0]));
    (void)service_end(&fixture->service, SIGKILL);
    assert_true(service_start(&fixture->service));
    assert_int_equal(read(ends[0], &told[0], 1), 1);
    assert_int_equal(read(ends[0], &told[1], 1), 1);
    assert_true(lk_lease_is_lost(leases[0]));
    assert_true(lk_lease_is_lost(leases[1]));
    assert_int_equal(lk_lease_remaining_ms(leases[0]), 0);
    lk_lease_abandon(leases[0]);
    lk_lease_abandon(leases[1]);
    assert_int_equal(try_once(store, "killed", "other"), LK_GRANTED);
    lk_close(store);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void other_stores_bind_nothing(void **state) {
    const char *part = "x";
    lk_request request = request_of(&part, "bound");
    lk_store *store = NULL;
    lk_error error;

    (void)state;
    request.bound = true;
    assert_int_equal(lk_open("mem:", &store, &error), LK_OK);
    assert_int_equal(lk_ask(store, &request, NULL, &error), LK_UNSUPPORTED);
    assert_string_equal(error.text,
                        "a store of mem: cannot bind a request to a connection: a service can "
                        "(lk:)");
    lk_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_lease_ends_with_its_store),
        cmocka_unit_test(a_bound_wait_ends_with_its_store),
        cmocka_unit_test(a_bound_request_that_waited_is_held),
        cmocka_unit_test(a_bound_lease_is_renewed_and_released),
        cmocka_unit_test(a_bound_lease_is_lost_when_its_store_is_closed),
        cmocka_unit_test(a_bound_lease_ends_when_it_is_abandoned),
        cmocka_unit_test(a_bound_lease_is_lost_with_its_service),
        cmocka_unit_test(other_stores_bind_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
