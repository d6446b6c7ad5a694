/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and prints; decides nothing. */
#include "matrix.h"

#include <stdbool.h>

struct tally {
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

static void tally_add(struct tally *tally, enum verdict verdict) {
    switch (verdict) {
    case VERDICT_PASSED:
        tally->passed++;
        break;
    case VERDICT_UNSUPPORTED:
        tally->unsupported++;
        break;
    case VERDICT_FAILED:
    case VERDICT_TOO_SLOW:
        tally->failed++;
        break;
    }
}

/* Of the rule, or of all when `rule` is 0. */
static struct tally tally_of(const struct subject *subject, int rule, const struct played *played,
                             size_t played_count) {
    struct tally tally = {0};
    for (size_t i = 0; i < played_count; i++) {
        if (played[i].subject == subject && (rule == 0 || is_about(played[i].scenario, rule))) {
            tally_add(&tally, played[i].verdict);
        }
    }
    return tally;
}

static void cell_write(FILE *out, const struct tally *tally) {
    char text[64];
    if (tally->failed > 0) {
        snprintf(text, sizeof text, "%zu FAILED of %zu", tally->failed,
                 tally->failed + tally->passed);
    } else if (tally->unsupported > 0) {
        snprintf(text, sizeof text, "%zu passed, %zu unsupported", tally->passed,
                 tally->unsupported);
    } else {
        snprintf(text, sizeof text, "%zu passed", tally->passed);
    }
    fprintf(out, " %-28s |", text);
}

static void head_write(FILE *out, const char *title, const struct subject *subjects,
                       size_t subject_count) {
    fprintf(out, "| %-36s |", title);
    for (size_t i = 0; i < subject_count; i++) {
        fprintf(out, " %-28s |", subjects[i].name);
    }
    fprintf(out, "\n|%.38s|", "--------------------------------------");
    for (size_t i = 0; i < subject_count; i++) {
        fprintf(out, "%.30s|", "------------------------------");
    }
    fputc('\n', out);
}

static void rule_write(FILE *out, int rule, const struct subject *subjects, size_t subject_count,
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
    for (size_t i = 0; i < subject_count; i++) {
        struct tally tally = tally_of(&subjects[i], rule, played, played_count);
        cell_write(out, &tally);
    }
    fputc('\n', out);
}

void matrix_write(FILE *out, const struct subject *subjects, size_t subject_count,
                  const struct played *played, size_t played_count) {
    head_write(out, "capability", subjects, subject_count);
    for (const struct capability_name *known = capability_names; known->name != NULL; known++) {
        fprintf(out, "| %-36s |", known->title);
        for (size_t i = 0; i < subject_count; i++) {
            bool can = (subjects[i].capabilities & known->capability) != 0;
            fprintf(out, " %-28s |", can ? "yes" : "no");
        }
        fputc('\n', out);
    }
    fputc('\n', out);
    head_write(out, "scenarios of rule", subjects, subject_count);
    for (int rule = 1; rule <= RULE_NUMBER_MAX; rule++) {
        rule_write(out, rule, subjects, subject_count, played, played_count);
    }
    rule_write(out, 0, subjects, subject_count, played, played_count);
}
