/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that wait at many queues: the tree finds what is related to a path (R5) as a search does,
 * a call visits as few queues however many others wait, and the queue that waits longest is served
 * first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../support.h"
#include "server/core/core_internal.h"

enum { PATHS_MAX = 120, ROUNDS = 20000, FEW = 500, MANY = 9000, VISITS_MAX = 32 };

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, NULL), LK_OK);
    return path;
}

/* ---- the tree beside a list ------------------------------------------------------------------ */

struct listed {
    char text[16];
    struct lk_waiting_queue *queue; /* NULL: none waits there */
};

/* A path of 1 to 4 segments, from few names. */
static void draw_path(struct lk_random *random, char text[16]) {
    int64_t depth = lk_random_between(random, 1, 4);
    size_t size = 0;

    for (int64_t i = 0; i < depth; i++) {
        size += (size_t)snprintf(text + size, 16 - size, "%s%c", i > 0 ? "/" : "",
                                 (char)('a' + lk_random_between(random, 0, 2)));
    }
}

static struct listed *find_listed(struct listed *list, size_t *count, const char *text) {
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(list[i].text, text) == 0) {
            return &list[i];
        }
    }
    assert_true(*count < PATHS_MAX);
    (void)snprintf(list[*count].text, sizeof list[*count].text, "%s", text);
    return &list[(*count)++];
}

/* `found` has each related queue that is not ready, once, in the order of falling numbers. */
static void assert_related(const struct listed *list, size_t count, const struct lk_path *path,
                           const struct lk_waiting_queue *found) {
    size_t expected = 0;
    uint64_t above = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct lk_waiting_queue *queue = list[i].queue;
        expected += queue != NULL && !queue->is_ready && lk_path_related(&queue->path, path);
    }
    for (; found != NULL; found = found->next) {
        assert_true(expected > 0 && found->number < above && !found->is_ready);
        assert_true(lk_path_related(&found->path, path));
        above = found->number;
        expected--;
    }
    assert_int_equal(expected, 0);
}

static void the_tree_finds_what_a_search_finds(void **state) {
    struct lk_random random = test_random();
    struct listed list[PATHS_MAX] = {{.queue = NULL}};
    struct lk_waiting_queues queues;
    size_t count = 0;

    (void)state;
    lk_waiting_queues_init(&queues, 1);
    for (int round = 0; round < ROUNDS; round++) {
        char text[16];
        struct lk_path path;
        struct listed *listed;

        draw_path(&random, text);
        path = path_of(text);
        listed = find_listed(list, &count, text);
        assert_ptr_equal(lk_waiting_queue_find(&queues, &path), listed->queue);
        assert_related(list, count, &path, lk_waiting_queues_related(&queues, &path));
        if (listed->queue == NULL) {
            listed->queue = lk_waiting_queue_make(&queues, &path);
            assert_non_null(listed->queue);
            listed->queue->is_ready = lk_random_between(&random, 0, 4) == 0;
        } else {
            lk_waiting_queue_free(&queues, listed->queue);
            listed->queue = NULL;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].queue != NULL) {
            lk_waiting_queue_free(&queues, list[i].queue);
        }
    }
    assert_int_equal(queues.by_path.count, 0);
    lk_waiting_queues_done(&queues);
}

/* ---- a core without a store ------------------------------------------------------------------ */

struct fixture {
    struct lk_core *core;
    struct lk_session *session;
    struct lk_times times;
    uint64_t last_tag;
    uint64_t answered; /* the tag of the last answer */
    lk_outcome outcome;
};

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct fixture *fixture = peer;

    (void)batch;
    fixture->answered = tag;
    fixture->outcome = reply->answer->outcome;
}

static void durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void failed(void *peer, const char *why) {
    (void)peer;
    fail_msg("%s", why);
}

static int begin(void **state) {
    static const struct lk_session_ops ops = {answer, durable, failed};
    const struct lk_core_config config = {.hash_seed = 1, .epoch = "e", .is_ephemeral = true};
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->times = (struct lk_times){.now_us = 1000000, .wall_us = INT64_C(1700000000000000)};
    fixture->core = lk_core_new(&config);
    *state = fixture;
    return lk_core_session_open(fixture->core, &ops, fixture, &fixture->session, NULL) == LK_OK
               ? 0
               : -1;
}

static int end(void **state) {
    struct fixture *fixture = *state;

    lk_core_session_close(fixture->core, fixture->session, &fixture->times);
    lk_core_free(fixture->core);
    free(fixture);
    return 0;
}

/* Returns the tag of the call. */
static uint64_t call(struct fixture *fixture, const struct lk_command *command, int64_t wait_ms) {
    struct lk_call call = {.kind = LK_CALL_COMMAND,
                           .command = *command,
                           .tag = ++fixture->last_tag,
                           .claims = 1,
                           .wait_ms = wait_ms};

    fixture->times.now_us++;
    fixture->times.wall_us++;
    lk_core_call(fixture->core, fixture->session, &call, &fixture->times);
    return call.tag;
}

/* A claim that waits at the queue. Returns its tag. */
static uint64_t wait_at(struct fixture *fixture, const char *queue, const char *owner) {
    struct lk_command take = {.kind = LK_COMMAND_TAKE};
    uint64_t tag;

    take.take = (struct lk_take){.queue = path_of(queue), .owner = lk_slice_of(owner)};
    tag = call(fixture, &take, 3600000);
    assert_int_not_equal(fixture->answered, tag);
    return tag;
}

static void wait_at_hosts(struct fixture *fixture, int from, int to) {
    for (int i = from; i < to; i++) {
        char queue[32];
        (void)snprintf(queue, sizeof queue, "work/host%d", i);
        (void)wait_at(fixture, queue, "worker");
    }
}

/* An item that needs the exclusive lock of `need`, if there is one. */
static void push(struct fixture *fixture, const char *queue, const char *id, const char *need) {
    struct lk_part needed = {.mode = LK_EXCLUSIVE};
    struct lk_command command = {.kind = LK_COMMAND_PUSH};

    command.push = (struct lk_push){.queue = path_of(queue), .id = lk_slice_of(id)};
    if (need != NULL) {
        needed.path = path_of(need);
        command.push.needs = &needed;
        command.push.need_count = 1;
    }
    (void)call(fixture, &command, 0);
}

static void acquire(struct fixture *fixture, const char *path) {
    struct lk_part part = {.path = path_of(path), .mode = LK_EXCLUSIVE};
    struct lk_command ask = {.kind = LK_COMMAND_ASK};

    ask.ask = (struct lk_ask){.owner = lk_slice_of("holder"), .parts = &part, .part_count = 1};
    (void)call(fixture, &ask, 0);
    assert_int_equal(fixture->outcome, LK_GRANTED);
}

static void release(struct fixture *fixture, const char *path) {
    struct lk_part part = {.path = path_of(path), .mode = LK_EXCLUSIVE};
    struct lk_command command = {.kind = LK_COMMAND_RELEASE};

    command.release.target =
        (struct lk_target){.owner = lk_slice_of("holder"), .parts = &part, .part_count = 1};
    (void)call(fixture, &command, 0);
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* The queues that the calls visit which have nothing to do with those that wait. */
static uint64_t visits_of_others(struct fixture *fixture) {
    uint64_t before = fixture->core->queues.visited;
    char id[24];

    (void)snprintf(id, sizeof id, "%u", (unsigned)fixture->last_tag);
    push(fixture, "work/other", id, NULL);
    push(fixture, "work/other/below", id, "lights");
    acquire(fixture, "work/lock");
    release(fixture, "work/lock");
    acquire(fixture, "elsewhere");
    release(fixture, "elsewhere");
    return fixture->core->queues.visited - before;
}

static void a_call_does_not_visit_the_queues_of_others(void **state) {
    struct fixture *fixture = *state;
    uint64_t few;

    wait_at_hosts(fixture, 0, FEW);
    few = visits_of_others(fixture);
    assert_in_range(few, 1, VISITS_MAX);
    wait_at_hosts(fixture, FEW, MANY);
    /* Two paths may have the same hash, which costs a visit. */
    assert_in_range(visits_of_others(fixture), few, few + 2);
}

static bool wakes_at_every_end(const struct fixture *fixture) {
    return !lk_link_is_alone(&fixture->core->queues.waking);
}

/* Ends the item as its claimant. */
static void finish(struct fixture *fixture, const char *queue, const char *id, const char *owner) {
    struct lk_command done = {.kind = LK_COMMAND_FINISH};

    done.finish = (struct lk_finish){.queue = path_of(queue),
                                     .id = lk_slice_of(id),
                                     .owner = lk_slice_of(owner),
                                     .kind = LK_FINISH_DONE};
    (void)call(fixture, &done, 0);
}

/* Else the end of every lock would try it for as long as its claims wait. */
static void a_queue_wakes_at_every_end_while_an_item_has_needs(void **state) {
    struct fixture *fixture = *state;

    (void)wait_at(fixture, "work/a", "one");
    (void)wait_at(fixture, "work/a", "two");
    assert_false(wakes_at_every_end(fixture));
    acquire(fixture, "lights");
    push(fixture, "work/a", "1", "lights");
    assert_true(wakes_at_every_end(fixture));
    release(fixture, "lights"); /* the first one gets the item */
    assert_int_equal(fixture->core->stats.blocked, 1);
    assert_true(wakes_at_every_end(fixture)); /* it may come back */
    finish(fixture, "work/a", "1", "one");
    acquire(fixture, "elsewhere");
    release(fixture, "elsewhere");
    assert_false(wakes_at_every_end(fixture));
    push(fixture, "work/a", "2", "lights");
    assert_int_equal(fixture->core->stats.blocked, 0);
}

/* Pushes an item that needs "line" strictly. */
static void push_strictly(struct fixture *fixture, const char *queue, const char *id) {
    const struct lk_part line = {.path = path_of("line"), .mode = LK_EXCLUSIVE, .strict = true};
    struct lk_command command = {.kind = LK_COMMAND_PUSH};

    command.push = (struct lk_push){
        .queue = path_of(queue), .id = lk_slice_of(id), .needs = &line, .need_count = 1};
    (void)call(fixture, &command, 0);
}

/* A drop frees no lock, but what waits behind a parked item may be claimed. */
static void a_claim_is_tried_again_when_a_head_is_dropped(void **state) {
    struct fixture *fixture = *state;
    struct lk_command park = {.kind = LK_COMMAND_FINISH};
    struct lk_command drop = {.kind = LK_COMMAND_DROP};

    (void)wait_at(fixture, "work/a", "one");
    push_strictly(fixture, "work/a", "1");
    push_strictly(fixture, "work/a", "2");
    assert_int_equal(fixture->core->stats.blocked, 0);
    park.finish = (struct lk_finish){.queue = path_of("work/a"),
                                     .id = lk_slice_of("1"),
                                     .owner = lk_slice_of("one"),
                                     .kind = LK_FINISH_RETRY,
                                     .parks = true};
    (void)call(fixture, &park, 0);
    (void)wait_at(fixture, "work/a", "two");
    assert_int_equal(fixture->core->stats.blocked, 1);
    drop.drop = (struct lk_drop){.queue = path_of("work/a"), .id = lk_slice_of("1")};
    (void)call(fixture, &drop, 0);
    assert_int_equal(fixture->core->stats.blocked, 0);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Each queue has an item that needs the same lock. The one that has waited longest gets it. */
static void the_queue_that_waits_longest_is_served_first(void **state) {
    static const char *const names[] = {"w/c", "w/a/b", "w/b", "w/a"};
    struct fixture *fixture = *state;
    uint64_t first = 0;

    acquire(fixture, "lights");
    acquire(fixture, "w");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t tag = wait_at(fixture, names[i], names[i]);
        first = i == 0 ? tag : first;
    }
    for (size_t i = sizeof names / sizeof names[0]; i-- > 0;) {
        push(fixture, names[i], "1", "lights");
    }
    release(fixture, "lights");
    assert_int_equal(fixture->answered, fixture->last_tag); /* "w" is held: no claim is granted */
    release(fixture, "w");
    assert_int_equal(fixture->answered, first);
    assert_int_equal(fixture->core->stats.blocked, sizeof names / sizeof names[0] - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_finds_what_a_search_finds),
        cmocka_unit_test_setup_teardown(a_call_does_not_visit_the_queues_of_others, begin, end),
        cmocka_unit_test_setup_teardown(a_claim_is_tried_again_when_a_head_is_dropped, begin, end),
        cmocka_unit_test_setup_teardown(a_queue_wakes_at_every_end_while_an_item_has_needs, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_queue_that_waits_longest_is_served_first, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
