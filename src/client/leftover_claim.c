/* SPDX-License-Identifier: Apache-2.0 */
/* Leftovers of takes: items that were claimed for a call which has been given up. */
#include "base/clock.h"
#include "base/error.h"
#include "client/leftover.h"
#include "engine/reply/reply.h"

/* Of the item, if the entry is a claim of the leftover's owner in its queue; else empty. */
static struct lk_slice claimed_id(const lk_entry *entry, const struct lk_leftover *leftover) {
    const struct lk_path *queue = &leftover->parts[0].path;
    struct lk_slice path = lk_slice_of(entry->path);
    struct lk_slice id = {.bytes = NULL};

    if (entry->token != 0 && lk_slice_equal(lk_slice_of(entry->owner), leftover->owner)
        && path.size > (size_t)queue->size + 1 && memcmp(path.bytes, queue->bytes, queue->size) == 0
        && path.bytes[queue->size] == '/') {
        id.bytes = path.bytes + queue->size + 1;
        id.size = path.size - queue->size - 1;
    }
    return id.size > 0 && memchr(id.bytes, '/', id.size) == NULL ? id
                                                                 : (struct lk_slice){.bytes = NULL};
}

lk_outcome lk_leftover_return_item(struct lk_engine *engine, const struct lk_take *take,
                                   struct lk_slice id, uint64_t token,
                                   const struct lk_patience *patience, lk_error *error) {
    const struct lk_command command = {
        .kind = LK_COMMAND_FINISH,
        .finish = {.queue = take->queue,
                   .id = id,
                   .owner = take->owner,
                   .token = token,
                   .kind = LK_FINISH_RETRY,
                   .is_uncounted = true},
    };
    struct lk_decision decision;
    lk_outcome outcome = engine->ops->decide(engine, &command, patience, &decision);

    (void)lk_error_copy(error, &decision.error);
    lk_decision_done(&decision);
    return outcome;
}

/* Repeats takes of the call (R3), and gives back what they have. LK_NONE: they have nothing. */
static lk_outcome end_by_number(struct lk_engine *engine, const struct lk_leftover *leftover,
                                size_t count, const struct lk_patience *patience, lk_error *error) {
    struct lk_command command = {.kind = LK_COMMAND_TAKE, .take = *leftover->take};
    lk_outcome outcome = LK_GRANTED;
    size_t ended = 0;

    for (; ended < count && outcome == LK_GRANTED; ended++, command.take.ask_number++) {
        struct lk_decision taken;

        outcome =
            leftover->source != NULL
                ? engine->ops->table->decide(engine, leftover->source, &command, patience, &taken)
                : engine->ops->decide(engine, &command, patience, &taken);
        (void)lk_error_copy(error, &taken.error);
        if (outcome == LK_GRANTED) {
            lk_outcome returned =
                lk_leftover_return_item(engine, leftover->take, lk_slice_of(taken.claim->id),
                                        taken.claim->token, patience, error);

            outcome = returned == LK_OK || returned == LK_LOST ? LK_GRANTED : returned;
        }
        lk_decision_done(&taken);
    }
    if (outcome == LK_GRANTED) {
        return lk_error_clear(error, LK_OK);
    }
    return outcome == LK_BUSY ? lk_error_clear(error, ended > 1 ? LK_OK : LK_NONE) : outcome;
}

lk_outcome lk_leftover_end_claims(struct lk_engine *engine, const struct lk_leftover *leftover,
                                  const struct lk_patience *patience, lk_error *error) {
    lk_listing *listing = NULL;
    size_t candidates = 0;
    lk_outcome outcome =
        engine->ops->list(engine, &leftover->parts[0].path, patience, &listing, error);
    int64_t answered_us = lk_clock_now_us();

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = LK_NONE;
    for (size_t i = 0; i < listing->count && (outcome == LK_NONE || outcome == LK_OK); i++) {
        const lk_entry *entry = &listing->entries[i];
        struct lk_slice id = claimed_id(entry, leftover);

        if (id.size > 0 && leftover->is_ours) {
            outcome =
                lk_leftover_return_item(engine, leftover->take, id, entry->token, patience, error);
            outcome = outcome == LK_LOST ? lk_error_clear(error, LK_OK) : outcome;
        } else if (id.size > 0) { /* an age is rounded down */
            candidates += answered_us - entry->age_ms * 1000 >= leftover->began_us;
        }
    }
    lk_listing_free(listing);
    if (candidates > 0) {
        candidates = candidates < leftover->take_count ? candidates : leftover->take_count;
        return end_by_number(engine, leftover, candidates, patience, error);
    }
    return outcome == LK_NONE ? lk_error_clear(error, LK_NONE) : outcome;
}
