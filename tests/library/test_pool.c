/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of workers on each engine: what it does with items, and what ends it. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { ITEMS_MAX = 64 };

/* The options of a pool, and what its handlers do. The threads of one pool write here. */
struct setup {
    lk_store *store;
    atomic_int handled[ITEMS_MAX]; /* by the number that an item's id is */
    atomic_int at_once;            /* handlers that run now */
    atomic_int at_once_max;
    int failures; /* handle() fails each item so many times */
    int64_t work_ms;
    bool waits_for_another; /* handle() returns when two of it have run at once */
    bool waits_for_loss;    /* handle() returns when its lease is lost */
    atomic_int told_of_loss;
    pthread_t caller;             /* of lk_work() */
    lk_cancel *cancel_in_handler; /* thrown by the first handler */
    lk_work_counts seen;          /* the counts of the last step */
    int steps[6];                 /* by lk_work_step */
    int64_t delays_ms[ITEMS_MAX];
    int delay_count;
};

static void note_maximum(atomic_int *maximum, int value) {
    int former = atomic_load(maximum);

    while (value > former && !atomic_compare_exchange_weak(maximum, &former, value)) {
    }
}

static void see_loss(void *context, lk_lease *lease) {
    (void)lease;
    atomic_fetch_add(&((struct setup *)context)->told_of_loss, 1);
}

static void wait_for_loss(struct setup *setup, lk_lease *lease) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    lk_lease_on_lost(lease, see_loss, setup);
    while (!lk_lease_is_lost(lease) || atomic_load(&setup->told_of_loss) == 0) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
}

static void wait_for_another(struct setup *setup) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&setup->at_once_max) < 2) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
}

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct setup *setup = context;
    int number = 0;
    int turn;

    assert_int_equal(sscanf(claim->id, "%d", &number), 1);
    assert_in_range(number, 0, ITEMS_MAX - 1);
    assert_int_equal(lk_lease_token(lease), claim->token);
    assert_string_equal(lk_lease_owner(lease), claim->owner);
    note_maximum(&setup->at_once_max, atomic_fetch_add(&setup->at_once, 1) + 1);
    turn = atomic_fetch_add(&setup->handled[number], 1);
    if (setup->cancel_in_handler != NULL) {
        lk_cancel_now(setup->cancel_in_handler);
    }
    if (setup->waits_for_loss) {
        wait_for_loss(setup, lease);
    } else if (setup->waits_for_another) {
        wait_for_another(setup);
    } else if (setup->work_ms > 0) {
        wait_until_ms(now_ms() + setup->work_ms);
        assert_false(lk_lease_is_lost(lease));
    }
    atomic_fetch_sub(&setup->at_once, 1);
    return turn < setup->failures;
}

static void see(void *context, const lk_work_progress *progress) {
    struct setup *setup = context;

    assert_in_range(progress->step, LK_WORK_CLAIMED, LK_WORK_UNKNOWN);
    setup->steps[progress->step]++; /* one at a time, as the header says */
    setup->seen = progress->counts;
    if (progress->step == LK_WORK_RETRIED && setup->delay_count < ITEMS_MAX) {
        setup->delays_ms[setup->delay_count++] = progress->delay_ms;
    }
}

static struct setup setup_of(void **state) {
    return (struct setup){.store = ((struct fixture *)*state)->store};
}

static lk_work_options options_of(struct setup *setup) {
    return (lk_work_options){.size = sizeof(lk_work_options),
                             .queue = "q",
                             .handle = handle,
                             .progress = see,
                             .context = setup,
                             .drain = true};
}

static void push_numbers(lk_store *store, int count) {
    for (int i = 0; i < count; i++) {
        char id[16];
        lk_push_request request = {.size = sizeof request, .queue = "q", .id = id};

        (void)snprintf(id, sizeof id, "%d", i);
        assert_int_equal(lk_push(store, &request, NULL, NULL), LK_OK);
    }
}

static size_t count_items(lk_store *store) {
    lk_item_list *list = NULL;
    size_t count;

    assert_int_equal(lk_items(store, "q", &list, NULL), LK_OK);
    count = list->count;
    lk_item_list_free(list);
    return count;
}

/* ---- items ----------------------------------------------------------------------------------- */

static void test_a_draining_pool_ends_when_the_queue_is_empty(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;
    lk_error error;

    push_numbers(setup.store, 5);
    assert_int_equal(lk_work(setup.store, &options, &counts, &error), LK_OK);
    assert_int_equal(error.outcome, LK_OK);
    assert_int_equal(counts.claims, 5);
    assert_int_equal(counts.done, 5);
    assert_int_equal(counts.retried + counts.lost + counts.steals + counts.unknown, 0);
    assert_memory_equal(&counts, &setup.seen, sizeof counts);
    assert_int_equal(setup.steps[LK_WORK_CLAIMED], 5);
    assert_int_equal(setup.steps[LK_WORK_DONE], 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(setup.handled[i], 1);
    }
    assert_int_equal(count_items(setup.store), 0);
    assert_int_equal(count_live(setup.store), 0);
    assert_int_equal(lk_work(setup.store, &options, NULL, NULL), LK_OK); /* an empty one */
}

static void test_several_workers_run_at_once(void **state) {
    enum { COUNT = 24, WORKERS = 4 };
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;

    setup.waits_for_another = true;
    options.workers = WORKERS;
    push_numbers(setup.store, COUNT);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_OK);
    assert_int_equal(counts.done, COUNT);
    assert_in_range(setup.at_once_max, 2, WORKERS);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(setup.handled[i], 1);
    }
}

static bool is_blocked(int signal) {
    sigset_t mask;

    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    return sigismember(&mask, signal) == 1;
}

static int look_at_signals(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct setup *setup = context;

    (void)claim;
    (void)lease;
    assert_true(is_blocked(SIGUSR1));
    assert_false(is_blocked(SIGUSR2));
    note_maximum(&setup->at_once_max, atomic_fetch_add(&setup->at_once, 1) + 1);
    wait_for_another(setup); /* so one of them is not the caller */
    atomic_fetch_sub(&setup->at_once, 1);
    return 0;
}

static void look_at_own_signals(void *context, const lk_work_progress *progress) {
    struct setup *setup = context;

    if (!pthread_equal(setup->caller, pthread_self())) {
        assert_true(is_blocked(SIGUSR2));
        assert_true(is_blocked(SIGTERM));
    }
    setup->steps[progress->step]++;
}

/* Signals are the application's; what a handler starts has the caller's mask. */
static void test_workers_leave_signals_to_the_caller(void **state) {
    enum { COUNT = 8, WORKERS = 4 };
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    sigset_t blocked;
    sigset_t former;

    setup.caller = pthread_self();
    options.handle = look_at_signals;
    options.progress = look_at_own_signals;
    options.workers = WORKERS;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &blocked, &former), 0);
    push_numbers(setup.store, COUNT);
    assert_int_equal(lk_work(setup.store, &options, NULL, NULL), LK_OK);
    assert_int_equal(setup.steps[LK_WORK_DONE], COUNT);
    assert_true(is_blocked(SIGUSR1));
    assert_false(is_blocked(SIGUSR2));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &former, NULL), 0);
}

static void test_a_claim_is_kept_alive(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;

    setup.work_ms = stretched(7000);
    options.ttl_ms = stretched(3000);
    push_numbers(setup.store, 1);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_OK);
    assert_int_equal(counts.done, 1);
    assert_int_equal(counts.lost, 0);
    assert_int_equal(setup.handled[0], 1);
}

static void test_retries_with_growing_delays(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;

    setup.failures = 4;
    options.retry_min_ms = 20;
    options.retry_max_ms = 60;
    push_numbers(setup.store, 1);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_OK);
    assert_int_equal(counts.claims, 5);
    assert_int_equal(counts.retried, 4);
    assert_int_equal(counts.done, 1);
    assert_int_equal(setup.delay_count, 4);
    assert_in_range(setup.delays_ms[0], 10, 20);
    assert_in_range(setup.delays_ms[1], 20, 40);
    assert_in_range(setup.delays_ms[2], 30, 60); /* the bound */
    assert_in_range(setup.delays_ms[3], 30, 60);
}

static void test_an_item_that_always_fails_is_parked(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;

    setup.failures = 100;
    options.max_attempts = 2;
    options.retry_min_ms = 1;
    push_numbers(setup.store, 2);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_OK); /* parked is ended */
    assert_int_equal(counts.claims, 4);
    assert_int_equal(counts.retried, 4);
    assert_int_equal(counts.parked, 2);
    assert_int_equal(setup.steps[LK_WORK_RETRIED], 2);
    assert_int_equal(setup.steps[LK_WORK_PARKED], 2);
    assert_int_equal(count_items(setup.store), 2);
}

/* Whether the store keeps failures; if so, it has an item `first` of a greater priority. */
static bool keeps_failures(lk_store *store) {
    const lk_push_request first = {
        .size = sizeof first, .queue = "other", .id = "first", .priority = 1};
    lk_outcome outcome = lk_push(store, &first, NULL, NULL);

    assert_true(outcome == LK_OK || outcome == LK_UNSUPPORTED);
    return outcome == LK_OK;
}

static void explain(void *context, const lk_claim_info *claim, lk_work_failure *ret_failure) {
    (void)context;
    assert_int_equal(ret_failure->size, sizeof *ret_failure);
    assert_int_equal(ret_failure->has_exit, false);
    ret_failure->has_exit = true;
    ret_failure->exit_code = (int32_t)claim->attempt;
    ret_failure->text = "no paper";
    ret_failure->text_size = 8;
}

static void test_why_an_item_failed_is_kept_with_it(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_item_list *list = NULL;

    setup.failures = 100;
    options.max_attempts = 2;
    options.retry_min_ms = 1;
    options.explain = explain;
    push_numbers(setup.store, 1);
    assert_int_equal(lk_work(setup.store, &options, NULL, NULL), LK_OK);
    assert_int_equal(lk_items(setup.store, "q", &list, NULL), LK_OK);
    assert_int_equal(list->count, 1);
    if (keeps_failures(setup.store)) {
        assert_true(list->items[0].has_last_exit);
        assert_int_equal(list->items[0].last_exit, 2);
        assert_string_equal(list->items[0].last_error, "no paper");
    } else {
        assert_false(list->items[0].has_last_exit);
        assert_null(list->items[0].last_error);
    }
    lk_item_list_free(list);
}

static void put_off(void *context, const lk_claim_info *claim, lk_work_failure *ret_failure) {
    assert_int_equal(claim->attempt, 1); /* the one before did not count */
    (void)context;
    ret_failure->has_delay = true;
    ret_failure->delay_ms = 3;
    ret_failure->uncounted = true;
}

static void test_a_handler_says_when_an_item_is_tried_again(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;

    setup.failures = 2;
    options.max_attempts = 1;
    options.retry_min_ms = 60000;
    options.explain = put_off;
    push_numbers(setup.store, 1);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_OK);
    assert_int_equal(counts.retried, 2);
    assert_int_equal(counts.parked, 0);
    assert_int_equal(counts.done, 1);
    assert_int_equal(setup.delay_count, 2);
    assert_int_equal(setup.delays_ms[0], 3);
    assert_int_equal(setup.delays_ms[1], 3);
}

/* The claim is broken under its handler: it is notified, and what it then returns changes
 * nothing. */
static void *break_claim(void *context) {
    struct setup *setup = context;
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&setup->handled[0]) == 0) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
    }
    assert_int_equal(break_path(setup->store, "q/0", true), 1);
    return NULL;
}

static void test_a_lost_claim_is_reported_and_counted(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_cancel *cancel = lk_cancel_new();
    lk_work_counts counts;
    pthread_t thread;

    setup.waits_for_loss = true;
    setup.cancel_in_handler = cancel; /* one item, and no more */
    options.cancel = cancel;
    options.ttl_ms = stretched(3000);
    push_numbers(setup.store, 1);
    assert_int_equal(pthread_create(&thread, NULL, break_claim, &setup), 0);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(setup.told_of_loss, 1);
    assert_int_equal(counts.lost, 1);
    assert_int_equal(counts.done, 0);
    assert_int_equal(setup.steps[LK_WORK_LOST], 1);
    assert_int_equal(count_items(setup.store), 1); /* for another worker */
    lk_cancel_free(cancel);
}

static void test_a_steal_is_counted(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    const lk_claim_request dying = {
        .size = sizeof dying, .queue = "q", .owner = "dying", .ttl_ms = 3000};
    lk_claim_info *claim = NULL;
    lk_work_counts counts;

    push_numbers(setup.store, 1);
    assert_int_equal(lk_claim_next(setup.store, &dying, &claim, NULL), LK_GRANTED);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_OK); /* waits for it */
    assert_int_equal(counts.claims, 1);
    assert_int_equal(counts.steals, 1);
    assert_int_equal(counts.done, 1);
    lk_claim_free(claim);
}

/* ---- the end --------------------------------------------------------------------------------- */

struct runner {
    struct setup *setup;
    lk_work_options options;
    lk_work_counts counts;
    lk_outcome outcome;
    pthread_t thread;
};

static void *run(void *context) {
    struct runner *runner = context;

    runner->outcome = lk_work(runner->setup->store, &runner->options, &runner->counts, NULL);
    return NULL;
}

static void wait_until_done(struct setup *setup, uint64_t count) {
    int64_t bound_ms = now_ms() + BOUND_MS;
    lk_queue_stats stats = {.done = 0};

    while (stats.done < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 2);
        assert_int_equal(lk_stats(setup->store, "q", &stats, NULL), LK_OK);
    }
}

/* Without draining it goes on, idle or not, until it is cancelled. */
static void test_an_idle_pool_can_be_cancelled(void **state) {
    struct setup setup = setup_of(state);
    struct runner runner = {.setup = &setup, .options = options_of(&setup)};

    runner.options.drain = false;
    runner.options.workers = 3;
    runner.options.cancel = lk_cancel_new();
    assert_int_equal(pthread_create(&runner.thread, NULL, run, &runner), 0);
    push_numbers(setup.store, 2);
    wait_until_done(&setup, 2);
    lk_cancel_now(runner.options.cancel);
    assert_int_equal(pthread_join(runner.thread, NULL), 0);
    assert_int_equal(runner.outcome, LK_CANCELLED);
    assert_int_equal(runner.counts.done, 2);
    lk_cancel_free(runner.options.cancel);
}

static void test_a_cancelled_pool_finishes_its_items(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;

    options.cancel = lk_cancel_new();
    setup.cancel_in_handler = options.cancel;
    setup.work_ms = 50;
    push_numbers(setup.store, 3);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_CANCELLED);
    assert_int_equal(counts.claims, 1);
    assert_int_equal(counts.done, 1);
    assert_int_equal(count_items(setup.store), 2);
    assert_int_equal(lk_work(setup.store, &options, &counts, NULL), LK_CANCELLED);
    assert_int_equal(counts.claims, 0); /* cancelled before it began */
    lk_cancel_free(options.cancel);
}

/* Drained is: nothing delayed, and nothing claimed. */
static void test_draining_waits_for_items_of_other_workers(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    const lk_push_request later = {.size = sizeof later, .queue = "q", .id = "7", .delay_ms = 120};
    int64_t start_ms = now_ms();

    assert_int_equal(lk_push(setup.store, &later, NULL, NULL), LK_OK);
    options.workers = 2;
    assert_int_equal(lk_work(setup.store, &options, NULL, NULL), LK_OK);
    assert_true(now_ms() >= start_ms + 120);
    assert_int_equal(setup.handled[7], 1);
}

static lk_outcome work_wrong(lk_store *store, const lk_work_options *options) {
    lk_work_counts counts;
    lk_error error;
    lk_outcome outcome = lk_work(store, options, &counts, &error);

    assert_true(error.text[0] != '\0');
    assert_int_equal(counts.claims, 0);
    return outcome;
}

static void test_wrong_options(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);

    push_numbers(setup.store, 1);
    options.queue = "a//b";
    assert_int_equal(work_wrong(setup.store, &options), LK_INVALID);
    options = options_of(&setup);
    options.handle = NULL;
    assert_int_equal(work_wrong(setup.store, &options), LK_INVALID);
    options = options_of(&setup);
    options.workers = LK_WORKERS_MAX + 1;
    assert_int_equal(work_wrong(setup.store, &options), LK_INVALID);
    options = options_of(&setup);
    options.ttl_ms = 10;
    assert_int_equal(work_wrong(setup.store, &options), LK_INVALID);
    options = options_of(&setup);
    options.retry_min_ms = 20;
    options.retry_max_ms = 10;
    assert_int_equal(work_wrong(setup.store, &options), LK_INVALID);
    options = options_of(&setup);
    options.size = 4;
    assert_int_equal(work_wrong(setup.store, &options), LK_INVALID);
    assert_int_equal(setup.handled[0], 0);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The first item of each batch fails at its first attempt. */
static void handle_batch(void *context, lk_work_item *items, size_t count) {
    struct setup *setup = context;

    assert_in_range(count, 1, 4);
    note_maximum(&setup->at_once_max, (int)count);
    for (size_t i = 0; i < count; i++) {
        int number = 0;

        assert_int_equal(sscanf(items[i].claim->id, "%d", &number), 1);
        assert_int_equal(lk_lease_token(items[i].lease), items[0].claim->token);
        assert_false(lk_lease_is_lost(items[i].lease));
        assert_int_equal(items[i].status, 0);
        items[i].status = atomic_fetch_add(&setup->handled[number], 1) == 0 && i == 0 ? 1 : 0;
    }
}

static void test_a_batch_is_handled_in_one_call(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);
    lk_work_counts counts;
    lk_outcome outcome;

    options.handle = NULL;
    options.handle_batch = handle_batch;
    options.batch = 4;
    options.retry_min_ms = 1;
    options.retry_max_ms = 1;
    push_numbers(setup.store, 8);
    outcome = lk_work(setup.store, &options, &counts, NULL);
    if (outcome == LK_UNSUPPORTED) {
        skip();
    }
    assert_int_equal(outcome, LK_OK);
    assert_int_equal(atomic_load(&setup.at_once_max), 4);
    assert_int_equal(counts.done, 8);
    assert_true(counts.retried >= 2);
    assert_int_equal(counts.claims, counts.done + counts.retried);
    assert_int_equal(counts.lost + counts.unknown, 0);
    assert_int_equal(setup.steps[LK_WORK_DONE], 8);
    assert_int_equal(count_live(setup.store), 0);
}

static void test_a_batch_has_bounds(void **state) {
    struct setup setup = setup_of(state);
    lk_work_options options = options_of(&setup);

    options.batch = 2; /* without a handler for it */
    assert_int_equal(lk_work(setup.store, &options, NULL, NULL), LK_INVALID);
    options.handle_batch = handle_batch;
    options.batch = LK_CLAIMS_MAX + 1;
    assert_int_equal(lk_work(setup.store, &options, NULL, NULL), LK_INVALID);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_a_draining_pool_ends_when_the_queue_is_empty),
        TEST(test_several_workers_run_at_once),
        TEST(test_workers_leave_signals_to_the_caller),
        TEST(test_a_claim_is_kept_alive),
        TEST(test_retries_with_growing_delays),
        TEST(test_an_item_that_always_fails_is_parked),
        TEST(test_why_an_item_failed_is_kept_with_it),
        TEST(test_a_handler_says_when_an_item_is_tried_again),
        TEST(test_a_lost_claim_is_reported_and_counted),
        TEST(test_a_steal_is_counted),
        TEST(test_an_idle_pool_can_be_cancelled),
        TEST(test_a_cancelled_pool_finishes_its_items),
        TEST(test_draining_waits_for_items_of_other_workers),
        TEST(test_wrong_options),
        TEST(test_a_batch_is_handled_in_one_call),
        TEST(test_a_batch_has_bounds),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
