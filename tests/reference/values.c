/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's values (R15): a list of paths with bytes. */
#include "inside.h"

static size_t place_of(const struct lk_reference *reference, const struct lk_path *path) {
    size_t at = 0;

    while (at < reference->value_count && !is_same_path(&reference->values[at].path, path)) {
        at++;
    }
    return at;
}

const struct lk_reference_value *value_at(const struct lk_reference *reference,
                                          const struct lk_path *path) {
    size_t at = place_of(reference, path);

    return at < reference->value_count ? &reference->values[at] : NULL;
}

/* A put ends any doubt. */
void write_value(struct lk_reference *reference, const struct lk_path *path,
                 struct lk_slice bytes) {
    size_t at = place_of(reference, path);

    if (at == reference->value_count) {
        reference->values =
            grown(reference->values, reference->value_count, sizeof *reference->values);
        reference->value_count++;
    }
    reference->values[at] = (struct lk_reference_value){.path = *path, .bytes = bytes};
}

static void delete_value(struct lk_reference *reference, const struct lk_path *path) {
    size_t at = place_of(reference, path);

    if (at < reference->value_count) {
        reference->values[at] = reference->values[--reference->value_count];
    }
}

/* A lease that asked for values ends, and its holder did not end it: what it could have written. */
void doubt_values(struct lk_reference *reference, const struct lk_reference_request *request) {
    for (size_t i = 0; i < request->part_count; i++) {
        size_t at = place_of(reference, &request->parts[i].path);
        if (request->state == LK_STATE_HELD && request->parts[i].mode == LK_EXCLUSIVE
            && request->wants_value && at < reference->value_count) {
            reference->values[at].in_doubt = true;
        }
    }
}

/* Whether the lease has an exclusive part at or above the path. */
static bool covers_exclusively(const struct lk_reference_request *lease,
                               const struct lk_path *path) {
    for (size_t i = 0; i < lease->part_count; i++) {
        if (lease->parts[i].mode == LK_EXCLUSIVE && contains(&lease->parts[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* Without a token: no other owner's lease covers it. With one: the lease with it does. */
static bool may_be_put(const struct lk_reference *reference, const struct lk_put *put) {
    bool covered_by_another = false;
    bool covered_by_token = false;

    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *lease = &reference->requests[i];
        if (lease->state == LK_STATE_HELD && covers_exclusively(lease, &put->path)) {
            bool own = put->owner.size > 0 && lk_slice_equal(lease->owner, put->owner);
            covered_by_another = covered_by_another || !own;
            covered_by_token = covered_by_token || (own && lease->token == put->token);
        }
    }
    return put->token != 0 ? covered_by_token : !covered_by_another;
}

void step_put(struct lk_reference *reference, const struct lk_put *put) {
    if (put->owner.size > LK_IDENTITY_BYTES_MAX || (put->token != 0 && put->owner.size == 0)
        || (!put->deletes && put->bytes.size > LK_VALUE_BYTES_MAX)) {
        give_answer(reference, LK_INVALID, 0);
    } else if (!may_be_put(reference, put)) {
        give_answer(reference, put->token != 0 ? LK_LOST : LK_BUSY, 0);
    } else {
        if (put->deletes) {
            delete_value(reference, &put->path);
        } else {
            write_value(reference, &put->path, put->bytes);
        }
        give_answer(reference, LK_OK, 0);
    }
}
