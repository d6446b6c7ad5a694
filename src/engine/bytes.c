/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of values. */
#include "engine/bytes.h"

#include "base/text.h"

void *lk_bytes_copy_with_end(struct lk_slice bytes) {
    return lk_text_copy(bytes);
}
