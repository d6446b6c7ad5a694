/* SPDX-License-Identifier: Apache-2.0 */
/* What claims and pools of workers do about a store that is away, slow, or loses answers. */
#include <pthread.h>

#include "support.h"
#include "unsteady.h"

struct setup {
    lk_store *store;
    struct unsteady *unsteady;
    enum unsteady_mood mood_in_handler;
    atomic_int handled;
};

static int open_setup(void **state) {
    static struct setup setup;

    setup = (struct setup){.mood_in_handler = STEADY};
    setup.store = open_unsteady(&setup.unsteady);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    lk_close(((struct setup *)*state)->store);
    return 0;
}

static void push(struct setup *setup, const char *id) {
    const lk_push_request request = {.size = sizeof request, .queue = "q", .id = id};

    assert_int_equal(lk_push(setup->store, &request, NULL, NULL), LK_OK);
}

static lk_queue_stats stats_of(struct setup *setup) {
    lk_queue_stats stats;

    assert_int_equal(lk_stats(setup->store, "q", &stats, NULL), LK_OK);
    return stats;
}

/* ---- claims ---------------------------------------------------------------------------------- */

struct claimant {
    struct setup *setup;
    lk_claim_request request;
    lk_outcome outcome;
    lk_claim_info *claim;
    pthread_t thread;
};

static void *claim_in_thread(void *context) {
    struct claimant *claimant = context;

    claimant->outcome =
        lk_claim_next(claimant->setup->store, &claimant->request, &claimant->claim, NULL);
    return NULL;
}

static struct claimant claimant_of(struct setup *setup) {
    return (struct claimant){.setup = setup,
                             .request = {.size = sizeof(lk_claim_request), .queue = "q"}};
}

/* However many answers were lost: one item, claimed once (R3). */
static void test_a_lost_answer_is_found_again(void **state) {
    struct setup *setup = *state;
    struct claimant claimant = claimant_of(setup);

    push(setup, "1");
    push(setup, "2");
    be(setup->unsteady, DEAF);
    assert_int_equal(pthread_create(&claimant.thread, NULL, claim_in_thread, &claimant), 0);
    wait_for_calls(setup->unsteady, 3);
    be(setup->unsteady, STEADY);
    assert_int_equal(pthread_join(claimant.thread, NULL), 0);
    assert_int_equal(claimant.outcome, LK_GRANTED);
    assert_string_equal(claimant.claim->id, "1");
    assert_int_equal(claimant.claim->attempt, 1);
    assert_int_equal(stats_of(setup).claims, 1);
    assert_int_equal(stats_of(setup).ready_now, 1);
    lk_claim_free(claimant.claim);
}

static void test_patience(void **state) {
    static const enum unsteady_mood moods[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    push(setup, "1");
    for (size_t i = 0; i < 2; i++) {
        struct claimant claimant = claimant_of(setup);
        int64_t start_ms = now_ms();

        be(setup->unsteady, moods[i]);
        claimant.request.patience_ms = 150;
        (void)claim_in_thread(&claimant);
        assert_int_equal(claimant.outcome, LK_UNAVAILABLE);
        assert_true(now_ms() >= start_ms + 150);
        claimant.request.wait_ms = LK_FOREVER; /* for work, but not for the store */
        (void)claim_in_thread(&claimant);
        assert_int_equal(claimant.outcome, LK_UNAVAILABLE);
        assert_null(claimant.claim);
    }
    assert_in_range(calls_of(setup->unsteady), 4, 40); /* it did not spin */
}

static void test_cancelled_while_the_store_is_away(void **state) {
    static const enum unsteady_mood moods[] = {REFUSING, HANGING};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        struct claimant claimant = claimant_of(setup);
        int former = calls_of(setup->unsteady);

        be(setup->unsteady, moods[i]);
        claimant.request.wait_ms = LK_FOREVER;
        claimant.request.cancel = lk_cancel_new();
        assert_int_equal(pthread_create(&claimant.thread, NULL, claim_in_thread, &claimant), 0);
        wait_for_calls(setup->unsteady, former + 1);
        lk_cancel_now(claimant.request.cancel);
        assert_int_equal(pthread_join(claimant.thread, NULL), 0);
        assert_int_equal(claimant.outcome, LK_CANCELLED);
        lk_cancel_free(claimant.request.cancel);
    }
}

/* A claim whose answer took long is asked for again, so that it is worth its ttl. */
static void test_a_slow_answer_is_refreshed(void **state) {
    struct setup *setup = *state;
    struct claimant claimant = claimant_of(setup);

    push(setup, "1");
    be(setup->unsteady, LATE);
    atomic_store(&setup->unsteady->answer_at_ms, now_ms() + 2500);
    claimant.request.ttl_ms = 6000;
    (void)claim_in_thread(&claimant);
    assert_int_equal(claimant.outcome, LK_GRANTED);
    assert_in_range(claimant.claim->expires_in_ms, 3501, 6000);
    assert_int_equal(calls_of(setup->unsteady), 2);
    assert_int_equal(stats_of(setup).claims, 1);
    lk_claim_free(claimant.claim);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct setup *setup = context;

    (void)claim;
    (void)lease;
    atomic_fetch_add(&setup->handled, 1);
    be(setup->unsteady, setup->mood_in_handler);
    return 0;
}

static void *come_back(void *context) {
    struct setup *setup = context;

    wait_for_calls(setup->unsteady, calls_of(setup->unsteady) + 3);
    be(setup->unsteady, STEADY);
    return NULL;
}

/* Whether the end of a claim or its answer did not get through: it is done once. */
static void test_a_pool_outlasts_the_absence(void **state) {
    static const enum unsteady_mood moods[] = {REFUSING, DEAF};
    struct setup *setup = *state;

    for (size_t i = 0; i < 2; i++) {
        const lk_work_options options = {.size = sizeof options,
                                         .queue = "q",
                                         .handle = handle,
                                         .context = setup,
                                         .drain = true};
        lk_work_counts counts;
        pthread_t thread;

        be(setup->unsteady, STEADY);
        push(setup, "1");
        setup->mood_in_handler = moods[i];
        assert_int_equal(pthread_create(&thread, NULL, come_back, setup), 0);
        assert_int_equal(lk_work(setup->store, &options, &counts, NULL), LK_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(counts.claims, 1);
        assert_int_equal(counts.done, 1);
        assert_int_equal(counts.unknown + counts.lost, 0);
    }
    assert_int_equal(stats_of(setup).done, 2);
}

/* The store stays away until the claim has perished: nobody knows, and somebody will look again. */
static void test_what_stays_unknown(void **state) {
    struct setup *setup = *state;
    const lk_work_options options = {.size = sizeof options,
                                     .queue = "q",
                                     .handle = handle,
                                     .context = setup,
                                     .ttl_ms = 2000,
                                     .patience_ms = 100};
    lk_work_counts counts;

    push(setup, "1");
    setup->mood_in_handler = REFUSING;
    assert_int_equal(lk_work(setup->store, &options, &counts, NULL), LK_UNAVAILABLE);
    assert_int_equal(counts.claims, 1);
    assert_int_equal(counts.unknown, 1);
    /* The worker stops a little before the claim does (R11: clocks may drift apart). */
    while (stats_of(setup).ready_now != 1) {
        wait_until_ms(now_ms() + 1);
    }
    assert_int_equal(stats_of(setup).done, 0);
}

/* An engine says what it cannot, by name. */
static void test_unsupported(void **state) {
    struct setup *setup = *state;
    const char *part = "x";
    lk_request request = request_of("a", &part);
    lk_value *value = NULL;
    lk_error error;

    assert_int_equal(lk_value_get(setup->store, "x", &value, &error), LK_UNSUPPORTED);
    assert_string_equal(error.text, "a store of unsteady: cannot keep values");
    assert_int_equal(lk_value_put(setup->store, "x", NULL, 0, "v", 1, NULL), LK_UNSUPPORTED);
    assert_int_equal(lk_release_put(setup->store, &request, 0, "v", 1, NULL, NULL), LK_UNSUPPORTED);
    request.value = true;
    assert_int_equal(lk_ask(setup->store, &request, NULL, NULL), LK_UNSUPPORTED);
    assert_int_equal(count_live(setup->store), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
        TEST(test_a_lost_answer_is_found_again),
        TEST(test_patience),
        TEST(test_cancelled_while_the_store_is_away),
        TEST(test_a_slow_answer_is_refreshed),
        TEST(test_a_pool_outlasts_the_absence),
        TEST(test_what_stays_unknown),
        TEST(test_unsupported),
    };

    return cmocka_run_group_tests_name("unsteady work", tests, NULL, NULL);
}
