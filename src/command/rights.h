/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of users: what they may do, and what they are shown.
 *
 * Whether a user may make a call is decided by its rules, the right that the command declares, and
 * every path that the call names. Pure.
 */
#ifndef LK_COMMAND_RIGHTS_H
#define LK_COMMAND_RIGHTS_H

#include "command/call.h"

/* ---- what a user may do ---------------------------------------------------------------------- */

/*
 * Of a service with users: LK_OK, or LK_DENIED with what is not allowed. A call without a user is
 * only allowed if its command is open.
 */
lk_outcome lk_call_permit(const struct lk_call *call, lk_error *error);

/*
 * The owner in whose name the call changes something; empty: there is none. An owner that a break
 * or a listing names only selects.
 */
struct lk_slice lk_call_owner(const struct lk_call *call);

/* Where it stands in the call; NULL: the call has none. */
struct lk_slice *lk_call_owner_at(struct lk_call *call);

/* ---- what a user is shown -------------------------------------------------------------------- */

/*
 * A request, a break, a queue or an event outside of its rights is left out. What it must be told
 * of, because it is in its way, has no owner (an empty text) and no note. The identity that the
 * model has for an owner is shown as the owner, and the user besides it. `user` NULL: the service
 * has no users, and everything is shown as it is.
 */

/* Whether the user has the right at the path. */
bool lk_visible_path(const struct lk_user *user, enum lk_right right, const char *path);

/* For a list by path that has come to a path that is not shown: lk_rules_next(). */
size_t lk_visible_next(const struct lk_user *user, enum lk_right right, const char *path,
                       char ret_behind[LK_RULES_BEHIND_MAX]);

/* The same at every path: what is counted over all paths is shown. */
bool lk_visible_all(const struct lk_user *user, enum lk_right right);

/* Hides the owners and notes of blockers, and the other owners of a deadlock, of which those that
 * are shown stay identities. */
void lk_visible_result(const struct lk_user *user, lk_result *result);

/* Hides what the user may not see of an entry; false: the whole entry. */
bool lk_visible_entry(const struct lk_user *user, const struct lk_selection *selection,
                      lk_entry *entry);

/* The owner of an answer or a claim, which is the reader's own. In place. */
void lk_visible_owner(const struct lk_user *user, char *owner);

/* Whether the owner is one of the user's. NULL: there are no users, and it is. */
bool lk_visible_is_own(const struct lk_user *user, const char *owner);

/* The owner and the user of an item. */
void lk_visible_item(const struct lk_user *user, lk_item_info *item);

/* An owner and its user. */
struct lk_visible_names {
    char owner[LK_IDENTITY_BYTES_MAX + 1];
    char user[LK_IDENTITY_BYTES_MAX + 1];
};

/* A copy of the entry, which borrows from it and from the room. */
lk_audit_entry lk_visible_break(const struct lk_user *user, const lk_audit_entry *entry,
                                struct lk_visible_names *room);

/* Room for an event with fewer paths, and an owner without its user. */
struct lk_visible_event {
    lk_watch_event event;
    char *paths[LK_PARTS_MAX];
    char *parts[LK_PARTS_MAX];
    struct lk_visible_names names;
};

/*
 * The event with those of its paths that the user may watch; NULL: it has none of them. A gap,
 * which has no path, is shown. The result borrows from the event, or is it.
 */
const lk_watch_event *lk_visible_event(const struct lk_user *user, const lk_watch_event *event,
                                       struct lk_visible_event *room);

#endif
