/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the steps about several items of a queue at once, and about lists of queues and of values:
 * each of their pages, until there is no other.
 */
#include <stdlib.h>
#include <string.h>

#include "observed.h"
#include "playback.h"

bool is_about_several(const struct step *step) {
    switch (step->kind) {
    case STEP_PUSH:
    case STEP_DONE:
        return step->part_count > 1;
    case STEP_CLAIM:
        return step->options.most != 0;
    case STEP_UNPARK:
        return step->options.all;
    case STEP_DROP:
    case STEP_QUEUES:
        return true;
    default:
        return false;
    }
}

/* The queue of all parts, and their ids. */
static bool names_of(const struct step *step, struct item_name names[STEP_PARTS_MAX],
                     const char *ids[STEP_PARTS_MAX], struct complaint *complaint) {
    for (size_t i = 0; i < step->part_count; i++) {
        if (!item_name_of(step->parts[i], &names[i], complaint)) {
            return false;
        }
        ids[i] = names[i].id;
    }
    return true;
}

/* ---- pushing --------------------------------------------------------------------------------- */

static bool play_push(struct playback *playback, const struct step *step, lk_store *store,
                      struct complaint *complaint) {
    static struct item_name names[STEP_PARTS_MAX];
    const char *ids[STEP_PARTS_MAX];
    lk_push_request requests[STEP_PARTS_MAX];
    lk_push_counts counts = {.added = 0};
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = playback_now_us();

    if (!names_of(step, names, ids, complaint)) {
        return false;
    }
    for (size_t i = 0; i < step->part_count; i++) {
        requests[i] = push_request_of(playback, step, &names[i]);
    }
    observation.outcome = lk_push_many(store, requests, step->part_count, &counts, &error);
    observation.count = counts.added;
    if (observation.outcome == LK_OK && counts.added + counts.duplicates != step->part_count) {
        return complain(complaint, "%zu pushes, but %zu counted", step->part_count,
                        (size_t)(counts.added + counts.duplicates));
    }
    for (size_t i = 0; observation.outcome == LK_OK && i < step->part_count; i++) {
        item_promise_due(playback, step, step->parts[i], called_us);
    }
    return playback_compare(playback, step, &observation, complaint);
}

/* ---- claiming -------------------------------------------------------------------------------- */

/* R4, R16: all claims of one decision have one token. Remembers each as the lease that it is. */
static bool see_further_claims(struct playback *playback, const lk_claim_list *list,
                               int64_t called_us, struct complaint *complaint) {
    for (size_t i = 1; i < list->count; i++) {
        char text[ITEM_TEXT_MAX];
        char *path = text;
        struct observation observation = {.outcome = LK_GRANTED};

        if (list->claims[i]->token != list->claims[0]->token) {
            return complain(complaint, "R16: claims of one decision with different tokens");
        }
        (void)snprintf(text, sizeof text, "%s/%s", list->claims[i]->queue, list->claims[i]->id);
        claim_see(&observation, list->claims[i], &path);
        observed_remember(&playback->observed, &observation);
        claim_promise(playback, list->claims[i], path, called_us);
    }
    return true;
}

static bool play_claim(struct playback *playback, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    const lk_claim_request request = claim_request_of(playback, step);
    lk_claim_list *list = NULL;
    lk_error error = {0};
    char text[ITEM_TEXT_MAX] = "";
    char *path = text;
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = playback_now_us();

    if (request.wait_ms > 0) {
        return complain(complaint, "claims of several do not block a scenario");
    }
    observation.outcome = lk_claim_many(store, &request, step->options.most, &list, &error);
    if (list != NULL) {
        (void)snprintf(text, sizeof text, "%s/%s", list->claims[0]->queue, list->claims[0]->id);
        claim_see(&observation, list->claims[0], &path);
        claim_promise(playback, list->claims[0], path, called_us);
        observation.claims = list->claims;
        observation.claim_count = list->count;
        observation.count = list->count;
    }
    bool as_expected =
        playback_compare(playback, step, &observation, complaint)
        && (list == NULL || see_further_claims(playback, list, called_us, complaint));
    lk_claim_list_free(list);
    return as_expected;
}

/* ---- done, drop, unpark ---------------------------------------------------------------------- */

static bool play_done(struct playback *playback, const struct step *step, lk_store *store,
                      struct complaint *complaint) {
    static struct item_name names[STEP_PARTS_MAX];
    const char *ids[STEP_PARTS_MAX];
    const char *owner = playback_owner(playback, step->owner);
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    uint64_t token;
    uint64_t done = 0;

    if (!names_of(step, names, ids, complaint)
        || !playback_token(playback, step->options.token, &token, complaint)) {
        return false;
    }
    observation.outcome =
        lk_done_many(store, names[0].queue, ids, step->part_count, owner, token, &done, &error);
    observation.count = (size_t)done;
    for (size_t i = 0; done > 0 && i < step->part_count; i++) {
        claim_forget_promise(playback, owner, step->parts[i]);
    }
    return playback_compare(playback, step, &observation, complaint);
}

/* One or several items, or all that are parked. */
static bool play_drop(struct playback *playback, const struct step *step, lk_store *store,
                      struct complaint *complaint) {
    static struct item_name names[STEP_PARTS_MAX];
    const char *ids[STEP_PARTS_MAX];
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    uint64_t dropped = 0;

    if (step->options.all) {
        observation.outcome = lk_drop_parked(store, step->parts[0], &dropped, &error);
    } else if (names_of(step, names, ids, complaint)) {
        observation.outcome =
            lk_drop(store, names[0].queue, ids, step->part_count, &dropped, &error);
    } else {
        return false;
    }
    observation.count = (size_t)dropped;
    return playback_compare(playback, step, &observation, complaint);
}

static bool play_unpark(struct playback *playback, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    uint64_t unparked = 0;

    observation.outcome = lk_unpark_all(store, step->parts[0], &unparked, &error);
    observation.count = (size_t)unparked;
    return playback_compare(playback, step, &observation, complaint);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static bool compare_queues(struct playback *playback, const struct step *step,
                           const lk_queue_list *list, struct complaint *complaint) {
    struct comparison comparison = {.observed = &playback->observed, .stretch = playback->stretch};

    if (list->count != step->entry_count) {
        return complain(complaint, "expected %zu lines, got %zu", step->entry_count, list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct entry_check *expected = &step->entries[i];
        struct observation observation = {.outcome = LK_OK, .stats = &list->queues[i].counts};
        struct complaint inner;

        if (strcmp(list->queues[i].queue, expected->part) != 0) {
            return complain(complaint, "line %zu: expected %.100s, got %.100s", i + 1,
                            expected->part, list->queues[i].queue);
        }
        if (!compare(&comparison, &observation, expected->checks, expected->check_count, &inner)) {
            return complain(complaint, "line %zu: %.280s", i + 1, inner.text);
        }
    }
    return true;
}

static bool play_queues(struct playback *playback, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    lk_queue_list *list = NULL;
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};

    observation.outcome =
        lk_queues(store, step->part_count > 0 ? step->parts[0] : NULL, &list, &error);
    bool as_expected = playback_compare(playback, step, &observation, complaint)
                       && (list == NULL || compare_queues(playback, step, list, complaint));
    lk_queue_list_free(list);
    return as_expected;
}

bool series_play(struct playback *playback, const struct step *step, lk_store *store,
                 struct complaint *complaint) {
    switch (step->kind) {
    case STEP_PUSH:
        return play_push(playback, step, store, complaint);
    case STEP_CLAIM:
        return play_claim(playback, step, store, complaint);
    case STEP_DONE:
        return play_done(playback, step, store, complaint);
    case STEP_UNPARK:
        return play_unpark(playback, step, store, complaint);
    case STEP_DROP:
        return play_drop(playback, step, store, complaint);
    default:
        return play_queues(playback, step, store, complaint);
    }
}

/* ---- lists of values ------------------------------------------------------------------------- */

/* The values of a page against the lines that begin at `first`. */
static bool compare_page(struct playback *playback, const struct step *step, size_t first,
                         const lk_value_list *page, struct complaint *complaint) {
    struct comparison comparison = {.observed = &playback->observed, .stretch = playback->stretch};

    for (size_t i = 0; i < page->count; i++) {
        const struct entry_check *expected = &step->entries[first + i];
        struct observation observation = {.outcome = LK_OK,
                                          .value_size = page->values[i].size,
                                          .in_doubt = page->values[i].in_doubt};
        struct complaint inner;

        if (first + i == step->entry_count) {
            return complain(complaint, "more than %zu lines: %.100s", first + i,
                            page->values[i].path);
        }
        if (strcmp(page->values[i].path, expected->part) != 0) {
            return complain(complaint, "line %zu: expected %.100s, got %.100s", first + i + 1,
                            expected->part, page->values[i].path);
        }
        if (!compare(&comparison, &observation, expected->checks, expected->check_count, &inner)) {
            return complain(complaint, "line %zu: %.280s", first + i + 1, inner.text);
        }
    }
    return true;
}

bool value_list_play(struct playback *playback, const struct step *step, lk_store *store,
                     struct complaint *complaint) {
    const char *prefix = step->part_count > 0 ? step->parts[0] : NULL;
    lk_value_list *former = NULL;
    size_t count = 0;
    bool as_expected = true;
    bool has_more = true;

    while (as_expected && has_more) {
        lk_error error = {0};
        struct observation observation = {.error = error.text, .expires_in_ms = -1};
        lk_value_list *page = NULL;

        observation.outcome =
            lk_values(store, prefix, former != NULL ? former->reached : NULL, &page, &error);
        lk_value_list_free(former);
        former = page;
        as_expected = playback_compare(playback, step, &observation, complaint)
                      && (page == NULL || compare_page(playback, step, count, page, complaint));
        count += page != NULL ? page->count : 0;
        has_more = page != NULL && page->reached != NULL;
    }
    lk_value_list_free(former);
    return as_expected
           && (count == step->entry_count
               || complain(complaint, "expected %zu lines, got %zu", step->entry_count, count));
}
