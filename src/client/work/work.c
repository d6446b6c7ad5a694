/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about work (R16) that answer at once; claiming is in claim.c, pools are in pool.c. */
#include "base/error.h"
#include "client/answer.h"
#include "client/checked.h"
#include "client/wait.h"

/* What tells of trouble, once there is something to go by. */
enum {
    HINT_CLAIMS_MIN = 20,
    HINT_CLAIMS_PER_STEAL = 10,     /* no more steals than one in so many claims are normal */
    HINT_DUPLICATES_PER_PUSHED = 3, /* nor more duplicates than so many for each item */
};

/* An item by its queue and id: QUEUE/ID as a path, in bytes of its own. */
struct item_name {
    struct lk_path queue; /* the caller's bytes */
    struct lk_slice id;   /* the caller's bytes */
    struct lk_path path;
    char bytes[LK_PATH_BYTES_MAX + LK_SEGMENT_BYTES_MAX + 2];
};

static lk_outcome check_id(struct item_name *name, lk_error *error) {
    const struct lk_path *queue = &name->queue;
    lk_error cause;

    if (name->id.size < 1 || name->id.size > LK_SEGMENT_BYTES_MAX
        || memchr(name->id.bytes, '/', name->id.size) != NULL) {
        return lk_error_set(error, LK_INVALID,
                            "R16: an item's id is one segment of a path, 1 to %d bytes without '/'",
                            LK_SEGMENT_BYTES_MAX);
    }
    memcpy(name->bytes, queue->bytes, queue->size);
    name->bytes[queue->size] = '/';
    memcpy(name->bytes + queue->size + 1, name->id.bytes, name->id.size);
    if (lk_path_parse((struct lk_slice){name->bytes, queue->size + 1u + name->id.size}, &name->path,
                      &cause)
        != LK_OK) {
        return lk_error_set(error, LK_INVALID, "R16: the item's path: %.300s", cause.text);
    }
    return LK_OK;
}

/* Everything that the calls about one item check first. */
static lk_outcome name_item(const lk_store *store, const char *queue, const char *id,
                            struct item_name *ret_name, lk_error *error) {
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &ret_name->queue, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    ret_name->id = lk_slice_of(id);
    return check_id(ret_name, error);
}

static lk_outcome check_delay(int64_t delay_ms, lk_error *error) {
    if (delay_ms < 0 || delay_ms > LK_TTL_MAX_MS) {
        return lk_error_set(error, LK_INVALID, "R16: a delay is 0 to 366 days");
    }
    return LK_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* The parts of a claim on the item: the item itself, then the needs, which are not 16 then. */
static lk_outcome check_needs(const lk_push_request *request, const struct lk_path *path,
                              struct lk_part parts[LK_PARTS_MAX], lk_error *error) {
    if (request->need_count > LK_NEEDS_MAX || (request->need_count > 0 && request->needs == NULL)) {
        return lk_error_set(error, LK_INVALID, "R16: work needs at most %d parts, not %zu",
                            LK_NEEDS_MAX, request->need_count);
    }
    parts[0] = (struct lk_part){.path = *path, .mode = LK_EXCLUSIVE};
    for (size_t i = 0; i < request->need_count; i++) {
        lk_outcome outcome =
            lk_part_parse(lk_slice_of(request->needs[i]), NULL, &parts[i + 1], error);

        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return lk_parts_check(parts, request->need_count + 1, error);
}

lk_outcome lk_push(lk_store *store, const lk_push_request *request, bool *ret_added,
                   lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_part parts[LK_PARTS_MAX];
    struct item_name name;
    lk_push_request known;
    struct lk_decision decision;
    lk_outcome outcome = lk_checked_copy(&known, sizeof known, request, error);

    if (outcome == LK_OK) {
        outcome = name_item(store, known.queue, known.id, &name, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_value(known.value, known.value_size, error);
    }
    if (outcome == LK_OK) {
        outcome = check_delay(known.delay_ms, error);
    }
    if (outcome == LK_OK) {
        outcome = check_needs(&known, &name.path, parts, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    const struct lk_command command = {
        .kind = LK_COMMAND_PUSH,
        .push = {.queue = name.queue,
                 .id = name.id,
                 .value = {.bytes = known.value, .size = known.value_size},
                 .delay_ms = known.delay_ms,
                 .needs = &parts[1],
                 .need_count = known.need_count},
    };

    outcome = store->engine->ops->decide(store->engine, &command, &patience, &decision);
    if (outcome == LK_OK && ret_added != NULL) {
        *ret_added = decision.is_added;
    }
    return lk_answer_end(&decision, error);
}

/* ---- ending a claim -------------------------------------------------------------------------- */

static lk_outcome finish(lk_store *store, const char *queue, const char *id, const char *owner,
                         const struct lk_finish *finish, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_command command = {.kind = LK_COMMAND_FINISH, .finish = *finish};
    struct lk_decision decision;
    struct item_name name;
    lk_outcome outcome = name_item(store, queue, id, &name, error);

    if (outcome == LK_OK) {
        outcome = owner != NULL ? lk_checked_owner(owner, error)
                                : lk_error_set(error, LK_INVALID, "R16: an owner must be named");
    }
    if (outcome == LK_OK) {
        outcome = check_delay(finish->delay_ms, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    command.finish.queue = name.queue;
    command.finish.id = name.id;
    command.finish.owner = lk_slice_of(owner);
    (void)store->engine->ops->decide(store->engine, &command, &patience, &decision);
    return lk_answer_end(&decision, error);
}

lk_outcome lk_done(lk_store *store, const char *queue, const char *id, const char *owner,
                   uint64_t token, lk_error *error) {
    const struct lk_finish done = {.kind = LK_FINISH_DONE, .token = token};

    return finish(store, queue, id, owner, &done, error);
}

lk_outcome lk_retry(lk_store *store, const char *queue, const char *id, const char *owner,
                    uint64_t token, int64_t delay_ms, lk_error *error) {
    const struct lk_finish retry = {.kind = LK_FINISH_RETRY, .token = token, .delay_ms = delay_ms};

    return finish(store, queue, id, owner, &retry, error);
}

lk_outcome lk_unpark(lk_store *store, const char *queue, const char *id, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_decision decision;
    struct item_name name;
    lk_outcome outcome = name_item(store, queue, id, &name, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    const struct lk_command command = {.kind = LK_COMMAND_UNPARK,
                                       .unpark = {.queue = name.queue, .id = name.id}};

    (void)store->engine->ops->decide(store->engine, &command, &patience, &decision);
    return lk_answer_end(&decision, error);
}

/* ---- looking --------------------------------------------------------------------------------- */

lk_outcome lk_items(lk_store *store, const char *queue, lk_item_list **ret_list, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_path path;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &path, error);

    return outcome == LK_OK
               ? store->engine->ops->items(store->engine, &path, &patience, ret_list, error)
               : outcome;
}

lk_outcome lk_stats(lk_store *store, const char *queue, lk_queue_stats *ret_stats,
                    lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_path path;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &path, error);

    return outcome == LK_OK ? store->engine->ops->stats(store->engine, &path, LK_STATS_WHOLE,
                                                        &patience, ret_stats, error)
                            : outcome;
}

const char *lk_stats_hint(const lk_queue_stats *stats) {
    if (stats->claims < HINT_CLAIMS_MIN) {
        return NULL;
    }
    if (stats->steals > stats->claims / HINT_CLAIMS_PER_STEAL) {
        return "many claims perish and are stolen: workers die, or there are too many of them to "
               "keep their claims alive within the ttl";
    }
    if (stats->duplicates / HINT_DUPLICATES_PER_PUSHED > stats->pushed) {
        return "most of the work is announced many times over: there are too many finders";
    }
    return NULL;
}
