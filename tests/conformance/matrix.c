/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and prints; decides nothing. */
#include "matrix.h"

#include <stdbool.h>

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
