/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands must be in any state: checked by the model's steps, and by engines whose rules run
 * inside a server. Each function returns LK_OK, or LK_INVALID with a sentence in *error.
 */
#ifndef LK_MODEL_COMMAND_CHECK_H
#define LK_MODEL_COMMAND_CHECK_H

#include "model/model.h"
#include "model/sentences.h"

/* R3: an owner as a caller writes it, and as the model takes it (LK_IDENTITY_BYTES_MAX). */
lk_outcome lk_owner_check(struct lk_slice owner, lk_error *error);
lk_outcome lk_identity_check(struct lk_slice identity, lk_error *error);
lk_outcome lk_ttl_check(int64_t ttl_ms, lk_error *error);          /* R11; 0: unnamed, is fine */
lk_outcome lk_value_check(struct lk_slice value, lk_error *error); /* R15 */
lk_outcome lk_put_check(const struct lk_put *put, lk_error *error);
lk_outcome lk_release_check(const struct lk_release *release, lk_error *error); /* R15: its puts */

/* R16. *ret_item is the path of the item; it may be written to in any case. */
lk_outcome lk_push_check(const struct lk_push *push, struct lk_item_path *ret_item,
                         lk_error *error);
lk_outcome lk_take_check(const struct lk_take *take, lk_error *error);
lk_outcome lk_finish_check(const struct lk_finish *finish, struct lk_item_path *ret_item,
                           lk_error *error);

#endif
