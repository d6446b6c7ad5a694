/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of each call, the right that is needed there, and what answers show of others. */
#include "command/rights.h"

#include <stdlib.h>

#include "access/identity.h"
#include "base/error.h"
#include "base/text.h"

/* ---- what a user may do ---------------------------------------------------------------------- */

struct permitting {
    const struct lk_user *user;
    lk_error *error;
};

/* `path` NULL: the right is needed everywhere. */
static bool may(const struct permitting *permitting, enum lk_right right,
                const struct lk_path *path) {
    const char *name = lk_right_name(right);

    if (lk_rules_allow(lk_user_rules(permitting->user), right, path)) {
        return true;
    }
    (void)lk_error_set(permitting->error, LK_DENIED, "the user %s has no right to %s: %.*s",
                       permitting->user->name, name != NULL ? name : "do this",
                       path != NULL ? (int)path->size : 1, path != NULL ? path->bytes : "/");
    return false;
}

static bool may_parts(const struct permitting *permitting, enum lk_right right,
                      const struct lk_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!may(permitting, right, &parts[i].path)) {
            return false;
        }
    }
    return true;
}

static bool may_ask(const struct permitting *permitting, enum lk_right right,
                    const struct lk_ask *ask) {
    return may_parts(permitting, right, ask->parts, ask->part_count)
           && (!ask->wants_value
               || may_parts(permitting, LK_RIGHT_READ, ask->parts, ask->part_count));
}

static bool may_release(const struct permitting *permitting, enum lk_right right,
                        const struct lk_release *release) {
    const struct lk_target *target = &release->target;

    if (!may_parts(permitting, right, target->parts, target->part_count)) {
        return false;
    }
    for (size_t i = 0; i < release->put_count; i++) {
        if (release->puts[i].part < target->part_count
            && !may(permitting, LK_RIGHT_PUT, &target->parts[release->puts[i].part].path)) {
            return false;
        }
    }
    return true;
}

static bool may_command(const struct permitting *permitting, enum lk_right right,
                        const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return may_ask(permitting, right, &command->ask);
    case LK_COMMAND_RENEW:
        return may_parts(permitting, right, command->renew.target.parts,
                         command->renew.target.part_count);
    case LK_COMMAND_RELEASE:
        return may_release(permitting, right, &command->release);
    case LK_COMMAND_BREAK:
        return may(permitting, right, &command->broken.path);
    case LK_COMMAND_PUT:
        return may(permitting, right, &command->put.path);
    case LK_COMMAND_PUSH:
        return may(permitting, right, &command->push.queue)
               && may_parts(permitting, LK_RIGHT_LOCK, command->push.needs,
                            command->push.need_count);
    case LK_COMMAND_TAKE:
        return may(permitting, right, &command->take.queue);
    case LK_COMMAND_FINISH:
        return may(permitting, right, &command->finish.queue);
    case LK_COMMAND_UNPARK:
        return may(permitting, right, &command->unpark.queue);
    case LK_COMMAND_DROP:
        return may(permitting, right, &command->drop.queue);
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE: /* no client's */
        break;
    }
    return false;
}

/* Without a path, everything is asked for, and what the user may see is answered. */
static bool may_call(const struct permitting *permitting, const struct lk_call *call) {
    switch (call->kind) {
    case LK_CALL_COMMAND:
        return may_command(permitting, call->right, &call->command);
    case LK_CALL_LIMITS:
        return may(permitting, call->right, NULL);
    case LK_CALL_GET:
    case LK_CALL_LIST:
    case LK_CALL_SHOW:
    case LK_CALL_ITEMS:
    case LK_CALL_STATS:
    case LK_CALL_QUEUES:
    case LK_CALL_VALUES:
    case LK_CALL_DOUBTS:
    case LK_CALL_AUDIT:
    case LK_CALL_EVENTS:
        return !call->selection.has_path || may(permitting, call->right, &call->selection.path);
    case LK_CALL_INFO:
    case LK_CALL_REVOKED:
        return may(permitting, call->right, NULL);
    }
    return false;
}

lk_outcome lk_call_permit(const struct lk_call *call, lk_error *error) {
    const struct permitting permitting = {.user = call->user, .error = error};

    if (call->right == LK_RIGHT_OPEN) {
        return LK_OK;
    }
    (void)lk_error_set(error, LK_DENIED, "no user may do this");
    if (call->right == LK_RIGHT_UNDECLARED || lk_user_rules(call->user) == NULL) {
        return LK_DENIED;
    }
    return call->right == LK_RIGHT_USER || may_call(&permitting, call) ? LK_OK : LK_DENIED;
}

struct lk_slice *lk_call_owner_at(struct lk_call *call) {
    struct lk_command *command = &call->command;

    if (call->kind != LK_CALL_COMMAND) {
        return NULL;
    }
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return &command->ask.owner;
    case LK_COMMAND_RENEW:
        return &command->renew.target.owner;
    case LK_COMMAND_RELEASE:
        return &command->release.target.owner;
    case LK_COMMAND_PUT:
        return &command->put.owner;
    case LK_COMMAND_TAKE:
        return &command->take.owner;
    case LK_COMMAND_FINISH:
        return &command->finish.owner;
    case LK_COMMAND_BREAK:
    case LK_COMMAND_PUSH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE:
        break;
    }
    return NULL;
}

struct lk_slice lk_call_owner(const struct lk_call *call) {
    const struct lk_slice *owner = lk_call_owner_at((struct lk_call *)(uintptr_t)call);

    return owner != NULL ? *owner : (struct lk_slice){NULL, 0};
}

/* ---- what a user is shown -------------------------------------------------------------------- */

/* Records, without what their reader may not see. */

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

bool lk_visible_is_own(const struct lk_user *user, const char *owner) {
    return user == NULL
           || lk_slice_equal(lk_identity_read(lk_slice_of(owner)).user, lk_slice_of(user->name));
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
