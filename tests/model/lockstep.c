/* SPDX-License-Identifier: Apache-2.0 */
/* Stepping both, and every comparison that follows. */
#include "lockstep.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKERS_NAMED_MAX = 256 }; /* more than an answer of the model can name are counted only */

void *lockstep_grown(void *old, size_t count, size_t size) {
    void *memory = realloc(old, (count + 1) * size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

void lockstep_open_with(struct lockstep *lockstep, const struct lk_quotas *quotas,
                        uint32_t ended_max, uint32_t idle_queues_max,
                        const struct lk_allocator *allocator) {
    struct lk_model_config config = {
        .allocator = allocator, .ended_max = ended_max, .idle_queues_max = idle_queues_max};

    if (quotas != NULL) {
        config.quotas = *quotas;
    }
    *lockstep = (struct lockstep){.is_exact = true};
    lockstep->model = lk_model_new(&config);
    if (lockstep->model == NULL) {
        abort();
    }
    lockstep->reference = lk_reference_new(
        quotas, ended_max != 0 ? ended_max : LK_ENDED_MAX_DEFAULT, idle_queues_max);
}

void lockstep_close(struct lockstep *lockstep) {
    lk_model_free(lockstep->model);
    lk_reference_free(lockstep->reference);
    free(lockstep->matches);
    free(lockstep->before);
    free(lockstep->roots);
    lockstep_work_done(lockstep);
}

/* ---- one request on both sides ---- */

bool lockstep_is_same_part(const struct lk_part *a, const struct lk_part *b) {
    return lk_path_equal(&a->path, &b->path) && a->mode == b->mode && a->limit == b->limit
           && a->units == b->units && a->strict == b->strict;
}

static const char *compare_request(const struct lockstep *lockstep, const struct lk_record *record,
                                   const struct lk_reference_request *expected) {
    if (!lk_slice_equal(record->owner, expected->owner)) {
        return "owner";
    }
    if (record->state != expected->state) {
        return "state";
    }
    if (record->revoked != expected->revoked) {
        return "revoked";
    }
    if (record->fixed != expected->fixed) {
        return "fixed";
    }
    if (record->attended != expected->attended) {
        return "attended";
    }
    if (record->ttl_ms != expected->ttl_ms) {
        return "ttl";
    }
    if (record->deadline_us != expected->deadline_us) {
        return "deadline";
    }
    if (!lk_slice_equal(record->note, expected->note)) {
        return "note";
    }
    if ((record->token == 0) != (record->state == LK_STATE_WAITING)) {
        return "a token while waiting, or none while held";
    }
    if (lockstep->is_exact
        && (record->ticket != expected->ticket || record->token != expected->token)) {
        return record->ticket != expected->ticket ? "ticket" : "token";
    }
    if (record->wants_value != expected->wants_value) {
        return "whether it wants the value";
    }
    if (record->is_claim != expected->is_claim || record->ask_number != expected->ask_number
        || record->max_attempts != expected->max_attempts) {
        return "what is known of a claim";
    }
    if (record->part_count != expected->part_count) {
        return "number of parts";
    }
    for (size_t i = 0; i < record->part_count; i++) {
        if (!lockstep_is_same_part(&record->parts[i], &expected->parts[i])) {
            return "part";
        }
    }
    return NULL;
}

static const struct lk_reference_request *find_arrival(const struct lk_reference *reference,
                                                       uint64_t arrival) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(reference, &count);

    for (size_t i = 0; i < count; i++) {
        if (live[i].arrival == arrival) {
            return &live[i];
        }
    }
    return NULL;
}

/* ---- the whole list ---- */

uint64_t lockstep_arrival_of(const struct lockstep *lockstep, uint64_t id) {
    for (size_t i = 0; i < lockstep->match_count; i++) {
        if (lockstep->matches[i].id == id) {
            return lockstep->matches[i].arrival;
        }
    }
    return 0;
}

/* What one walk over the model's list finds. */
struct walk {
    struct lockstep *lockstep;
    struct lk_record record; /* of the request at hand */
    struct lockstep_match *seen;
    struct lk_reference_request *numbers; /* ticket and token of the model, owner and parts */
    size_t count;
    size_t unknown;
    const char *wrong;
};

/* A request that no step before has listed is the one that arrived last. */
static uint64_t match_new(struct walk *walk) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(walk->lockstep->reference, &count);
    uint64_t arrival = count > 0 ? live[count - 1].arrival : 0;

    for (size_t i = 0; i < walk->lockstep->match_count; i++) {
        if (walk->lockstep->matches[i].arrival == arrival) {
            return 0;
        }
    }
    walk->unknown++;
    return walk->unknown == 1 ? arrival : 0;
}

static bool visit(void *context, lk_ref request) {
    struct walk *walk = context;
    struct lockstep *lockstep = walk->lockstep;
    const struct lk_reference_request *expected;
    uint64_t arrival;

    lk_model_record(lockstep->model, request, &walk->record);
    arrival = lockstep_arrival_of(lockstep, walk->record.id);
    if (arrival == 0) {
        arrival = match_new(walk);
    }
    expected = arrival != 0 ? find_arrival(lockstep->reference, arrival) : NULL;
    if (expected == NULL) {
        walk->wrong = "lists a request that is not live";
        return false;
    }
    walk->wrong = compare_request(lockstep, &walk->record, expected);
    if ((lk_model_find(lockstep->model, expected->owner, expected->parts, expected->part_count)
         == request)
        == expected->is_claim) {
        walk->wrong = "finds a claim, or does not find what it lists (R3, R16)";
    }
    walk->seen = lockstep_grown(walk->seen, walk->count, sizeof *walk->seen);
    walk->seen[walk->count] = (struct lockstep_match){.id = walk->record.id, .arrival = arrival};
    walk->numbers = lockstep_grown(walk->numbers, walk->count, sizeof *walk->numbers);
    walk->numbers[walk->count] = *expected;
    walk->numbers[walk->count].ticket = walk->record.ticket;
    walk->numbers[walk->count].token = walk->record.token;
    walk->count++;
    return walk->wrong == NULL;
}

static bool share_a_root(const struct lk_reference_request *a,
                         const struct lk_reference_request *b) {
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            if (lk_slice_equal(lk_path_root(&a->parts[i].path), lk_path_root(&b->parts[j].path))) {
                return true;
            }
        }
    }
    return false;
}

static int order(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* R4: whatever the numbers, their order within a root is the reference's. */
static bool is_same_order(const struct walk *walk) {
    for (size_t i = 0; i < walk->count; i++) {
        const struct lk_reference_request *mine = &walk->numbers[i];
        const struct lk_reference_request *expected =
            find_arrival(walk->lockstep->reference, mine->arrival);
        for (size_t j = 0; j < walk->count; j++) {
            const struct lk_reference_request *other = &walk->numbers[j];
            const struct lk_reference_request *other_expected =
                find_arrival(walk->lockstep->reference, other->arrival);
            if (share_a_root(mine, other)
                && (order(mine->ticket, other->ticket)
                        != order(expected->ticket, other_expected->ticket)
                    || order(mine->token, other->token)
                           != order(expected->token, other_expected->token)
                    || order(mine->token, other->ticket)
                           != order(expected->token, other_expected->ticket))) {
                return false;
            }
        }
    }
    return true;
}

static int compare_arrivals(const void *left, const void *right) {
    const struct lockstep_match *a = left;
    const struct lockstep_match *b = right;

    return order(a->arrival, b->arrival);
}

static const char *finish_walk(struct walk *walk) {
    struct lockstep *lockstep = walk->lockstep;
    size_t expected_count;

    lk_reference_live(lockstep->reference, &expected_count);
    if (walk->wrong == NULL && walk->count != expected_count) {
        walk->wrong = "number of live requests";
    }
    if (walk->wrong == NULL && !lockstep->is_exact && !is_same_order(walk)) {
        walk->wrong = "order of tickets and tokens";
    }
    if (walk->wrong != NULL) {
        free(walk->seen);
        return walk->wrong;
    }
    if (walk->count > 1) {
        qsort(walk->seen, walk->count, sizeof *walk->seen, compare_arrivals);
    }
    free(lockstep->matches);
    lockstep->matches = walk->seen;
    lockstep->match_count = walk->count;
    return NULL;
}

const char *lockstep_compare(struct lockstep *lockstep) {
    struct walk walk = {.lockstep = lockstep};
    struct lk_model_stats stats;
    size_t waiting = 0;
    const char *wrong;

    lk_model_each(lockstep->model, visit, &walk);
    for (size_t i = 0; i < walk.count; i++) {
        waiting += walk.numbers[i].state == LK_STATE_WAITING;
    }
    wrong = finish_walk(&walk);
    free(walk.numbers);
    if (wrong != NULL) {
        return wrong;
    }
    lk_model_stats(lockstep->model, &stats);
    if (stats.live != walk.count || stats.waiting != waiting) {
        return "statistics";
    }
    if (lk_model_next_deadline(lockstep->model)
        != lk_reference_next_deadline(lockstep->reference)) {
        return "next deadline";
    }
    wrong = lk_model_check(lockstep->model);
    wrong = wrong != NULL ? wrong : lk_reference_check(lockstep->reference);
    wrong = wrong != NULL ? wrong : lockstep_explain_compare(lockstep);
    wrong = wrong != NULL ? wrong : lockstep_pages_compare(lockstep);
    wrong = wrong != NULL ? wrong : lockstep_queues_compare(lockstep);
    return wrong != NULL ? wrong : lockstep_work_compare(lockstep);
}

/* ---- the answer ---- */

static bool is_about_part(const struct lk_part *part, const struct lk_ask *ask) {
    for (size_t i = 0; i < ask->part_count; i++) {
        if (lk_path_related(&part->path, &ask->parts[i].path)) {
            return true;
        }
    }
    return false;
}

static bool is_expected(const struct lk_reference_answer *expected, uint64_t arrival) {
    for (size_t i = 0; i < expected->blocker_count; i++) {
        if (expected->blockers[i].arrival == arrival) {
            return true;
        }
    }
    return false;
}

/*
 * R20: the same requests, each with a part that has to do with the ask; holders first, then by
 * ticket. Where numbers differ on both sides, so may the order of tickets in different roots.
 */
static const char *compare_named(const struct lockstep *lockstep, const struct lk_ask *ask,
                                 const struct lk_answer *answer,
                                 const struct lk_reference_answer *expected) {
    struct lk_record record;
    bool was_held = true;
    uint64_t ticket = 0;

    for (size_t i = 0; i < answer->blocker_count; i++) {
        uint64_t arrival;
        bool held;
        lk_model_record(lockstep->model, answer->blockers[i].request, &record);
        arrival = lockstep_arrival_of(lockstep, record.id);
        held = record.state == LK_STATE_HELD;
        if (lockstep->is_exact ? arrival != expected->blockers[i].arrival
                               : !is_expected(expected, arrival)) {
            return "blockers";
        }
        if (held && !was_held) {
            return "holders are not named first";
        }
        if (held == was_held && record.ticket < ticket) {
            return "blockers are not in the order of tickets";
        }
        if (answer->blockers[i].part >= record.part_count
            || !is_about_part(&record.parts[answer->blockers[i].part], ask)) {
            return "part of a blocker";
        }
        was_held = held;
        ticket = record.ticket;
    }
    return NULL;
}

static const char *compare_blockers(const struct lockstep *lockstep, const struct lk_ask *ask,
                                    const struct lk_answer *answer,
                                    const struct lk_reference_answer *expected) {
    size_t named = ask->blockers_max < BLOCKERS_NAMED_MAX ? ask->blockers_max : BLOCKERS_NAMED_MAX;

    if (ask->blockers_max == 0) {
        return answer->blocker_count == 0 ? NULL : "blockers that were not asked for";
    }
    named = named < expected->blocker_count ? named : expected->blocker_count;
    if (answer->in_the_way != expected->blocker_count) {
        return "number of requests in the way";
    }
    if (answer->blocker_count != named) {
        return "number of blockers named";
    }
    return compare_named(lockstep, ask, answer, expected);
}

static const char *compare_ask(const struct lockstep *lockstep, const struct lk_ask *ask,
                               const struct lk_answer *answer,
                               const struct lk_reference_answer *expected) {
    switch (answer->outcome) {
    case LK_GRANTED:
    case LK_WAITING:
    case LK_BUSY:
        if (answer->in_use != expected->in_use) {
            return "units in use";
        }
        return compare_blockers(lockstep, ask, answer, expected);
    case LK_DEADLOCK:
        if (answer->cycle_count == 0 || !lk_slice_equal(answer->cycle[0], ask->owner)) {
            return "a cycle that does not start with the asker";
        }
        return lk_reference_is_cycle(lockstep->reference, answer->cycle, answer->cycle_count)
                   ? NULL
                   : "a cycle that is none";
    case LK_INVALID:
    case LK_FULL:
        return answer->text[0] != '\0' ? NULL : "no text that says why";
    default:
        return NULL;
    }
}

static const char *compare_answer(const struct lockstep *lockstep, const struct lk_command *command,
                                  const struct lk_answer *answer,
                                  const struct lk_reference_answer *expected) {
    struct lk_record record;

    if (answer->created != expected->created) {
        return "created";
    }
    if (answer->was != expected->was || answer->is_replaced != expected->is_replaced) {
        return "what a push has found, or changed";
    }
    if (answer->broken != expected->broken) {
        return "number of broken requests";
    }
    if (answer->text == NULL) {
        return "no text, not even an empty one";
    }
    if (expected->arrival != 0) {
        if (answer->request == 0) {
            return "an answer about nothing";
        }
        lk_model_record(lockstep->model, answer->request, &record);
        if (lockstep_arrival_of(lockstep, record.id) != expected->arrival) {
            return "an answer about another request";
        }
    }
    if (command->kind == LK_COMMAND_ASK) {
        const char *wrong = compare_ask(lockstep, &command->ask, answer, expected);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return lockstep_work_compare_answer(lockstep, command, answer, expected);
}

/* ---- the changes ---- */

static bool is_unchanged(const struct lk_reference_request *a,
                         const struct lk_reference_request *b) {
    if (a->state != b->state || a->revoked != b->revoked || a->attended != b->attended
        || a->fixed != b->fixed || a->wants_value != b->wants_value || a->ticket != b->ticket
        || a->token != b->token || a->ttl_ms != b->ttl_ms || a->deadline_us != b->deadline_us
        || !lk_slice_equal(a->note, b->note)) {
        return false;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        if (!lockstep_is_same_part(&a->parts[i], &b->parts[i])) {
            return false;
        }
    }
    return true;
}

static bool is_an_end(enum lk_change_kind kind) {
    return kind == LK_CHANGE_RELEASED || kind == LK_CHANGE_WITHDRAWN || kind == LK_CHANGE_PERISHED
           || kind == LK_CHANGE_BROKEN;
}

/* Whether the step's changes name the request, and its end exactly when it has ended. */
static const char *find_change(const struct lockstep *lockstep, uint64_t id, bool has_ended) {
    bool named = false;
    bool ended = false;

    for (size_t i = 0; i < lockstep->effects->change_count; i++) {
        struct lk_record record;
        if (lockstep->effects->changes[i].request == 0) {
            continue; /* it is about a value, an item or a queue */
        }
        lk_model_record(lockstep->model, lockstep->effects->changes[i].request, &record);
        if (record.id == id) {
            if (ended) {
                return "a change behind the end of a request";
            }
            named = true;
            ended = is_an_end(lockstep->effects->changes[i].kind);
        }
    }
    if (!named) {
        return "no change names a request that is different now";
    }
    return ended == has_ended ? NULL : "an end that is none, or one that is not named";
}

/* `matches` are those from before the step: those of what has ended among them. */
static const char *check_changes(const struct lockstep *lockstep,
                                 const struct lockstep_match *matches, size_t match_count) {
    const char *wrong = NULL;

    for (size_t i = 0; i < match_count && wrong == NULL; i++) {
        const struct lk_reference_request *after =
            find_arrival(lockstep->reference, matches[i].arrival);
        if (after == NULL || !is_unchanged(&lockstep->before[i], after)) {
            wrong = find_change(lockstep, matches[i].id, after == NULL);
        }
    }
    for (size_t i = 0; i < lockstep->match_count && wrong == NULL; i++) {
        if (match_count == 0 || lockstep->matches[i].arrival > matches[match_count - 1].arrival) {
            wrong = find_change(lockstep, lockstep->matches[i].id, false);
        }
    }
    return wrong;
}

/* ---- rising numbers (R4) ---- */

static struct lockstep_root *root_of(struct lockstep *lockstep, const struct lk_path *path) {
    struct lk_slice name = lk_path_root(path);

    for (size_t i = 0; i < lockstep->root_count; i++) {
        if (lk_slice_equal(lk_slice_of(lockstep->roots[i].name), name)) {
            return &lockstep->roots[i];
        }
    }
    lockstep->roots =
        lockstep_grown(lockstep->roots, lockstep->root_count, sizeof *lockstep->roots);
    lockstep->roots[lockstep->root_count] = (struct lockstep_root){.greatest = 0};
    memcpy(lockstep->roots[lockstep->root_count].name, name.bytes, name.size);
    return &lockstep->roots[lockstep->root_count++];
}

bool lockstep_rises(struct lockstep *lockstep, const struct lk_path *path, uint64_t number) {
    struct lockstep_root *root = root_of(lockstep, path);
    bool rises = number > root->greatest;

    root->greatest = rises ? number : root->greatest;
    return rises;
}

/* Each number that this step has drawn is greater than all that were seen in its roots before. */
static const char *check_numbers(struct lockstep *lockstep, const struct lk_command *command) {
    uint64_t shared = command->kind == LK_COMMAND_TAKE ? command->take.share_token : 0;
    struct lk_record record;
    const char *wrong = NULL;

    for (size_t i = 0; i < lockstep->effects->change_count; i++) {
        const struct lk_change *change = &lockstep->effects->changes[i];
        if (change->kind == LK_CHANGE_GRANTED) {
            lk_model_record(lockstep->model, change->request, &record);
            for (size_t p = 0; p < record.part_count; p++) {
                uint64_t greatest = root_of(lockstep, &record.parts[p].path)->greatest;
                if (record.token < greatest || (record.token == greatest && greatest != shared)) {
                    wrong = "R4: a token that is not greater than all before";
                }
            }
        }
    }
    for (size_t i = 0; i < lockstep->effects->change_count; i++) {
        if (lockstep->effects->changes[i].request != 0) {
            lk_model_record(lockstep->model, lockstep->effects->changes[i].request, &record);
            for (size_t p = 0; p < record.part_count; p++) {
                lockstep_rises(lockstep, &record.parts[p].path, record.ticket);
                lockstep_rises(lockstep, &record.parts[p].path, record.token);
            }
        }
    }
    return wrong;
}

/* ---- the step ---- */

static void keep_before(struct lockstep *lockstep) {
    size_t count;
    const struct lk_reference_request *live = lk_reference_live(lockstep->reference, &count);

    lockstep->before = lockstep_grown(lockstep->before, count, sizeof *lockstep->before);
    if (count > 0) {
        memcpy(lockstep->before, live, count * sizeof *live);
    }
    lockstep->before_count = count;
}

const char *lockstep_step(struct lockstep *lockstep, const struct lk_command *command) {
    return lockstep_follow(lockstep, command, lk_model_step(lockstep->model, command));
}

const char *lockstep_follow(struct lockstep *lockstep, const struct lk_command *command,
                            const struct lk_effects *effects) {
    const struct lk_reference_answer *expected;
    struct lockstep_match *matches = lockstep_grown(NULL, lockstep->match_count, sizeof *matches);
    size_t match_count = lockstep->match_count;
    const char *wrong;

    if (match_count > 0) {
        memcpy(matches, lockstep->matches, match_count * sizeof *matches);
    }
    keep_before(lockstep);
    lockstep_work_keep(lockstep, command);
    /* Less than a millisecond on, draws of the step before may be ahead of the wall clock. */
    if (command->times.wall_us < lockstep->times.wall_us + 1000) {
        lockstep->is_exact = false;
    }
    lockstep->times = command->times;
    lockstep->seen_us = command->times.now_us;
    expected = lk_reference_step(lockstep->reference, command);
    lockstep->effects = effects;
    if (lockstep->effects->answer.outcome != expected->outcome) {
        snprintf(
            lockstep->text, sizeof lockstep->text, "outcome: %s in the model, %s in the reference",
            lk_outcome_name(lockstep->effects->answer.outcome), lk_outcome_name(expected->outcome));
        wrong = lockstep->text;
    } else {
        wrong = lockstep_compare(lockstep);
    }
    if (wrong == NULL) {
        wrong = compare_answer(lockstep, command, &lockstep->effects->answer, expected);
    }
    wrong = wrong != NULL ? wrong : check_changes(lockstep, matches, match_count);
    wrong = wrong != NULL ? wrong : check_numbers(lockstep, command);
    wrong = wrong != NULL ? wrong : lockstep_work_check_changes(lockstep);
    free(matches);
    return wrong;
}
