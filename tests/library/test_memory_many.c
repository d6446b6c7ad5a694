/* SPDX-License-Identifier: Apache-2.0 */
/* The engine `mem:` behind its table: series of commands that are repeated, and pages. */
#include "../calls.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"
#include "support.h"

struct setup {
    struct lk_engine *engine;
    struct lk_path queue;
};

static const struct lk_patience none = {.until_us = 0};

static int open_setup(void **state) {
    static struct setup setup;
    const struct lk_memory_options options = {.time = NULL};

    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &setup.engine, NULL), LK_OK);
    assert_int_equal(lk_path_parse(lk_slice_of("q"), &setup.queue, NULL), LK_OK);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    struct setup *setup = *state;

    setup->engine->ops->close(setup->engine);
    return 0;
}

static void push(struct setup *setup, const struct lk_path *queue, const char *id) {
    const struct lk_push push = {.queue = *queue, .id = lk_slice_of(id)};
    bool is_added = false;

    assert_int_equal(call_push(setup->engine, &push, &none, &is_added, NULL), LK_OK);
    assert_true(is_added);
}

/* Takes with the numbers of one ask. */
static void take(struct setup *setup, uint64_t ask_number, struct lk_command *commands,
                 size_t count, struct lk_series *series) {
    for (size_t i = 0; i < count; i++) {
        commands[i] = (struct lk_command){.kind = LK_COMMAND_TAKE};
        commands[i].take = (struct lk_take){.queue = setup->queue,
                                            .owner = lk_slice_of("a"),
                                            .ttl_ms = LK_TTL_DEFAULT_MS,
                                            .max_attempts = 1,
                                            .ask_number = lk_take_number(ask_number, i)};
    }
    assert_int_equal(
        setup->engine->ops->batches->decide_many(setup->engine, commands, count, &none, series),
        LK_OK);
}

static void expect_item(const struct lk_series *series, size_t at, const char *id) {
    assert_int_equal(series->answers[at].outcome, LK_GRANTED);
    assert_string_equal(series->answers[at].claim->id, id);
    assert_int_equal(series->answers[at].claim->token, series->answers[0].claim->token);
    assert_int_equal(series->answers[at].claim->attempt, 1);
}

/* R3: the same items with the same token, however often; another ask gets others. */
static void test_a_repeated_series_has_the_same_answers(void **state) {
    struct setup *setup = *state;
    struct lk_command commands[3];
    struct lk_series_answer answers[3];
    struct lk_series series = {.answers = answers};
    uint64_t token = 0;

    push(setup, &setup->queue, "1");
    push(setup, &setup->queue, "2");
    for (int turn = 0; turn < 3; turn++) {
        take(setup, 7, commands, 3, &series);
        assert_int_equal(series.count, 3);
        expect_item(&series, 0, "1");
        expect_item(&series, 1, "2");
        assert_int_equal(answers[2].outcome, LK_BUSY);
        assert_string_not_equal(series.error.text, "");
        assert_true(turn == 0 || answers[0].claim->token == token);
        token = answers[0].claim->token;
        lk_series_done(&series);
        if (turn == 1) { /* its sequence is a later draw, so its claim needs a token of its own */
            push(setup, &setup->queue, "3");
        }
    }
    take(setup, 8, commands, 3, &series);
    assert_int_equal(series.count, 2);
    expect_item(&series, 0, "3");
    assert_true(answers[0].claim->token > token);
    lk_series_done(&series);
}

static void test_nothing_for_a_series_can_be_waited_out(void **state) {
    struct setup *setup = *state;
    struct lk_command commands[2];
    struct lk_series_answer answers[2];
    struct lk_series series = {.answers = answers};

    take(setup, 1, commands, 2, &series);
    assert_int_equal(series.count, 1);
    assert_int_equal(answers[0].outcome, LK_BUSY);
    push(setup, &setup->queue, "1");
    assert_int_equal(setup->engine->ops->await(setup->engine, &series.cursor, INT64_MAX, NULL),
                     LK_OK);
    lk_series_done(&series);
}

static void test_parked_items_come_by_pages(void **state) {
    static const char *const ids[] = {"1", "2", "3"};
    struct setup *setup = *state;
    struct lk_command commands[3];
    struct lk_series_answer answers[3];
    struct lk_series series = {.answers = answers};
    struct lk_parked_query query = {.queue = &setup->queue, .max = 2};

    for (size_t i = 0; i < 3; i++) {
        push(setup, &setup->queue, ids[i]);
    }
    take(setup, 1, commands, 3, &series);
    lk_series_done(&series);
    for (size_t i = 0; i < 3; i++) {
        const struct lk_finish retry = {.queue = setup->queue,
                                        .id = lk_slice_of(ids[i]),
                                        .owner = lk_slice_of("a"),
                                        .kind = LK_FINISH_RETRY};

        assert_int_equal(call_finish(setup->engine, &retry, &none, NULL), LK_OK);
    }
    for (size_t seen = 0; seen < 3;) {
        lk_item_list *list = NULL;

        assert_int_equal(setup->engine->ops->batches->parked(setup->engine, &query, &none, &list,
                                                             &query.behind, NULL),
                         LK_OK);
        assert_int_equal(list->count, seen == 0 ? 2 : 1);
        for (size_t i = 0; i < list->count; i++) {
            assert_string_equal(list->items[i].id, ids[seen++]);
        }
        assert_int_equal(query.behind == 0, seen == 3);
        lk_item_list_free(list);
    }
}

static void test_queues_come_by_pages(void **state) {
    static const char *const paths[] = {"a", "a/b", "a/c", "b"};
    struct setup *setup = *state;
    struct lk_queue_query query = {.max = 3};
    lk_queue_list *list = NULL;
    struct lk_path path;
    bool has_more = false;

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(lk_path_parse(lk_slice_of(paths[i]), &path, NULL), LK_OK);
        push(setup, &path, "1");
    }
    assert_int_equal(
        setup->engine->ops->batches->queues(setup->engine, &query, &none, &list, &has_more, NULL),
        LK_OK);
    assert_int_equal(list->count, 3);
    assert_true(has_more);
    assert_string_equal(list->queues[2].queue, "a/c");
    lk_queue_list_free(list);
    query.behind = lk_slice_of("a/c");
    assert_int_equal(
        setup->engine->ops->batches->queues(setup->engine, &query, &none, &list, &has_more, NULL),
        LK_OK);
    assert_int_equal(list->count, 1);
    assert_false(has_more);
    assert_string_equal(list->queues[0].queue, "b");
    lk_queue_list_free(list);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_setup, close_setup)
    const struct CMUnitTest tests[] = {
        TEST(test_a_repeated_series_has_the_same_answers),
        TEST(test_nothing_for_a_series_can_be_waited_out),
        TEST(test_parked_items_come_by_pages),
        TEST(test_queues_come_by_pages),
    };

    return cmocka_run_group_tests_name("series in mem:", tests, NULL, NULL);
}
