/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several commands in one transaction (R16), and what items have besides: priorities, the cause of
 * their last failure, drops. What the rows keep is read by a store that is opened again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fixture.h"

enum { FEW = 20, MANY = 20000, SERIES_MAX = 100, NO_DEARER = 2 };

#define SECOND_US INT64_C(1000000)

static struct lk_path queue_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

/* ---- series ---------------------------------------------------------------------------------- */

/* Commands of one kind for items whose ids are numbers, and their answers. */
struct series {
    struct lk_command commands[SERIES_MAX];
    struct lk_series_answer answers[SERIES_MAX];
    char ids[SERIES_MAX][12];
    size_t count;
    struct lk_series result;
};

static struct lk_command *add(struct series *series, enum lk_command_kind kind) {
    struct lk_command *command = &series->commands[series->count++];

    *command = (struct lk_command){.kind = kind};
    return command;
}

static struct lk_slice next_id(struct series *series, int number) {
    char *id = series->ids[series->count - 1];

    (void)snprintf(id, sizeof series->ids[0], "%d", number);
    return lk_slice_of(id);
}

static void add_push(struct series *series, const char *queue, int number, int32_t priority) {
    struct lk_push *push = &add(series, LK_COMMAND_PUSH)->push;

    *push = (struct lk_push){.queue = queue_of(queue),
                             .id = next_id(series, number),
                             .value = lk_slice_of("work"),
                             .priority = priority};
}

static void add_takes(struct series *series, const char *queue, const char *owner,
                      uint64_t ask_number, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct lk_take *take = &add(series, LK_COMMAND_TAKE)->take;
        *take = (struct lk_take){.queue = queue_of(queue),
                                 .owner = lk_slice_of(owner),
                                 .ttl_ms = 600000,
                                 .max_attempts = 1,
                                 .ask_number = lk_take_number(ask_number, i)};
    }
}

static void add_done(struct series *series, const char *queue, int number, const char *owner) {
    struct lk_finish *finish = &add(series, LK_COMMAND_FINISH)->finish;

    *finish = (struct lk_finish){
        .queue = queue_of(queue), .id = next_id(series, number), .owner = lk_slice_of(owner)};
}

static lk_outcome decide(struct testcase *testcase, struct series *series) {
    struct lk_patience patience = test_patience(10 * SECOND_US);

    series->result.answers = series->answers;
    return testcase->engine->ops->batches->decide_many(testcase->engine, series->commands,
                                                       series->count, &patience, &series->result);
}

static void push_numbers(struct testcase *testcase, const char *queue, int from, int to) {
    while (from < to) {
        struct series series = {.count = 0};
        for (; from < to && series.count < SERIES_MAX; from++) {
            add_push(&series, queue, from, 0);
        }
        assert_int_equal(decide(testcase, &series), LK_OK);
        lk_series_done(&series.result);
    }
}

static int64_t sql(const struct testcase *testcase, const char *text) {
    return fixture_sql(testcase->fixture.file, text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void every_command_has_an_answer_of_its_own(void **state) {
    struct testcase *testcase = *state;
    struct series pushes = {.count = 0};
    struct series ends = {.count = 0};
    uint64_t token;

    add_push(&pushes, "q", 1, 0);
    add_push(&pushes, "q", 2, 0);
    add_push(&pushes, "q", 1, 0);
    assert_int_equal(decide(testcase, &pushes), LK_OK);
    assert_int_equal(pushes.result.count, 3);
    assert_true(pushes.answers[0].pushed.added && pushes.answers[1].pushed.added);
    assert_false(pushes.answers[2].pushed.added);
    lk_series_done(&pushes.result);

    struct series takes = {.count = 0};
    add_takes(&takes, "q", "w", 7, 3);
    assert_int_equal(decide(testcase, &takes), LK_OK);
    assert_int_equal(takes.result.count, 3);
    assert_int_equal(takes.answers[0].outcome, LK_GRANTED);
    assert_int_equal(takes.answers[1].outcome, LK_GRANTED);
    assert_int_equal(takes.answers[2].outcome, LK_BUSY);
    assert_string_equal(takes.answers[0].claim->id, "1");
    assert_string_equal(takes.answers[1].claim->id, "2");
    assert_string_equal(takes.answers[1].claim->value, "work");
    token = takes.answers[0].claim->token;
    assert_int_equal(takes.answers[1].claim->token, token);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_request WHERE is_claim"), 2);
    lk_series_done(&takes.result);

    testcase_reopen(testcase);
    assert_int_equal(decide(testcase, &takes), LK_OK); /* the same ask again */
    assert_int_equal(takes.answers[0].claim->token, token);
    assert_string_equal(takes.answers[1].claim->id, "2");
    lk_series_done(&takes.result);

    add_done(&ends, "q", 1, "w");
    add_done(&ends, "q", 3, "w");
    add_done(&ends, "q", 2, "w");
    assert_int_equal(decide(testcase, &ends), LK_OK);
    assert_int_equal(ends.answers[0].outcome, LK_OK);
    assert_int_equal(ends.answers[1].outcome, LK_LOST);
    assert_int_equal(ends.answers[2].outcome, LK_OK);
    lk_series_done(&ends.result);
    assert_int_equal(sql(testcase, "SELECT done FROM lk_queue"), 2);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_item"), 0);
}

/* A command that is refused takes those before it back. */
static void a_series_is_decided_as_a_whole_or_not_at_all(void **state) {
    struct testcase *testcase = *state;
    struct series series = {.count = 0};

    add_push(&series, "q", 1, 0);
    add_push(&series, "q", 2, LK_PRIORITY_MAX + 1);
    assert_int_equal(decide(testcase, &series), LK_INVALID);
    assert_int_equal(series.result.count, 0);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_item"), 0);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_queue"), 0);
    push_numbers(testcase, "q", 1, 3);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_item"), 2);
}

static void the_greatest_priority_is_claimed_first(void **state) {
    static const int32_t priorities[] = {0, 5, LK_PRIORITY_MIN, 5, LK_PRIORITY_MAX};
    static const char *const order[] = {"4", "1", "3", "0", "2"};
    struct testcase *testcase = *state;
    struct series pushes = {.count = 0};

    for (int i = 0; i < 5; i++) {
        add_push(&pushes, "q", i, priorities[i]);
    }
    assert_int_equal(decide(testcase, &pushes), LK_OK);
    lk_series_done(&pushes.result);
    testcase_reopen(testcase);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fixture_take(testcase->engine, "q", "w", 0, &testcase->claim, NULL),
                         LK_GRANTED);
        assert_string_equal(testcase->claim->id, order[i]);
    }
}

static lk_outcome give_back(struct testcase *testcase, const char *queue, const char *id,
                            struct lk_item_failure failure) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    const struct lk_finish finish = {.queue = queue_of(queue),
                                     .id = lk_slice_of(id),
                                     .owner = lk_slice_of("w"),
                                     .kind = LK_FINISH_RETRY,
                                     .failure = failure};
    lk_error error;

    return call_finish(testcase->engine, &finish, &patience, &error);
}

static lk_item_list *items_of(struct testcase *testcase, const char *queue) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    struct lk_path path = queue_of(queue);
    lk_item_list *list = NULL;
    lk_error error;

    assert_int_equal(testcase->engine->ops->items(testcase->engine,
                                                  &(struct lk_item_query){.queue = &path},
                                                  &patience, &list, &error),
                     LK_OK);
    return list;
}

static void assert_failure(struct testcase *testcase, bool has_exit, int exit_code,
                           const char *text) {
    lk_item_list *list = items_of(testcase, "q");

    assert_int_equal(list->count, 1);
    assert_int_equal(list->items[0].has_last_exit, has_exit);
    assert_int_equal(list->items[0].last_exit, exit_code);
    assert_string_equal(list->items[0].last_error != NULL ? list->items[0].last_error : "", text);
    lk_item_list_free(list);
}

static void take_one(struct testcase *testcase) {
    assert_int_equal(fixture_take(testcase->engine, "q", "w", 0, &testcase->claim, NULL),
                     LK_GRANTED);
}

/* A retry that says nothing leaves it. */
static void an_item_keeps_the_cause_of_its_last_failure(void **state) {
    struct testcase *testcase = *state;

    assert_int_equal(fixture_push(testcase->engine, "q", "1", lk_slice_of(""), 0, ""), LK_OK);
    take_one(testcase);
    assert_failure(testcase, false, 0, "");
    assert_int_equal(
        give_back(testcase, "q", "1", (struct lk_item_failure){true, -7, lk_slice_of("no route")}),
        LK_OK);
    testcase_reopen(testcase);
    assert_failure(testcase, true, -7, "no route");
    assert_int_equal(sql(testcase, "SELECT last_error = 'no route' FROM lk_items"), 1);
    take_one(testcase);
    assert_int_equal(give_back(testcase, "q", "1", (struct lk_item_failure){.has_exit = false}),
                     LK_OK);
    assert_failure(testcase, true, -7, "no route");
    take_one(testcase);
    assert_int_equal(give_back(testcase, "q", "1", (struct lk_item_failure){.has_exit = true}),
                     LK_OK);
    assert_failure(testcase, true, 0, "");
    assert_int_equal(sql(testcase, "SELECT last_error IS NULL FROM lk_item"), 1);
}

static lk_outcome drop(struct testcase *testcase, const char *id, bool only_parked) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    const struct lk_command command = {
        .kind = LK_COMMAND_DROP,
        .drop = {.queue = queue_of("q"), .id = lk_slice_of(id), .only_parked = only_parked}};
    struct lk_decision decision;
    lk_outcome outcome =
        testcase->engine->ops->decide(testcase->engine, &command, &patience, &decision);

    lk_decision_done(&decision);
    return outcome;
}

static void what_is_claimed_is_not_dropped(void **state) {
    struct testcase *testcase = *state;

    push_numbers(testcase, "q", 1, 3);
    take_one(testcase);
    assert_int_equal(drop(testcase, "1", false), LK_LOST);
    assert_int_equal(drop(testcase, "2", true), LK_LOST);
    assert_int_equal(drop(testcase, "2", false), LK_OK);
    assert_int_equal(drop(testcase, "2", false), LK_LOST);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_item"), 1);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_item_value"), 1);
    assert_int_equal(sql(testcase, "SELECT done FROM lk_queue"), 0);
}

/* The step that drops it ends its claim as well. */
static void an_item_whose_claim_is_overdue_is_dropped(void **state) {
    struct testcase *testcase = *state;

    push_numbers(testcase, "q", 1, 2);
    take_one(testcase);
    fixture_clock_advance(&testcase->clock, 61 * SECOND_US);
    assert_int_equal(drop(testcase, "1", false), LK_OK);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_item"), 0);
    assert_int_equal(sql(testcase, "SELECT count(*) FROM lk_request"), 0);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* The ids of a page of parked items, one after the other. */
static uint64_t read_parked(struct testcase *testcase, uint64_t behind, size_t max,
                            const char *expected) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    struct lk_path queue = queue_of("q");
    const struct lk_parked_query query = {.queue = &queue, .behind = behind, .max = max};
    char ids[64] = "";
    uint64_t reached = 0;
    lk_item_list *list = NULL;
    lk_error error;

    assert_int_equal(testcase->engine->ops->batches->parked(testcase->engine, &query, &patience,
                                                            &list, &reached, &error),
                     LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        (void)strcat(ids, list->items[i].id);
    }
    assert_string_equal(ids, expected);
    lk_item_list_free(list);
    return reached;
}

/* A claim that perishes for the last time is in the list, although no call has met it yet. */
static void parked_items_are_read_in_pages(void **state) {
    struct testcase *testcase = *state;
    struct series takes = {.count = 0};
    uint64_t reached;

    push_numbers(testcase, "q", 1, 6);
    add_takes(&takes, "q", "w", 1, 4);
    assert_int_equal(decide(testcase, &takes), LK_OK);
    lk_series_done(&takes.result);
    (void)read_parked(testcase, 0, 10, "");
    fixture_clock_advance(&testcase->clock, 601 * SECOND_US);
    reached = read_parked(testcase, 0, 2, "12");
    assert_true(reached != 0);
    assert_int_equal(read_parked(testcase, reached, 2, "34"), 0);
    assert_int_equal(sql(testcase, "SELECT parked FROM lk_queue"), 4);
}

static void assert_queues(struct testcase *testcase, const char *prefix, const char *behind,
                          size_t max, const char *expected, bool has_more) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    struct lk_path path = prefix != NULL ? queue_of(prefix) : (struct lk_path){.size = 0};
    const struct lk_queue_query query = {
        .prefix = prefix != NULL ? &path : NULL, .behind = lk_slice_of(behind), .max = max};
    char text[128] = "";
    bool found_more = !has_more;
    lk_queue_list *list = NULL;
    lk_error error;

    assert_int_equal(testcase->engine->ops->batches->queues(testcase->engine, &query, &patience,
                                                            &list, &found_more, &error),
                     LK_OK);
    for (size_t i = 0; i < list->count; i++) {
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%s:%d ", list->queues[i].queue,
                       (int)list->queues[i].counts.ready_now);
    }
    assert_string_equal(text, expected);
    assert_int_equal(found_more, has_more);
    lk_queue_list_free(list);
}

static void queues_are_listed_by_path(void **state) {
    struct testcase *testcase = *state;

    push_numbers(testcase, "a", 0, 1);
    push_numbers(testcase, "a-b", 0, 2);
    push_numbers(testcase, "a/x", 0, 3);
    push_numbers(testcase, "a/y/z", 0, 4);
    push_numbers(testcase, "b", 0, 5);
    assert_queues(testcase, NULL, "", 10, "a:1 a-b:2 a/x:3 a/y/z:4 b:5 ", false);
    assert_queues(testcase, NULL, "a-b", 2, "a/x:3 a/y/z:4 ", true);
    assert_queues(testcase, "a", "", 10, "a:1 a/x:3 a/y/z:4 ", false);
    assert_queues(testcase, "a", "", 1, "a:1 ", true);
    assert_queues(testcase, "a", "a", 1, "a/x:3 ", true);
    assert_queues(testcase, "a", "a/x", 1, "a/y/z:4 ", false);
    assert_queues(testcase, "a/y", "", 10, "a/y/z:4 ", false);
    assert_queues(testcase, "c", "", 10, "", false);
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* The steps of a claim of ten items, of which five are done, and of a page of parked ones. */
static int64_t cost_of(struct testcase *testcase, const char *queue) {
    struct lk_patience patience = test_patience(10 * SECOND_US);
    struct lk_path path = queue_of(queue);
    const struct lk_parked_query query = {.queue = &path, .max = 3};
    struct series takes = {.count = 0};
    struct series ends = {.count = 0};
    lk_item_list *list = NULL;
    uint64_t reached;
    lk_error error;

    (void)testcase_steps(testcase);
    add_takes(&takes, queue, "w", 1, 10);
    assert_int_equal(decide(testcase, &takes), LK_OK);
    assert_int_equal(takes.answers[9].outcome, LK_GRANTED);
    for (size_t i = 0; i < 5; i++) {
        add_done(&ends, queue, atoi(takes.answers[i].claim->id), "w");
    }
    lk_series_done(&takes.result);
    assert_int_equal(decide(testcase, &ends), LK_OK);
    assert_int_equal(ends.answers[4].outcome, LK_OK);
    lk_series_done(&ends.result);
    assert_int_equal(testcase->engine->ops->batches->parked(testcase->engine, &query, &patience,
                                                            &list, &reached, &error),
                     LK_OK);
    lk_item_list_free(list);
    return testcase_steps(testcase);
}

/* Half of the items are parked, and priorities differ. */
static void make_queue(struct testcase *testcase, const char *queue, int count) {
    char text[256];

    push_numbers(testcase, queue, 0, count);
    (void)snprintf(text, sizeof text,
                   "UPDATE lk_item SET priority = number %% 100,"
                   " state = CASE number %% 2 WHEN 1 THEN 'parked' ELSE state END"
                   " WHERE queue = '%s'",
                   queue);
    (void)sql(testcase, text);
}

static void a_series_costs_no_more_in_a_long_queue(void **state) {
    struct testcase *testcase = *state;
    int64_t few;
    int64_t many;

    make_queue(testcase, "warm", 2 * FEW);
    make_queue(testcase, "few", 2 * FEW);
    make_queue(testcase, "many", MANY);
    (void)cost_of(testcase, "warm");
    few = cost_of(testcase, "few");
    many = cost_of(testcase, "many");
    (void)printf("# ten claims: %lld steps with few items, %lld with many\n", (long long)few,
                 (long long)many);
    assert_true(many <= NO_DEARER * few);
}

#define IN_A_SCENE(test) cmocka_unit_test_setup_teardown(test, testcase_setup, testcase_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_SCENE(every_command_has_an_answer_of_its_own),
        IN_A_SCENE(a_series_is_decided_as_a_whole_or_not_at_all),
        IN_A_SCENE(the_greatest_priority_is_claimed_first),
        IN_A_SCENE(an_item_keeps_the_cause_of_its_last_failure),
        IN_A_SCENE(what_is_claimed_is_not_dropped),
        IN_A_SCENE(an_item_whose_claim_is_overdue_is_dropped),
        IN_A_SCENE(parked_items_are_read_in_pages),
        IN_A_SCENE(queues_are_listed_by_path),
        IN_A_SCENE(a_series_costs_no_more_in_a_long_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
