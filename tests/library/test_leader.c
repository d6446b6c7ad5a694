/* SPDX-License-Identifier: Apache-2.0 */
/* One worker of a pool waits for all: the leader, its followers, and what an idle pool asks. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/store.h"
#include "client/work/leader.h"
#include "support.h"

enum { FIRST = 1, SECOND = 2, WORKERS = 16, LOOK_MS = 5000, BESIDES = 8, POOLS = 4, ITEMS = 20 };

/* ---- the leader ------------------------------------------------------------------------------ */

struct follower {
    struct lk_pool_leader *leader;
    struct lk_waker waker;
    bool leads;
    pthread_t thread;
};

static void *follow(void *context) {
    struct follower *follower = context;

    follower->leads =
        lk_pool_leader_become(follower->leader, SECOND, INT64_C(1000) * BOUND_MS, &follower->waker);
    return NULL;
}

static void begin_follower(struct follower *follower, struct lk_pool_leader *leader) {
    *follower = (struct follower){.leader = leader};
    assert_true(lk_waker_init(&follower->waker));
    assert_int_equal(pthread_create(&follower->thread, NULL, follow, follower), 0);
}

static void end_follower(struct follower *follower) {
    assert_int_equal(pthread_join(follower->thread, NULL), 0);
    lk_waker_done(&follower->waker);
}

static void test_a_follower_leads_when_the_leader_ceases(void **state) {
    struct lk_pool_leader leader = {0};
    struct follower follower;

    (void)state;
    assert_true(lk_pool_leader_become(&leader, FIRST, 0, NULL));
    assert_false(lk_pool_leader_become(&leader, SECOND, 0, NULL));
    begin_follower(&follower, &leader);
    lk_pool_leader_cease(&leader, SECOND); /* which does not lead */
    wait_until_ms(now_ms() + 20);
    lk_pool_leader_cease(&leader, FIRST);
    end_follower(&follower);
    assert_true(follower.leads);
}

static void test_a_follower_can_be_told_to_stop(void **state) {
    struct lk_pool_leader leader = {.member = FIRST};
    struct follower follower;

    (void)state;
    begin_follower(&follower, &leader);
    lk_waker_throw(&follower.waker);
    end_follower(&follower);
    assert_false(follower.leads);
    assert_int_equal(leader.member, FIRST);
}

static void test_a_leader_that_is_killed_is_followed(void **state) {
    struct lk_pool_leader *leader =
        mmap(NULL, sizeof *leader, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct follower follower;
    pid_t pid;

    (void)state;
    assert_true(leader != MAP_FAILED);
    pid = fork();
    if (pid == 0) {
        (void)lk_pool_leader_become(leader, FIRST, 0, NULL);
        for (;;) {
            (void)pause();
        }
    }
    while (__atomic_load_n(&leader->member, __ATOMIC_SEQ_CST) != FIRST) {
        wait_until_ms(now_ms() + 1);
    }
    begin_follower(&follower, leader);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    lk_pool_leader_cease(leader, FIRST);
    end_follower(&follower);
    assert_true(follower.leads);
    assert_int_equal(munmap(leader, sizeof *leader), 0);
}

/* ---- a pool ---------------------------------------------------------------------------------- */

static lk_outcome (*decide_as_before)(struct lk_engine *, const struct lk_command *,
                                      const struct lk_patience *, struct lk_decision *);
static atomic_int takes;

static lk_outcome count_takes(struct lk_engine *engine, const struct lk_command *command,
                              const struct lk_patience *patience,
                              struct lk_decision *ret_decision) {
    lk_outcome outcome = decide_as_before(engine, command, patience, ret_decision);

    atomic_fetch_add(&takes, command->kind == LK_COMMAND_TAKE);
    return outcome;
}

static void await_takes(int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&takes) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
}

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    (void)claim, (void)lease;
    atomic_fetch_add((atomic_int *)context, 1);
    return 0;
}

struct idle_pools { /* of one store and queue */
    lk_store *store;
    lk_cancel *cancel;
    atomic_int handled;
    pthread_t threads[POOLS];
};

static void *work(void *context) {
    struct idle_pools *pools = context;
    const lk_work_options options = {.size = sizeof options,
                                     .queue = "q",
                                     .handle = handle,
                                     .context = &pools->handled,
                                     .workers = WORKERS / POOLS,
                                     .cancel = pools->cancel};

    assert_int_equal(lk_work(pools->store, &options, NULL, NULL), LK_CANCELLED);
    return NULL;
}

static void push_and_await(struct idle_pools *pools, int number) {
    int64_t bound_ms = now_ms() + BOUND_MS;
    char id[16];
    lk_push_request push = {.size = sizeof push, .queue = "q", .id = id};

    (void)snprintf(id, sizeof id, "%d", number);
    assert_int_equal(lk_push(pools->store, &push, NULL, NULL), LK_OK);
    while (atomic_load(&pools->handled) <= number) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
}

/* Each item wakes the leader, and one follower that leads then. */
static void test_an_item_wakes_one_worker_of_idle_pools(void **state) {
    struct idle_pools pools = {.store = ((struct fixture *)*state)->store,
                               .cancel = lk_cancel_new()};
    struct lk_engine *engine = pools.store->engine;
    const struct lk_engine_ops *ops = engine->ops;
    struct lk_engine_ops counting = *ops;
    int64_t begun_ms = now_ms();

    decide_as_before = ops->decide;
    counting.decide = count_takes;
    engine->ops = &counting;
    for (int i = 0; i < POOLS; i++) {
        assert_int_equal(pthread_create(&pools.threads[i], NULL, work, &pools), 0);
    }
    await_takes(WORKERS);
    for (int i = 0; i < ITEMS; i++) {
        push_and_await(&pools, i);
    }
    lk_cancel_now(pools.cancel);
    for (int i = 0; i < POOLS; i++) {
        assert_int_equal(pthread_join(pools.threads[i], NULL), 0);
    }
    engine->ops = ops;
    lk_cancel_free(pools.cancel);
    /* Each worker also looks once after its item, whose end may wake the leader, and now and then
     * by itself. */
    assert_in_range(atomic_load(&takes), 1,
                    WORKERS + 5 * ITEMS + BESIDES + (now_ms() - begun_ms) * 2 * WORKERS / LOOK_MS);
    assert_null(pools.store->queue_leaders);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_follower_leads_when_the_leader_ceases),
        cmocka_unit_test(test_a_follower_can_be_told_to_stop),
        cmocka_unit_test(test_a_leader_that_is_killed_is_followed),
        cmocka_unit_test_setup_teardown(test_an_item_wakes_one_worker_of_idle_pools, open_fixture,
                                        close_fixture),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
