/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The n-th allocation fails, for n = 1, 2, 3, ... until the call has made all it needs. Each time
 * the answer is LK_INTERNAL, the call has changed nothing, and succeeds later; in the end nothing
 * has leaked. LK_TEST_SEED and LK_TEST_SCALE as in test_random.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "generator.h"
#include "history.h"
#include "lockstep.h"

enum { HISTORY_COUNT = 300, HISTORY_LENGTH = 150, FAILURES_MAX = 1000 };

/* Counts what is allocated, and fails when the count-down arrives at 0. */
struct faulty {
    struct lk_allocator allocator;
    uint64_t blocks;
    uint64_t until_failure; /* 0: never */
    uint64_t failures;
};

static void *resize(void *context, void *old, size_t size) {
    struct faulty *faulty = context;
    void *memory;

    if (size == 0) {
        faulty->blocks -= old != NULL;
        free(old);
        return NULL;
    }
    if (faulty->until_failure > 0 && --faulty->until_failure == 0) {
        faulty->failures++;
        return NULL;
    }
    memory = realloc(old, size);
    if (memory == NULL) {
        abort();
    }
    faulty->blocks += old == NULL;
    return memory;
}

static void open_faulty(struct faulty *faulty) {
    *faulty = (struct faulty){.allocator = {.resize = resize, .context = faulty}};
}

/*
 * Looks at a step that failed for want of memory. The event has changed nothing; what was due by
 * its time has taken effect, all of it or nothing.
 */
static const char *check_failure(struct lockstep *lockstep, const struct lk_command *command,
                                 const struct lk_effects *effects) {
    struct lk_effects passing = *effects;
    struct lk_command tick = {.kind = LK_COMMAND_TICK, .times = command->times};

    if (effects->answer.outcome != LK_INTERNAL) {
        return "a failed allocation is not LK_INTERNAL";
    }
    if (effects->answer.created) {
        return "something is created in spite of LK_INTERNAL";
    }
    if (effects->answer.text[0] == '\0') {
        return "LK_INTERNAL does not name its place";
    }
    lockstep->seen_us = command->times.now_us;
    if (effects->change_count == 0) {
        return lockstep_compare(lockstep);
    }
    if (lk_model_next_deadline(lockstep->model) <= command->times.now_us) {
        return "half of what was due";
    }
    passing.answer.outcome = LK_OK;
    return lockstep_follow(lockstep, &tick, &passing);
}

/* Steps until no allocation is left that could fail. NULL, or what is wrong. */
static const char *step_through_failures(struct lockstep *lockstep, struct faulty *faulty,
                                         const struct lk_command *command) {
    for (uint64_t n = 1; n < FAILURES_MAX; n++) {
        const struct lk_effects *effects;
        const char *wrong;
        faulty->until_failure = n;
        effects = lk_model_step(lockstep->model, command);
        if (faulty->until_failure > 0) {
            faulty->until_failure = 0;
            return lockstep_follow(lockstep, command,
                                   effects); /* nothing failed: it must be right */
        }
        wrong = check_failure(lockstep, command, effects);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return "no end of allocations";
}

static void run_history(uint64_t number, bool with_work, uint64_t *failures) {
    static char lines[HISTORY_LENGTH][HISTORY_LINE_MAX];
    struct generator generator;
    struct faulty faulty;
    struct lockstep lockstep;
    struct lk_times times = history_start();
    const char *wrong = NULL;
    size_t done = 0;

    if (with_work) {
        generator_open_work(&generator, number);
    } else {
        generator_open(&generator, number);
    }
    open_faulty(&faulty);
    lockstep_open_forgetful(&lockstep, &generator.quotas, generator.ended_max, &faulty.allocator);
    while (done < HISTORY_LENGTH && wrong == NULL) {
        struct history_command command;
        generator_line(&generator, lockstep.reference, times, lines[done]);
        wrong = history_read(lines[done], strlen(lines[done]), NULL, &times, &command);
        if (wrong == NULL) {
            wrong = step_through_failures(&lockstep, &faulty, &command.command);
        }
        done++;
    }
    lockstep_close(&lockstep);
    if (wrong == NULL && faulty.blocks != 0) {
        wrong = "blocks are left when the model is freed";
    }
    *failures += faulty.failures;
    if (wrong != NULL) {
        for (size_t i = 0; i < done; i++) {
            print_message("%s\n", lines[i]);
        }
        fail_msg("LK_TEST_SEED=%llu: %s", (unsigned long long)number, wrong);
    }
}

static void a_failed_allocation_in_a_step_changes_nothing(void **state) {
    const char *only = getenv("LK_TEST_SEED");
    const char *percent = getenv("LK_TEST_SCALE");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t scaled = HISTORY_COUNT * (percent != NULL ? strtoull(percent, NULL, 10) : 100) / 100;
    uint64_t count = only != NULL ? 1 : scaled + 1;
    uint64_t failures = 0;

    for (uint64_t number = first; number < first + count; number++) {
        run_history(number, *state != NULL, &failures);
    }
    print_message("histories %llu to %llu, %llu failed allocations\n", (unsigned long long)first,
                  (unsigned long long)(first + count - 1), (unsigned long long)failures);
    assert_true(failures > count); /* each history needs memory */
}

static void a_failed_allocation_in_creation_leaks_nothing(void **state) {
    struct faulty faulty;
    struct lk_model_config config = {.allocator = &faulty.allocator};
    struct lk_model *model = NULL;

    (void)state;
    open_faulty(&faulty);
    for (uint64_t n = 1; model == NULL; n++) {
        faulty.until_failure = n;
        model = lk_model_new(&config);
        assert_true(model != NULL || faulty.blocks == 0);
    }
    assert_true(faulty.failures > 0);
    lk_model_free(model);
    assert_int_equal(faulty.blocks, 0);
}

static struct lk_part part_of(const char *text) {
    struct lk_part part;

    assert_int_equal(lk_part_parse(lk_slice_of(text), NULL, &part, NULL), LK_OK);
    return part;
}

static uint64_t live(const struct lk_model *model) {
    struct lk_model_stats stats;

    lk_model_stats(model, &stats);
    return stats.live;
}

static lk_outcome restore_a_request(struct lk_model *model) {
    static struct lk_record record;

    record.id = 7;
    record.owner = lk_slice_of("an-owner-with-a-name-that-needs-memory-of-its-own");
    record.note = lk_slice_of("and a note");
    record.state = LK_STATE_HELD;
    record.ticket = 5;
    record.token = 6;
    record.ttl_ms = 1000;
    record.deadline_us = 1000000;
    record.part_count = 2;
    record.parts[0] = part_of("a/segment-that-needs-memory-of-its-own/b?limit=2");
    record.parts[1] = part_of("c");
    return lk_model_restore(model, &record);
}

static lk_outcome restore_a_draw(struct lk_model *model) {
    return lk_model_restore_draw(model, lk_slice_of("a-root-that-needs-memory-of-its-own"), 9);
}

static lk_outcome restore_an_ended_token(struct lk_model *model) {
    struct lk_part part = part_of("x");
    struct lk_target target = {
        .owner = lk_slice_of("A"), .parts = &part, .part_count = 1, .token = 3};

    return lk_model_restore_ended(model, &target, 0);
}

static lk_outcome restore_a_value(struct lk_model *model) {
    struct lk_part part = part_of("a/segment-that-needs-memory-of-its-own/b");

    return lk_model_restore_value(model, &part.path, lk_slice_of("some bytes"), true);
}

static lk_outcome restore_a_queue(struct lk_model *model) {
    struct lk_part part = part_of("a/segment-that-needs-memory-of-its-own/b");
    struct lk_queue_counts counts = {.pushed = 1};

    return lk_model_restore_queue(model, &part.path, &counts);
}

static lk_outcome restore_an_item(struct lk_model *model) {
    static struct lk_item_record record;

    record.queue = part_of("a/segment-that-needs-memory-of-its-own").path;
    record.id = lk_slice_of("an-id-that-needs-memory-of-its-own");
    record.sequence = 5;
    record.value = lk_slice_of("some bytes");
    record.last_failure.text = lk_slice_of("it failed");
    record.need_count = 1;
    record.needs[0] = part_of("what/it/needs?limit=3");
    return lk_model_restore_item(model, &record);
}

static void a_failed_allocation_in_a_restore_leaks_nothing(void **state) {
    static lk_outcome (*const calls[])(struct lk_model *) = {
        restore_a_request, restore_a_draw,  restore_an_ended_token,
        restore_a_value,   restore_a_queue, restore_an_item,
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct faulty faulty;
        struct lk_model_config config = {.allocator = &faulty.allocator};
        struct lk_model *model;
        lk_outcome outcome = LK_INTERNAL;
        open_faulty(&faulty);
        model = lk_model_new(&config);
        assert_non_null(model);
        for (uint64_t n = 1; outcome != LK_OK; n++) {
            assert_true(n < FAILURES_MAX);
            faulty.until_failure = n;
            outcome = calls[i](model);
            assert_true(outcome == LK_OK || outcome == LK_INTERNAL);
            assert_int_equal(live(model), outcome == LK_OK && i == 0);
            assert_null(lk_model_check(model));
        }
        assert_true(faulty.failures > 0);
        lk_model_free(model);
        assert_int_equal(faulty.blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_in_creation_leaks_nothing),
        cmocka_unit_test(a_failed_allocation_in_a_restore_leaks_nothing),
        cmocka_unit_test(a_failed_allocation_in_a_step_changes_nothing),
        {"every_step_of_work", a_failed_allocation_in_a_step_changes_nothing, NULL, NULL,
         (void *)(uintptr_t) "work"},
    };

    return cmocka_run_group_tests_name("allocation failures", tests, NULL, NULL);
}
