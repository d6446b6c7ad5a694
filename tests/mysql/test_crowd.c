/* SPDX-License-Identifier: Apache-2.0 */
/*
 * with_server.sh test_crowd: many clients at one path at the same time. An ask inserts its row
 * before it locks the root, and a release deletes its row before that. What others have decided
 * meanwhile must still count. Each client is a thread with a store of its own.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../support.h"
#include "lockkeeper/lockkeeper.h"

enum { CLIENTS = 12, GRANTS = 10, WAIT_MS = 60000 };

/* A path, and what its holders must keep to. */
struct crowd {
    const char *part;
    int units; /* of each holder */
    int limit; /* 1: exclusive */
    bool waits;
    atomic_int in_use;
    atomic_int most; /* that was in use at once */
    atomic_llong last_token;
    atomic_int too_many;
    atomic_int out_of_order;
    atomic_int failed;
};

struct client {
    pthread_t thread;
    struct crowd *crowd;
    int number;
    uint64_t choices;
};

static lk_store *open_store(void) {
    char url[512];
    lk_store *store = NULL;
    lk_error error;

    (void)snprintf(url, sizeof url, "mysql://root@/test?socket=%s/socket",
                   getenv("LK_TEST_SERVER"));
    if (lk_open(url, &store, &error) != LK_OK) {
        test_die("cannot open the store: %s", error.text);
    }
    return store;
}

/* While a lease is held, before its release is sent. */
static void hold(struct crowd *crowd, uint64_t token) {
    int in_use = atomic_fetch_add(&crowd->in_use, crowd->units) + crowd->units;
    int most = atomic_load(&crowd->most);

    while (in_use > most && !atomic_compare_exchange_weak(&crowd->most, &most, in_use)) {
    }
    if (in_use > crowd->limit) {
        (void)atomic_fetch_add(&crowd->too_many, 1);
    }
    if (crowd->limit == 1
        && atomic_exchange(&crowd->last_token, (long long)token) >= (long long)token) {
        (void)atomic_fetch_add(&crowd->out_of_order, 1);
    }
    (void)atomic_fetch_sub(&crowd->in_use, crowd->units);
}

static void *take_turns(void *context) {
    struct client *client = context;
    struct crowd *crowd = client->crowd;
    const char *const parts[] = {crowd->part};
    lk_store *store = open_store();
    char owner[32];
    unsigned left = test_scaled(GRANTS);

    (void)snprintf(owner, sizeof owner, "client-%d", client->number);
    while (left > 0) {
        lk_request request = lk_request_init(parts, 1);
        lk_result *result = NULL;
        lk_error error = {0};
        lk_outcome outcome;
        request.owner = owner;
        request.wait_ms = WAIT_MS;
        request.style =
            crowd->waits && (client->choices >> (left % 64) & 1) != 0 ? LK_WAIT : LK_TRY;
        outcome = lk_ask(store, &request, &result, &error);
        if (outcome == LK_GRANTED) {
            hold(crowd, result->token);
            outcome = lk_release(store, &request, left % 3 == 0 ? 0 : result->token, NULL, &error);
            left--;
        }
        lk_result_free(result);
        if (outcome != LK_OK && outcome != LK_BUSY) {
            (void)fprintf(stderr, "# %s: %s: %s\n", owner, lk_outcome_name(outcome), error.text);
            (void)atomic_fetch_add(&crowd->failed, 1);
            break;
        }
    }
    lk_close(store);
    return NULL;
}

static void play(struct crowd *crowd) {
    struct lk_random random = test_random();
    struct client clients[CLIENTS];

    for (int i = 0; i < CLIENTS; i++) {
        clients[i] =
            (struct client){.crowd = crowd, .number = i, .choices = lk_random_next(&random)};
        if (pthread_create(&clients[i].thread, NULL, take_turns, &clients[i]) != 0) {
            test_die("no thread");
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
    }
    print_message("# at most %d of %d in use at once\n", atomic_load(&crowd->most), crowd->limit);
    assert_int_equal(0, atomic_load(&crowd->failed));
    assert_int_equal(0, atomic_load(&crowd->too_many));
    assert_int_equal(0, atomic_load(&crowd->out_of_order));
}

static void test_tries_of_an_exclusive_lock(void **state) {
    struct crowd crowd = {.part = "one/path", .units = 1, .limit = 1};

    (void)state;
    play(&crowd);
}

static void test_tries_of_a_semaphore(void **state) {
    struct crowd crowd = {.part = "two/path?limit=3", .units = 1, .limit = 3};

    (void)state;
    play(&crowd);
}

static void test_tries_of_several_units(void **state) {
    struct crowd crowd = {.part = "three/path?limit=5&units=2", .units = 2, .limit = 5};

    (void)state;
    play(&crowd);
}

static void test_waits_for_an_exclusive_lock(void **state) {
    struct crowd crowd = {.part = "four/path", .units = 1, .limit = 1, .waits = true};

    (void)state;
    play(&crowd);
}

static void test_waits_for_a_semaphore(void **state) {
    struct crowd crowd = {.part = "five/path?limit=3", .units = 1, .limit = 3, .waits = true};

    (void)state;
    play(&crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tries_of_an_exclusive_lock),
        cmocka_unit_test(test_tries_of_a_semaphore),
        cmocka_unit_test(test_tries_of_several_units),
        cmocka_unit_test(test_waits_for_an_exclusive_lock),
        cmocka_unit_test(test_waits_for_a_semaphore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
