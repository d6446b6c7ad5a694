/* SPDX-License-Identifier: Apache-2.0 */
/* Records, without what their reader may not see. */
#include "command/visible.h"

#include <stdlib.h>

#include "access/identity.h"
#include "base/text.h"

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

/* ---- owners ---------------------------------------------------------------------------------- */

/* Cuts the user off an identity. Without memory for its name the owner is hidden: it would be taken
 * for another user's. */
static void split(char *owner, char **ret_user) {
    struct lk_identity identity = lk_identity_read(lk_slice_of(owner));

    if (identity.user.size == 0) {
        return;
    }
    *ret_user = lk_text_copy(identity.user);
    if (*ret_user == NULL) {
        owner[0] = '\0';
    } else {
        memmove(owner, identity.owner.bytes, identity.owner.size + 1);
    }
}

/* The same into a room; false: it is no identity. */
static bool split_into(const char *owner, struct lk_visible_names *room) {
    struct lk_identity identity = lk_identity_read(lk_slice_of(owner));

    if (identity.user.size == 0 || identity.owner.size >= sizeof room->owner) {
        return false;
    }
    memcpy(room->owner, identity.owner.bytes, identity.owner.size + 1);
    memcpy(room->user, identity.user.bytes, identity.user.size);
    room->user[identity.user.size] = '\0';
    return true;
}

void lk_visible_owner(const struct lk_user *user, char *owner) {
    struct lk_identity identity = lk_identity_read(lk_slice_of(owner));

    if (user != NULL && lk_slice_equal(identity.user, lk_slice_of(user->name))) {
        memmove(owner, identity.owner.bytes, identity.owner.size + 1);
    }
}

void lk_visible_item(const struct lk_user *user, lk_item_info *item) {
    if (user != NULL && item->owner != NULL) {
        split(item->owner, &item->user);
    }
}

lk_audit_entry lk_visible_break(const struct lk_user *user, const lk_audit_entry *entry,
                                struct lk_visible_names *room) {
    lk_audit_entry shown = *entry;

    if (user != NULL && split_into(entry->owner, room)) {
        shown.owner = room->owner;
        shown.user = room->user;
    }
    return shown;
}

/* ---- records --------------------------------------------------------------------------------- */

static void hide_blockers(const struct lk_user *user, lk_blocker_info *blockers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (lk_rules_show(lk_user_rules(user), blockers[i].path)) {
            split(blockers[i].owner, &blockers[i].user);
        } else {
            hide(blockers[i].owner, &blockers[i].note);
        }
    }
}

void lk_visible_result(const struct lk_user *user, lk_result *result) {
    if (user == NULL) {
        return;
    }
    hide_blockers(user, result->blockers, result->blocker_count);
    if (result->cycle_count > 0) {
        lk_visible_owner(user, result->cycle[0]);
    }
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
    if (lk_rules_show(lk_user_rules(user), entry->path)) {
        split(entry->owner, &entry->user);
    } else {
        hide(entry->owner, &entry->note);
    }
    return lk_visible_path(user, LK_RIGHT_READ, entry->path) || is_related(selection, entry->path);
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
    if (event->owner != NULL && split_into(event->owner, &room->names)) {
        room->event.owner = room->names.owner;
        room->event.user = room->names.user;
    }
    /* Of an item, the first path is its own, and the others are its needs. */
    return count > 0 && (event->queue == NULL || room->paths[0] == event->paths[0]) ? &room->event
                                                                                    : NULL;
}
