/* SPDX-License-Identifier: Apache-2.0 */
/* What the reference does not accept: events that are no events, and too many requests. */
#include "inside.h"

/* ---- INVALID: R2, R11, R15, R16, R19 ---- */

bool are_valid_parts(const struct lk_part *parts, size_t count) {
    if (count < 1 || count > LK_PARTS_MAX) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct lk_part *part = &parts[i];
        bool valid = part->mode == LK_EXCLUSIVE
                         ? part->limit == 0 && part->units == 0
                         : part->units >= 1 && part->limit <= LK_LIMIT_MAX
                               && part->units <= (part->limit != 0 ? part->limit : 1)
                               && !part->strict;
        for (size_t j = 0; j < i; j++) {
            valid = valid && !is_same_path(&part->path, &parts[j].path);
        }
        if (!valid) {
            return false;
        }
    }
    return true;
}

bool are_valid_names(struct lk_slice owner, const struct lk_part *parts, size_t count) {
    return owner.size >= 1 && owner.size <= LK_IDENTITY_BYTES_MAX && are_valid_parts(parts, count);
}

bool is_valid_ttl(int64_t ttl_ms) {
    return ttl_ms == 0 || (ttl_ms >= LK_TTL_MIN_MS && ttl_ms <= LK_TTL_MAX_MS);
}

static bool is_valid_until(int64_t until_us, int64_t wall_us) {
    return until_us == 0 || (until_us > wall_us && until_us - wall_us <= LK_TTL_MAX_MS * 1000);
}

bool is_valid_ask(const struct lk_ask *ask, struct lk_times times) {
    return are_valid_names(ask->owner, ask->parts, ask->part_count) && is_valid_ttl(ask->ttl_ms)
           && is_valid_until(ask->until_us, times.wall_us)
           && (!ask->note_given || ask->note.size <= LK_NOTE_BYTES_MAX);
}

bool is_valid_take(const struct lk_take *take) {
    struct lk_part queue = {.path = take->queue, .mode = LK_EXCLUSIVE};

    return are_valid_names(take->owner, &queue, 1) && is_valid_ttl(take->ttl_ms)
           && take->max_attempts <= LK_ATTEMPTS_MAX
           && (!take->note_given || take->note.size <= LK_NOTE_BYTES_MAX);
}

/* ---- FULL: R22 ---- */

static bool has_part_under(const struct lk_reference_request *request, struct lk_slice root) {
    for (size_t i = 0; i < request->part_count; i++) {
        if (lk_slice_equal(lk_path_segment(&request->parts[i].path, 0), root)) {
            return true;
        }
    }
    return false;
}

static bool is_reached(uint64_t bound, uint64_t count) {
    return bound != 0 && count >= bound;
}

bool is_full(const struct lk_reference *reference, const struct lk_reference_request *newcomer,
             bool waits) {
    const struct lk_quotas *quotas = &reference->quotas;
    uint64_t of_owner = 0;

    for (size_t i = 0; i < reference->request_count; i++) {
        of_owner += lk_slice_equal(reference->requests[i].owner, newcomer->owner);
    }
    if (is_reached(quotas->live_max, reference->request_count)
        || is_reached(quotas->live_per_owner_max, of_owner)) {
        return true;
    }
    for (size_t i = 0; i < newcomer->part_count; i++) {
        const struct lk_path *path = &newcomer->parts[i].path;
        uint64_t under_root = 0;
        uint64_t waiting_here = 0;
        for (size_t j = 0; j < reference->request_count; j++) {
            const struct lk_reference_request *request = &reference->requests[j];
            under_root += has_part_under(request, lk_path_segment(path, 0));
            waiting_here += request->state == LK_STATE_WAITING && part_at(request, path) != NULL;
        }
        if (is_reached(quotas->live_per_root_max, under_root)
            || (waits && is_reached(quotas->waiters_per_path_max, waiting_here))) {
            return true;
        }
    }
    return false;
}
