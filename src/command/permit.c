/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of each call, and the right that is needed there. */
#include "command/permit.h"

#include "base/error.h"

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
