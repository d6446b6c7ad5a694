/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of values without their bytes, by path (R15). */
#include <stdlib.h>

#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/reply/reserve.h"

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
