/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15): written with a release or alone, in doubt when a holder dies. */

#include <stdio.h>

#include "model/order.h"
#include "model/sentences.h"
#include "model/steps.h"
#include "model/tree.h"

static void note_change(struct lk_model *model, enum lk_change_kind kind, lk_id value) {
    lk_change_add(model, kind, 0);
    model->changes[model->effects.change_count - 1].value = value;
}

/* A value that is about to be written. */
struct prepared {
    lk_id value;
    bool is_new;
    char *copy;
    uint32_t size;
};

/* Everything that can fail for want of memory. false: nothing has changed. */
static bool prepare(struct lk_model *model, const struct lk_path *path, struct lk_slice bytes,
                    struct prepared *ret_prepared) {
    *ret_prepared =
        (struct prepared){.is_new = lk_model_value(model, path) == 0, .size = (uint32_t)bytes.size};
    if (!lk_bytes_copy(model, bytes, &ret_prepared->copy)) {
        return false;
    }
    ret_prepared->value = lk_value_make(model, path);
    if (ret_prepared->value == 0) {
        lk_bytes_free(model, ret_prepared->copy);
        return false;
    }
    return true;
}

static void undo(struct lk_model *model, const struct prepared *prepared) {
    lk_bytes_free(model, prepared->copy);
    if (prepared->is_new) {
        lk_value_remove(model, prepared->value);
    }
}

static void write_prepared(struct lk_model *model, const struct prepared *prepared) {
    struct lk_kept_value *value = lk_kept_value_at(model, prepared->value);

    assert(model->kept_bytes >= value->size);
    lk_bytes_free(model, value->bytes);
    model->kept_bytes += prepared->size;
    model->kept_bytes -= value->size;
    value->bytes = prepared->copy;
    value->size = prepared->size;
    lk_value_set_doubt(model, prepared->value, false);
    note_change(model, LK_CHANGE_VALUE_PUT, prepared->value);
}

bool lk_value_write(struct lk_model *model, const struct lk_path *path, struct lk_slice bytes) {
    struct prepared prepared;

    if (!prepare(model, path, bytes, &prepared)) {
        return false;
    }
    write_prepared(model, &prepared);
    return true;
}

bool lk_values_write(struct lk_model *model, const struct lk_release *release) {
    struct prepared prepared[LK_PARTS_MAX];

    for (size_t i = 0; i < release->put_count; i++) {
        const struct lk_release_put *put = &release->puts[i];

        if (!prepare(model, &release->target.parts[put->part].path, put->bytes, &prepared[i])) {
            while (i-- > 0) {
                undo(model, &prepared[i]);
            }
            return false;
        }
    }
    for (size_t i = 0; i < release->put_count; i++) {
        write_prepared(model, &prepared[i]);
    }
    return true;
}

void lk_values_doubt(struct lk_model *model, const struct lk_model_request *request) {
    if (request->state != LK_STATE_HELD || !request->wants_value) {
        return;
    }
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        lk_id id = lk_part_entry_is_exclusive(entry) ? lk_value_find(model, entry->node) : 0;

        if (id != 0 && !lk_kept_value_at(model, id)->in_doubt) {
            lk_value_set_doubt(model, id, true);
            note_change(model, LK_CHANGE_VALUE_DOUBTED, id);
        }
    }
}

size_t lk_values_doubts_max(const struct lk_model *model, size_t requests) {
    size_t values = model->values.next_fresh - 1 - model->values.free_count;

    return values < requests * LK_PARTS_MAX ? values : requests * LK_PARTS_MAX;
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
             has_token ? LK_TEXT_PUT_UNCOVERED : LK_TEXT_PUT_COVERED);
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
    lk_value_set_doubt(model, lk_model_value(model, path), in_doubt);
    return LK_OK;
}

void lk_model_each_value(const struct lk_model *model, const struct lk_path *prefix,
                         struct lk_slice behind, lk_visit_value *visit, void *context) {
    lk_order_walk_below(model, LK_ORDER_VALUES, &model->values_by_path, prefix,
                        prefix != NULL ? lk_model_value(model, prefix) : 0, behind, visit, context);
}

void lk_model_each_doubt(const struct lk_model *model, const struct lk_path *prefix,
                         struct lk_slice behind, lk_visit_value *visit, void *context) {
    lk_id exact = prefix != NULL ? lk_model_value(model, prefix) : 0;

    if (exact != 0 && !lk_kept_value_at(model, exact)->in_doubt) {
        exact = 0;
    }
    lk_order_walk_below(model, LK_ORDER_DOUBTS, &model->doubts_by_path, prefix, exact, behind,
                        visit, context);
}
