/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the holder of a token in a listing: what every engine has. */
#include "client/holder.h"

#include <stdio.h>

#include "base/error.h"

/* Whether this is the lease's part at the path. */
static bool is_held_there(const lk_entry *entry, const struct lk_path *path, uint64_t token) {
    return entry->held && entry->token == token
           && lk_slice_equal(lk_slice_of(entry->path), (struct lk_slice){path->bytes, path->size});
}

lk_outcome lk_holder_find(const lk_store *store, uint64_t token, const struct lk_patience *patience,
                          struct lk_checked *checked, lk_error *error) {
    const struct lk_path *path = &checked->parts[0].path;
    lk_listing *listing;
    lk_outcome outcome;

    if (token == 0) {
        return lk_error_set(error, LK_INVALID, "R12: an owner or a token must be named");
    }
    outcome = store->engine->ops->list(store->engine, path, patience, &listing, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome =
        lk_error_set(error, LK_LOST, "no lease at %.*s has this token: it has ended, or never was",
                     (int)path->size, path->bytes);
    for (size_t i = 0; i < listing->count && outcome == LK_LOST; i++) {
        const lk_entry *entry = &listing->entries[i];

        if (is_held_there(entry, path, token)) {
            outcome = lk_checked_owner(entry->owner, error);
            (void)snprintf(checked->owner, sizeof checked->owner, "%s", entry->owner);
        }
    }
    lk_listing_free(listing);
    return outcome;
}
