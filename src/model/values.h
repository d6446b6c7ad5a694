/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of values (R15), as far as other steps need them. */
#ifndef LK_MODEL_VALUES_H
#define LK_MODEL_VALUES_H

#include "model/storage.h"

/* Writes the value of a path, which ends any doubt. false: memory is exhausted, nothing changed. */
bool lk_value_write(struct lk_model *model, const struct lk_path *path, struct lk_slice bytes);

/* The same for several parts of a release, all or none. */
bool lk_values_write(struct lk_model *model, const struct lk_release *release);

/*
 * Marks the values in doubt that the request's holder may have left half done: at most one change
 * a part. Called when the request perishes or is broken now.
 */
void lk_values_doubt(struct lk_model *model, const struct lk_model_request *request);

/* Every value is marked in doubt at most once a step that puts none: the bound of these changes. */
size_t lk_values_doubts_max(const struct lk_model *model, size_t requests);

#endif
