/* SPDX-License-Identifier: Apache-2.0 */
/* What is held in the region: listings, the holders in a refused ask's way, and lk doctor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/shm/shm.h"

enum {
    REPORT_BYTES_MAX = 512,
    ROOM_MIN = 16,
    NEARLY_FULL_PERCENT = 80,
};

/* A permit as it was seen. */
struct sight {
    uint64_t ticket; /* its token; where there is none, when its holder came */
    uint32_t limit;
    uint32_t units;
    size_t key_size;
    size_t owner_size;
    size_t note_size;
    char key[LK_CANAL_KEY_BYTES_MAX];
    char label[LK_CANAL_LABEL_BYTES_MAX + 1]; /* the owner, and behind it the note */
};

struct sights {
    struct sight *all;
    size_t count;
    size_t room;
    bool is_exhausted;
};

static bool make_room(struct sights *sights) {
    size_t room = sights->room == 0 ? ROOM_MIN : sights->room * 2;
    struct sight *all;

    if (sights->count < sights->room) {
        return true;
    }
    all = realloc(sights->all, room * sizeof *all);
    if (all == NULL) {
        sights->is_exhausted = true;
        return false;
    }
    sights->all = all;
    sights->room = room;
    return true;
}

static bool add(void *context, const lk_canal_entry *entry) {
    struct sights *sights = context;
    struct sight *sight;
    const char *line;

    if (!make_room(sights)) {
        return false;
    }
    sight = &sights->all[sights->count++];
    *sight = (struct sight){
        .ticket = entry->mark != 0 ? entry->mark : (uint64_t)entry->joined_unix_ms * 1000,
        .limit = entry->limit,
        .units = entry->units,
        .key_size = entry->key_size,
    };
    memcpy(sight->key, entry->key, entry->key_size);
    memcpy(sight->label, entry->label, strlen(entry->label));
    line = strchr(sight->label, '\n');
    sight->owner_size = line != NULL ? (size_t)(line - sight->label) : strlen(sight->label);
    sight->note_size = line != NULL ? strlen(line + 1) : 0;
    if (sight->owner_size == 0 || sight->owner_size > LK_OWNER_BYTES_MAX) {
        /* It came by canal.h, not by a store. */
        (void)snprintf(sight->label, sizeof sight->label, "pid %d", (int)entry->process);
        sight->owner_size = strlen(sight->label);
        sight->note_size = 0;
    }
    return true;
}

static int compare(const void *a, const void *b) {
    const struct sight *first = a;
    const struct sight *second = b;

    return first->ticket < second->ticket ? -1 : first->ticket > second->ticket ? 1 : 0;
}

/* All that is held by the living, by ticket. On failure nothing is left to free. */
static lk_outcome see_all(struct lk_shm_engine *shm, struct sights *ret_sights) {
    struct sights sights = {0};

    (void)lk_canal_look(shm->canal);
    if (lk_canal_list(shm->canal, add, &sights) != LK_CANAL_OK || sights.is_exhausted) {
        free(sights.all);
        return LK_INTERNAL;
    }
    if (sights.count > 0) {
        qsort(sights.all, sights.count, sizeof *sights.all, compare);
    }
    *ret_sights = sights;
    return LK_OK;
}

/* ---- listings -------------------------------------------------------------------------------- */

/* The key as a path; where it is none, as canal.h allows, with its strange bytes as %XX. */
static bool path_of(const struct sight *sight, char text[LK_CANAL_KEY_BYTES_MAX * 3],
                    struct lk_path *ret_path) {
    static const char digits[] = "0123456789ABCDEF";
    size_t size = 0;

    if (lk_path_parse((struct lk_slice){sight->key, sight->key_size}, ret_path, NULL) == LK_OK) {
        return true;
    }
    for (size_t i = 0; i < sight->key_size; i++) {
        unsigned char byte = (unsigned char)sight->key[i];

        text[size++] = '%';
        text[size++] = digits[byte >> 4];
        text[size++] = digits[byte & 15];
    }
    return lk_path_parse((struct lk_slice){text, size}, ret_path, NULL) == LK_OK;
}

static bool add_to_listing(const struct sight *sight, const struct lk_path *path,
                           struct lk_record *record, lk_listing *listing) {
    const struct lk_times times = {.now_us = lk_clock_now_us(), .wall_us = lk_clock_wall_us()};

    record->owner = (struct lk_slice){sight->label, sight->owner_size};
    record->note = (struct lk_slice){sight->label + sight->owner_size + 1, sight->note_size};
    record->state = LK_STATE_HELD;
    record->ticket = sight->ticket;
    record->token = sight->ticket;
    record->ttl_ms = LK_TTL_MAX_MS;
    record->deadline_us = times.now_us + LK_TTL_MAX_MS * 1000;
    record->part_count = 1;
    record->parts[0] = (struct lk_part){
        .path = *path, .mode = LK_SHARED, .limit = sight->limit, .units = sight->units};
    return lk_listing_add(listing, record, &times, NULL);
}

/* `is_wanted` NULL: all of them. */
static lk_outcome list_those(struct lk_shm_engine *shm, const struct lk_path *path,
                             bool (*is_wanted)(const struct lk_path *path,
                                               const struct lk_path *seen),
                             lk_listing **ret_listing, struct lk_error *error) {
    lk_listing *listing = lk_listing_new();
    struct lk_record *record = calloc(1, sizeof *record);
    struct sights sights = {0};
    bool is_complete = listing != NULL && record != NULL && see_all(shm, &sights) == LK_OK;

    for (size_t i = 0; is_complete && i < sights.count; i++) {
        char text[LK_CANAL_KEY_BYTES_MAX * 3];
        struct lk_path seen;

        if (path_of(&sights.all[i], text, &seen) && (path == NULL || is_wanted(path, &seen))) {
            is_complete = add_to_listing(&sights.all[i], &seen, record, listing);
        }
    }
    free(sights.all);
    free(record);
    if (!is_complete) {
        lk_listing_free(listing);
        return lk_error_set(error, LK_INTERNAL, "no memory for the listing");
    }
    *ret_listing = listing;
    return LK_OK;
}

static lk_outcome list_locked(struct lk_shm_engine *shm, const struct lk_path *path,
                              bool (*is_wanted)(const struct lk_path *path,
                                                const struct lk_path *seen),
                              lk_listing **ret_listing, struct lk_error *error) {
    lk_outcome outcome;

    (void)pthread_mutex_lock(&shm->mutex);
    outcome = list_those(shm, path, is_wanted, ret_listing, error);
    (void)pthread_mutex_unlock(&shm->mutex);
    return outcome;
}

lk_outcome lk_shm_list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    (void)patience;
    return list_locked(lk_shm_of(engine), prefix, lk_path_contains, ret_listing, error);
}

lk_outcome lk_shm_show(struct lk_engine *engine, const struct lk_path *path,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    (void)patience;
    return list_locked(lk_shm_of(engine), path, lk_path_related, ret_listing, error);
}

/* ---- in the way ------------------------------------------------------------------------------ */

static bool name_one(const struct sight *sight, lk_blocker_info *info) {
    *info = (lk_blocker_info){
        .path = lk_text_copy((struct lk_slice){sight->key, sight->key_size}),
        .owner = lk_text_copy((struct lk_slice){sight->label, sight->owner_size}),
        .ticket = sight->ticket,
        .held = true,
        .expires_in_ms = LK_TTL_MAX_MS,
    };
    if (sight->note_size > 0) {
        info->note =
            lk_text_copy((struct lk_slice){sight->label + sight->owner_size + 1, sight->note_size});
    }
    return info->path != NULL && info->owner != NULL
           && (info->note != NULL || sight->note_size == 0);
}

bool lk_shm_name_holders(struct lk_shm_engine *shm, const struct lk_path *path, size_t max,
                         lk_result *result) {
    struct sights sights = {0};
    bool is_complete = true;

    if (max == 0) {
        return true;
    }
    if (see_all(shm, &sights) != LK_OK) {
        return false;
    }
    result->blockers = calloc(max, sizeof *result->blockers);
    is_complete = result->blockers != NULL;
    for (size_t i = 0; is_complete && i < sights.count; i++) {
        const struct sight *sight = &sights.all[i];

        if (sight->key_size != path->size || memcmp(sight->key, path->bytes, path->size) != 0) {
            continue;
        }
        result->position++;
        result->in_use += sight->units;
        if (result->blocker_count < max) {
            is_complete = name_one(sight, &result->blockers[result->blocker_count++]);
        }
    }
    free(sights.all);
    return is_complete;
}

/* ---- lk doctor ------------------------------------------------------------------------------- */

static void warn(struct lk_text *text, const char *what, uint32_t used, uint32_t most) {
    if ((uint64_t)used * 100 >= (uint64_t)most * NEARLY_FULL_PERCENT) {
        lk_text_format(text, "%u of %u %s are used: past that, asks are answered FULL\n", used,
                       most, what);
    }
}

lk_outcome lk_shm_examine(struct lk_engine *engine, const struct lk_patience *patience,
                          lk_report **ret_report, struct lk_error *error) {
    struct lk_shm_engine *shm = lk_shm_of(engine);
    char report_bytes[REPORT_BYTES_MAX];
    char warning_bytes[REPORT_BYTES_MAX];
    struct lk_text text = lk_text_in(report_bytes, sizeof report_bytes);
    struct lk_text warnings = lk_text_in(warning_bytes, sizeof warning_bytes);
    lk_canal_figures figures;
    lk_canal_status status;
    lk_report *report;
    uint32_t dead;

    (void)patience;
    (void)pthread_mutex_lock(&shm->mutex);
    dead = lk_canal_look(shm->canal);
    status = lk_canal_measure(shm->canal, &figures);
    (void)pthread_mutex_unlock(&shm->mutex);
    if (status != LK_CANAL_OK) {
        return lk_error_set(error, LK_INTERNAL, "the store was opened before a fork()");
    }
    lk_text_format(&text,
                   "region: %s%s\nlayout: %u\nbytes: %llu\nkeys: %u, %u held\n"
                   "holders: %u, %u in\npermits: %u, %u taken by holders\nprocesses: %u\n"
                   "dead found just now: %u\n",
                   strchr(shm->name, '/') == NULL ? "/dev/shm/canal." : "", shm->name,
                   figures.version, (unsigned long long)figures.bytes, figures.keys,
                   figures.keys_held, figures.holders, figures.holders_in, figures.permits,
                   figures.permits_taken, figures.processes_in, dead);
    warn(&warnings, "keys", figures.keys_held, figures.keys);
    warn(&warnings, "holders", figures.holders_in, figures.holders);
    warn(&warnings, "permits", figures.permits_taken, figures.permits);
    report = lk_report_make(report_bytes, warning_bytes);
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the report");
    }
    *ret_report = report;
    return LK_OK;
}
