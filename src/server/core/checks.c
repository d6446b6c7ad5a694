/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core checks before the model sees a call.
 *
 * With users: which calls are allowed, and whose an owner is. The model is given identities
 * (access/identity.h): an owner of a call becomes one here, and what answers show of identities is
 * in command/rights.c.
 */
#include "access/identity.h"
#include "base/error.h"
#include "command/rights.h"
#include "model/command_check.h"
#include "server/core/core_internal.h"

bool lk_core_permit(struct lk_core *core, struct lk_session *session, struct lk_call *call) {
    lk_error error;

    if (core->config.users == NULL) {
        return true;
    }
    if (lk_call_permit(call, &error) != LK_OK) {
        lk_core_refuse(core, session, call->tag, LK_DENIED, error.text);
        return false;
    }
    if (lk_call_is(call, LK_COMMAND_BREAK)) {
        call->command.broken.by = lk_slice_of(call->user->name);
    }
    return true;
}

/* ---- what calls are made for ----------------------------------------------------------------- */

/* The model takes longer ones, which are identities. A value may be put without an owner. */
static lk_outcome check_size(const struct lk_call *call, struct lk_slice owner, lk_error *error) {
    if (owner.size > LK_OWNER_BYTES_MAX && lk_call_is(call, LK_COMMAND_PUT)) {
        return lk_error_set(error, LK_INVALID,
                            "R3: an owner has 1 to %d bytes, and a token needs one",
                            LK_OWNER_BYTES_MAX);
    }
    return lk_owner_check(owner, error);
}

bool lk_core_identify(struct lk_core *core, struct lk_session *session, struct lk_call *call) {
    struct lk_slice *owner = lk_call_owner_at(call);
    lk_error error;

    if (owner == NULL || owner->size == 0) {
        return true;
    }
    if (check_size(call, *owner, &error) != LK_OK) {
        lk_core_refuse(core, session, call->tag, LK_INVALID, error.text);
        return false;
    }
    if (!lk_core_check_connection_owner(core, session, call)) {
        return false;
    }
    if (core->config.users != NULL) {
        const struct lk_identity identity = {lk_slice_of(call->user->name), *owner};

        owner->size = lk_identity_write(identity, core->identity);
        owner->bytes = core->identity;
    }
    return true;
}

bool lk_core_is_of_user(const struct lk_core *core, const struct lk_call *call) {
    struct lk_slice owner = lk_call_owner(call);

    return core->config.users == NULL
           || lk_slice_equal(lk_identity_read(owner).user, lk_slice_of(call->user->name));
}

/* ---- what a break is about ------------------------------------------------------------------- */

struct search {
    struct lk_core *core;
    struct lk_slice wanted;
    size_t size;   /* of core->identity, the one that was found; 0: none */
    bool is_exact; /* it is the text itself */
    bool is_ambiguous;
};

static bool visit(void *context, lk_ref request) {
    struct search *search = context;
    struct lk_core *core = search->core;
    struct lk_slice owner;

    lk_model_record_head(core->model, request, &core->record);
    owner = core->record.owner;
    search->is_exact = lk_slice_equal(owner, search->wanted);
    if (search->is_exact || lk_slice_equal(lk_identity_read(owner).owner, search->wanted)) {
        search->is_ambiguous =
            search->is_ambiguous
            || (search->size > 0
                && !lk_slice_equal(owner, (struct lk_slice){core->identity, search->size}));
        memcpy(core->identity, owner.bytes, owner.size);
        search->size = owner.size;
    }
    return !search->is_exact;
}

bool lk_core_find_broken(struct lk_core *core, struct lk_session *session, struct lk_call *call) {
    struct lk_break *broken = &call->command.broken;
    struct search search = {.core = core, .wanted = broken->owner};

    if (core->config.users == NULL || broken->owner.size == 0) {
        return true;
    }
    if (!lk_core_apply_deadlines(core)) { /* what is overdue is not broken */
        lk_core_refuse_unwritten(core, session, call->tag);
        return false;
    }
    lk_model_each_at(core->model, &broken->path, visit, &search);
    if (search.is_ambiguous && !search.is_exact) {
        lk_core_refuse(core, session, call->tag, LK_INVALID,
                       "R12: several users have an owner of this name there: name one as "
                       "USER" LK_IDENTITY_SEPARATOR "OWNER");
        return false;
    }
    if (search.size > 0) {
        broken->owner = (struct lk_slice){core->identity, search.size};
    }
    return true;
}

/* ---- what the model need not see: draining --------------------------------------------------- */

/*
 * Refused are new requests while the core drains, when what lives is served to its end, and values
 * and items beyond the bound on their total size.
 */

void lk_core_drain(struct lk_core *core) {
    core->is_draining = true;
}

bool lk_core_is_draining(const struct lk_core *core) {
    return core->is_draining;
}

/* Whether the ask is for a request that lives. The step would expire an overdue one first. */
static bool is_repeated(struct lk_core *core, const struct lk_ask *ask) {
    return lk_model_find(core->model, ask->owner, ask->parts, ask->part_count) != 0;
}

bool lk_core_refuses_new(struct lk_core *core, struct lk_session *session,
                         const struct lk_call *call) {
    if (!core->is_draining
        || (!lk_call_is(call, LK_COMMAND_ASK) && !lk_call_is(call, LK_COMMAND_TAKE))) {
        return false;
    }
    if (!lk_core_apply_deadlines(core)) {
        lk_core_refuse_unwritten(core, session, call->tag);
        return true;
    }
    if (lk_call_is(call, LK_COMMAND_ASK) && is_repeated(core, &call->command.ask)) {
        return false;
    }
    lk_core_refuse(core, session, call->tag, LK_UNAVAILABLE,
                   "the service was told to end once all locks are released, and takes no new "
                   "requests; ask again");
    return true;
}

/* ---- the room for values and items ----------------------------------------------------------- */

/* The bytes that a release stores, with the room of each value beyond the first; as below. */
static int64_t bytes_of_puts(const struct lk_release *release) {
    int64_t bytes = 0;

    for (size_t i = 0; i < release->put_count; i++) {
        bytes += (int64_t)release->puts[i].bytes.size + (i > 0 ? LK_KEPT_COST_BYTES : 0);
    }
    return release->put_count > 0 ? bytes : LK_NEVER;
}

/* What a claimant says without anything to keep is taken also where there is no room. */
static int64_t bytes_of_finish(const struct lk_finish *finish) {
    size_t size = finish->kind == LK_FINISH_PROGRESS ? finish->progress.size
                  : finish->kind == LK_FINISH_DONE   ? finish->result.size
                                                     : 0;

    return size > 0 ? (int64_t)size : LK_NEVER;
}

/* The bytes that a command stores; LK_NEVER: it stores none. */
static int64_t bytes_of(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUT:
        return command->put.deletes ? LK_NEVER : (int64_t)command->put.bytes.size;
    case LK_COMMAND_PUSH:
        return (int64_t)command->push.value.size;
    case LK_COMMAND_RELEASE:
        return bytes_of_puts(&command->release);
    case LK_COMMAND_FINISH:
        return bytes_of_finish(&command->finish);
    default:
        return LK_NEVER;
    }
}

bool lk_core_has_room(const struct lk_core *core, const struct lk_command *command) {
    int64_t bytes = bytes_of(command);

    return bytes == LK_NEVER
           || lk_model_kept_bytes(core->model) + (uint64_t)bytes + LK_KEPT_COST_BYTES
                  <= core->config.value_bytes_max;
}
