/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in the queue: which request is granted when, and what ends a wait. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "support.h"

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

/* `a` holds x, and b waits for it. */
static void begin_one_behind_another(lk_store *store, struct waiter *waiter) {
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    waiter_prepare(waiter, store, "b", "x");
    waiter_start(waiter);
    wait_until_waiting(store, 1);
}

static void test_release_grants(void **state) {
    lk_store *store = store_of(state);
    struct waiter waiter;

    begin_one_behind_another(store, &waiter);
    assert_int_equal(release_part(store, "a", "x"), LK_OK);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    assert_true(waiter.result->created);
    assert_true(waiter.result->token > waiter.result->ticket);
    assert_in_range(waiter.result->expires_in_ms, 30000, 60000);
    waiter_done(&waiter);
}

static void test_another_handle_grants(void **state) {
    lk_store *store = store_of(state);
    lk_store *other = open_again(*state);
    struct waiter waiter;

    assert_int_equal(try_part(other, "a", "x"), LK_GRANTED);
    waiter_prepare(&waiter, store, NULL, "x");
    waiter_start(&waiter);
    wait_until_waiting(other, 1);
    assert_int_equal(release_part(other, "a", "x"), LK_OK);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    waiter_done(&waiter);
    lk_close(other);
}

/* What cannot come back to this handle is not waited for, however long the wait. */
static void test_a_removed_file_ends_the_wait(void **state) {
    const struct fixture *fixture = *state;
    struct waiter waiter;
    char path[128];
    bool has_file;

    begin_one_behind_another(fixture->store, &waiter);
    (void)snprintf(path, sizeof path, "%s/locks.db", fixture->directory);
    has_file = unlink(path) == 0;
    if (!has_file) {
        assert_int_equal(release_part(fixture->store, "a", "x"), LK_OK);
    }
    assert_int_equal(waiter_join(&waiter), has_file ? LK_UNAVAILABLE : LK_GRANTED);
    waiter_done(&waiter);
}

/* ---- the order of grants --------------------------------------------------------------------- */

enum { IN_LINE = 8 };

struct in_line {
    struct waiter waiter;
    char owner[16];
    atomic_int *granted_before;
    int place;
};

static void *take_a_turn(void *context) {
    struct in_line *in_line = context;
    struct waiter *waiter = &in_line->waiter;

    waiter->outcome = lk_ask(waiter->store, &waiter->request, &waiter->result, &waiter->error);
    in_line->place = atomic_fetch_add(in_line->granted_before, 1);
    (void)lk_release(waiter->store, &waiter->request, 0, NULL, NULL);
    return NULL;
}

static void test_grants_follow_the_queue(void **state) {
    lk_store *store = store_of(state);
    atomic_int granted_before = 0;
    struct in_line line[IN_LINE];

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    for (int i = 0; i < IN_LINE; i++) {
        (void)snprintf(line[i].owner, sizeof line[i].owner, "waiter %d", i);
        waiter_prepare(&line[i].waiter, store, line[i].owner, "x");
        line[i].granted_before = &granted_before;
        assert_int_equal(pthread_create(&line[i].waiter.thread, NULL, take_a_turn, &line[i]), 0);
        wait_until_waiting(store, (size_t)i + 1); /* so each draws a greater ticket */
    }
    assert_int_equal(release_part(store, "a", "x"), LK_OK);
    for (int i = 0; i < IN_LINE; i++) {
        assert_int_equal(waiter_join(&line[i].waiter), LK_GRANTED);
        assert_int_equal(line[i].place, i);
        waiter_done(&line[i].waiter);
    }
}

/* A sleeping waiter is woken, and does not only look again when its next look is due. */
static void test_hand_offs_are_prompt(void **state) {
    enum { HAND_OFFS = 8 };
    lk_store *store = store_of(state);
    int64_t start_ms = now_ms();

    for (int i = 0; i < HAND_OFFS; i++) {
        struct waiter waiter;

        begin_one_behind_another(store, &waiter);
        assert_int_equal(release_part(store, "a", "x"), LK_OK);
        assert_int_equal(waiter_join(&waiter), LK_GRANTED);
        assert_int_equal(release_part(store, "b", "x"), LK_OK);
        waiter_done(&waiter);
    }
    assert_true(now_ms() < start_ms + BOUND_MS);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_a_timeout_withdraws_the_request(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("b", &part);
    lk_result *result = NULL;
    int64_t start_ms = now_ms();

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    request.style = LK_WAIT;
    request.wait_ms = 100;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_TIMEOUT);
    assert_true(now_ms() >= start_ms + 100);
    assert_int_equal(count_waiting(store), 0);
    assert_int_equal(result->ticket, 0);
    assert_int_equal(result->expires_in_ms, -1);
    assert_int_equal(result->blocker_count, 1); /* the blocker is still named */
    assert_string_equal(result->blockers[0].owner, "a");
    lk_result_free(result);
}

static void test_a_timeout_keeps_an_earlier_request(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("b", &part);
    lk_result *result = NULL;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "x"), LK_WAITING);
    request.style = LK_WAIT;
    request.wait_ms = 50;
    assert_int_equal(lk_ask(store, &request, &result, NULL), LK_TIMEOUT);
    assert_false(result->created);
    assert_true(result->ticket > 0);
    assert_int_equal(count_waiting(store), 1);
    lk_result_free(result);
}

static void test_a_wait_of_zero_is_a_try(void **state) {
    const char *part = "x";
    lk_request request = request_of("b", &part);

    assert_int_equal(try_part(store_of(state), "a", "x"), LK_GRANTED);
    request.style = LK_WAIT;
    request.wait_ms = 0;
    assert_int_equal(lk_ask(store_of(state), &request, NULL, NULL), LK_BUSY);
    assert_int_equal(count_waiting(store_of(state)), 0);
}

/* Asking again every third of the ttl keeps the place (R10). */
static void test_a_wait_keeps_its_place(void **state) {
    lk_store *store = store_of(state);
    struct waiter waiter;
    lk_listing *listing = NULL;
    uint64_t ticket;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    waiter_prepare(&waiter, store, "b", "x");
    waiter.request.ttl_ms = stretched(3000);
    waiter_start(&waiter);
    wait_until_waiting(store, 1);
    assert_int_equal(lk_list(store, "x", &listing, NULL), LK_OK);
    ticket = listing->entries[1].ticket;
    lk_listing_free(listing);
    wait_until_ms(now_ms() + stretched(7000)); /* twice what it lives unrefreshed */
    assert_int_equal(count_waiting(store), 1);
    assert_int_equal(release_part(store, "a", "x"), LK_OK);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    assert_int_equal(waiter.result->ticket, ticket);
    waiter_done(&waiter);
}

static void test_an_expired_lease_lets_in_the_next_waiter(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("a", &part);
    struct waiter waiter;

    request.ttl_ms = 200; /* and it is not renewed */
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    waiter_prepare(&waiter, store, "b", "x");
    waiter_start(&waiter);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    waiter_done(&waiter);
}

static void test_a_fixed_end_ends_the_wait(void **state) {
    lk_store *store = store_of(state);
    const char *part = "x";
    lk_request request = request_of("b", &part);
    struct timespec now;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    request.until_unix_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + stretched(1000);
    request.style = LK_WAIT;
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_TIMEOUT);
    assert_int_equal(count_waiting(store), 0);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void test_cancelling_ends_every_wait(void **state) {
    lk_store *store = store_of(state);
    lk_cancel *cancel = lk_cancel_new();
    struct waiter waiters[3];

    assert_non_null(cancel);
    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(queue_part(store, "b", "x"), LK_WAITING);
    waiter_prepare(&waiters[0], store, NULL, "x");
    waiter_prepare(&waiters[1], store, NULL, "x/y");
    waiter_prepare(&waiters[2], store, "b", "x"); /* is queued already */
    for (size_t i = 0; i < 3; i++) {
        waiters[i].request.cancel = cancel;
        waiter_start(&waiters[i]);
    }
    wait_until_waiting(store, 3);
    lk_cancel_now(cancel);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(waiter_join(&waiters[i]), LK_CANCELLED);
        waiter_done(&waiters[i]);
    }
    assert_int_equal(count_waiting(store), 1); /* b's own, from before */
    waiter_prepare(&waiters[0], store, NULL, "x");
    waiters[0].request.cancel = cancel; /* a future wait */
    waiter_start(&waiters[0]);
    assert_int_equal(waiter_join(&waiters[0]), LK_CANCELLED);
    waiter_done(&waiters[0]);
    assert_int_equal(count_waiting(store), 1);
    lk_cancel_free(cancel);
    lk_cancel_free(NULL);
}

/* ---- ended by others ------------------------------------------------------------------------- */

static void test_a_broken_wait_is_lost(void **state) {
    lk_store *store = store_of(state);
    struct waiter waiter;

    begin_one_behind_another(store, &waiter);
    assert_int_equal(break_path(store, "x", false), 2);
    assert_int_equal(waiter_join(&waiter), LK_LOST);
    assert_int_equal(count_waiting(store), 0); /* it was not queued again */
    waiter_done(&waiter);
}

static void test_a_wait_can_be_refused_as_deadlock(void **state) {
    lk_store *store = store_of(state);
    struct waiter waiter;

    assert_int_equal(try_part(store, "a", "x"), LK_GRANTED);
    assert_int_equal(try_part(store, "b", "y"), LK_GRANTED);
    waiter_prepare(&waiter, store, "a", "y");
    waiter_start(&waiter);
    wait_until_waiting(store, 1);
    const char *part = "x";
    lk_request request = lk_request_init(&part, 1);
    request.owner = "b";
    assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_DEADLOCK);
    assert_int_equal(release_part(store, "b", "y"), LK_OK);
    assert_int_equal(waiter_join(&waiter), LK_GRANTED);
    waiter_done(&waiter);
}

/* ---- many at once ---------------------------------------------------------------------------- */

enum { CROWD = 6, CROWD_ROUNDS = 60 };

struct crowd {
    lk_store *store;
    atomic_int readers;
    atomic_int writers;
    atomic_int units;
    atomic_int violations;
    atomic_int grants;
};

struct member {
    struct crowd *crowd;
    struct lk_random random;
};

/* What every holder sees while it holds: kinds of locks on one tree, and a limit of two. */
static void hold(struct crowd *crowd, int kind) {
    bool is_right;

    switch (kind) {
    case 0: /* tree, exclusive */
        is_right = atomic_fetch_add(&crowd->writers, 1) == 0 && atomic_load(&crowd->readers) == 0;
        atomic_fetch_sub(&crowd->writers, 1);
        break;
    case 1: /* tree/leaf, shared */
        atomic_fetch_add(&crowd->readers, 1);
        is_right = atomic_load(&crowd->writers) == 0;
        atomic_fetch_sub(&crowd->readers, 1);
        break;
    default: /* pool, at most two */
        is_right = atomic_fetch_add(&crowd->units, 1) < 2;
        atomic_fetch_sub(&crowd->units, 1);
        break;
    }
    if (!is_right) {
        atomic_fetch_add(&crowd->violations, 1);
    }
    atomic_fetch_add(&crowd->grants, 1);
}

static void *mingle(void *context) {
    static const char *const parts[] = {"tree", "tree/leaf?shared", "pool?limit=2"};
    struct member *member = context;

    for (int round = 0; round < scaled(CROWD_ROUNDS); round++) {
        int kind = (int)lk_random_between(&member->random, 0, 2);
        lk_request request = lk_request_init(&parts[kind], 1);
        lk_lease *lease = NULL;

        if (lk_acquire(member->crowd->store, &request, &lease, NULL, NULL) == LK_GRANTED) {
            hold(member->crowd, kind);
            if (lk_lease_release(lease, NULL) != LK_OK) {
                atomic_fetch_add(&member->crowd->violations, 1);
            }
        }
    }
    return NULL;
}

static void test_many_threads_take_turns(void **state) {
    const char *seed_text = getenv("LK_TEST_SEED");
    uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : lk_random_draw();
    struct crowd crowd = {.store = store_of(state)};
    struct member members[CROWD];
    pthread_t threads[CROWD];

    print_message("# LK_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < CROWD; i++) {
        members[i] = (struct member){.crowd = &crowd, .random = {.state = seed + i}};
        assert_int_equal(pthread_create(&threads[i], NULL, mingle, &members[i]), 0);
    }
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(crowd.violations, 0);
    assert_int_equal(crowd.grants, CROWD * scaled(CROWD_ROUNDS));
    assert_int_equal(count_live(crowd.store), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_release_grants),
        TEST(test_another_handle_grants),
        TEST(test_a_removed_file_ends_the_wait),
        TEST(test_grants_follow_the_queue),
        TEST(test_hand_offs_are_prompt),
        TEST(test_a_timeout_withdraws_the_request),
        TEST(test_a_timeout_keeps_an_earlier_request),
        TEST(test_a_wait_of_zero_is_a_try),
        TEST(test_a_wait_keeps_its_place),
        TEST(test_an_expired_lease_lets_in_the_next_waiter),
        TEST(test_a_fixed_end_ends_the_wait),
        TEST(test_cancelling_ends_every_wait),
        TEST(test_a_broken_wait_is_lost),
        TEST(test_a_wait_can_be_refused_as_deadlock),
        TEST(test_many_threads_take_turns),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
