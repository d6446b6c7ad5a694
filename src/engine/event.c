/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a step of the model (R21). */
#include "engine/event.h"

/* The state of one traversal. Large: two records. */
struct telling {
    const struct lk_model *model;
    const struct lk_command *command;
    lk_visit_event *visit;
    void *context;
    lk_ref claim; /* the claim that changed last, to which the next item belongs; 0: none */
    struct lk_record record; /* of the request that changed last */
    struct lk_item_record item;
};

static bool tell_request(struct telling *telling, lk_watch_kind kind) {
    const struct lk_record *record = &telling->record;
    struct lk_event step_event = {
        .kind = kind,
        .parts = record->parts,
        .part_count = record->part_count,
        .owner = record->owner,
        .note = record->note,
        .ticket = record->ticket,
        .token = record->token,
        .is_of_item = record->is_claim,
    };

    if (kind == LK_WATCH_BROKEN) {
        step_event.by = telling->command->broken.by;
        step_event.reason = telling->command->broken.reason;
    }
    return telling->visit(telling->context, &step_event);
}

/* A change of a request. The grant and the release of a claim are events of its item. */
static bool tell_request_change(struct telling *telling, const struct lk_change *change) {
    static const lk_watch_kind kinds[] = {
        [LK_CHANGE_QUEUED] = LK_WATCH_QUEUED,       [LK_CHANGE_GRANTED] = LK_WATCH_GRANTED,
        [LK_CHANGE_CONVERTED] = LK_WATCH_CONVERTED, [LK_CHANGE_REVOKED] = LK_WATCH_BROKEN,
        [LK_CHANGE_RELEASED] = LK_WATCH_RELEASED,   [LK_CHANGE_WITHDRAWN] = LK_WATCH_WITHDRAWN,
        [LK_CHANGE_PERISHED] = LK_WATCH_PERISHED,   [LK_CHANGE_BROKEN] = LK_WATCH_BROKEN,
    };

    lk_model_record(telling->model, change->request, &telling->record);
    telling->claim = telling->record.is_claim ? change->request : 0;
    if (telling->claim != 0
        && (change->kind == LK_CHANGE_GRANTED || change->kind == LK_CHANGE_RELEASED)) {
        return true;
    }
    return tell_request(telling, kinds[change->kind]);
}

/* The owner that writes a value: by a put, or with a release. */
static struct lk_slice writer(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUT:
        return command->put.owner;
    case LK_COMMAND_RELEASE:
        return command->release.target.owner;
    default:
        return (struct lk_slice){NULL, 0};
    }
}

static bool tell_value(struct telling *telling, const struct lk_change *change) {
    struct lk_value_record value;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    const struct lk_event step_event = {
        .kind = LK_WATCH_VALUE_WRITTEN,
        .parts = &part,
        .part_count = 1,
        .owner = writer(telling->command),
        .is_deletion = change->kind == LK_CHANGE_VALUE_DELETED,
    };

    lk_model_value_record(telling->model, change->value, &value);
    (void)lk_path_parse(lk_slice_of(value.path), &part.path, NULL);
    return telling->visit(telling->context, &step_event);
}

/* A change of an item: with all that its claim locked, where a claim has just begun or ended. */
static bool tell_item(struct telling *telling, const struct lk_change *change, lk_watch_kind kind) {
    const struct lk_record *record = &telling->record;
    const struct lk_item_record *item = &telling->item;
    struct lk_item_path item_path;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_event step_event = {
        .kind = kind, .parts = &part, .part_count = 1, .is_of_item = true};

    lk_model_item_record(telling->model, change->item, &telling->item);
    step_event.attempt = item->attempts;
    if (telling->claim != 0) {
        step_event.parts = record->parts;
        step_event.part_count = record->part_count;
        step_event.owner = record->owner;
        step_event.note = record->note;
        step_event.ticket = record->ticket;
        step_event.token = record->token;
    } else {
        (void)lk_item_path_make(&item->queue, item->id, &item_path, NULL);
        part.path = item_path.path;
    }
    telling->claim = 0;
    return telling->visit(telling->context, &step_event);
}

static bool tell_change(struct telling *telling, const struct lk_change *change) {
    switch (change->kind) {
    case LK_CHANGE_QUEUED:
    case LK_CHANGE_GRANTED:
    case LK_CHANGE_CONVERTED:
    case LK_CHANGE_REVOKED:
    case LK_CHANGE_RELEASED:
    case LK_CHANGE_WITHDRAWN:
    case LK_CHANGE_PERISHED:
    case LK_CHANGE_BROKEN:
        return tell_request_change(telling, change);
    case LK_CHANGE_VALUE_PUT:
    case LK_CHANGE_VALUE_DELETED:
        return tell_value(telling, change);
    case LK_CHANGE_ITEM_PUSHED:
        telling->claim = 0;
        return tell_item(telling, change, LK_WATCH_PUSHED);
    case LK_CHANGE_ITEM_CLAIMED:
        return tell_item(telling, change, LK_WATCH_CLAIMED);
    case LK_CHANGE_ITEM_STOLEN:
        return tell_item(telling, change, LK_WATCH_STOLEN);
    case LK_CHANGE_ITEM_DONE:
        return tell_item(telling, change, LK_WATCH_DONE);
    case LK_CHANGE_ITEM_RETRIED:
        return tell_item(telling, change, LK_WATCH_RETRIED);
    case LK_CHANGE_ITEM_PARKED:
        return tell_item(telling, change, LK_WATCH_PARKED);
    case LK_CHANGE_ITEM_UNPARKED:
        telling->claim = 0;
        return tell_item(telling, change, LK_WATCH_UNPARKED);
    case LK_CHANGE_ITEM_DROPPED:
        telling->claim = 0;
        return tell_item(telling, change, LK_WATCH_DROPPED);
    case LK_CHANGE_REFRESHED:
    case LK_CHANGE_VALUE_DOUBTED:
    case LK_CHANGE_ITEM_FREED:
    case LK_CHANGE_QUEUE_COUNTED:
    case LK_CHANGE_QUEUE_FORGOTTEN:
        break;
    }
    return true;
}

/* A take that finds nothing is no event: workers poll all the time. */
static bool tell_refusal(struct telling *telling, lk_outcome outcome) {
    const struct lk_command *command = telling->command;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_event step_event = {
        .kind = LK_WATCH_REFUSED, .refusal = outcome, .parts = &part, .part_count = 1};

    if (command->kind == LK_COMMAND_ASK) {
        step_event.parts = command->ask.parts;
        step_event.part_count = command->ask.part_count;
        step_event.owner = command->ask.owner;
        step_event.note = command->ask.note_given ? command->ask.note : step_event.note;
    } else if (command->kind == LK_COMMAND_PUT) {
        part.path = command->put.path;
        step_event.owner = command->put.owner;
    } else if (command->kind == LK_COMMAND_TAKE && outcome == LK_FULL) {
        part.path = command->take.queue;
        step_event.owner = command->take.owner;
    } else {
        return true;
    }
    return telling->visit(telling->context, &step_event);
}

bool lk_events_of_step(const struct lk_model *model, const struct lk_effects *effects,
                       const struct lk_command *command, lk_visit_event *visit, void *context) {
    lk_outcome outcome = effects->answer.outcome;
    struct telling telling;
    bool goes_on = true;

    telling.model = model;
    telling.command = command;
    telling.visit = visit;
    telling.context = context;
    telling.claim = 0;
    for (size_t i = 0; i < effects->change_count && goes_on; i++) {
        goes_on = tell_change(&telling, &effects->changes[i]);
    }
    if (goes_on && (outcome == LK_BUSY || outcome == LK_DEADLOCK || outcome == LK_FULL)) {
        goes_on = tell_refusal(&telling, outcome);
    }
    return goes_on;
}
