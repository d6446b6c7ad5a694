/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of blockers. */
#include "engine/reply/blockers.h"

#include <stdlib.h>

#include "base/text.h"

int64_t lk_time_left_ms(const struct lk_record *record, const struct lk_times *times) {
    int64_t left_us = record->deadline_us - times->now_us;

    return left_us > 0 ? left_us / 1000 : 0;
}

void lk_blocker_infos_free(lk_blocker_info *infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(infos[i].path);
        free(infos[i].owner);
        free(infos[i].user);
        free(infos[i].note);
    }
    free(infos);
}

/* On failure *info may be partly filled. */
static bool fill(const struct lk_model *model, const struct lk_times *times,
                 const struct lk_blocker *blocker, lk_blocker_info *info) {
    struct lk_record record;
    const struct lk_path *path;

    lk_model_record(model, blocker->request, &record);
    path = &record.parts[blocker->part].path;
    info->path = lk_text_copy((struct lk_slice){.bytes = path->bytes, .size = path->size});
    info->owner = lk_text_copy(record.owner);
    info->note = record.note.size > 0 ? lk_text_copy(record.note) : NULL;
    info->ticket = record.ticket;
    info->held = record.state == LK_STATE_HELD;
    info->expires_in_ms = lk_time_left_ms(&record, times);
    return info->path != NULL && info->owner != NULL
           && (info->note != NULL || record.note.size == 0);
}

bool lk_blocker_infos_make(const struct lk_model *model, const struct lk_times *times,
                           const struct lk_blocker *blockers, size_t count,
                           lk_blocker_info **ret_infos, size_t *ret_count) {
    lk_blocker_info *infos;

    if (count == 0) {
        *ret_infos = NULL;
        *ret_count = 0;
        return true;
    }
    infos = calloc(count, sizeof *infos);
    if (infos == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!fill(model, times, &blockers[i], &infos[i])) {
            lk_blocker_infos_free(infos, count);
            return false;
        }
    }
    *ret_infos = infos;
    *ret_count = count;
    return true;
}
