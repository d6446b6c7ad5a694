/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cycles over two roots that come to be unseen (R13): two owners, each holding what the other one
 * asks for, ask at the same moment, and look again and again. Exactly one of them is answered
 * DEADLOCK; the other is granted what the first then releases. The same holds where each look
 * converts the request that waits (R9): to less, which keeps its ticket, or to more, which draws
 * another one.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../sqlite/fixture.h"
#include "lockkeeper/lockkeeper.h"

enum { OWNERS = 2, ROUNDS = 200 };

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
    int deadlocks[ROUNDS];
};

static pthread_barrier_t gate;

static lk_store *open_store(void) {
    char url[512];
    lk_store *store = NULL;
    lk_error error;

    (void)snprintf(url, sizeof url, "postgresql://postgres@/postgres?host=%s&schema=cycles",
                   getenv("LK_TEST_SERVER"));
    if (lk_open(url, &store, &error) != LK_OK) {
        test_die("%s", error.text);
    }
    return store;
}

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
    lk_store *store = open_store();

    for (int i = 0; i < ROUNDS; i++) {
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
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(owners[0].deadlocks[i] + owners[1].deadlocks[i], 1);
    }
}

static void one_gives_way(void **state) {
    (void)state;
    play_all(false);
}

static void one_gives_way_while_both_convert(void **state) {
    (void)state;
    play_all(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gives_way),
        cmocka_unit_test(one_gives_way_while_both_convert),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
