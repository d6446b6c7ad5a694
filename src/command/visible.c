/* SPDX-License-Identifier: Apache-2.0 */
/* Records, without what their reader may not see. */
#include "command/visible.h"

#include <stdlib.h>

bool lk_visible_path(const struct lk_user *user, enum lk_right right, const char *path) {
    return user == NULL || lk_rules_allow_text(lk_user_rules(user), right, path);
}

size_t lk_visible_next(const struct lk_user *user, enum lk_right right, const char *path,
                       char ret_behind[LK_RULES_BEHIND_MAX]) {
    return lk_rules_next(lk_user_rules(user), right, lk_slice_of(path), ret_behind);
}

bool lk_visible_all(const struct lk_user *user, enum lk_right right) {
    return user == NULL || lk_rules_allow(lk_user_rules(user), right, NULL);
}

static void hide(char *owner, char **note) {
    if (owner != NULL) {
        owner[0] = '\0';
    }
    free(*note);
    *note = NULL;
}

static void hide_blockers(const struct lk_user *user, lk_blocker_info *blockers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!lk_rules_show(lk_user_rules(user), blockers[i].path)) {
            hide(blockers[i].owner, &blockers[i].note);
        }
    }
}

void lk_visible_result(const struct lk_user *user, lk_result *result) {
    if (user == NULL) {
        return;
    }
    hide_blockers(user, result->blockers, result->blocker_count);
    for (size_t i = 1; i < result->cycle_count && !lk_rules_show(lk_user_rules(user), NULL); i++) {
        result->cycle[i][0] = '\0'; /* where they wait is not known here */
    }
}

/* R5, of a path as text. */
static bool is_related(const struct lk_selection *selection, const char *text) {
    struct lk_path path;

    return selection->has_path && lk_path_parse(lk_slice_of(text), &path, NULL) == LK_OK
           && lk_path_related(&selection->path, &path);
}

bool lk_visible_entry(const struct lk_user *user, const struct lk_selection *selection,
                      lk_entry *entry) {
    if (user == NULL) {
        return true;
    }
    hide_blockers(user, entry->blockers, entry->blocker_count);
    if (lk_visible_path(user, LK_RIGHT_READ, entry->path)) {
        return true;
    }
    if (!lk_rules_show(lk_user_rules(user), entry->path)) {
        hide(entry->owner, &entry->note);
    }
    return is_related(selection, entry->path);
}

const lk_watch_event *lk_visible_event(const struct lk_user *user, const lk_watch_event *event,
                                       struct lk_visible_event *room) {
    size_t count = 0;

    if (user == NULL || event->part_count == 0) {
        return event;
    }
    for (size_t i = 0; i < event->part_count && i < LK_PARTS_MAX; i++) {
        if (lk_visible_path(user, LK_RIGHT_WATCH, event->paths[i])) {
            room->paths[count] = event->paths[i];
            room->parts[count++] = event->parts[i];
        }
    }
    room->event = *event;
    room->event.paths = room->paths;
    room->event.parts = room->parts;
    room->event.part_count = count;
    /* Of an item, the first path is its own, and the others are its needs. */
    return count > 0 && (event->queue == NULL || room->paths[0] == event->paths[0]) ? &room->event
                                                                                    : NULL;
}
