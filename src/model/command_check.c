/* SPDX-License-Identifier: Apache-2.0 */
/* What commands must be in any state. */
#include "model/command_check.h"

#include "base/error.h"
#include "model/sentences.h"

static lk_outcome check_owner(struct lk_slice owner, size_t most, lk_error *error) {
    if (owner.size >= 1 && owner.size <= most) {
        return LK_OK;
    }
    return lk_error_set(error, LK_INVALID, LK_TEXT_OWNER, LK_OWNER_BYTES_MAX, owner.size);
}

lk_outcome lk_owner_check(struct lk_slice owner, lk_error *error) {
    return check_owner(owner, LK_OWNER_BYTES_MAX, error);
}

lk_outcome lk_identity_check(struct lk_slice identity, lk_error *error) {
    return check_owner(identity, LK_IDENTITY_BYTES_MAX, error);
}

lk_outcome lk_ttl_check(int64_t ttl_ms, lk_error *error) {
    if (ttl_ms == 0 || (ttl_ms >= LK_TTL_MIN_MS && ttl_ms <= LK_TTL_MAX_MS)) {
        return LK_OK;
    }
    return lk_error_set(error, LK_INVALID, "R11: a ttl is 50 ms to 366 days, not %lld ms",
                        (long long)ttl_ms);
}

lk_outcome lk_value_check(struct lk_slice value, lk_error *error) {
    if (value.size <= LK_VALUE_BYTES_MAX) {
        return LK_OK;
    }
    return lk_error_set(error, LK_INVALID, LK_TEXT_VALUE, LK_VALUE_BYTES_MAX, value.size);
}

lk_outcome lk_release_check(const struct lk_release *release, lk_error *error) {
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < release->put_count && outcome == LK_OK; i++) {
        const struct lk_release_put *put = &release->puts[i];

        if (put->part >= release->target.part_count
            || (i > 0 && put->part <= release->puts[i - 1].part)) {
            return lk_error_set(error, LK_INVALID,
                                "R15: a release puts at most one value to each of its parts");
        }
        outcome = lk_value_check(put->bytes, error);
    }
    return outcome;
}

lk_outcome lk_put_check(const struct lk_put *put, lk_error *error) {
    if (put->owner.size > LK_IDENTITY_BYTES_MAX || (put->token != 0 && put->owner.size == 0)) {
        return lk_error_set(error, LK_INVALID,
                            "R3: an owner has 1 to %d bytes, and a token needs one",
                            LK_OWNER_BYTES_MAX);
    }
    return put->deletes ? LK_OK : lk_value_check(put->bytes, error);
}

static lk_outcome check_delay(int64_t delay_ms, lk_error *error) {
    return delay_ms >= 0 && delay_ms <= LK_TTL_MAX_MS
               ? LK_OK
               : lk_error_set(error, LK_INVALID, LK_TEXT_DELAY);
}

static lk_outcome check_keep(int64_t keep_ms, lk_error *error) {
    return keep_ms >= 0 && keep_ms <= LK_TTL_MAX_MS ? LK_OK
                                                    : lk_error_set(error, LK_INVALID, LK_TEXT_KEEP);
}

/* A claim locks the item itself and what its work needs, in one request. */
static lk_outcome check_needs(const struct lk_push *push, const struct lk_path *item,
                              lk_error *error) {
    struct lk_part parts[LK_PARTS_MAX] = {{.path = *item, .mode = LK_EXCLUSIVE}};
    lk_error cause;

    if (push->need_count > LK_NEEDS_MAX) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_NEEDS, LK_NEEDS_MAX, push->need_count);
    }
    for (size_t i = 0; i < push->need_count; i++) {
        parts[i + 1] = push->needs[i];
    }
    return lk_parts_check(parts, push->need_count + 1, &cause) == LK_OK
               ? LK_OK
               : lk_error_set(error, LK_INVALID, LK_TEXT_NEEDS_CAUSE, cause.text);
}

static lk_outcome check_priority(int32_t priority, lk_error *error) {
    return priority >= LK_PRIORITY_MIN && priority <= LK_PRIORITY_MAX
               ? LK_OK
               : lk_error_set(error, LK_INVALID, LK_TEXT_PRIORITY, LK_PRIORITY_MIN, LK_PRIORITY_MAX,
                              (long)priority);
}

lk_outcome lk_push_check(const struct lk_push *push, struct lk_item_path *ret_item,
                         lk_error *error) {
    lk_outcome outcome = lk_item_path_make(&push->queue, push->id, ret_item, error);

    if (outcome == LK_OK) {
        outcome = lk_value_check(push->value, error);
    }
    if (outcome == LK_OK) {
        outcome = check_delay(push->delay_ms, error);
    }
    if (outcome == LK_OK) {
        outcome = check_priority(push->priority, error);
    }
    if (outcome == LK_OK) {
        outcome = check_keep(push->keep_ms, error);
    }
    return outcome == LK_OK ? check_needs(push, &ret_item->path, error) : outcome;
}

lk_outcome lk_take_check(const struct lk_take *take, lk_error *error) {
    lk_outcome outcome = lk_identity_check(take->owner, error);

    if (outcome == LK_OK) {
        outcome = lk_ttl_check(take->ttl_ms, error);
    }
    if (outcome == LK_OK
        && (take->max_attempts > LK_ATTEMPTS_MAX
            || (take->note_given && take->note.size > LK_NOTE_BYTES_MAX))) {
        outcome =
            lk_error_set(error, LK_INVALID, LK_TEXT_ATTEMPTS, LK_ATTEMPTS_MAX, LK_NOTE_BYTES_MAX);
    }
    return outcome;
}

lk_outcome lk_finish_check(const struct lk_finish *finish, struct lk_item_path *ret_item,
                           lk_error *error) {
    lk_outcome outcome = lk_item_path_make(&finish->queue, finish->id, ret_item, error);

    if (outcome == LK_OK) {
        outcome = lk_identity_check(finish->owner, error);
    }
    if (outcome == LK_OK) {
        outcome = check_delay(finish->delay_ms, error);
    }
    if (outcome == LK_OK && finish->parks && finish->delay_ms != 0) {
        outcome = lk_error_set(error, LK_INVALID, LK_TEXT_PARKS_DELAYED);
    }
    if (outcome == LK_OK) {
        outcome = lk_value_check(finish->result, error);
    }
    if (outcome == LK_OK) {
        outcome = check_keep(finish->keep_ms, error);
    }
    if (outcome == LK_OK && finish->progress.size > LK_FAILURE_BYTES_MAX) {
        outcome = lk_error_set(error, LK_INVALID, LK_TEXT_PROGRESS, LK_FAILURE_BYTES_MAX,
                               finish->progress.size);
    }
    if (outcome == LK_OK && finish->failure.text.size > LK_FAILURE_BYTES_MAX) {
        outcome = lk_error_set(error, LK_INVALID, LK_TEXT_FAILURE, LK_FAILURE_BYTES_MAX,
                               finish->failure.text.size);
    }
    return outcome;
}
