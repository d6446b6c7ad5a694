/* SPDX-License-Identifier: Apache-2.0 */
/* Split requests, place by place. */
#include "keeper/batch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine/reply.h"

#define GIVE_BACK_US INT64_C(2000000) /* patience beyond the caller's, so that nothing stays */
#define FIRST_US_MAX                                                                               \
    INT64_C(1000000) /* for each place at first, so that a dead one keeps none up */

/* The parts of one place, in the order of the ask. */
struct group {
    unsigned place;
    struct lk_path root; /* the first in byte order */
    size_t count;
    struct lk_part parts[LK_PARTS_MAX];
    uint64_t token;
    bool is_new; /* this call put it there */
};

struct split {
    struct group groups[LK_PARTS_MAX];
    size_t count;
    size_t first; /* the group with the first part, and so the value and the token */
    size_t name_size;
    char name[LK_PARTS_MAX * (LK_PATH_BYTES_MAX + 1)]; /* all paths, sorted: the batch's identity */
};

/* ---- splitting ------------------------------------------------------------------------------- */

static unsigned place_of(struct lk_engine *engine, const struct lk_part *part) {
    return engine->ops->place_of(engine, lk_path_root(&part->path));
}

bool lk_batch_is_split(struct lk_engine *engine, const struct lk_part *parts, size_t count) {
    if (engine->ops->place_of == NULL) {
        return false;
    }
    for (size_t i = 1; i < count; i++) {
        if (!lk_slice_equal(lk_path_root(&parts[0].path), lk_path_root(&parts[i].path))
            && place_of(engine, &parts[i]) != place_of(engine, &parts[0])) {
            return true;
        }
    }
    return false;
}

static int compare_roots(struct lk_slice a, struct lk_slice b) {
    int order = memcmp(a.bytes, b.bytes, a.size < b.size ? a.size : b.size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static void add_part(struct split *split, const struct lk_part *part, unsigned place) {
    struct group *group = split->groups;

    while (group < split->groups + split->count && group->place != place) {
        group++;
    }
    if (group == split->groups + split->count) {
        *group = (struct group){.place = place, .root = part->path};
        split->count++;
    }
    if (compare_roots(lk_path_root(&part->path), lk_path_root(&group->root)) < 0) {
        group->root = part->path;
    }
    group->parts[group->count++] = *part;
}

static int compare_groups(const void *a, const void *b) {
    const struct group *left = a;
    const struct group *right = b;

    return compare_roots(lk_path_root(&left->root), lk_path_root(&right->root));
}

static int compare_paths(const void *a, const void *b) {
    return lk_path_compare(&((const struct lk_part *)a)->path, &((const struct lk_part *)b)->path);
}

static void name_split(struct split *split, const struct lk_part *parts, size_t count) {
    struct lk_part sorted[LK_PARTS_MAX];

    memcpy(sorted, parts, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_paths);
    for (size_t i = 0; i < count; i++) {
        memcpy(split->name + split->name_size, sorted[i].path.bytes, sorted[i].path.size);
        split->name_size += sorted[i].path.size;
        split->name[split->name_size++] = '\n'; /* is in no path */
    }
}

static struct lk_slice name_of(const struct split *split) {
    return (struct lk_slice){split->name, split->name_size};
}

/* NULL when memory is exhausted. */
static struct split *split_parts(struct lk_engine *engine, const struct lk_part *parts,
                                 size_t count) {
    struct split *split = calloc(1, sizeof *split);
    unsigned first = place_of(engine, &parts[0]);

    if (split == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        add_part(split, &parts[i], place_of(engine, &parts[i]));
    }
    qsort(split->groups, split->count, sizeof *split->groups, compare_groups);
    while (split->groups[split->first].place != first) {
        split->first++;
    }
    name_split(split, parts, count);
    return split;
}

static lk_outcome no_memory(lk_result *result) {
    return lk_result_fail(result, LK_INTERNAL, "no memory for a batch");
}

/* ---- ask ------------------------------------------------------------------------------------- */

static void give_back(struct lk_engine *engine, const struct lk_ask *ask, struct split *split,
                      size_t count) {
    for (size_t i = count; i-- > 0;) {
        const struct group *group = &split->groups[i];
        const struct lk_patience patience = {.until_us = lk_clock_now_us() + GIVE_BACK_US};
        const struct lk_release release = {.target = {.owner = ask->owner,
                                                      .parts = group->parts,
                                                      .part_count = group->count,
                                                      .token = group->token,
                                                      .batch = name_of(split)}};
        lk_result ignored = {.outcome = LK_OK};

        if (group->is_new) {
            /* Unreachable: it perishes by its ttl. */
            (void)engine->ops->release(engine, &release, &patience, &ignored);
            lk_result_clear(&ignored);
        }
    }
}

/* Makes what one place granted part of the whole answer, which takes over what it holds. */
static void add_grant(const struct split *split, size_t at, lk_result *grant, lk_result *result) {
    bool created = result->created || grant->created;
    int64_t left_ms = grant->expires_in_ms;

    if (at > 0 && result->expires_in_ms < left_ms) {
        left_ms = result->expires_in_ms;
    }
    if (at == split->first) {
        uint64_t *tokens = result->tokens;

        *result = *grant;
        result->tokens = tokens;
        *grant = (lk_result){.outcome = LK_OK};
    }
    result->created = created;
    result->expires_in_ms = left_ms;
    lk_result_clear(grant);
}

static bool set_tokens(struct lk_engine *engine, const struct lk_ask *ask,
                       const struct split *split, lk_result *result) {
    result->tokens = calloc(ask->part_count, sizeof *result->tokens);
    if (result->tokens == NULL) {
        return false;
    }
    for (size_t i = 0; i < ask->part_count; i++) {
        const struct group *group = split->groups;

        while (group->place != place_of(engine, &ask->parts[i])) {
            group++;
        }
        result->tokens[i] = group->token;
    }
    result->token_count = ask->part_count;
    return true;
}

/* Takes place after place. LK_GRANTED, or the outcome of the one that refused. */
static lk_outcome take(struct lk_engine *engine, const struct lk_ask *ask, struct split *split,
                       const struct lk_patience *patience, lk_result *result) {
    for (size_t i = 0; i < split->count; i++) {
        struct group *group = &split->groups[i];
        lk_result grant = {.outcome = LK_OK, .expires_in_ms = -1};
        struct lk_ask part = *ask;
        struct lk_stand ignored;

        part.parts = group->parts;
        part.part_count = group->count;
        part.style = LK_TRY;
        part.batch = name_of(split);
        part.wants_value = ask->wants_value && i == split->first;
        grant.outcome = engine->ops->ask(engine, &part, patience, &grant, &ignored);
        if (grant.outcome != LK_GRANTED) {
            /* Unknown is given back, too: it may have been granted. */
            group->is_new = grant.outcome == LK_UNAVAILABLE || grant.outcome == LK_CANCELLED;
            give_back(engine, ask, split, i + 1);
            lk_result_clear(result);
            *result = grant;
            return grant.outcome;
        }
        group->token = grant.token;
        group->is_new = grant.created;
        add_grant(split, i, &grant, result);
    }
    return LK_GRANTED;
}

lk_outcome lk_batch_ask(struct lk_engine *engine, const struct lk_ask *ask,
                        const struct lk_patience *patience, lk_result *result,
                        struct lk_stand *ret_stand) {
    struct split *split;
    lk_outcome outcome;

    if (!lk_batch_is_split(engine, ask->parts, ask->part_count)) {
        return engine->ops->ask(engine, ask, patience, result, ret_stand);
    }
    if (ask->style == LK_QUEUE) {
        return lk_result_fail(result, LK_UNSUPPORTED,
                              "R14: these roots live on different nodes: no line for all of them");
    }
    split = split_parts(engine, ask->parts, ask->part_count);
    if (split == NULL) {
        return no_memory(result);
    }
    outcome = take(engine, ask, split, patience, result);
    if (outcome == LK_GRANTED && !set_tokens(engine, ask, split, result)) {
        give_back(engine, ask, split, split->count);
        lk_result_clear(result);
        outcome = no_memory(result);
    }
    free(split);
    if (outcome == LK_BUSY && ask->style == LK_WAIT) {
        outcome = LK_WAITING;
    }
    result->outcome = outcome;
    return outcome;
}

/* ---- renew and release ----------------------------------------------------------------------- */

static struct lk_target target_of(const struct split *split, size_t at,
                                  const struct lk_target *whole) {
    return (struct lk_target){.owner = whole->owner,
                              .parts = split->groups[at].parts,
                              .part_count = split->groups[at].count,
                              .token = at == split->first ? whole->token : 0,
                              .batch = name_of(split)};
}

/* Unknown weighs more than lost, and lost more than anything else. */
static unsigned weight_of(lk_outcome outcome) {
    switch (outcome) {
    case LK_OK:
        return 0;
    case LK_LOST:
        return 2;
    case LK_UNAVAILABLE:
    case LK_CANCELLED:
        return 3;
    default:
        return 1;
    }
}

/* Keeps of two answers the one that weighs more; of two good ones the first part's. */
static void merge(lk_result *one, bool is_first, lk_result *result) {
    unsigned weight = weight_of(one->outcome);
    unsigned weight_so_far = weight_of(result->outcome);
    int64_t left_ms = one->expires_in_ms;

    if (result->outcome == LK_OK && result->expires_in_ms >= 0 && result->expires_in_ms < left_ms) {
        left_ms = result->expires_in_ms;
    }
    if (weight > weight_so_far || (weight == weight_so_far && is_first)) {
        lk_result_clear(result);
        *result = *one;
        *one = (lk_result){.outcome = LK_OK};
    }
    if (result->outcome == LK_OK) {
        result->expires_in_ms = left_ms;
    }
    lk_result_clear(one);
}

/* One place's renewal or release. */
typedef lk_outcome call_place(struct lk_engine *engine, const struct split *split, size_t at,
                              const void *call, const struct lk_patience *patience,
                              lk_result *result);

/* A share of what is left of the patience, with `left` places to come. */
static struct lk_patience share_of(const struct lk_patience *whole, size_t left, int64_t max_us) {
    int64_t now_us = lk_clock_now_us();
    int64_t share_us = (whole->until_us - now_us) / ((int64_t)left + 1);

    share_us = share_us < max_us ? share_us : max_us;
    return (struct lk_patience){.until_us = now_us + share_us, .waker = whole->waker};
}

/*
 * Every place is called, although one fails (R14): first each for a short time, then those that
 * were not reached for as long as the patience lasts. A release that may have been carried out the
 * first time, and is LOST then, is as unknown as before.
 */
static lk_outcome call_places(struct lk_engine *engine, const struct split *split,
                              call_place *call_one, bool is_ending, const void *call,
                              const struct lk_patience *patience, lk_result *result) {
    lk_result answers[LK_PARTS_MAX];

    for (size_t i = 0; i < split->count; i++) {
        const struct lk_patience share = share_of(patience, split->count - i, FIRST_US_MAX);

        answers[i] = (lk_result){.outcome = LK_OK, .expires_in_ms = -1};
        answers[i].outcome = call_one(engine, split, i, call, &share, &answers[i]);
    }
    for (size_t i = 0; i < split->count; i++) {
        lk_result again = {.outcome = LK_OK, .expires_in_ms = -1};

        if (answers[i].outcome != LK_UNAVAILABLE || lk_clock_now_us() >= patience->until_us) {
            continue;
        }
        again.outcome = call_one(engine, split, i, call, patience, &again);
        if (is_ending && again.outcome == LK_LOST) {
            lk_result_clear(&again);
        } else {
            lk_result_clear(&answers[i]);
            answers[i] = again;
        }
    }
    result->outcome = LK_OK;
    result->expires_in_ms = -1;
    for (size_t i = 0; i < split->count; i++) {
        merge(&answers[i], i == split->first, result);
    }
    return result->outcome;
}

static lk_outcome renew_place(struct lk_engine *engine, const struct split *split, size_t at,
                              const void *call, const struct lk_patience *patience,
                              lk_result *result) {
    const struct lk_renew *whole = call;
    const struct lk_renew one = {.target = target_of(split, at, &whole->target),
                                 .ttl_ms = whole->ttl_ms};

    return engine->ops->renew(engine, &one, patience, result);
}

static lk_outcome release_place(struct lk_engine *engine, const struct split *split, size_t at,
                                const void *call, const struct lk_patience *patience,
                                lk_result *result) {
    const struct lk_release *whole = call;
    const struct lk_release one = {.target = target_of(split, at, &whole->target),
                                   .puts = whole->puts && at == split->first,
                                   .put = whole->put};

    return engine->ops->release(engine, &one, patience, result);
}

lk_outcome lk_batch_renew(struct lk_engine *engine, const struct lk_renew *renew,
                          const struct lk_patience *patience, lk_result *result) {
    struct split *split;
    lk_outcome outcome;

    if (!lk_batch_is_split(engine, renew->target.parts, renew->target.part_count)) {
        return engine->ops->renew(engine, renew, patience, result);
    }
    split = split_parts(engine, renew->target.parts, renew->target.part_count);
    if (split == NULL) {
        return no_memory(result);
    }
    outcome = call_places(engine, split, renew_place, false, renew, patience, result);
    free(split);
    return outcome;
}

lk_outcome lk_batch_release(struct lk_engine *engine, const struct lk_release *release,
                            const struct lk_patience *patience, lk_result *result) {
    struct split *split;
    lk_outcome outcome;

    if (!lk_batch_is_split(engine, release->target.parts, release->target.part_count)) {
        return engine->ops->release(engine, release, patience, result);
    }
    split = split_parts(engine, release->target.parts, release->target.part_count);
    if (split == NULL) {
        return no_memory(result);
    }
    outcome = call_places(engine, split, release_place, true, release, patience, result);
    free(split);
    return outcome;
}
