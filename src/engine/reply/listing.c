/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings: one entry for each part, ordered by ticket and then by the order of the parts.
 *
 * First the requests are gathered and sorted, then they are copied one by one, so that the only
 * large thing on the stack is one record.
 */
#include <stdlib.h>

#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/reply/reserve.h"

enum { ROOM_MIN = 16 };

/* ---- the listing itself ---------------------------------------------------------------------- */

lk_listing *lk_listing_new(void) {
    return calloc(1, sizeof(lk_listing));
}

static void entry_free(lk_entry *entry) {
    free(entry->path);
    free(entry->owner);
    free(entry->user);
    free(entry->note);
    lk_blocker_infos_free(entry->blockers, entry->blocker_count);
}

void lk_listing_free(lk_listing *listing) {
    if (listing == NULL) {
        return;
    }
    for (size_t i = 0; i < listing->count; i++) {
        entry_free(&listing->entries[i]);
    }
    free(listing->entries);
    free(listing);
}

static bool reserve_one(lk_listing *listing) {
    void *entries = lk_reserve_one(listing->entries, listing->count, sizeof *listing->entries);

    listing->entries = entries != NULL ? entries : listing->entries;
    return entries != NULL;
}

static bool add_part(lk_listing *listing, const struct lk_record *record, size_t part_index,
                     const struct lk_times *times, size_t request_index) {
    const struct lk_part *part = &record->parts[part_index];
    int64_t age_us = times->wall_us - (int64_t)record->ticket;
    lk_entry entry = {
        .path = lk_text_copy((struct lk_slice){part->path.bytes, part->path.size}),
        .owner = lk_text_copy(record->owner),
        .note = record->note.size > 0 ? lk_text_copy(record->note) : NULL,
        .ticket = record->ticket,
        .token = record->token,
        .held = record->state == LK_STATE_HELD,
        .shared = part->mode == LK_SHARED,
        .revoked = record->revoked,
        .limit = part->limit,
        .units = part->units,
        .ttl_ms = record->ttl_ms,
        .expires_in_ms = lk_time_left_ms(record, times),
        .age_ms = age_us > 0 ? age_us / 1000 : 0,
        .request_index = request_index,
    };

    if (entry.path == NULL || entry.owner == NULL || (entry.note == NULL && record->note.size > 0)
        || !reserve_one(listing)) {
        entry_free(&entry);
        return false;
    }
    listing->entries[listing->count++] = entry;
    return true;
}

bool lk_listing_add(lk_listing *listing, const struct lk_record *record,
                    const struct lk_times *times, const struct lk_path *prefix) {
    size_t request_index =
        listing->count > 0 ? listing->entries[listing->count - 1].request_index + 1 : 0;

    for (size_t i = 0; i < record->part_count; i++) {
        if (prefix != NULL && !lk_path_contains(prefix, &record->parts[i].path)) {
            continue;
        }
        if (!add_part(listing, record, i, times, request_index)) {
            return false;
        }
    }
    return true;
}

/* ---- out of a model -------------------------------------------------------------------------- */

struct gathered {
    uint64_t ticket;
    uint64_t id; /* tickets of different roots can be equal; ids never are */
    lk_ref request;
};

struct gathering {
    const struct lk_model *model;
    struct gathered *requests;
    size_t count;
    size_t room;
    bool is_exhausted;
};

static bool gather(void *context, lk_ref request) {
    struct gathering *gathering = context;
    struct lk_record record;

    if (gathering->count == gathering->room) {
        size_t room = gathering->room == 0 ? ROOM_MIN : gathering->room * 2;
        struct gathered *requests = realloc(gathering->requests, room * sizeof *requests);

        if (requests == NULL) {
            gathering->is_exhausted = true;
            return false;
        }
        gathering->requests = requests;
        gathering->room = room;
    }
    lk_model_record(gathering->model, request, &record);
    gathering->requests[gathering->count++] =
        (struct gathered){.ticket = record.ticket, .id = record.id, .request = request};
    return true;
}

static int compare_gathered(const void *a, const void *b) {
    const struct gathered *left = a;
    const struct gathered *right = b;

    if (left->ticket != right->ticket) {
        return left->ticket < right->ticket ? -1 : 1;
    }
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Gives each entry of a waiting request its own copy of what is in the way (R20). */
static bool explain(const struct lk_model *model, const struct lk_times *times, lk_ref request,
                    struct lk_explaining *explaining, lk_listing *listing, size_t first_entry) {
    struct lk_blocker blockers[LK_BLOCKERS_PER_ENTRY_MAX];
    size_t in_the_way =
        lk_model_explain(model, request, explaining, blockers, LK_BLOCKERS_PER_ENTRY_MAX);
    size_t named = in_the_way < LK_BLOCKERS_PER_ENTRY_MAX ? in_the_way : LK_BLOCKERS_PER_ENTRY_MAX;

    for (size_t i = first_entry; i < listing->count; i++) {
        lk_entry *entry = &listing->entries[i];

        entry->position = in_the_way;
        if (!lk_blocker_infos_make(model, times, blockers, named, &entry->blockers,
                                   &entry->blocker_count)) {
            return false;
        }
    }
    return true;
}

bool lk_listing_add_explained(lk_listing *listing, const struct lk_model *model, lk_ref request,
                              const struct lk_times *times, struct lk_explaining *explaining) {
    size_t first_entry = listing->count;
    struct lk_record record;

    lk_model_record(model, request, &record);
    return lk_listing_add(listing, &record, times, NULL)
           && (record.state != LK_STATE_WAITING
               || explain(model, times, request, explaining, listing, first_entry));
}

static bool copy_gathered(struct gathering *gathering, const struct lk_times *times,
                          const struct lk_path *prefix, struct lk_explaining *explaining,
                          lk_listing *listing) {
    bool is_complete = true;

    if (gathering->count > 1) {
        qsort(gathering->requests, gathering->count, sizeof *gathering->requests, compare_gathered);
    }
    for (size_t i = 0; i < gathering->count && is_complete; i++) {
        lk_ref request = gathering->requests[i].request;
        struct lk_record record;

        if (explaining != NULL) {
            is_complete =
                lk_listing_add_explained(listing, gathering->model, request, times, explaining);
        } else {
            lk_model_record(gathering->model, request, &record);
            is_complete = lk_listing_add(listing, &record, times, prefix);
        }
    }
    return is_complete;
}

/* Ends the gathering; *ret_listing is set when all went well. */
static lk_outcome conclude(struct gathering *gathering, const struct lk_times *times,
                           const struct lk_path *prefix, struct lk_explaining *explaining,
                           lk_listing **ret_listing) {
    lk_listing *listing = gathering->is_exhausted ? NULL : lk_listing_new();
    bool is_complete =
        listing != NULL && copy_gathered(gathering, times, prefix, explaining, listing);

    free(gathering->requests);
    if (!is_complete) {
        lk_listing_free(listing);
        return LK_INTERNAL;
    }
    *ret_listing = listing;
    return LK_OK;
}

lk_outcome lk_listing_from_model(const struct lk_model *model, const struct lk_times *times,
                                 const struct lk_path *prefix, lk_listing **ret_listing) {
    struct gathering gathering = {.model = model};

    if (prefix == NULL) {
        lk_model_each(model, gather, &gathering);
    } else {
        lk_model_each_below(model, prefix, gather, &gathering);
    }
    return conclude(&gathering, times, prefix, NULL, ret_listing);
}

lk_outcome lk_listing_from_model_with_blockers(const struct lk_model *model,
                                               const struct lk_times *times,
                                               const struct lk_path *path,
                                               lk_listing **ret_listing) {
    struct gathering gathering = {.model = model};
    struct lk_explaining *explaining = calloc(1, sizeof *explaining);
    lk_outcome outcome = LK_INTERNAL;

    if (explaining != NULL) {
        lk_model_each_related(model, path, gather, &gathering);
        outcome = conclude(&gathering, times, NULL, explaining, ret_listing);
    }
    free(explaining);
    return outcome;
}
