/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of values (R15), as far as other steps need them. */
#ifndef LK_MODEL_VALUES_H
#define LK_MODEL_VALUES_H

#include "model/storage.h"

/* Writes the value of a path, which ends any doubt. false: memory is exhausted, nothing changed. */
bool lk_value_write(struct lk_model *model, const struct lk_path *path, struct lk_slice bytes);

/*
 * Marks the value in doubt that the request's holder may have left half done. Called when the
 * request perishes or is broken now.
 */
void lk_value_doubt(struct lk_model *model, const struct lk_model_request *request);

#endif
