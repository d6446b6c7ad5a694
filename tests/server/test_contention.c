/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which roots have waiting requests, as monitoring reads it: the same as a search of all requests
 * finds, after random calls; and read in as many steps, however many roots there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/hash.h"
#include "server/core/core.h"
#include "server/core/tally.h"

enum { ROOTS = 40, OWNERS = 60, ROUNDS = 20000, STEPS_MAX = 1000, STEP_US = 1000 };

#define WALL_US INT64_C(1700000000000000) /* ahead of the clock of deadlines */

struct found {
    uint64_t count;
    int64_t since_us;
    bool is_row;
};

struct fixture {
    struct lk_core *core;
    struct lk_session *session;
    struct lk_times times;
    uint64_t random;
    const struct lk_model *model; /* of the last answer */
    struct found found[ROOTS];
    struct lk_record record;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct fixture *fixture = peer;

    (void)tag;
    (void)batch;
    fixture->model = reply->model;
}

static void durable(void *peer, uint64_t batch) {
    (void)peer;
    (void)batch;
}

static void failed(void *peer, const char *why) {
    (void)peer;
    fail_msg("%s", why);
}

static void call(struct fixture *fixture, struct lk_command *command, int64_t later_us) {
    struct lk_call made = {.kind = LK_CALL_COMMAND, .command = *command};

    fixture->times.now_us += later_us;
    fixture->times.wall_us = fixture->times.now_us + WALL_US;
    lk_core_call(fixture->core, fixture->session, &made, &fixture->times);
}

static unsigned draw(struct fixture *fixture, unsigned count) {
    fixture->random = lk_hash_number(fixture->random, 1);
    return (unsigned)(fixture->random % count);
}

static struct lk_part part_of(const char *path, bool is_shared) {
    struct lk_part part = {.path.size = 0};

    assert_int_equal(lk_path_parse(lk_slice_of(path), &part.path, NULL), LK_OK);
    part.mode = is_shared ? LK_SHARED : LK_EXCLUSIVE;
    part.units = is_shared;
    return part;
}

/* Asks, converts or ends. Deadlines are near, so that requests perish, too. */
static void act(struct fixture *fixture) {
    char path[32];
    char owner[16];
    struct lk_part part;
    struct lk_command command = {.kind = LK_COMMAND_ASK};

    (void)snprintf(path, sizeof path, "r%u/x", draw(fixture, ROOTS));
    (void)snprintf(owner, sizeof owner, "o%u", draw(fixture, OWNERS));
    part = part_of(path, draw(fixture, 4) == 0);
    if (draw(fixture, 3) > 0) {
        command.ask = (struct lk_ask){.owner = lk_slice_of(owner),
                                      .parts = &part,
                                      .part_count = 1,
                                      .style = draw(fixture, 8) == 0 ? LK_TRY : LK_QUEUE,
                                      .ttl_ms = 100 + draw(fixture, 3000)};
    } else {
        command.kind = LK_COMMAND_RELEASE;
        command.release.target =
            (struct lk_target){.owner = lk_slice_of(owner), .parts = &part, .part_count = 1};
    }
    call(fixture, &command, STEP_US * (1 + draw(fixture, 5)));
}

/* ---- the same, found by a search ------------------------------------------------------------- */

static struct found *found_at(struct fixture *fixture, const char *root) {
    assert_int_equal(root[0], 'r');
    return &fixture->found[strtoul(root + 1, NULL, 10)];
}

static bool look(void *context, lk_ref request) {
    struct fixture *fixture = context;

    lk_model_record(fixture->model, request, &fixture->record);
    if (fixture->record.state == LK_STATE_WAITING) {
        struct found *found = found_at(fixture, fixture->record.parts[0].path.bytes);
        /* A grant of the same step may have drawn just before it (R4). */
        int64_t since_us = ((int64_t)fixture->record.ticket - WALL_US) / STEP_US * STEP_US;

        found->since_us =
            found->count == 0 || since_us < found->since_us ? since_us : found->since_us;
        found->count++;
    }
    return true;
}

static void check_row(struct fixture *fixture, const struct lk_contended *row) {
    struct lk_slice name = lk_model_root_name(fixture->model, row->root);
    char root[16] = "";
    struct found *found;

    memcpy(root, name.bytes, name.size);
    found = found_at(fixture, root);
    assert_false(found->is_row);
    assert_int_equal(row->count, found->count);
    assert_int_equal(row->since_us, found->since_us);
    found->is_row = true;
}

/* A root without a row has fewer requests, or they wait for less time, than LK_CONTENDED_MAX
 * others. */
static void check_other(const struct fixture *fixture, const struct found *other) {
    size_t more = 0;
    size_t older = 0;

    for (size_t i = 0; i < ROOTS; i++) {
        const struct found *found = &fixture->found[i];
        more += found->count >= other->count && found != other;
        older += found->count > 0 && found->since_us <= other->since_us && found != other;
    }
    assert_true(more >= LK_CONTENDED_MAX && older >= LK_CONTENDED_MAX);
}

static void check(struct fixture *fixture) {
    struct found rest = {.since_us = LK_NEVER};
    struct lk_contention_top top;

    memset(fixture->found, 0, sizeof fixture->found);
    lk_model_each(fixture->model, look, fixture);
    lk_core_contention(fixture->core, &top);
    for (size_t i = 0; i < top.row_count; i++) {
        check_row(fixture, &top.rows[i]);
    }
    for (size_t i = 0; i < ROOTS; i++) {
        const struct found *found = &fixture->found[i];
        if (found->count > 0 && !found->is_row) {
            check_other(fixture, found);
            rest.count += found->count;
            rest.since_us = found->since_us < rest.since_us ? found->since_us : rest.since_us;
        }
    }
    assert_int_equal(top.rest.count, rest.count);
    assert_int_equal(top.rest.since_us, rest.since_us);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int begin(void **state) {
    static const struct lk_session_ops ops = {answer, durable, failed};
    const struct lk_core_config config = {.is_ephemeral = true, .hash_seed = 1, .epoch = "e"};
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *seed = getenv("LK_TEST_SEED");

    fixture->random = seed != NULL ? strtoull(seed, NULL, 10) : 1;
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

static void random_calls_leave_what_a_search_finds(void **state) {
    struct fixture *fixture = *state;
    const uint64_t *changes = lk_core_tally(fixture->core)->changes;

    for (int i = 0; i < ROUNDS; i++) {
        act(fixture);
        check(fixture);
    }
    assert_true(changes[LK_CHANGE_CONVERTED] > 0 && changes[LK_CHANGE_WITHDRAWN] > 0);
    assert_true(lk_core_tally(fixture->core)->perished_waiting > 0);
    assert_int_equal(lk_core_tally(fixture->core)->waited.sum_us > 0, true);
}

/* So many roots get a holder and a waiting request each. Returns how many steps reading takes. */
static size_t steps_at(struct fixture *fixture, unsigned from, unsigned to) {
    struct lk_contention_top top;

    for (unsigned i = from; i < to; i++) {
        for (unsigned owner = 0; owner < 2; owner++) {
            char path[32];
            char name[32];
            struct lk_part part;
            struct lk_command ask = {.kind = LK_COMMAND_ASK};

            (void)snprintf(path, sizeof path, "r%u", i);
            (void)snprintf(name, sizeof name, "o%u-%u", i, owner);
            part = part_of(path, false);
            ask.ask = (struct lk_ask){.owner = lk_slice_of(name),
                                      .parts = &part,
                                      .part_count = 1,
                                      .style = LK_QUEUE,
                                      .ttl_ms = LK_TTL_MAX_MS};
            call(fixture, &ask, STEP_US);
        }
    }
    lk_core_contention(fixture->core, &top);
    assert_int_equal(top.rest.count + top.row_count, to);
    return top.steps;
}

static void reading_takes_as_many_steps_at_any_size(void **state) {
    struct fixture *fixture = *state;

    assert_true(steps_at(fixture, 0, 1000) <= STEPS_MAX);
    assert_true(steps_at(fixture, 1000, 50000) <= STEPS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_calls_leave_what_a_search_finds, begin, end),
        cmocka_unit_test_setup_teardown(reading_takes_as_many_steps_at_any_size, begin, end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
