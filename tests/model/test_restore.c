/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that starts again: somewhere in a random history every record is taken out of the model
 * and put into a fresh one, in random order, with what a store remembers beside them (last draws,
 * ended tokens), and its values, items and queues. The history goes on, without a difference.
 * LK_TEST_SEED and LK_TEST_SCALE as in test_random.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "generator.h"
#include "history.h"
#include "lockstep.h"

enum { HISTORY_COUNT = 2000, HISTORY_LENGTH = 200, RECORDS_MAX = 256 };

/* A token that a release or the end of a claim has ended, as a store would write it down. */
struct ended {
    struct lk_target target;
    int64_t ended_us;
    struct lk_part item; /* of a claim: its path, with these bytes */
    char bytes[LK_PATH_BYTES_MAX];
};

/* A history: what is borrowed of it lives as long as it does. */
struct trial {
    struct generator generator;
    struct lockstep lockstep;
    struct lk_times times;
    char lines[HISTORY_LENGTH][HISTORY_LINE_MAX];
    struct history_command events[HISTORY_LENGTH];
    size_t count;
    struct ended ended[HISTORY_LENGTH];
    size_t ended_count;
};

/* ---- out of one model, into another ---------------------------------------------------------- */

struct dump {
    const struct lk_model *model;
    struct lk_record *records[RECORDS_MAX];
    size_t count;
};

static bool take_out(void *context, lk_ref request) {
    struct dump *dump = context;
    struct lk_record *record = malloc(sizeof *record);

    assert_true(record != NULL && dump->count < RECORDS_MAX);
    lk_model_record(dump->model, request, record);
    dump->records[dump->count++] = record;
    return true;
}

static void shuffle(struct generator *generator, struct dump *dump) {
    for (size_t i = dump->count; i > 1; i--) {
        size_t other = generator_below(generator, i);
        struct lk_record *record = dump->records[i - 1];
        dump->records[i - 1] = dump->records[other];
        dump->records[other] = record;
    }
}

static struct lk_model *fresh_model(const struct trial *trial) {
    struct lk_model_config config = {.quotas = trial->generator.quotas,
                                     .ended_max = trial->generator.ended_max};
    struct lk_model *model = lk_model_new(&config);

    assert_non_null(model);
    return model;
}

/* What a store remembers beside its requests. */
static void put_memories(const struct trial *trial, struct lk_model *model) {
    lk_model_restore_floor(model, lk_model_floor(trial->lockstep.model));
    for (size_t i = 0; i < trial->lockstep.root_count; i++) {
        const struct lockstep_root *root = &trial->lockstep.roots[i];
        assert_int_equal(lk_model_restore_draw(model, lk_slice_of(root->name), root->greatest),
                         LK_OK);
    }
    for (size_t i = 0; i < trial->ended_count; i++) {
        assert_int_equal(
            lk_model_restore_ended(model, &trial->ended[i].target, trial->ended[i].ended_us),
            LK_OK);
    }
}

/* A queue on its way into another model. */
struct move {
    const struct lk_model *from;
    struct lk_model *to;
};

/* What is claimed is put back as ready: its claim follows. */
static bool move_item(void *context, lk_item_ref item) {
    const struct move *move = context;
    static struct lk_item_record record;

    lk_model_item_record(move->from, item, &record);
    if (record.state == LK_ITEM_CLAIMED) {
        record.state = LK_ITEM_READY;
        assert_true(record.claim != 0);
    }
    assert_int_equal(lk_model_restore_item(move->to, &record), LK_OK);
    assert_int_equal(lk_model_restore_item(move->to, &record), LK_INVALID);
    return true;
}

static void put_values_and_items(const struct trial *trial, struct lk_model *model) {
    const struct lk_model *old = trial->lockstep.model;
    struct move move = {old, model};

    for (size_t i = 0; i < trial->lockstep.path_count; i++) {
        const struct lk_path *path = &trial->lockstep.paths[i]->path;
        lk_value_ref value = lk_model_value(old, path);
        struct lk_queue_counts counts;
        if (value != 0) {
            struct lk_value_record record;
            lk_model_value_record(old, value, &record);
            assert_int_equal(lk_model_restore_value(model, path, record.bytes, record.in_doubt),
                             LK_OK);
        }
        lk_model_each_item(old, path, move_item, &move);
        lk_model_queue_counts(old, path, &counts);
        if (counts.pushed + counts.duplicates > 0) {
            assert_int_equal(lk_model_restore_queue(model, path, &counts), LK_OK);
        }
    }
}

/* Puts everything into a fresh model but the request of this id (0: none). */
static void start_again_without(struct trial *trial, uint64_t id) {
    struct dump dump = {.model = trial->lockstep.model};
    struct lk_model *model = fresh_model(trial);

    lk_model_each(trial->lockstep.model, take_out, &dump);
    shuffle(&trial->generator, &dump);
    put_memories(trial, model);
    put_values_and_items(trial, model);
    for (size_t i = 0; i < dump.count; i++) {
        if (dump.records[i]->id != id) {
            assert_int_equal(lk_model_restore(model, dump.records[i]), LK_OK);
            assert_int_equal(lk_model_restore(model, dump.records[i]), LK_INVALID); /* R3 */
        }
        assert_null(lk_model_check(model));
    }
    lk_model_free(trial->lockstep.model);
    trial->lockstep.model = model;
    trial->lockstep.seen_us = 0;
    for (size_t i = 0; i < dump.count; i++) {
        free(dump.records[i]);
    }
}

/* ---- histories ------------------------------------------------------------------------------- */

static void fail_trial(const struct trial *trial, uint64_t number, const char *wrong) {
    for (size_t i = 0; i < trial->count; i++) {
        print_message("%s\n", trial->lines[i]);
    }
    fail_msg("LK_TEST_SEED=%llu: %s", (unsigned long long)number, wrong);
}

static bool has_released(const struct trial *trial) {
    const struct lk_effects *effects = trial->lockstep.effects;

    for (size_t i = 0; effects->answer.outcome == LK_OK && i < effects->change_count; i++) {
        if (effects->changes[i].kind == LK_CHANGE_RELEASED) {
            return true;
        }
    }
    return false;
}

/* A release or the end of a claim that named its token and ended something is remembered. */
static void remember(struct trial *trial, const struct lk_command *command) {
    struct ended *ended = &trial->ended[trial->ended_count];
    int size;

    ended->ended_us = command->times.now_us;
    if (command->kind == LK_COMMAND_RELEASE && command->release.target.token != 0
        && has_released(trial)) {
        ended->target = command->release.target;
        trial->ended_count++;
    } else if (command->kind == LK_COMMAND_FINISH && command->finish.token != 0
               && has_released(trial)) {
        const struct lk_finish *finish = &command->finish;
        size = snprintf(ended->bytes, sizeof ended->bytes, "%.*s/%.*s", (int)finish->queue.size,
                        finish->queue.bytes, (int)finish->id.size, finish->id.bytes);
        assert_int_equal(
            lk_path_parse((struct lk_slice){ended->bytes, (size_t)size}, &ended->item.path, NULL),
            LK_OK);
        ended->target = (struct lk_target){
            .owner = finish->owner, .parts = &ended->item, .part_count = 1, .token = finish->token};
        trial->ended_count++;
    }
}

static void step(struct trial *trial, uint64_t number) {
    char *line = trial->lines[trial->count];
    struct history_command *command = &trial->events[trial->count];
    const char *wrong;

    generator_line(&trial->generator, trial->lockstep.reference, trial->times, line);
    trial->count++;
    wrong = history_read(line, strlen(line), NULL, &trial->times, command);
    if (wrong == NULL) {
        wrong = lockstep_step(&trial->lockstep, &command->command);
    }
    if (wrong != NULL) {
        fail_trial(trial, number, wrong);
    }
    remember(trial, &command->command);
}

static struct trial *open_trial(uint64_t number, bool with_work) {
    struct trial *trial = calloc(1, sizeof *trial);

    assert_non_null(trial);
    if (with_work) {
        generator_open_work(&trial->generator, number);
    } else {
        generator_open(&trial->generator, number);
    }
    trial->times = history_start();
    lockstep_open(&trial->lockstep, &trial->generator.quotas, trial->generator.ended_max, NULL);
    return trial;
}

static void close_trial(struct trial *trial) {
    lockstep_close(&trial->lockstep);
    free(trial);
}

static void goes_on_as_before(uint64_t number, bool with_work) {
    struct trial *trial = open_trial(number, with_work);
    struct lk_command tick = {.kind = LK_COMMAND_TICK};

    while (trial->count < HISTORY_LENGTH) {
        const char *wrong;
        step(trial, number);
        if (generator_below(&trial->generator, 20) != 0) {
            continue;
        }
        start_again_without(trial, 0);
        if (generator_below(&trial->generator, 2) != 0) {
            continue; /* the next event is the first that it hears of */
        }
        tick.times = trial->times; /* and what is due by then is ready again */
        lk_model_step(trial->lockstep.model, &tick);
        trial->lockstep.seen_us = tick.times.now_us;
        wrong = lockstep_compare(&trial->lockstep);
        if (wrong != NULL) {
            fail_trial(trial, number, wrong);
        }
    }
    close_trial(trial);
}

/*
 * A record that is not put back has ended meanwhile: the next step grants what waited for it. That
 * step comes before the next deadline, which would have let them in otherwise.
 */
static void grants_what_has_become_free(uint64_t number, bool with_work) {
    struct trial *trial = open_trial(number, with_work);
    struct lk_command tick = {.kind = LK_COMMAND_TICK};
    struct lk_command end = {.kind = LK_COMMAND_RELEASE};
    const struct lk_reference_request *live;
    size_t length = 1 + generator_below(&trial->generator, HISTORY_LENGTH);
    size_t count;

    while (trial->count < length) {
        step(trial, number);
    }
    live = lk_reference_live(trial->lockstep.reference, &count);
    while (count > 0 && live->is_claim) {
        live++; /* without its claim, an item would be as its record says: ready */
        count--;
    }
    if (count > 0
        && lk_reference_next_deadline(trial->lockstep.reference) > trial->times.now_us + 1) {
        struct lk_reference_request gone = live[0];
        struct lk_record record;
        lk_ref request =
            lk_model_find(trial->lockstep.model, gone.owner, gone.parts, gone.part_count);
        lk_model_record(trial->lockstep.model, request, &record);
        tick.times =
            (struct lk_times){trial->times.now_us + 1, trial->times.wall_us + HISTORY_STEP_US};
        end.times = tick.times;
        end.release.target = (struct lk_target){
            .owner = gone.owner, .parts = gone.parts, .part_count = gone.part_count};
        start_again_without(trial, record.id);
        lk_model_step(trial->lockstep.model, &tick);
        trial->lockstep.seen_us = tick.times.now_us;
        lk_reference_step(trial->lockstep.reference, &end);
        if (lockstep_compare(&trial->lockstep) != NULL) {
            fail_trial(trial, number, lockstep_compare(&trial->lockstep));
        }
    }
    close_trial(trial);
}

static void run(void (*history)(uint64_t number, bool with_work), bool with_work,
                uint64_t histories) {
    const char *only = getenv("LK_TEST_SEED");
    const char *percent = getenv("LK_TEST_SCALE");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t scaled = histories * (percent != NULL ? strtoull(percent, NULL, 10) : 100) / 100;
    uint64_t count = only != NULL ? 1 : scaled + 1;

    print_message("histories %llu to %llu\n", (unsigned long long)first,
                  (unsigned long long)(first + count - 1));
    for (uint64_t number = first; number < first + count; number++) {
        history(number, with_work);
    }
}

static void a_restored_model_gives_the_same_answers(void **state) {
    run(goes_on_as_before, *state != NULL, HISTORY_COUNT);
}

static void leases_that_ended_meanwhile_let_waiters_in(void **state) {
    run(grants_what_has_become_free, *state != NULL, HISTORY_COUNT);
}

/* ---- what is no possible record -------------------------------------------------------------- */

static void impossible_records_are_refused(void **state) {
    static struct lk_record record;
    struct lk_model *model = lk_model_new(NULL);
    struct lk_record *good = malloc(sizeof *good);

    (void)state;
    assert_true(model != NULL && good != NULL);
    record = (struct lk_record){.id = 1,
                                .owner = lk_slice_of("A"),
                                .state = LK_STATE_HELD,
                                .ticket = 1,
                                .token = 1,
                                .ttl_ms = 1000,
                                .deadline_us = 1000,
                                .part_count = 1};
    assert_int_equal(lk_part_parse(lk_slice_of("x"), NULL, &record.parts[0], NULL), LK_OK);
    *good = record;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        record = *good;                                                                            \
        change;                                                                                    \
        assert_int_equal(lk_model_restore(model, &record), LK_INVALID);                            \
        assert_int_equal(lk_model_next_deadline(model), LK_NEVER);                                 \
    } while (0)
    REFUSED(record.id = 0);
    REFUSED(record.owner.size = 0);
    REFUSED(record.owner.size = LK_IDENTITY_BYTES_MAX + 1);
    REFUSED(record.note.size = LK_NOTE_BYTES_MAX + 1);
    REFUSED(record.state = LK_STATE_ENDED);
    REFUSED(record.state = LK_STATE_WAITING);
    REFUSED(record.token = 0);
    REFUSED(record.ticket = 0);
    REFUSED(record.ttl_ms = 0);
    REFUSED(record.part_count = 0);
    REFUSED(record.part_count = LK_PARTS_MAX + 1);
    REFUSED(record.parts[0].units = 1);
    REFUSED(record.is_claim = true); /* of no item */
    REFUSED((record.is_claim = true, record.state = LK_STATE_WAITING, record.token = 0));
#undef REFUSED
    assert_int_equal(lk_model_restore(model, good), LK_OK);
    lk_model_free(model);
    free(good);
}

static void impossible_items_are_refused(void **state) {
    static struct lk_item_record good;
    static struct lk_item_record record;
    struct lk_model *model = lk_model_new(NULL);
    struct lk_part part;

    (void)state;
    assert_non_null(model);
    assert_int_equal(lk_part_parse(lk_slice_of("q"), NULL, &part, NULL), LK_OK);
    good.queue = part.path;
    good.id = lk_slice_of("1");
    good.sequence = 1;
    good.needs[0] = good.needs[1] = part;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        record = good;                                                                             \
        change;                                                                                    \
        assert_int_equal(lk_model_restore_item(model, &record), LK_INVALID);                       \
        assert_int_equal(lk_model_item(model, &part.path, lk_slice_of("1")), 0);                   \
    } while (0)
    REFUSED(record.id.size = 0);
    REFUSED(record.id = lk_slice_of("a/b"));
    REFUSED(record.id = lk_slice_of(".."));
    REFUSED(record.sequence = 0);
    REFUSED(record.state = LK_ITEM_CLAIMED);
    REFUSED(record.state = LK_ITEM_GONE);
    REFUSED(record.value.size = LK_VALUE_BYTES_MAX + 1);
    REFUSED(record.priority = LK_PRIORITY_MAX + 1);
    REFUSED(record.priority = LK_PRIORITY_MIN - 1);
    REFUSED(record.last_failure.text.size = LK_FAILURE_BYTES_MAX + 1);
    REFUSED(record.need_count = LK_NEEDS_MAX + 1);
    REFUSED(record.need_count = 2); /* the same twice */
    REFUSED((record.need_count = 1, record.needs[0].units = 1));
#undef REFUSED
    assert_int_equal(lk_model_restore_item(model, &good), LK_OK);
    assert_int_equal(lk_model_restore_item(model, &good), LK_INVALID);
    lk_model_free(model);
}

int main(void) {
    void *work = (void *)(uintptr_t) "work";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_records_are_refused),
        cmocka_unit_test(a_restored_model_gives_the_same_answers),
        cmocka_unit_test(leases_that_ended_meanwhile_let_waiters_in),
        cmocka_unit_test(impossible_items_are_refused),
        {"nobody_can_tell_of_work", a_restored_model_gives_the_same_answers, NULL, NULL, work},
        {"what_ended_meanwhile_lets_others_in_with_work",
         leases_that_ended_meanwhile_let_waiters_in, NULL, NULL, work},
    };

    return cmocka_run_group_tests_name("restoring", tests, NULL, NULL);
}
