/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of stores by name, and those that each step uses. */
#include <string.h>

#include "engine/engine.h"
#include "scenario.h"

const struct capability_name capability_names[] = {
    {"exclusive", LK_CAN_EXCLUSIVE, "exclusive and unlimited shared parts"},
    {"queue", LK_CAN_QUEUE, "waiting in a queue"},
    {"roots", LK_CAN_ROOTS, "several roots in one decision"},
    {"deadlock", LK_CAN_DEADLOCK, "deadlocks are refused"},
    {"break", LK_CAN_BREAK, "break and audit"},
    {"persist", LK_CAN_PERSIST, "survives the death of every process"},
    {"values", LK_CAN_VALUES, "values at paths"},
    {"value-lists", LK_CAN_LIST_VALUES, "lists of values"},
    {"work", LK_CAN_WORK, "queues of work"},
    {"retry", LK_CAN_RETRY, "waits without a line"},
    {"events", LK_CAN_EVENTS, "events can be followed"},
    {"limits", LK_CAN_LIMITS, "bounds kept in the store"},
    {"batches", LK_CAN_BATCHES, "several items in one decision"},
    {NULL, 0, NULL},
};

static size_t root_size(const char *part) {
    return strcspn(part, "/?");
}

static bool has_several_roots(const struct step *step) {
    for (size_t i = 1; i < step->part_count; i++) {
        size_t size = root_size(step->parts[0]);
        if (root_size(step->parts[i]) != size
            || strncmp(step->parts[0], step->parts[i], size) != 0) {
            return true;
        }
    }
    return false;
}

static bool has_limits_only(const struct step *step) {
    for (size_t i = 0; i < step->part_count; i++) {
        if (step->options.limit == 0 && strstr(step->parts[i], "limit=") == NULL) {
            return false;
        }
    }
    return true;
}

/* Whether the step of work is more than one plain command. */
static bool is_batch(const struct step *step) {
    const struct step_options *options = &step->options;
    return step->kind == STEP_DROP || step->kind == STEP_QUEUES || step->part_count > 1
           || options->priority != 0 || options->most != 0 || options->all || options->exit_said
           || options->error != NULL;
}

unsigned step_needs(const struct step *step) {
    unsigned needs = step->outcome == LK_DEADLOCK ? LK_CAN_DEADLOCK : 0;
    needs |= step->options.value ? LK_CAN_VALUES : 0;
    switch (step->kind) {
    case STEP_ASK:
    case STEP_WAIT:
    case STEP_BEGIN:
    case STEP_GET:
    case STEP_CANCEL:
        needs |= LK_CAN_QUEUE;
        break;
    case STEP_TRY:
        break;
    case STEP_RELEASE:
        return step->options.with != NULL ? LK_CAN_VALUES : 0;
    case STEP_PUT:
    case STEP_DELETE:
    case STEP_READ:
        return LK_CAN_VALUES;
    case STEP_VALUES:
        return LK_CAN_LIST_VALUES;
    case STEP_PUSH:
    case STEP_DONE:
    case STEP_RETRY:
    case STEP_UNPARK:
    case STEP_DROP:
    case STEP_CLAIM:
    case STEP_ITEMS:
    case STEP_COUNTS:
    case STEP_QUEUES:
        return LK_CAN_WORK | (is_batch(step) ? (unsigned)LK_CAN_BATCHES : 0u);
    case STEP_WATCH:
    case STEP_EVENTS:
        return LK_CAN_EVENTS;
    case STEP_BOUND:
        return LK_CAN_LIMITS;
    case STEP_BREAK:
    case STEP_AUDIT:
        return LK_CAN_BREAK;
    case STEP_REOPEN:
        return LK_CAN_PERSIST;
    default:
        return 0;
    }
    if (step->outcome == LK_INVALID) {
        return 0; /* it never comes to that */
    }
    needs |= has_several_roots(step) ? LK_CAN_ROOTS : 0;
    needs |= has_limits_only(step) ? 0 : LK_CAN_EXCLUSIVE;
    return needs;
}
