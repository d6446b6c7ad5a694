/* SPDX-License-Identifier: Apache-2.0 */
/* Work (R16) on each engine: pushing, claiming, ending a claim; waiting for work; counting. */
#include <pthread.h>
#include <string.h>

#include "support.h"

static lk_store *store_of(void **state) {
    return ((struct fixture *)*state)->store;
}

static bool push_request(lk_store *store, const lk_push_request *request) {
    bool is_added = false;

    assert_int_equal(lk_push(store, request, &is_added, NULL), LK_OK);
    return is_added;
}

static bool push(lk_store *store, const char *queue, const char *id) {
    const lk_push_request request = {
        .size = sizeof request, .queue = queue, .id = id, .value = id, .value_size = strlen(id)};

    return push_request(store, &request);
}

static lk_claim_request claim_request(const char *queue, const char *owner) {
    return (lk_claim_request){.size = sizeof(lk_claim_request), .queue = queue, .owner = owner};
}

/* Claims at once, what must be the item `id`. */
static lk_claim_info *claim_ttl(lk_store *store, const char *queue, const char *owner,
                                const char *id, int64_t ttl_ms) {
    lk_claim_request request = claim_request(queue, owner);
    lk_claim_info *claim = NULL;

    request.ttl_ms = ttl_ms;
    assert_int_equal(lk_claim_next(store, &request, &claim, NULL), LK_GRANTED);
    assert_string_equal(claim->id, id);
    assert_string_equal(claim->queue, queue);
    assert_true(claim->token != 0);
    return claim;
}

static uint64_t claim(lk_store *store, const char *queue, const char *owner, const char *id) {
    lk_claim_info *info = claim_ttl(store, queue, owner, id, 0);
    uint64_t token = info->token;

    lk_claim_free(info);
    return token;
}

static lk_outcome claim_nothing(lk_store *store, const char *queue, const char *owner) {
    lk_claim_request request = claim_request(queue, owner);
    lk_claim_info *untouched = (lk_claim_info *)&request;
    lk_outcome outcome = lk_claim_next(store, &request, &untouched, NULL);

    assert_ptr_equal(untouched, &request);
    return outcome;
}

static void expect_state(lk_store *store, const char *queue, const char *id, const char *expected) {
    lk_item_list *list = NULL;
    const char *found = "gone";

    assert_int_equal(lk_items(store, queue, &list, NULL), LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].id, id) == 0) {
            found = list->items[i].state;
        }
    }
    assert_string_equal(found, expected);
    lk_item_list_free(list);
}

static lk_queue_stats stats_of(lk_store *store, const char *queue) {
    lk_queue_stats stats;

    assert_int_equal(lk_stats(store, queue, &stats, NULL), LK_OK);
    return stats;
}

/* ---- one after the other --------------------------------------------------------------------- */

static void test_push_claim_done(void **state) {
    lk_store *store = store_of(state);

    assert_int_equal(claim_nothing(store, "q", "a"), LK_BUSY);
    assert_true(push(store, "q", "1"));
    assert_false(push(store, "q", "1")); /* announcing twice is harmless, and counted */
    assert_true(push(store, "q", "2"));
    lk_claim_info *info = claim_ttl(store, "q", "a", "1", 0);
    assert_string_equal(info->owner, "a");
    assert_string_equal(info->value, "1");
    assert_int_equal(info->value_size, 1);
    assert_int_equal(info->attempt, 1);
    assert_false(info->is_stolen);
    assert_int_equal(info->ttl_ms, 60000);
    assert_in_range(info->expires_in_ms, 50000, 60000);
    assert_false(push(store, "q", "1")); /* claimed: it is still there */
    uint64_t second = claim(store, "q", "b", "2");
    assert_true(second > info->token);
    assert_int_equal(claim_nothing(store, "q", "c"), LK_BUSY);
    assert_int_equal(lk_done(store, "q", "1", "a", info->token, NULL), LK_OK);
    assert_int_equal(lk_done(store, "q", "1", "a", info->token, NULL), LK_OK); /* R3 */
    assert_int_equal(lk_done(store, "q", "2", "b", 0, NULL), LK_OK);
    assert_int_equal(lk_done(store, "q", "2", "b", 0, NULL), LK_LOST);
    assert_int_equal(claim_nothing(store, "q", "c"), LK_BUSY);
    lk_queue_stats stats = stats_of(store, "q");
    assert_int_equal(stats.pushed, 2);
    assert_int_equal(stats.duplicates, 2);
    assert_int_equal(stats.claims, 2);
    assert_int_equal(stats.steals, 0);
    assert_int_equal(stats.done, 2);
    assert_int_equal(stats.ready_now + stats.delayed_now + stats.claimed_now, 0);
    assert_true(push(store, "q", "1")); /* done: it may come again */
    lk_claim_free(info);
}

static void test_only_the_claimant_ends_it(void **state) {
    lk_store *store = store_of(state);
    lk_error error;

    push(store, "q", "1");
    uint64_t token = claim(store, "q", "a", "1");
    assert_int_equal(lk_done(store, "q", "1", "b", 0, &error), LK_LOST);
    assert_true(error.text[0] != '\0');
    assert_int_equal(lk_done(store, "q", "1", "a", token + 1, NULL), LK_LOST);
    assert_int_equal(lk_retry(store, "q", "1", "b", 0, 0, NULL), LK_LOST);
    assert_int_equal(release_part(store, "a", "q/1"), LK_LOST); /* a claim is not released */
    assert_int_equal(renew_part(store, "a", "q/1"), LK_OK);     /* but renewed */
    expect_state(store, "q", "1", "claimed");
    assert_int_equal(lk_done(store, "q", "1", "a", token, NULL), LK_OK);
    assert_int_equal(renew_part(store, "a", "q/1"), LK_LOST);
}

static void test_a_claimant_without_a_name(void **state) {
    lk_store *store = store_of(state);
    lk_claim_request request = claim_request("q", NULL);
    lk_claim_info *first = NULL;
    lk_claim_info *second = NULL;

    push(store, "q", "1");
    push(store, "q", "2");
    assert_int_equal(lk_claim_next(store, &request, &first, NULL), LK_GRANTED);
    assert_int_equal(lk_claim_next(store, &request, &second, NULL), LK_GRANTED);
    assert_string_not_equal(first->owner, second->owner);
    assert_int_equal(lk_done(store, "q", first->id, first->owner, first->token, NULL), LK_OK);
    lk_claim_free(first);
    lk_claim_free(second);
    lk_claim_free(NULL);
}

static void test_retry_and_its_delay(void **state) {
    lk_store *store = store_of(state);

    push(store, "q", "1");
    push(store, "q", "2");
    uint64_t token = claim(store, "q", "a", "1");
    assert_int_equal(lk_retry(store, "q", "1", "a", token, 0, NULL), LK_OK);
    lk_claim_info *again = claim_ttl(store, "q", "a", "1", 0); /* in its old place */
    assert_int_equal(again->attempt, 2);
    assert_false(again->is_stolen);
    int64_t start_ms = now_ms();
    assert_int_equal(lk_retry(store, "q", "1", "a", again->token, stretched(3000), NULL), LK_OK);
    expect_state(store, "q", "1", "delayed");
    lk_item_list *list = NULL;
    assert_int_equal(lk_items(store, "q", &list, NULL), LK_OK);
    assert_in_range(list->items[0].due_in_ms, 1, stretched(3000));
    assert_int_equal(list->items[0].attempts, 2);
    lk_item_list_free(list);
    (void)claim(store, "q", "b", "2");
    lk_claim_request request = claim_request("q", "c");
    request.wait_ms = BOUND_MS;
    lk_claim_free(again);
    assert_int_equal(lk_claim_next(store, &request, &again, NULL), LK_GRANTED);
    assert_true(now_ms() >= start_ms + stretched(3000)); /* due, and not before */
    assert_string_equal(again->id, "1");
    assert_int_equal(stats_of(store, "q").retried, 2);
    lk_claim_free(again);
}

static void test_a_push_with_a_delay(void **state) {
    lk_store *store = store_of(state);
    const lk_push_request later = {
        .size = sizeof later, .queue = "q", .id = "later", .delay_ms = stretched(3000)};

    assert_true(push_request(store, &later));
    expect_state(store, "q", "later", "delayed");
    assert_int_equal(claim_nothing(store, "q", "a"), LK_BUSY);
    wait_until_ms(now_ms() + stretched(3010));
    expect_state(store, "q", "later", "ready");
    lk_claim_info *info = claim_ttl(store, "q", "a", "later", 0);
    assert_null(info->value);
    assert_int_equal(info->value_size, 0);
    lk_claim_free(info);
}

static void test_an_item_is_parked_after_too_many_attempts(void **state) {
    lk_store *store = store_of(state);
    lk_claim_request request = claim_request("q", "a");

    request.max_attempts = 2;
    push(store, "q", "1");
    for (int i = 0; i < 2; i++) {
        lk_claim_info *info = NULL;

        assert_int_equal(lk_claim_next(store, &request, &info, NULL), LK_GRANTED);
        assert_int_equal(lk_retry(store, "q", "1", "a", info->token, 0, NULL), LK_OK);
        lk_claim_free(info);
    }
    expect_state(store, "q", "1", "parked");
    assert_int_equal(claim_nothing(store, "q", "a"), LK_BUSY);
    assert_false(push(store, "q", "1"));
    assert_int_equal(stats_of(store, "q").parked, 1);
    assert_int_equal(stats_of(store, "q").parked_now, 1);
    assert_int_equal(lk_unpark(store, "q", "1", NULL), LK_OK);
    assert_int_equal(lk_unpark(store, "q", "1", NULL), LK_LOST);
    assert_int_equal(lk_unpark(store, "q", "none", NULL), LK_LOST);
    lk_claim_info *info = claim_ttl(store, "q", "b", "1", 0);
    assert_int_equal(info->attempt, 1); /* forgotten */
    lk_claim_free(info);
}

static void test_an_item_is_parked_when_its_claims_expire(void **state) {
    lk_store *store = store_of(state);
    lk_claim_request request = claim_request("q", "a");
    lk_claim_info *info = NULL;

    request.max_attempts = 1;
    request.ttl_ms = 3000;
    push(store, "q", "1");
    assert_int_equal(lk_claim_next(store, &request, &info, NULL), LK_GRANTED);
    wait_until_ms(now_ms() + 3010);
    expect_state(store, "q", "1", "parked");
    assert_int_equal(lk_done(store, "q", "1", "a", info->token, NULL), LK_LOST);
    lk_claim_free(info);
}

/* ---- with locks ------------------------------------------------------------------------------ */

/* Worked example 14. */
static void test_a_paused_queue(void **state) {
    lk_store *store = store_of(state);

    push(store, "q", "1");
    push(store, "q", "2");
    uint64_t token = claim(store, "q", "a", "1");
    assert_int_equal(queue_part(store, "o", "q"), LK_WAITING);
    assert_int_equal(claim_nothing(store, "q", "b"), LK_BUSY);
    assert_int_equal(lk_done(store, "q", "1", "a", token, NULL), LK_OK);
    assert_int_equal(try_part(store, "o", "q"), LK_GRANTED); /* held since */
    assert_int_equal(claim_nothing(store, "q", "b"), LK_BUSY);
    assert_int_equal(release_part(store, "o", "q"), LK_OK);
    (void)claim(store, "q", "b", "2");
}

/* Worked example 15. */
static void test_a_stolen_claim(void **state) {
    lk_store *store = store_of(state);

    push(store, "q", "1");
    lk_claim_info *first = claim_ttl(store, "q", "a", "1", 3000);
    wait_until_ms(now_ms() + 3010);
    lk_claim_info *second = claim_ttl(store, "q", "b", "1", 0);
    assert_int_equal(second->attempt, 2);
    assert_true(second->is_stolen);
    assert_true(second->token > first->token);
    assert_int_equal(stats_of(store, "q").steals, 1);
    assert_int_equal(lk_done(store, "q", "1", "a", first->token, NULL), LK_LOST);
    assert_int_equal(lk_retry(store, "q", "1", "a", first->token, 0, NULL), LK_LOST);
    assert_int_equal(lk_done(store, "q", "1", "b", second->token, NULL), LK_OK);
    expect_state(store, "q", "1", "gone");
    lk_claim_free(first);
    lk_claim_free(second);
}

static void test_needs_are_locked_with_the_item(void **state) {
    static const char *const needs[] = {"customer/7", "pool?limit=2"};
    lk_store *store = store_of(state);
    lk_push_request request = {
        .size = sizeof request, .queue = "q", .id = "1", .needs = needs, .need_count = 2};
    lk_item_list *list = NULL;

    push_request(store, &request);
    request.id = "2";
    push_request(store, &request);
    push(store, "q", "3");
    uint64_t token = claim(store, "q", "a", "1");
    assert_int_equal(try_part(store, "x", "customer/7"), LK_BUSY);
    (void)claim(store, "q", "b", "3"); /* 2 is passed over: the customer is busy */
    assert_int_equal(claim_nothing(store, "q", "c"), LK_BUSY);
    assert_int_equal(lk_items(store, "q", &list, NULL), LK_OK);
    assert_int_equal(list->count, 3);
    assert_string_equal(list->items[1].state, "ready");
    assert_int_equal(list->items[1].need_count, 2);
    assert_string_equal(list->items[1].needs[0], "customer/7");
    assert_string_equal(list->items[1].needs[1], "pool?limit=2");
    assert_string_equal(list->items[0].owner, "a");
    assert_in_range(list->items[0].expires_in_ms, 1, 60000);
    lk_item_list_free(list);
    assert_int_equal(lk_done(store, "q", "1", "a", token, NULL), LK_OK);
    (void)claim(store, "q", "c", "2");
}

static void test_a_claim_skips_an_item_that_is_locked(void **state) {
    lk_store *store = store_of(state);

    push(store, "q", "1");
    push(store, "q", "2");
    assert_int_equal(try_part(store, "o", "q/1"), LK_GRANTED);
    (void)claim(store, "q", "a", "2");
    assert_int_equal(claim_nothing(store, "q", "b"), LK_BUSY);
    assert_int_equal(release_part(store, "o", "q/1"), LK_OK);
    (void)claim(store, "q", "b", "1");
}

static void test_a_broken_claim(void **state) {
    lk_store *store = store_of(state);

    push(store, "q", "1");
    uint64_t token = claim(store, "q", "a", "1");
    assert_int_equal(break_path(store, "q/1", true), 1);
    assert_int_equal(lk_done(store, "q", "1", "a", token, NULL), LK_LOST);
    (void)claim(store, "q", "b", "1");
}

/* ---- waiting for work ------------------------------------------------------------------------ */

struct claimant {
    lk_store *store;
    lk_claim_request request;
    lk_outcome outcome;
    lk_claim_info *claim;
    pthread_t thread;
};

static void *claim_in_thread(void *context) {
    struct claimant *claimant = context;

    claimant->outcome = lk_claim_next(claimant->store, &claimant->request, &claimant->claim, NULL);
    return NULL;
}

static void start(struct claimant *claimant, lk_store *store, const char *owner, int64_t wait_ms) {
    *claimant = (struct claimant){.store = store, .request = claim_request("q", owner)};
    claimant->request.wait_ms = wait_ms;
    assert_int_equal(pthread_create(&claimant->thread, NULL, claim_in_thread, claimant), 0);
}

/* Waits for its claim, which must be of `id`. */
static void expect_claim(struct claimant *claimant, const char *id) {
    assert_int_equal(pthread_join(claimant->thread, NULL), 0);
    assert_int_equal(claimant->outcome, LK_GRANTED);
    assert_string_equal(claimant->claim->id, id);
    lk_claim_free(claimant->claim);
}

static void test_waiting_for_a_push(void **state) {
    lk_store *store = store_of(state);
    struct claimant claimant;

    start(&claimant, store, "a", LK_FOREVER);
    push(store, "q", "1"); /* before it sleeps or after: it is found */
    expect_claim(&claimant, "1");
}

static void test_waiting_for_another_handle(void **state) {
    lk_store *store = store_of(state);
    lk_store *other = open_again(*state);
    struct claimant claimant;

    start(&claimant, store, "a", LK_FOREVER);
    push(other, "q", "1");
    expect_claim(&claimant, "1");
    start(&claimant, other, "b", LK_FOREVER);
    assert_int_equal(lk_retry(store, "q", "1", "a", 0, 0, NULL), LK_OK);
    expect_claim(&claimant, "1");
    lk_close(other);
}

static void test_each_waiter_gets_one_item(void **state) {
    enum { COUNT = 4 };
    lk_store *store = store_of(state);
    struct claimant claimants[COUNT];

    for (int i = 0; i < COUNT; i++) {
        start(&claimants[i], store, NULL, LK_FOREVER);
    }
    for (int i = 0; i < COUNT; i++) {
        const char id[] = {(char)('1' + i), '\0'};

        push(store, "q", id);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_join(claimants[i].thread, NULL), 0);
        assert_int_equal(claimants[i].outcome, LK_GRANTED);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(claimants[i].claim->id, claimants[j].claim->id);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        lk_claim_free(claimants[i].claim);
    }
}

/* Everything that may make an item claimable ends the wait. */
static void test_any_change_that_makes_an_item_claimable_ends_a_wait(void **state) {
    static const char *const needs[] = {"elsewhere"};
    lk_store *store = store_of(state);
    const lk_push_request needy = {
        .size = sizeof needy, .queue = "q", .id = "needy", .needs = needs, .need_count = 1};
    struct claimant claimant;

    push(store, "q", "1");
    uint64_t token = claim(store, "q", "a", "1");
    start(&claimant, store, "b", LK_FOREVER); /* given back */
    assert_int_equal(lk_retry(store, "q", "1", "a", token, 0, NULL), LK_OK);
    expect_claim(&claimant, "1");
    start(&claimant, store, "c", LK_FOREVER); /* lost */
    assert_int_equal(break_path(store, "q/1", true), 1);
    expect_claim(&claimant, "1");
    assert_int_equal(lk_done(store, "q", "1", "c", 0, NULL), LK_OK);
    assert_int_equal(try_part(store, "o", "q"), LK_GRANTED); /* a pause that ends */
    push(store, "q", "2");
    start(&claimant, store, "d", LK_FOREVER);
    assert_int_equal(release_part(store, "o", "q"), LK_OK);
    expect_claim(&claimant, "2");
    assert_int_equal(try_part(store, "o", "elsewhere"), LK_GRANTED); /* a need that is freed */
    push_request(store, &needy);
    start(&claimant, store, "e", LK_FOREVER);
    assert_int_equal(release_part(store, "o", "elsewhere"), LK_OK);
    expect_claim(&claimant, "needy");
}

static void test_an_expired_claim_ends_a_wait(void **state) {
    lk_store *store = store_of(state);
    struct claimant claimant;

    push(store, "q", "1");
    lk_claim_free(claim_ttl(store, "q", "a", "1", 3000));
    start(&claimant, store, "b", LK_FOREVER);
    expect_claim(&claimant, "1");
}

static void test_a_wait_ends_at_its_time_limit(void **state) {
    lk_store *store = store_of(state);
    lk_claim_request request = claim_request("q", "a");
    lk_claim_info *info = NULL;
    int64_t start_ms = now_ms();

    request.wait_ms = 120;
    assert_int_equal(lk_claim_next(store, &request, &info, NULL), LK_TIMEOUT);
    assert_true(now_ms() >= start_ms + 120);
    assert_null(info);
}

static void test_cancelling_a_wait(void **state) {
    lk_store *store = store_of(state);
    lk_cancel *cancel = lk_cancel_new();
    struct claimant claimant = {.store = store, .request = claim_request("q", "a")};

    claimant.request.wait_ms = LK_FOREVER;
    claimant.request.cancel = cancel;
    assert_int_equal(pthread_create(&claimant.thread, NULL, claim_in_thread, &claimant), 0);
    lk_cancel_now(cancel);
    assert_int_equal(pthread_join(claimant.thread, NULL), 0);
    assert_int_equal(claimant.outcome, LK_CANCELLED);
    assert_null(claimant.claim);
    lk_cancel_free(cancel);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static lk_outcome push_wrong(lk_store *store, const char *queue, const char *id, const char *need,
                             int64_t delay_ms) {
    const char *const needs[] = {need};
    const lk_push_request request = {.size = sizeof request,
                                     .queue = queue,
                                     .id = id,
                                     .delay_ms = delay_ms,
                                     .needs = needs,
                                     .need_count = need != NULL};
    bool untouched = true;
    lk_error error;
    lk_outcome outcome = lk_push(store, &request, &untouched, &error);

    assert_true(untouched && error.text[0] != '\0');
    return outcome;
}

static void test_wrong_pushes(void **state) {
    lk_store *store = store_of(state);
    lk_push_request many = {.size = sizeof many, .queue = "q", .id = "1", .need_count = 16};

    assert_int_equal(push_wrong(store, "q//", "1", NULL, 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "", NULL, 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", NULL, NULL, 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "a/b", NULL, 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "a b", NULL, 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "..", NULL, 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "1", "p?limit=0", 0), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "1", "q/1", 0), LK_INVALID); /* the item itself */
    assert_int_equal(push_wrong(store, "q", "1", NULL, -1), LK_INVALID);
    assert_int_equal(push_wrong(store, "q", "1", NULL, INT64_MAX), LK_INVALID);
    assert_int_equal(lk_push(store, &many, NULL, NULL), LK_INVALID);
    many.size = 8;
    assert_int_equal(lk_push(store, &many, NULL, NULL), LK_INVALID);
    assert_int_equal(stats_of(store, "q").pushed, 0);
}

static lk_outcome claim_wrong(lk_store *store, const lk_claim_request *request) {
    lk_claim_info *untouched = (lk_claim_info *)&store;
    lk_error error;
    lk_outcome outcome = lk_claim_next(store, request, &untouched, &error);

    assert_ptr_equal(untouched, &store);
    assert_int_equal(error.outcome, outcome);
    assert_true(error.text[0] != '\0');
    return outcome;
}

static void test_wrong_claims(void **state) {
    lk_store *store = store_of(state);
    lk_claim_request request = claim_request("q?", "a");

    push(store, "q", "1");
    assert_int_equal(claim_wrong(store, &request), LK_INVALID);
    request = claim_request("q", "");
    assert_int_equal(claim_wrong(store, &request), LK_INVALID);
    request = claim_request("q", "a");
    request.ttl_ms = 1;
    assert_int_equal(claim_wrong(store, &request), LK_INVALID);
    request = claim_request("q", "a");
    request.wait_ms = -1;
    assert_int_equal(claim_wrong(store, &request), LK_INVALID);
    request = claim_request("q", "a");
    request.max_attempts = 1000001;
    assert_int_equal(claim_wrong(store, &request), LK_INVALID);
    assert_int_equal(lk_done(store, "q", "1", NULL, 0, NULL), LK_INVALID);
    assert_int_equal(lk_done(store, "q", "a/b", "a", 0, NULL), LK_INVALID);
    assert_int_equal(lk_retry(store, "q", "1", "a", 0, -1, NULL), LK_INVALID);
    assert_int_equal(lk_unpark(store, "", "1", NULL), LK_INVALID);
    expect_state(store, "q", "1", "ready");
}

static void test_hints(void **state) {
    lk_queue_stats stats = {.pushed = 100, .claims = 100, .steals = 10, .duplicates = 300};

    (void)state;
    assert_null(lk_stats_hint(&stats));
    stats.steals = 11;
    assert_non_null(lk_stats_hint(&stats));
    stats.steals = 0;
    stats.duplicates = 303;
    assert_non_null(lk_stats_hint(&stats));
    stats.claims = 19; /* too little to go by */
    assert_null(lk_stats_hint(&stats));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(test_push_claim_done),
        TEST(test_only_the_claimant_ends_it),
        TEST(test_a_claimant_without_a_name),
        TEST(test_retry_and_its_delay),
        TEST(test_a_push_with_a_delay),
        TEST(test_an_item_is_parked_after_too_many_attempts),
        TEST(test_an_item_is_parked_when_its_claims_expire),
        TEST(test_a_paused_queue),
        TEST(test_a_stolen_claim),
        TEST(test_needs_are_locked_with_the_item),
        TEST(test_a_claim_skips_an_item_that_is_locked),
        TEST(test_a_broken_claim),
        TEST(test_waiting_for_a_push),
        TEST(test_waiting_for_another_handle),
        TEST(test_each_waiter_gets_one_item),
        TEST(test_any_change_that_makes_an_item_claimable_ends_a_wait),
        TEST(test_an_expired_claim_ends_a_wait),
        TEST(test_a_wait_ends_at_its_time_limit),
        TEST(test_cancelling_a_wait),
        TEST(test_wrong_pushes),
        TEST(test_wrong_claims),
        TEST(test_hints),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
