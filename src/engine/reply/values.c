/* SPDX-License-Identifier: Apache-2.0 */
/* Values and claims out of the model, and lists of values. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/reply/reserve.h"

/* ---- one value, one claim -------------------------------------------------------------------- */

void lk_value_free(lk_value *value) {
    if (value != NULL) {
        free(value->bytes);
        free(value);
    }
}

lk_outcome lk_value_from_model(const struct lk_model *model, const struct lk_path *path,
                               lk_value **ret_value) {
    lk_value_ref ref = lk_model_value(model, path);
    struct lk_value_record record;
    lk_value *value;

    if (ref == 0) {
        return LK_NONE;
    }
    lk_model_value_record(model, ref, &record);
    value = calloc(1, sizeof *value);
    if (value == NULL) {
        return LK_INTERNAL;
    }
    value->bytes = lk_text_copy(record.bytes);
    value->size = record.bytes.size;
    value->in_doubt = record.in_doubt;
    if (value->bytes == NULL) {
        lk_value_free(value);
        return LK_INTERNAL;
    }
    *ret_value = value;
    return LK_OK;
}

void lk_claim_free(lk_claim_info *claim) {
    if (claim != NULL) {
        free(claim->queue);
        free(claim->id);
        free(claim->owner);
        free(claim->value);
        free(claim->row_id);
        free(claim);
    }
}

static bool fill_claim(const struct lk_model *model, const struct lk_answer *answer,
                       const struct lk_times *times, lk_claim_info *claim) {
    struct lk_item_record item;
    struct lk_record request;

    lk_model_item_record(model, answer->item, &item);
    lk_model_record(model, answer->request, &request);
    claim->queue = lk_text_copy((struct lk_slice){item.queue.bytes, item.queue.size});
    claim->id = lk_text_copy(item.id);
    claim->owner = lk_text_copy(request.owner);
    if (item.value.size > 0) {
        claim->value = lk_text_copy(item.value);
        claim->value_size = item.value.size;
    }
    claim->token = request.token;
    claim->attempt = item.attempts;
    claim->is_stolen = answer->is_stolen;
    claim->ttl_ms = request.ttl_ms;
    claim->expires_in_ms = lk_time_left_ms(&request, times);
    return claim->queue != NULL && claim->id != NULL && claim->owner != NULL
           && (item.value.size == 0 || claim->value != NULL);
}

lk_outcome lk_claim_from_answer(const struct lk_model *model, const struct lk_answer *answer,
                                const struct lk_times *times, lk_claim_info **ret_claim,
                                lk_error *error) {
    lk_claim_info *claim;

    if (answer->outcome != LK_GRANTED) {
        return lk_error_set(error, answer->outcome, "%s", answer->text);
    }
    claim = calloc(1, sizeof *claim);
    if (claim == NULL || !fill_claim(model, answer, times, claim)) {
        lk_claim_free(claim);
        return lk_error_set(error, LK_INTERNAL, "no memory for the claim");
    }
    *ret_claim = claim;
    return lk_error_clear(error, LK_GRANTED);
}

/* ---- lists of values ------------------------------------------------------------------------- */

/* Without their bytes, by path (R15). */

void lk_value_list_free(lk_value_list *list) {
    if (list == NULL) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        free(list->values[i].path);
    }
    free(list->values);
    free(list->reached);
    free(list);
}

lk_value_list *lk_value_list_new(void) {
    return calloc(1, sizeof(lk_value_list));
}

bool lk_value_list_add(lk_value_list *list, struct lk_slice path, size_t size, bool in_doubt) {
    lk_value_info *values = lk_reserve_one(list->values, list->count, sizeof *list->values);
    char *copy = values != NULL ? lk_text_copy(path) : NULL;

    list->values = values != NULL ? values : list->values;
    if (copy == NULL) {
        return false;
    }
    list->values[list->count++] = (lk_value_info){.path = copy, .size = size, .in_doubt = in_doubt};
    return true;
}

bool lk_value_list_cut(lk_value_list *list) {
    list->reached = lk_text_copy(lk_slice_of(list->values[list->count - 1].path));
    return list->reached != NULL;
}

/* ---- out of the model ---- */

struct telling {
    const struct lk_model *model;
    lk_value_list *list;
    size_t max;
    bool is_complete;
};

static bool tell(void *context, lk_value_ref value) {
    struct telling *telling = context;
    struct lk_value_record record;

    if (telling->list->count == telling->max) {
        telling->is_complete = lk_value_list_cut(telling->list);
        return false;
    }
    lk_model_value_record(telling->model, value, &record);
    telling->is_complete = lk_value_list_add(telling->list, lk_slice_of(record.path),
                                             record.bytes.size, record.in_doubt);
    return telling->is_complete;
}

lk_outcome lk_values_from_model(const struct lk_model *model, const struct lk_path *prefix,
                                struct lk_slice behind, size_t max, lk_value_list **ret_list) {
    struct telling telling = {.model = model, .max = max, .is_complete = true};

    telling.list = lk_value_list_new();
    if (telling.list == NULL) {
        return LK_INTERNAL;
    }
    lk_model_each_value(model, prefix, behind, tell, &telling);
    if (!telling.is_complete) {
        lk_value_list_free(telling.list);
        return LK_INTERNAL;
    }
    *ret_list = telling.list;
    return LK_OK;
}
