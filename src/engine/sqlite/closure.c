/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading the closure of an event.
 *
 * To *expand* a path is to load every request with a part related to it (R5). Loaded are
 *
 *   S1  all that is related to the event's own paths: those asked for, ended, broken; for a renewal
 *       nothing but the request itself, which lives on and grants nothing; for a put (R15) what is
 *       at or above the path; for the end of a claim and for an unparking, what is at or above the
 *       item; for a take (R16), what is at or above the queue, what is related to each candidate
 *       and to its needs, and the claims that the same ask got before (R3);
 *   S2  for every loaded request that waits, is overdue, or may be broken or finished: all that is
 *       related to each of its parts;
 *   S3  for an ask and a take: everything that waits of each loaded owner, and of the asker;
 *   S4  a bounded number of requests that are overdue elsewhere, as some call has to sweep them;
 *   S5  the last draw of each root that has a part in what is loaded, and the floor (R4);
 *   S6  the value at the path of a put and of an ask that wants it, and at the first path of each
 *       request that asked for it and is overdue or may be broken;
 *   S7  the item of each claim that is loaded, the item that the event names, and what was counted
 *       of the queue of each; no values of items, which nothing hangs on;
 *
 * until nothing more follows. Claim: a step on this gives the same answer and the same changes as
 * a step on everything, up to overdue requests elsewhere, which no caller has seen yet (R11).
 *
 *   - What an event can end or weaken is its own target, what is broken, the claim of an item that
 *     is finished, and what is overdue. All of these are expanded (S1, S2), so every waiting
 *     request that their end could let in is loaded: by R7 a request is kept waiting only by what
 *     is related to it.
 *   - Whether a waiting request is granted depends on what is related to its parts (R7a, b), on
 *     requests with exactly its paths (R7c) and on leases of its owner at or above them (R8):
 *     all related to it, all loaded (S2).
 *   - A grant can let in others of the same owner that it covers (R8). They are related to what
 *     was granted, which waited (expanded) or is the event's own (expanded).
 *   - A search for a cycle (R13) goes from a waiting request to what is in its way (related, S2)
 *     to that one's owner to all that waits of that owner (S3), and so on; and from a grant to
 *     what waits for it (related, S1). Only asks and takes search.
 *   - R3's search for the asker's own request with these paths finds it among the related (S1).
 *     Limits, positions, blockers and units in use depend on related requests only.
 *   - A held request that lives on is not expanded: its other parts do not matter, as it
 *     neither ends nor waits.
 *   - A value comes into doubt (R15) when a lease that asked for it is overdue or broken at once:
 *     its value is loaded (S6). What waits and is granted in this very step lives on beyond it, or
 *     is overdue itself. A put is refused because of leases at or above its path alone.
 *   - An item changes with its claim, which brings it along (S7), or by an event that names it. A
 *     push depends on that claim, and on nothing else. Whether some item of a queue is claimed
 *     depends on what is overdue of its claims, which is swept before, and on each item in turn:
 *     on what is related to its path and its needs. Which items are loaded is argued in take.c.
 *   - Bounds (R22) count the waiters at a path, which are related (S1), and what lives in all, of
 *     an owner and under a root: that is counted in the rows and passed to the model (limits.c).
 */
#include "engine/sqlite/crowd.h"

static int want_parts(struct lk_closure *closure, const struct lk_part *parts, size_t count) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = lk_closure_fetch_draw(closure, &parts[i].path);
        if (code == SQLITE_OK) {
            code = lk_closure_fetch_path(closure, &parts[i].path);
        }
    }
    return code;
}

static bool has_paths(const struct lk_record *record, const struct lk_target *target) {
    for (size_t i = 0; i < target->part_count; i++) {
        if (!lk_closure_fetch_has_part_at(record, &target->parts[i].path)) {
            return false;
        }
    }
    return record->part_count == target->part_count;
}

struct own {
    struct lk_closure *closure;
    const struct lk_target *target;
};

/* Whether the renewal renews this request and no other of its owner there. */
static bool is_renewable(const struct own *own, const struct lk_record *record) {
    return !record->is_claim && record->state == LK_STATE_HELD && !record->revoked
           && record->deadline_us > own->closure->now_us
           && (own->target->token == 0 || own->target->token == record->token)
           && has_paths(record, own->target);
}

/* Of the requests of this owner at the target's first path, up to the target itself. */
static int load_own(void *context, uint64_t id) {
    const struct own *own = context;
    int code = lk_closure_fetch_request(own->closure, id);

    if (code == SQLITE_OK && is_renewable(own, &own->closure->store->request.record)) {
        code = SQLITE_DONE;
    }
    return code;
}

/*
 * S1 of a renewal. Rows of a path come in the order of arrival, so a lease comes before the waiters
 * of a long queue. If it is overdue, the requests that it keeps waiting follow (S2).
 */
static int want_own(struct lk_closure *closure, const struct lk_target *target) {
    struct own own = {.closure = closure, .target = target};

    return lk_sql_each_at_of(&closure->store->sql, lk_closure_fetch_slice(&target->parts[0].path),
                             target->owner, load_own, &own);
}

/* An ask needs what is related to its parts, and follows its owner. */
static int want_ask(struct lk_closure *closure, const struct lk_ask *ask) {
    int code = want_parts(closure, ask->parts, ask->part_count);

    if (code == SQLITE_OK && ask->wants_value) {
        code = lk_closure_fetch_values(closure, ask->parts, ask->part_count);
    }
    return code == SQLITE_OK ? lk_closure_fetch_owner(closure, ask->owner) : code;
}

static int want_put(struct lk_closure *closure, const struct lk_put *put) {
    int code = lk_closure_fetch_value(closure, &put->path);

    return code == SQLITE_OK ? lk_closure_fetch_above(closure, lk_closure_fetch_slice(&put->path))
                             : code;
}

/* A take needs what pauses its queue, and what the same ask got before (R3). */
static int want_take(struct lk_closure *closure, const struct lk_take *take) {
    int code = lk_closure_fetch_queue(closure, &take->queue);

    if (code == SQLITE_OK) {
        code = lk_closure_fetch_above(closure, lk_closure_fetch_slice(&take->queue));
    }
    if (code == SQLITE_OK && take->ask_number != 0) {
        code = lk_sql_each_claim_of(&closure->store->sql, take->owner, take->ask_number,
                                    lk_closure_fetch_request, closure);
    }
    return code == SQLITE_OK ? lk_closure_fetch_owner(closure, take->owner) : code;
}

/* The item that the event names. If its id is not valid, the model will say so. */
static int want_item(struct lk_closure *closure, const struct lk_path *queue, struct lk_slice id) {
    int code;

    if (lk_item_path_make(queue, id, &closure->item, NULL) != LK_OK) {
        return SQLITE_OK;
    }
    code = lk_closure_fetch_queue(closure, queue);
    if (code == SQLITE_OK) {
        code = lk_closure_fetch_item(closure, &closure->item.path);
    }
    return code == SQLITE_EMPTY ? SQLITE_OK : code;
}

/* The item and its claim; `ends`: the event may end the claim. */
static int want_claimed(struct lk_closure *closure, const struct lk_path *queue, struct lk_slice id,
                        bool ends) {
    int code = want_item(closure, queue, id);

    if (code != SQLITE_OK || closure->item.path.size == 0) {
        return code;
    }
    closure->ending = ends ? &closure->item.path : NULL;
    return lk_closure_fetch_above(closure, lk_closure_fetch_slice(&closure->item.path));
}

/* The item that a push finds there, and its claim: the push may let another run follow it. */
static int want_pushed(struct lk_closure *closure, const struct lk_push *push) {
    int code = want_item(closure, &push->queue, push->id);

    if (code != SQLITE_OK || lk_model_item(closure->model, &push->queue, push->id) == 0) {
        return code;
    }
    return lk_closure_fetch_above(closure, lk_closure_fetch_slice(&closure->item.path));
}

/* The requests at the path, and the item there if it is to be cancelled. */
static int want_broken(struct lk_closure *closure, const struct lk_break *broken) {
    int code = broken->cancels ? lk_closure_fetch_item(closure, &broken->path) : SQLITE_OK;

    if (code != SQLITE_OK && code != SQLITE_EMPTY) {
        return code;
    }
    closure->ending = &broken->path;
    return lk_closure_fetch_path(closure, &broken->path);
}

/* S1, and the asker for S3. */
static int want_event(struct lk_closure *closure, const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return want_ask(closure, &command->ask);
    case LK_COMMAND_RENEW:
        return want_own(closure, &command->renew.target);
    case LK_COMMAND_RELEASE:
        return want_parts(closure, command->release.target.parts,
                          command->release.target.part_count);
    case LK_COMMAND_BREAK:
        return want_broken(closure, &command->broken);
    case LK_COMMAND_PUT:
        return want_put(closure, &command->put);
    case LK_COMMAND_PUSH:
        return want_pushed(closure, &command->push);
    case LK_COMMAND_TAKE:
        return want_take(closure, &command->take);
    case LK_COMMAND_FINISH:
        return want_claimed(closure, &command->finish.queue, command->finish.id, true);
    case LK_COMMAND_UNPARK:
        return want_claimed(closure, &command->unpark.queue, command->unpark.id, false);
    case LK_COMMAND_DROP:
        return want_claimed(closure, &command->drop.queue, command->drop.id, false);
    case LK_COMMAND_LEAVE: /* never asked of a store without connections (R18) */
    case LK_COMMAND_TICK:
        break;
    }
    return SQLITE_OK;
}

/* Whether the event follows owners (S3). */
static bool is_search(const struct lk_command *command) {
    return command->kind == LK_COMMAND_ASK || command->kind == LK_COMMAND_TAKE;
}

/*
 * The next id: above all that live, and by the clock above those that lived and were forgotten.
 * What is about to be granted because nothing is found at its path is only granted where the newest
 * request is found at its own: an index that lost its rows grants everything.
 */
static int restore_next_id(struct lk_closure *closure, int64_t wall_us, bool may_grant) {
    uint64_t greatest = 0;
    uint64_t by_clock = wall_us > 0 ? (uint64_t)wall_us : 1;
    int code = lk_sql_request_greatest(&closure->store->sql, &greatest);

    if (code == SQLITE_OK && may_grant && greatest > 0) {
        code = lk_sql_request_is_found(&closure->store->sql, greatest);
    }
    if (code == SQLITE_OK) {
        lk_model_restore_next_id(closure->model, greatest < by_clock ? by_clock : greatest + 1);
    }
    return code;
}

/* An empty model that goes on from where the store is. */
static int begin(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                 const struct lk_command *command) {
    const struct lk_model_config config = {.quotas = transaction->meta.quotas,
                                           .hash_seed = lk_random_next(&transaction->store->random),
                                           .wall_ahead_us =
                                               command->times.wall_us - command->times.now_us};

    *closure = (struct lk_closure){.store = transaction->store,
                                   .model = lk_model_new(&config),
                                   .now_us = command->times.now_us,
                                   .is_reading = transaction->access == LK_SQLITE_READ,
                                   .bounds_waiters = config.quotas.waiters_per_path_max != 0};
    if (closure->model == NULL) {
        return SQLITE_NOMEM;
    }
    lk_model_restore_floor(closure->model, transaction->meta.draw_floor);
    return restore_next_id(closure, command->times.wall_us,
                           !closure->is_reading && is_search(command));
}

/* S4. */
static int load_overdue(struct lk_closure *closure, int max) {
    return lk_sql_each_overdue(&closure->store->sql, closure->now_us, max, lk_closure_fetch_request,
                               closure);
}

/* An empty closure with what the event needs, or with as much of a crowd as decides. */
static int begin_event(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                       const struct lk_command *command) {
    bool is_crowd = false;
    bool is_enough = false;
    int code = begin(closure, transaction, command);

    if (code == SQLITE_OK) {
        code = lk_crowd_is_met(closure, command, &is_crowd);
    }
    if (code == SQLITE_OK && is_crowd) {
        code = lk_crowd_load(closure, command, &is_enough);
        if (code == SQLITE_OK && !is_enough && closure->is_reading) {
            return SQLITE_READONLY;
        }
        if (code == SQLITE_OK && !is_enough) {
            lk_closure_done(closure);
            code = begin(closure, transaction, command);
        }
    }
    if (code != SQLITE_OK || is_enough) {
        return code;
    }
    closure->with_owners = is_search(command);
    return want_event(closure, command);
}

int lk_closure_load(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                    const struct lk_command *command, const struct lk_path *prefix) {
    int code = begin_event(closure, transaction, command);

    closure->with_all = command->kind == LK_COMMAND_TICK && prefix == NULL;
    if (code == SQLITE_OK && prefix != NULL) {
        code = lk_closure_fetch_path(closure, prefix);
    }
    if (code == SQLITE_OK && closure->with_all) {
        return lk_sql_each(&closure->store->sql, lk_closure_fetch_request, closure);
    }
    if (code == SQLITE_OK && command->kind != LK_COMMAND_TICK && command->kind != LK_COMMAND_TAKE) {
        /* A read leaves sweeping to writers; a take has swept before. */
        code = load_overdue(closure, transaction->store->options.overdue_max);
    }
    if (code == SQLITE_OK) {
        code = lk_closure_follow(closure);
    }
    return code == SQLITE_OK && closure->in_crowd && command->kind == LK_COMMAND_ASK
               ? lk_crowd_count_units(closure, &command->ask.parts[0].path)
               : code;
}

int lk_closure_load_overdue(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                            const struct lk_command *command, const struct lk_path *queue,
                            int elsewhere) {
    int code = begin(closure, transaction, command);

    if (code == SQLITE_OK && queue != NULL) {
        code = lk_sql_each_overdue_claim(&closure->store->sql, lk_closure_fetch_slice(queue),
                                         closure->now_us, lk_closure_fetch_request, closure);
    }
    if (code == SQLITE_OK && elsewhere > 0) {
        code = load_overdue(closure, elsewhere);
    }
    return code == SQLITE_OK ? lk_closure_follow(closure) : code;
}

/* The item that has just been read into the store's room, once. */
static int add_item(void *context, const struct lk_sql_item *item) {
    struct lk_closure *closure = context;
    const struct lk_item_record *record = &item->record;
    bool is_new = false;
    int code = SQLITE_CORRUPT;

    if (lk_item_path_make(&record->queue, record->id, &closure->item, NULL) == LK_OK) {
        code = lk_closure_fetch_once(&closure->items, lk_closure_fetch_slice(&closure->item.path),
                                     &is_new);
    }
    return code == SQLITE_OK && is_new ? lk_closure_fetch_row(closure) : code;
}

int lk_closure_load_queue(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                          const struct lk_command *command, const struct lk_path *queue) {
    struct lk_sqlite *store = transaction->store;
    int code = begin(closure, transaction, command);

    if (code == SQLITE_OK) {
        code = lk_sql_items_each(&store->sql, lk_closure_fetch_slice(queue), &store->item, add_item,
                                 closure);
    }
    if (code == SQLITE_OK) {
        code = lk_closure_fetch_path(closure, queue);
    }
    return code == SQLITE_OK ? lk_closure_follow(closure) : code;
}

/* One that the queue does not have costs nothing more. */
int lk_closure_load_item(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                         const struct lk_command *command, const struct lk_path *queue,
                         struct lk_slice id) {
    struct lk_sqlite *store = transaction->store;
    int code = begin(closure, transaction, command);

    if (code == SQLITE_OK) {
        code = lk_sql_items_each_of(&store->sql, lk_closure_fetch_slice(queue), id, &store->item,
                                    add_item, closure);
    }
    if (code == SQLITE_OK && closure->item.path.size > 0) {
        code = lk_closure_fetch_above(closure, lk_closure_fetch_slice(&closure->item.path));
    }
    return code == SQLITE_OK ? lk_closure_follow(closure) : code;
}

int lk_closure_load_value(struct lk_closure *closure, struct lk_sqlite_transaction *transaction,
                          const struct lk_command *command, const struct lk_path *path) {
    int code = lk_closure_load(closure, transaction, command, path);

    return code == SQLITE_OK ? lk_closure_fetch_value(closure, path) : code;
}

int lk_closure_add_candidate(struct lk_closure *closure, const struct lk_sql_item *item) {
    int code = add_item(closure, item);

    if (code == SQLITE_OK) {
        code = lk_closure_fetch_path(closure, &closure->item.path);
    }
    return code == SQLITE_OK ? want_parts(closure, item->record.needs, item->record.need_count)
                             : code;
}

void lk_closure_done(struct lk_closure *closure) {
    lk_model_free(closure->model);
    closure->model = NULL;
    lk_set_done(&closure->requests);
    lk_set_done(&closure->paths);
    lk_set_done(&closure->owners);
    lk_set_done(&closure->roots);
    lk_set_done(&closure->values);
    lk_set_done(&closure->items);
    lk_set_done(&closure->queues);
    lk_set_done(&closure->waiting);
    lk_set_done(&closure->held);
}
