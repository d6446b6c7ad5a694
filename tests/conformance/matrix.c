/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stores can do: their capabilities by name, those that each step uses, and the table of how
 * their scenarios went, which counts and prints.
 */
#include <stdbool.h>
#include <string.h>

#include "engine/engine.h"
#include "play.h"
#include "scenario.h"

/* ---- capabilities ---------------------------------------------------------------------------- */

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
           || options->error != NULL || options->keep_ms != 0 || step->kind == STEP_TELL
           || (step->kind == STEP_DONE && options->with != NULL);
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
    case STEP_TELL:
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
    case STEP_REMOVE:
        return LK_CAN_WORK | LK_CAN_BREAK;
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

/* ---- the table ------------------------------------------------------------------------------- */

struct counts {
    size_t passed;
    size_t failed;
    size_t unsupported;
};

static bool is_about(const struct scenario *scenario, int rule) {
    for (size_t i = 0; i < scenario->rule_count; i++) {
        if (scenario->rules[i] == rule) {
            return true;
        }
    }
    return false;
}

static void counts_add(struct counts *counts, enum verdict verdict) {
    switch (verdict) {
    case VERDICT_PASSED:
        counts->passed++;
        break;
    case VERDICT_UNSUPPORTED:
        counts->unsupported++;
        break;
    case VERDICT_FAILED:
    case VERDICT_TOO_SLOW:
        counts->failed++;
        break;
    }
}

/* Of the rule, or of all when `rule` is 0. */
static struct counts counts_of(const struct target *target, int rule, const struct played *played,
                               size_t played_count) {
    struct counts counts = {0};
    for (size_t i = 0; i < played_count; i++) {
        if (played[i].target == target && (rule == 0 || is_about(played[i].scenario, rule))) {
            counts_add(&counts, played[i].verdict);
        }
    }
    return counts;
}

static void cell_write(FILE *out, const struct counts *counts) {
    char text[64];
    if (counts->failed > 0) {
        snprintf(text, sizeof text, "%zu FAILED of %zu", counts->failed,
                 counts->failed + counts->passed);
    } else if (counts->unsupported > 0) {
        snprintf(text, sizeof text, "%zu passed, %zu unsupported", counts->passed,
                 counts->unsupported);
    } else {
        snprintf(text, sizeof text, "%zu passed", counts->passed);
    }
    fprintf(out, " %-28s |", text);
}

static void head_write(FILE *out, const char *title, const struct target *targets,
                       size_t target_count) {
    fprintf(out, "| %-36s |", title);
    for (size_t i = 0; i < target_count; i++) {
        fprintf(out, " %-28s |", targets[i].name);
    }
    fprintf(out, "\n|%.38s|", "--------------------------------------");
    for (size_t i = 0; i < target_count; i++) {
        fprintf(out, "%.30s|", "------------------------------");
    }
    fputc('\n', out);
}

static void rule_write(FILE *out, int rule, const struct target *targets, size_t target_count,
                       const struct played *played, size_t played_count) {
    bool known = rule == 0;
    for (size_t i = 0; i < played_count && !known; i++) {
        known = is_about(played[i].scenario, rule);
    }
    if (!known) {
        return;
    }
    char title[16] = "all";
    if (rule != 0) {
        snprintf(title, sizeof title, "R%d", rule);
    }
    fprintf(out, "| %-36s |", title);
    for (size_t i = 0; i < target_count; i++) {
        struct counts counts = counts_of(&targets[i], rule, played, played_count);
        cell_write(out, &counts);
    }
    fputc('\n', out);
}

void matrix_write(FILE *out, const struct target *targets, size_t target_count,
                  const struct played *played, size_t played_count) {
    head_write(out, "capability", targets, target_count);
    for (const struct capability_name *known = capability_names; known->name != NULL; known++) {
        fprintf(out, "| %-36s |", known->title);
        for (size_t i = 0; i < target_count; i++) {
            bool can = (targets[i].capabilities & known->capability) != 0;
            fprintf(out, " %-28s |", can ? "yes" : "no");
        }
        fputc('\n', out);
    }
    fputc('\n', out);
    head_write(out, "scenarios of rule", targets, target_count);
    for (int rule = 1; rule <= RULE_NUMBER_MAX; rule++) {
        rule_write(out, rule, targets, target_count, played, played_count);
    }
    rule_write(out, 0, targets, target_count, played, played_count);
}
