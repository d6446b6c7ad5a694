/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of one store, all at once, each with a store of its own.
 *
 * Cycles over two roots that come to be unseen (R13): two owners, each holding what the other one
 * asks for, ask at the same moment, and look again and again. Exactly one of them is answered
 * DEADLOCK; the other is granted what the first then releases. The same holds where each look
 * converts the request that waits (R9): to less, which keeps its ticket, or to more, which draws
 * another one.
 *
 * What may share a root's lock (src/engine/postgresql/README.md): workers that claim and complete,
 * beside a client that locks the whole queue again and again; users of limits that are wide, narrow
 * or become full. What must never be is counted in this process, from within the leases.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../sqlite/fixture.h"
#include "lockkeeper/lockkeeper.h"
#include "lockkeeper/work.h"

static pthread_barrier_t gate;

static lk_store *open_store(const char *schema) {
    char url[512];
    lk_store *store = NULL;
    lk_error error;

    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s&schema=%s",
                   getenv("LK_TEST_SERVER"), schema);
    if (lk_open(url, &store, &error) != LK_OK) {
        test_die("%s", error.text);
    }
    return store;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

enum { OWNERS = 2, CYCLES = 200 };

/* Of each path, what is asked for in turns. */
static const char *const paths[OWNERS][2] = {
    {"left/x", "left/x?shared"},
    {"right/x", "right/x?shared"},
};

struct owner {
    pthread_t thread;
    int number;
    const char *name;
    bool converts;
    int deadlocks[CYCLES];
};

static lk_request request_of(const struct owner *owner, const char *const *path) {
    lk_request request = lk_request_init(path, 1);

    request.owner = owner->name;
    request.style = LK_QUEUE;
    return request;
}

/* Looks until it is answered for good. */
static lk_outcome ask(lk_store *store, const struct owner *owner, const char *const *path) {
    lk_outcome outcome = LK_WAITING;

    for (size_t i = 0; outcome == LK_WAITING; i++) {
        lk_request request = request_of(owner, &path[owner->converts ? i % 2 : 0]);
        lk_result *result = NULL;
        lk_error error;
        outcome = lk_ask(store, &request, &result, &error);
        lk_result_free(result);
        if (outcome != LK_WAITING && outcome != LK_GRANTED && outcome != LK_DEADLOCK) {
            test_die("%s: %s", lk_outcome_name(outcome), error.text);
        }
    }
    return outcome;
}

static void release(lk_store *store, const struct owner *owner, const char *const *path) {
    lk_request request = request_of(owner, path);
    lk_error error;

    if (lk_release(store, &request, 0, NULL, &error) != LK_OK) {
        test_die("%s", error.text);
    }
}

static void *play(void *context) {
    struct owner *owner = context;
    const char *const *own = paths[owner->number];
    const char *const *others = paths[OWNERS - 1 - owner->number];
    lk_store *store = open_store("cycles");

    for (int i = 0; i < CYCLES; i++) {
        bool is_granted;
        (void)ask(store, owner, own);
        (void)pthread_barrier_wait(&gate);
        is_granted = ask(store, owner, others) == LK_GRANTED;
        owner->deadlocks[i] = !is_granted;
        release(store, owner, own);
        if (is_granted) {
            release(store, owner, others);
        }
        (void)pthread_barrier_wait(&gate);
    }
    lk_close(store);
    return NULL;
}

static void play_all(bool converts) {
    struct owner owners[OWNERS] = {{.number = 0, .name = "one", .converts = converts},
                                   {.number = 1, .name = "two", .converts = converts}};

    (void)pthread_barrier_init(&gate, NULL, OWNERS);
    for (int i = 0; i < OWNERS; i++) {
        if (pthread_create(&owners[i].thread, NULL, play, &owners[i]) != 0) {
            test_die("no thread");
        }
    }
    for (int i = 0; i < OWNERS; i++) {
        (void)pthread_join(owners[i].thread, NULL);
    }
    (void)pthread_barrier_destroy(&gate);
    for (int i = 0; i < CYCLES; i++) {
        assert_int_equal(owners[0].deadlocks[i] + owners[1].deadlocks[i], 1);
    }
}

static void one_ask_of_a_cycle_is_refused(void **state) {
    (void)state;
    play_all(false);
}

static void one_conversion_of_a_cycle_is_refused(void **state) {
    (void)state;
    play_all(true);
}

/* ---- what may share a lock ------------------------------------------------------------------- */

enum { CLIENTS = 10, ITEMS = 300, ROUNDS = 45, TURNS = 3 };

struct client {
    pthread_t thread;
    unsigned number;
};

static atomic_int handled[ITEMS];
static atomic_int done;
static atomic_int claims; /* held now */
static atomic_int pauses; /* of the queue, now */
static atomic_int users;  /* of the pool, now */
static atomic_int broken; /* times that something was which must not be */
static atomic_bool is_over;

static const int limits[] = {3, 6, 40}; /* alone; shared, then alone; shared */

static void must(lk_outcome outcome, lk_outcome expected, const lk_error *error) {
    if (outcome != expected) {
        test_die("%s instead of %s: %s", lk_outcome_name(outcome), lk_outcome_name(expected),
                 error->text);
    }
}

/* Some time with a lease, as long as a call of the store takes. */
static void stay(lk_store *store) {
    lk_queue_stats stats;
    lk_error error;

    must(lk_stats(store, "shop/nothing", &stats, &error), LK_OK, &error);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Until nothing is left. A claim that is granted while the queue is locked is one too many. */
static void *work(void *context) {
    const struct client *client = context;
    lk_store *store = open_store("sharing");
    char owner[32];
    int left = 1;

    (void)snprintf(owner, sizeof owner, "worker-%u", client->number);
    while (left > 0) {
        lk_claim_request request = {.size = sizeof request, .queue = "shop/work", .owner = owner};
        lk_queue_stats stats = {.pushed = 0};
        lk_claim_info *claim = NULL;
        lk_error error;
        lk_outcome outcome = lk_claim_next(store, &request, &claim, &error);

        if (outcome == LK_GRANTED) {
            atomic_fetch_add(&claims, 1);
            atomic_fetch_add(&broken, atomic_load(&pauses) != 0);
            atomic_fetch_add(&handled[atoi(claim->id)], 1);
            stay(store);
            atomic_fetch_add(&broken, atomic_load(&pauses) != 0);
            atomic_fetch_sub(&claims, 1);
            must(lk_done(store, "shop/work", claim->id, owner, claim->token, &error), LK_OK,
                 &error);
            lk_claim_free(claim);
            atomic_fetch_add(&done, 1);
        } else {
            must(outcome, LK_BUSY, &error);
            must(lk_stats(store, "shop/work", &stats, &error), LK_OK, &error);
            left = (int)(stats.ready_now + stats.delayed_now + stats.claimed_now);
        }
    }
    lk_close(store);
    return NULL;
}

/* Locks the whole queue, by waiting: when it is granted, no worker works. Its store is open before
 * any worker begins, so that it asks when they begin. */
static void *pause_work(void *context) {
    const char *const parts[] = {"shop/work"};
    lk_store *store = context;
    int count = 0;

    while (!atomic_load(&is_over)) {
        lk_request request = lk_request_init(parts, 1);
        lk_result *result = NULL;
        lk_error error;

        request.owner = "pauser";
        request.style = LK_WAIT;
        request.wait_ms = 60000;
        must(lk_ask(store, &request, &result, &error), LK_GRANTED, &error);
        atomic_fetch_add(&pauses, 1);
        stay(store);
        atomic_fetch_add(&broken, atomic_load(&claims) != 0);
        atomic_fetch_sub(&pauses, 1);
        must(lk_release(store, &request, result->token, NULL, &error), LK_OK, &error);
        lk_result_free(result);
        count++;
        if (count == TURNS) { /* the workers have not gone first for long */
            atomic_fetch_add(&broken, atomic_load(&done) > ITEMS / 2);
        }
    }
    atomic_fetch_add(&broken, count < TURNS);
    lk_close(store);
    return NULL;
}

static void begin(pthread_t *thread, void *(*run)(void *context), void *context) {
    if (pthread_create(thread, NULL, run, context) != 0) {
        test_die("no thread");
    }
}

static void claims_and_locks_on_the_queue_exclude_each_other(void **state) {
    struct client clients[CLIENTS];
    lk_store *store = open_store("sharing");
    lk_queue_stats stats = {.pushed = 0};
    pthread_t pauser;
    lk_error error;

    (void)state;
    for (int i = 0; i < ITEMS; i++) {
        char id[16];
        bool added = false;
        lk_push_request push = {.size = sizeof push, .queue = "shop/work", .id = id};
        (void)snprintf(id, sizeof id, "%d", i);
        must(lk_push(store, &push, &added, &error), LK_OK, &error);
    }
    begin(&pauser, pause_work, open_store("sharing"));
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i].number = i;
        begin(&clients[i].thread, work, &clients[i]);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
    }
    atomic_store(&is_over, true);
    (void)pthread_join(pauser, NULL);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(atomic_load(&handled[i]), 1);
    }
    assert_int_equal(atomic_load(&broken), 0);
    assert_int_equal(atomic_load(&done), ITEMS);
    must(lk_stats(store, "shop/work", &stats, &error), LK_OK, &error);
    assert_int_equal(stats.pushed, ITEMS);
    assert_int_equal(stats.claims, ITEMS);
    assert_int_equal(stats.done, ITEMS);
    assert_int_equal(stats.steals, 0);
    lk_close(store);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* All ask at once; when all have been answered, as many have it as may. */
static void *use(void *context) {
    const struct client *client = context;
    lk_store *store = open_store("sharing");
    char owner[32];
    char part[64];
    const char *const parts[] = {part};

    (void)snprintf(owner, sizeof owner, "user-%u", client->number);
    for (unsigned i = 0; i < ROUNDS; i++) {
        int limit = limits[i % 3];
        lk_request request = lk_request_init(parts, 1);
        lk_result *result = NULL;
        lk_error error;
        lk_outcome outcome;

        /* Every other time at a root that is new, which the clients that share its lock write
         * down. */
        (void)snprintf(part, sizeof part, "pools%u/%d?limit=%d", i % 2 * i, limit, limit);
        request.owner = owner;
        request.style = LK_TRY;
        (void)pthread_barrier_wait(&gate);
        outcome = lk_ask(store, &request, &result, &error);
        atomic_fetch_add(&users, outcome == LK_GRANTED);
        (void)pthread_barrier_wait(&gate);
        atomic_fetch_add(&broken, atomic_load(&users) != (limit < CLIENTS ? limit : CLIENTS));
        (void)pthread_barrier_wait(&gate);
        if (outcome == LK_GRANTED) {
            atomic_fetch_sub(&users, 1);
            must(lk_release(store, &request, result->token, NULL, &error), LK_OK, &error);
        } else {
            must(outcome, LK_BUSY, &error);
        }
        lk_result_free(result);
    }
    lk_close(store);
    return NULL;
}

static void limits_hold(void **state) {
    struct client clients[CLIENTS];

    (void)state;
    (void)pthread_barrier_init(&gate, NULL, CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i].number = i;
        begin(&clients[i].thread, use, &clients[i]);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
    }
    (void)pthread_barrier_destroy(&gate);
    assert_int_equal(atomic_load(&broken), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_ask_of_a_cycle_is_refused),
        cmocka_unit_test(one_conversion_of_a_cycle_is_refused),
        cmocka_unit_test(claims_and_locks_on_the_queue_exclude_each_other),
        cmocka_unit_test(limits_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
