/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15): written with a release or alone, in doubt when a holder dies. */
#include "model/values.h"

#include <stdio.h>

#include "model/steps.h"
#include "model/tree.h"

static void note_change(struct lk_model *model, enum lk_change_kind kind, lk_id value) {
    lk_change_add(model, kind, 0);
    model->changes[model->effects.change_count - 1].value = value;
}

bool lk_value_write(struct lk_model *model, const struct lk_path *path, struct lk_slice bytes) {
    struct lk_kept_value *value;
    char *copy;
    lk_id id;

    if (!lk_bytes_copy(model, bytes, &copy)) {
        return false;
    }
    id = lk_value_make(model, path);
    if (id == 0) {
        lk_bytes_free(model, copy);
        return false;
    }
    value = lk_kept_value_at(model, id);
    lk_bytes_free(model, value->bytes);
    model->kept_bytes += bytes.size;
    model->kept_bytes -= value->size;
    value->bytes = copy;
    value->size = (uint32_t)bytes.size;
    value->in_doubt = false;
    note_change(model, LK_CHANGE_VALUE_PUT, id);
    return true;
}

void lk_value_doubt(struct lk_model *model, const struct lk_model_request *request) {
    const struct lk_part_entry *first = lk_part_entry_at(model, request->first_entry);
    lk_id id = lk_value_find(model, first->node);

    if (request->state != LK_STATE_HELD || !request->wants_value
        || !lk_part_entry_is_exclusive(first) || id == 0 || lk_kept_value_at(model, id)->in_doubt) {
        return;
    }
    lk_kept_value_at(model, id)->in_doubt = true;
    note_change(model, LK_CHANGE_VALUE_DOUBTED, id);
}

/* Whether an exclusive lease of another owner is at or above the path. */
static bool is_covered_by_another(const struct lk_model *model, const struct lk_path *path,
                                  lk_id owner) {
    unsigned depth;
    lk_id node = lk_node_descend(model, path, &depth);

    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_id first = lk_node_at(model, node)->holders;
        lk_id at = first;
        while (at != 0 && lk_part_entry_is_exclusive(lk_part_entry_at(model, at))) {
            if (lk_part_entry_owner(model, lk_part_entry_at(model, at)) != owner) {
                return true;
            }
            at = lk_part_entry_at(model, at)->next != first ? lk_part_entry_at(model, at)->next : 0;
        }
    }
    return false;
}

/* Whether a lease of the owner, with this token, covers the path exclusively. */
static bool is_covered_by_token(const struct lk_model *model, const struct lk_path *path,
                                lk_id owner, uint64_t token) {
    unsigned depth;
    lk_id node = lk_node_descend(model, path, &depth);

    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_id first = lk_node_at(model, node)->holders;
        lk_id at = first;
        while (at != 0 && lk_part_entry_is_exclusive(lk_part_entry_at(model, at))) {
            const struct lk_model_request *request =
                lk_request_at(model, lk_part_entry_at(model, at)->request);
            if (request->owner == owner && request->token == token) {
                return true;
            }
            at = lk_part_entry_at(model, at)->next != first ? lk_part_entry_at(model, at)->next : 0;
        }
    }
    return false;
}

static void answer_refused(struct lk_model *model, bool has_token) {
    lk_answer(model, has_token ? LK_LOST : LK_BUSY, 0);
    snprintf(model->text, sizeof model->text, "%s",
             has_token ? "R15: the lease with this token does not cover the path (any more)"
                       : "R15: another owner holds a lease that covers the value");
}

void lk_step_put(struct lk_model *model, const struct lk_put *put) {
    lk_error error;
    lk_id owner;
    lk_id value;
    bool allowed;

    if (lk_put_check(put, &error) != LK_OK) {
        lk_answer_invalid(model, &error);
        return;
    }
    if (!lk_changes_reserve(model, 1)) {
        lk_answer_exhausted(model);
        return;
    }
    owner = put->owner.size > 0 ? lk_owner_find(model, put->owner) : 0;
    allowed = put->token != 0
                  ? owner != 0 && is_covered_by_token(model, &put->path, owner, put->token)
                  : !is_covered_by_another(model, &put->path, owner);
    if (!allowed) {
        answer_refused(model, put->token != 0);
        return;
    }
    value = lk_value_find(model, lk_node_find(model, &put->path));
    if (put->deletes && value != 0) {
        lk_value_remove(model, value);
        note_change(model, LK_CHANGE_VALUE_DELETED, value);
    } else if (!put->deletes && !lk_value_write(model, &put->path, put->bytes)) {
        lk_answer_exhausted(model);
        return;
    }
    lk_answer(model, LK_OK, 0);
    model->effects.answer.deleted = put->deletes && value != 0;
}

/* ---- in the open ---- */

lk_value_ref lk_model_value(const struct lk_model *model, const struct lk_path *path) {
    return lk_value_find(model, lk_node_find(model, path));
}

void lk_model_value_record(const struct lk_model *model, lk_value_ref id,
                           struct lk_value_record *ret_record) {
    const struct lk_kept_value *value = lk_kept_value_at(model, id);

    (void)lk_node_path(model, value->node, ret_record->path);
    ret_record->bytes = (struct lk_slice){value->bytes, value->size};
    ret_record->in_doubt = value->in_doubt;
}

lk_outcome lk_model_restore_value(struct lk_model *model, const struct lk_path *path,
                                  struct lk_slice bytes, bool in_doubt) {
    if (bytes.size > LK_VALUE_BYTES_MAX) {
        return LK_INVALID;
    }
    lk_forget_effects(model);
    if (!lk_changes_reserve(model, 1) || !lk_value_write(model, path, bytes)) {
        return LK_INTERNAL;
    }
    lk_forget_effects(model);
    lk_kept_value_at(model, lk_model_value(model, path))->in_doubt = in_doubt;
    return LK_OK;
}
