/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of values. */
#include "engine/bytes.h"

#include <stdlib.h>

void *lk_bytes_copy_with_end(struct lk_slice bytes) {
    char *copy = malloc(bytes.size + 1);

    if (copy != NULL) {
        if (bytes.size > 0) {
            memcpy(copy, bytes.bytes, bytes.size);
        }
        copy[bytes.size] = '\0';
    }
    return copy;
}
