/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work (R16) on each engine: priorities, failures, drops; several items in one decision; lists of
 * queues. Skipped on a store that cannot.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { PAGES_AND_ONE = LK_MANY_MAX + 1 };

/* NULL: the store cannot. */
static lk_store *store_of(void **state) {
    return *state != NULL ? ((struct fixture *)*state)->store : NULL;
}

static int open_capable(void **state) {
    lk_queue_list *list = NULL;
    lk_outcome outcome;

    if (open_fixture(state) != 0) {
        return -1;
    }
    outcome = lk_queues(store_of(state), NULL, &list, NULL);
    lk_queue_list_free(list);
    if (outcome == LK_UNSUPPORTED) {
        (void)close_fixture(state);
        *state = NULL;
    }
    return 0;
}

static int close_capable(void **state) {
    return *state != NULL ? close_fixture(state) : 0;
}

#define SKIP_IF_UNSUPPORTED(state)                                                                 \
    do {                                                                                           \
        if (*(state) == NULL) {                                                                    \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* ---- short ways ------------------------------------------------------------------------------ */

static void push(lk_store *store, const char *queue, const char *id, int32_t priority) {
    const lk_push_request request = {
        .size = sizeof request, .queue = queue, .id = id, .priority = priority};

    assert_int_equal(lk_push(store, &request, NULL, NULL), LK_OK);
}

/* "item-000" and so on. */
static void push_some(lk_store *store, const char *queue, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char id[32];

        (void)snprintf(id, sizeof id, "item-%03zu", i);
        push(store, queue, id, 0);
    }
}

static lk_claim_list *claim_max(lk_store *store, const char *owner, size_t max,
                                uint32_t max_attempts) {
    const lk_claim_request request = {
        .size = sizeof request, .queue = "q", .owner = owner, .max_attempts = max_attempts};
    lk_claim_list *list = NULL;

    assert_int_equal(lk_claim_many(store, &request, max, &list, NULL), LK_GRANTED);
    assert_in_range(list->count, 1, max);
    return list;
}

static lk_queue_stats stats_of(lk_store *store, const char *queue) {
    lk_queue_stats stats;

    assert_int_equal(lk_stats(store, queue, &stats, NULL), LK_OK);
    return stats;
}

/* The only item of the queue. Free the list. */
static lk_item_list *only_item(lk_store *store, const char *queue) {
    lk_item_list *list = NULL;

    assert_int_equal(lk_items(store, queue, &list, NULL), LK_OK);
    assert_int_equal(list->count, 1);
    return list;
}

/* ---- pushing --------------------------------------------------------------------------------- */

static void test_several_pushes_are_one_call(void **state) {
    static const char *const needs[] = {"pool?limit=3"};
    lk_store *store = store_of(state);
    lk_push_request requests[] = {
        {.size = sizeof *requests, .queue = "q", .id = "1", .value = "one", .value_size = 3},
        {.size = sizeof *requests, .queue = "q", .id = "2", .priority = 7},
        {.size = sizeof *requests, .queue = "q", .id = "1", .value = "again", .value_size = 5},
        {.size = sizeof *requests, .queue = "q", .id = "3", .needs = needs, .need_count = 1},
    };
    lk_push_counts counts;
    lk_item_list *list = NULL;

    SKIP_IF_UNSUPPORTED(state);
    assert_int_equal(lk_push_many(store, requests, 4, &counts, NULL), LK_OK);
    assert_int_equal(counts.added, 3);
    assert_int_equal(counts.duplicates, 1);
    assert_int_equal(lk_push_many(store, requests, 2, &counts, NULL), LK_OK);
    assert_int_equal(counts.added, 0);
    assert_int_equal(counts.duplicates, 2);
    assert_int_equal(stats_of(store, "q").pushed, 3);
    assert_int_equal(stats_of(store, "q").duplicates, 3);
    assert_int_equal(lk_items(store, "q", &list, NULL), LK_OK);
    assert_int_equal(list->count, 3);
    assert_string_equal(list->items[0].id, "1");
    assert_string_equal(list->items[0].value, "one");
    assert_int_equal(list->items[1].priority, 7);
    assert_string_equal(list->items[2].needs[0], "pool?limit=3");
    lk_item_list_free(list);
}

/* What is wrong with one is found before any is pushed. */
static void test_pushes_are_all_checked_first(void **state) {
    lk_store *store = store_of(state);
    lk_push_request requests[] = {{.size = sizeof *requests, .queue = "q", .id = "1"},
                                  {.size = sizeof *requests, .queue = "q", .id = "a/b"}};

    SKIP_IF_UNSUPPORTED(state);
    assert_int_equal(lk_push_many(store, requests, 2, NULL, NULL), LK_INVALID);
    requests[1].id = "2";
    requests[1].queue = "r";
    assert_int_equal(lk_push_many(store, requests, 2, NULL, NULL), LK_INVALID);
    requests[1].queue = "q";
    requests[1].priority = 32768;
    assert_int_equal(lk_push_many(store, requests, 2, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_push_many(store, requests, 0, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_push_many(store, requests, PAGES_AND_ONE, NULL, NULL), LK_INVALID);
    assert_int_equal(stats_of(store, "q").pushed, 0);
}

/* ---- claiming -------------------------------------------------------------------------------- */

static void test_claims_of_one_call_share_a_token(void **state) {
    static const char *const order[] = {"high", "item-000", "item-001", "item-002", "low"};
    lk_store *store = store_of(state);
    lk_claim_list *list;

    SKIP_IF_UNSUPPORTED(state);
    push(store, "q", "low", -1);
    push_some(store, "q", 3);
    push(store, "q", "high", 1);
    list = claim_max(store, "a", 4, 0);
    assert_int_equal(list->count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(list->claims[i]->id, order[i]);
        assert_string_equal(list->claims[i]->owner, "a");
        assert_int_equal(list->claims[i]->attempt, 1);
        assert_int_equal(list->claims[i]->token, list->claims[0]->token);
    }
    assert_int_equal(count_live(store), 4);
    lk_claim_list_free(list);
    list = claim_max(store, "b", 4, 0);
    assert_int_equal(list->count, 1);
    assert_string_equal(list->claims[0]->id, order[4]);
    lk_claim_list_free(list);
}

static void test_nothing_to_claim_is_busy(void **state) {
    lk_store *store = store_of(state);
    lk_claim_request request = {.size = sizeof request, .queue = "q"};
    lk_claim_list *untouched = (lk_claim_list *)&request;

    SKIP_IF_UNSUPPORTED(state);
    assert_int_equal(lk_claim_many(store, &request, 5, &untouched, NULL), LK_BUSY);
    request.wait_ms = 50;
    assert_int_equal(lk_claim_many(store, &request, 5, &untouched, NULL), LK_TIMEOUT);
    request.wait_ms = 0;
    assert_int_equal(lk_claim_many(store, &request, 0, &untouched, NULL), LK_INVALID);
    assert_int_equal(lk_claim_many(store, &request, LK_CLAIMS_MAX + 1, &untouched, NULL),
                     LK_INVALID);
    assert_ptr_equal(untouched, &request);
}

struct waiter_for_items {
    lk_store *store;
    lk_claim_list *list;
    pthread_t thread;
};

static void *wait_for_items(void *context) {
    const lk_claim_request request = {.size = sizeof request, .queue = "q", .wait_ms = LK_FOREVER};
    struct waiter_for_items *waiter = context;

    assert_int_equal(lk_claim_many(waiter->store, &request, 3, &waiter->list, NULL), LK_GRANTED);
    return NULL;
}

/* The call does not wait until there are as many as it takes. */
static void test_a_wait_ends_with_the_first_items(void **state) {
    struct waiter_for_items waiter = {.store = store_of(state)};

    SKIP_IF_UNSUPPORTED(state);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_items, &waiter), 0);
    push(waiter.store, "q", "1", 0);
    assert_int_equal(pthread_join(waiter.thread, NULL), 0);
    assert_int_equal(waiter.list->count, 1);
    lk_claim_list_free(waiter.list);
}

/* ---- ending claims --------------------------------------------------------------------------- */

static void test_those_that_are_held_are_done(void **state) {
    static const char *const ids[] = {"item-000", "item-001", "item-002"};
    lk_store *store = store_of(state);
    uint64_t token;
    uint64_t done = 0;
    lk_claim_list *list;

    SKIP_IF_UNSUPPORTED(state);
    push_some(store, "q", 4);
    list = claim_max(store, "a", 3, 0);
    token = list->claims[0]->token;
    lk_claim_list_free(list);
    assert_int_equal(lk_retry(store, "q", ids[1], "a", 0, 0, NULL), LK_OK);
    assert_int_equal(lk_done_many(store, "q", ids, 3, "b", token, &done, NULL), LK_LOST);
    assert_int_equal(done, 0);
    assert_int_equal(lk_done_many(store, "q", ids, 3, "a", token, &done, NULL), LK_LOST);
    assert_int_equal(done, 2);
    assert_int_equal(stats_of(store, "q").done, 2);
    assert_int_equal(stats_of(store, "q").ready_now, 2);
    /* Repeated with its token, each is answered as the first time. */
    assert_int_equal(lk_done_many(store, "q", ids, 1, "a", token, &done, NULL), LK_OK);
    assert_int_equal(done, 1);
    assert_int_equal(stats_of(store, "q").done, 2);
    assert_int_equal(lk_done_many(store, "q", ids, 0, "a", token, &done, NULL), LK_INVALID);
    assert_int_equal(lk_done_many(store, "q", ids, 3, NULL, token, &done, NULL), LK_INVALID);
}

static void test_a_failure_is_kept(void **state) {
    lk_store *store = store_of(state);
    lk_retry_request retry = {.size = sizeof retry,
                              .queue = "q",
                              .id = "1",
                              .owner = "a",
                              .has_exit = true,
                              .exit_code = -1,
                              .error = "no\0space",
                              .error_size = 8};
    lk_item_list *list;

    SKIP_IF_UNSUPPORTED(state);
    push(store, "q", "1", 3);
    list = only_item(store, "q");
    assert_false(list->items[0].has_last_exit);
    assert_null(list->items[0].last_error);
    lk_item_list_free(list);
    assert_int_equal(lk_retry_failed(store, &retry, NULL), LK_LOST);
    lk_claim_list_free(claim_max(store, "a", 1, 0));
    retry.error_size = 1025;
    assert_int_equal(lk_retry_failed(store, &retry, NULL), LK_INVALID);
    retry.error_size = 8;
    assert_int_equal(lk_retry_failed(store, &retry, NULL), LK_OK);
    lk_claim_list_free(claim_max(store, "a", 1, 0));
    assert_int_equal(lk_retry(store, "q", "1", "a", 0, 0, NULL), LK_OK);
    list = only_item(store, "q");
    assert_true(list->items[0].has_last_exit);
    assert_int_equal(list->items[0].last_exit, -1);
    assert_int_equal(list->items[0].last_error_size, 8);
    assert_memory_equal(list->items[0].last_error, "no\0space", 9);
    assert_int_equal(list->items[0].priority, 3);
    lk_item_list_free(list);
}

/* ---- dropping and reviving ------------------------------------------------------------------- */

static void test_what_is_not_claimed_can_be_dropped(void **state) {
    static const char *const ids[] = {"item-000", "item-001", "gone"};
    lk_store *store = store_of(state);
    uint64_t dropped = 0;
    lk_item_list *list;

    SKIP_IF_UNSUPPORTED(state);
    push_some(store, "q", 3);
    lk_claim_list_free(claim_max(store, "a", 1, 0));
    assert_int_equal(lk_drop(store, "q", ids, 3, &dropped, NULL), LK_LOST);
    assert_int_equal(dropped, 1);
    assert_int_equal(lk_done(store, "q", ids[0], "a", 0, NULL), LK_OK);
    list = only_item(store, "q");
    assert_string_equal(list->items[0].id, "item-002");
    lk_item_list_free(list);
    assert_int_equal(stats_of(store, "q").done, 1);
    assert_int_equal(lk_drop(store, "q", ids, 0, &dropped, NULL), LK_INVALID);
}

/* Parks so many items. */
static void park(lk_store *store, size_t count) {
    push_some(store, "q", count);
    while (count > 0) {
        lk_claim_list *list = claim_max(store, "a", LK_CLAIMS_MAX, 1);

        for (size_t i = 0; i < list->count; i++) {
            assert_int_equal(lk_retry(store, "q", list->claims[i]->id, "a", 0, 0, NULL), LK_OK);
        }
        count -= list->count;
        lk_claim_list_free(list);
    }
}

static void test_all_parked_items_are_revived_or_dropped(void **state) {
    lk_store *store = store_of(state);
    uint64_t count = 0;

    SKIP_IF_UNSUPPORTED(state);
    park(store, PAGES_AND_ONE);
    assert_int_equal(stats_of(store, "q").parked_now, PAGES_AND_ONE);
    assert_int_equal(lk_unpark_all(store, "q", &count, NULL), LK_OK);
    assert_int_equal(count, PAGES_AND_ONE);
    assert_int_equal(stats_of(store, "q").ready_now, PAGES_AND_ONE);
    assert_int_equal(lk_drop_parked(store, "q", &count, NULL), LK_OK);
    assert_int_equal(count, 0);
    for (size_t left = 3; left > 0;) {
        lk_claim_list *list = claim_max(store, "a", left, 1);

        for (size_t i = 0; i < list->count; i++) {
            assert_int_equal(lk_retry(store, "q", list->claims[i]->id, "a", 0, 0, NULL), LK_OK);
        }
        left -= list->count;
        lk_claim_list_free(list);
    }
    assert_int_equal(lk_drop_parked(store, "q", &count, NULL), LK_OK);
    assert_int_equal(count, 3);
    assert_int_equal(stats_of(store, "q").ready_now, PAGES_AND_ONE - 3);
    assert_int_equal(stats_of(store, "q").parked_now, 0);
    assert_int_equal(lk_unpark_all(store, "none", &count, NULL), LK_OK);
    assert_int_equal(count, 0);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void expect_queues(lk_store *store, const char *prefix, const char *const *expected,
                          size_t count) {
    lk_queue_list *list = NULL;

    assert_int_equal(lk_queues(store, prefix, &list, NULL), LK_OK);
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list->queues[i].queue, expected[i]);
    }
    lk_queue_list_free(list);
}

static void test_queues_are_listed_by_path(void **state) {
    static const char *const all[] = {"a", "a-b", "a/b", "a/b/c", "a/b0", "b"};
    lk_store *store = store_of(state);
    lk_queue_list *list = NULL;

    SKIP_IF_UNSUPPORTED(state);
    expect_queues(store, NULL, NULL, 0);
    for (size_t i = 6; i-- > 0;) {
        push(store, all[i], "1", 0);
    }
    push(store, "a/b", "2", 0);
    expect_queues(store, NULL, all, 6);
    expect_queues(store, "a", (const char *const[]){"a", "a/b", "a/b/c", "a/b0"}, 4);
    expect_queues(store, "a/b", (const char *const[]){"a/b", "a/b/c"}, 2);
    expect_queues(store, "c", NULL, 0);
    assert_int_equal(lk_queues(store, "a//b", &list, NULL), LK_INVALID);
    assert_int_equal(lk_queues(store, "a/b", &list, NULL), LK_OK);
    assert_int_equal(list->queues[0].counts.pushed, 2);
    assert_int_equal(list->queues[0].counts.ready_now, 2);
    assert_int_equal(list->queues[1].counts.pushed, 1);
    lk_queue_list_free(list);
}

static void test_queues_of_several_pages_are_listed(void **state) {
    lk_store *store = store_of(state);
    lk_queue_list *list = NULL;

    SKIP_IF_UNSUPPORTED(state);
    for (int i = 0; i < PAGES_AND_ONE; i++) {
        char queue[32];

        (void)snprintf(queue, sizeof queue, "many/%04d", i);
        push(store, queue, "1", 0);
    }
    assert_int_equal(lk_queues(store, "many", &list, NULL), LK_OK);
    assert_int_equal(list->count, PAGES_AND_ONE);
    assert_string_equal(list->queues[0].queue, "many/0000");
    assert_string_equal(list->queues[PAGES_AND_ONE - 1].queue, "many/1000");
    lk_queue_list_free(list);
}

int main(int argc, char **argv) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_capable, close_capable)
    const struct CMUnitTest tests[] = {
        TEST(test_several_pushes_are_one_call),
        TEST(test_pushes_are_all_checked_first),
        TEST(test_claims_of_one_call_share_a_token),
        TEST(test_nothing_to_claim_is_busy),
        TEST(test_a_wait_ends_with_the_first_items),
        TEST(test_those_that_are_held_are_done),
        TEST(test_a_failure_is_kept),
        TEST(test_what_is_not_claimed_can_be_dropped),
        TEST(test_all_parked_items_are_revived_or_dropped),
        TEST(test_queues_are_listed_by_path),
        TEST(test_queues_of_several_pages_are_listed),
    };

    choose_scheme(argc, argv);
    return cmocka_run_group_tests_name("several items", tests, NULL, NULL);
}
