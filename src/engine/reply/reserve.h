/* SPDX-License-Identifier: Apache-2.0 */
/* Room in the growing arrays of public results, which record their count alone. */
#ifndef LK_ENGINE_REPLY_RESERVE_H
#define LK_ENGINE_REPLY_RESERVE_H

#include <stdlib.h>

/*
 * The array, perhaps moved, with room for one entry more; NULL when memory is exhausted, the array
 * unchanged. The room is always the power of two (16 at least) at or above the count, so it need
 * not be recorded.
 */
static inline void *lk_reserve_one(void *entries, size_t count, size_t entry_size) {
    enum { ROOM_MIN = 16 };

    if (count != 0 && (count < ROOM_MIN || (count & (count - 1)) != 0)) {
        return entries;
    }
    return realloc(entries, (count == 0 ? ROOM_MIN : count * 2) * entry_size);
}

#endif
