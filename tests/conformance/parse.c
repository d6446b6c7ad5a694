/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a scenario file. Strict: what it does not know is a complaint with the line, and so is a
 * scenario that names no rule, expects nothing, or uses what it does not say it needs; a scenario
 * that cannot fail, or that would be skipped by accident, is no scenario.
 */
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

/* Where the reader is in a file. */
struct reader {
    struct scenario_file *file;
    const char *file_name;
    unsigned file_needs; /* a `needs` before the first scenario is for all */
    int line;
};

static struct scenario *present_scenario(const struct reader *reader) {
    return reader->file->count == 0 ? NULL : &reader->file->scenarios[reader->file->count - 1];
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* PART [+ PART]... */
static bool parts_read(struct arena *arena, struct words *words, struct step *step,
                       struct complaint *complaint) {
    const char **parts = arena_take(arena, STEP_PARTS_MAX * sizeof *parts);
    step->parts = parts;
    do {
        if (step->part_count == STEP_PARTS_MAX) {
            return complain(complaint, "more than %d parts", STEP_PARTS_MAX);
        }
        if (!name_read(words, "a part", &parts[step->part_count], complaint)) {
            return false;
        }
        step->part_count++;
    } while (words_accept_kind(words, WORD_PLUS));
    return true;
}

static bool count_option_read(struct words *words, uint32_t *ret_count,
                              struct complaint *complaint) {
    int64_t number;
    if (!number_read(words, &number, complaint)) {
        return false;
    }
    if (number < 0 || number > UINT32_MAX) {
        return complain(complaint, "%lld does not fit here", (long long)number);
    }
    *ret_count = (uint32_t)number;
    return true;
}

/* needs PART, once more */
static bool need_option_read(struct arena *arena, struct words *words, struct step_options *options,
                             struct complaint *complaint) {
    const char **needs = (const char **)options->needs;
    if (needs == NULL) {
        needs = arena_take(arena, STEP_PARTS_MAX * sizeof *needs);
        options->needs = needs;
    }
    if (options->need_count == STEP_PARTS_MAX) {
        return complain(complaint, "more than %d needs", STEP_PARTS_MAX);
    }
    return name_read(words, "a part", &needs[options->need_count++], complaint);
}

/* What belongs to priorities, failures, and several items at once. */
static bool several_option_read(struct words *words, struct step_options *options,
                                struct complaint *complaint) {
    if (words_accept(words, "priority")) {
        return number_read(words, &options->priority, complaint);
    }
    if (words_accept(words, "max")) {
        return count_option_read(words, &options->most, complaint);
    }
    if (words_accept(words, "all") || words_accept(words, "parked")) {
        options->all = true;
        return true;
    }
    if (words_accept(words, "exit")) {
        options->exit_said = true;
        return number_read(words, &options->exit_code, complaint);
    }
    if (words_accept(words, "uncounted")) {
        options->uncounted = true;
        return true;
    }
    if (words_accept(words, "again")) {
        options->again = true;
        return true;
    }
    if (words_accept(words, "replacing")) {
        options->replacing = true;
        return true;
    }
    if (words_accept(words, "keep")) {
        return duration_read(words, &options->keep_ms, complaint);
    }
    if (words_accept(words, "parking")) {
        options->parks = true;
        return true;
    }
    if (words_accept(words, "error")) {
        return name_read(words, "an error", &options->error, complaint);
    }
    return complain(complaint, "unknown option '%.40s'", words_peek(words)->text);
}

/* R15: the n-th one is the value of the n-th path. */
static bool with_option_read(struct words *words, struct step_options *options,
                             struct complaint *complaint) {
    if (options->with == NULL) {
        return name_read(words, "a value", &options->with, complaint);
    }
    if (options->more_count == STEP_PARTS_MAX - 1) {
        return complain(complaint, "more values than a request has parts");
    }
    return name_read(words, "a value", &options->more[options->more_count++], complaint);
}

/* What only steps of values and work know. */
static bool work_option_read(struct arena *arena, struct words *words, struct step_options *options,
                             struct complaint *complaint) {
    if (words_accept(words, "value")) {
        options->value = true;
        return true;
    }
    if (words_accept(words, "with")) {
        return with_option_read(words, options, complaint);
    }
    if (words_accept(words, "delay")) {
        return duration_read(words, &options->delay_ms, complaint);
    }
    if (words_accept(words, "needs")) {
        return need_option_read(arena, words, options, complaint);
    }
    if (words_accept(words, "attempts")) {
        return count_option_read(words, &options->max_attempts, complaint);
    }
    return several_option_read(words, options, complaint);
}

static bool option_read(struct arena *arena, struct words *words, struct step_options *options,
                        struct complaint *complaint) {
    if (words_accept(words, "ttl")) {
        return duration_read(words, &options->ttl_ms, complaint);
    }
    if (words_accept(words, "until")) {
        options->until_said = true;
        return duration_read(words, &options->until_ms, complaint);
    }
    if (words_accept(words, "within")) {
        return duration_read(words, &options->wait_ms, complaint);
    }
    if (words_accept(words, "note")) {
        return name_read(words, "a note", &options->note, complaint);
    }
    if (words_accept(words, "token")) {
        return name_read(words, "the name of a kept token", &options->token, complaint);
    }
    if (words_accept(words, "limit")) {
        return count_option_read(words, &options->limit, complaint);
    }
    if (words_accept(words, "units")) {
        return count_option_read(words, &options->units, complaint);
    }
    if (words_accept(words, "blockers")) {
        return number_read(words, &options->blockers, complaint);
    }
    if (words_accept(words, "times")) {
        return count_option_read(words, &options->times, complaint);
    }
    if (words_accept(words, "reason")) {
        return name_read(words, "a reason", &options->reason, complaint);
    }
    if (words_accept(words, "of")) {
        return name_read(words, "an owner", &options->of_owner, complaint);
    }
    if (words_accept(words, "shared")) {
        options->shared = true;
        return true;
    }
    if (words_accept(words, "now")) {
        options->at_once = true;
        return true;
    }
    return work_option_read(arena, words, options, complaint);
}

static bool outcome_read(struct words *words, lk_outcome *ret_outcome,
                         struct complaint *complaint) {
    const struct word *word = words_next(words);
    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (word->kind == WORD_PLAIN
            && strcmp(word->text, lk_outcome_name((lk_outcome)outcome)) == 0) {
            *ret_outcome = (lk_outcome)outcome;
            return true;
        }
    }
    return complain(complaint, "unknown outcome '%.40s'", word->text);
}

/* [OPTION]... -> OUTCOME [, CHECK]... */
static bool call_tail_read(struct arena *arena, struct words *words, struct step *step,
                           struct complaint *complaint) {
    while (words_peek(words)->kind != WORD_ARROW && words_peek(words)->kind != WORD_END) {
        if (!option_read(arena, words, &step->options, complaint)) {
            return false;
        }
    }
    if (step->kind == STEP_BEGIN) {
        return line_end_read(words, complaint);
    }
    if (!words_accept_kind(words, WORD_ARROW)) {
        return complain(complaint, "'-> OUTCOME' is missing");
    }
    return outcome_read(words, &step->outcome, complaint)
           && checks_read(arena, words, &step->checks, &step->check_count, complaint);
}

/* OWNER VERB PARTS ... */
static bool call_read(struct arena *arena, struct words *words, struct step *step,
                      struct complaint *complaint) {
    static const struct {
        const char *verb;
        enum step_kind kind;
        const char *filler; /* words between verb and parts */
    } verbs[] = {
        {"asks", STEP_ASK, NULL},       {"tries", STEP_TRY, NULL},
        {"waits", STEP_WAIT, "for"},    {"begins", STEP_BEGIN, "waiting"},
        {"gets", STEP_GET, NULL},       {"cancels", STEP_CANCEL, NULL},
        {"renews", STEP_RENEW, NULL},   {"releases", STEP_RELEASE, NULL},
        {"breaks", STEP_BREAK, NULL},   {"puts", STEP_PUT, NULL},
        {"deletes", STEP_DELETE, NULL}, {"reads", STEP_READ, NULL},
        {"pushes", STEP_PUSH, NULL},    {"claims", STEP_CLAIM, NULL},
        {"finishes", STEP_DONE, NULL},  {"retries", STEP_RETRY, NULL},
        {"unparks", STEP_UNPARK, NULL}, {"drops", STEP_DROP, NULL},
        {"removes", STEP_REMOVE, NULL}, {"tells", STEP_TELL, NULL},
    };
    if (!name_read(words, "an owner", &step->owner, complaint)) {
        return false;
    }
    if (strcmp(step->owner, "anyone") == 0) {
        step->owner = NULL;
    }
    const struct word *verb = words_next(words);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (verb->kind != WORD_PLAIN || strcmp(verb->text, verbs[i].verb) != 0) {
            continue;
        }
        step->kind = verbs[i].kind;
        if ((verbs[i].filler != NULL && !words_accept(words, verbs[i].filler))
            || (step->kind == STEP_BEGIN && !words_accept(words, "for"))) {
            return complain(complaint, "waits for PARTS, or begins waiting for PARTS");
        }
        return parts_read(arena, words, step, complaint)
               && call_tail_read(arena, words, step, complaint);
    }
    return complain(complaint, "unknown step '%.40s %.40s'",
                    step->owner != NULL ? step->owner : "anyone", verb->text);
}

/* expect nothing [below PATH] | expect OWNER holds|waits for|has nothing at PARTS [, CHECK]... */
static bool expect_read(struct arena *arena, struct words *words, struct step *step,
                        struct complaint *complaint) {
    if (words_accept(words, "nothing")) {
        step->kind = STEP_NOTHING;
        if (words_accept(words, "below") && !parts_read(arena, words, step, complaint)) {
            return false;
        }
        return line_end_read(words, complaint);
    }
    if (!name_read(words, "an owner", &step->owner, complaint)) {
        return false;
    }
    if (words_accept(words, "holds")) {
        step->kind = STEP_HOLDS;
    } else if (words_accept(words, "waits") && words_accept(words, "for")) {
        step->kind = STEP_WAITS;
    } else if (words_accept(words, "has") && words_accept(words, "nothing")
               && words_accept(words, "at")) {
        step->kind = STEP_HAS_NOT;
    } else {
        return complain(complaint,
                        "expect OWNER holds PARTS, waits for PARTS, or has nothing at PARTS");
    }
    return parts_read(arena, words, step, complaint)
           && checks_read(arena, words, &step->checks, &step->check_count, complaint);
}

/* list|audit|values|queues [PREFIX] | show PATH | items QUEUE, each with [-> OUTCOME] */
static bool listing_read(struct arena *arena, struct words *words, struct step *step,
                         struct complaint *complaint) {
    step->outcome = LK_OK;
    if (words_peek(words)->kind != WORD_END && words_peek(words)->kind != WORD_ARROW
        && !parts_read(arena, words, step, complaint)) {
        return false;
    }
    bool needs_path = step->kind == STEP_SHOW || step->kind == STEP_ITEMS;
    if (step->part_count > 1 || (needs_path && step->part_count == 0)) {
        return complain(complaint, "one path is needed");
    }
    if (words_accept_kind(words, WORD_ARROW)) {
        return outcome_read(words, &step->outcome, complaint)
               && checks_read(arena, words, &step->checks, &step->check_count, complaint);
    }
    step->entries = arena_take(arena, STEP_ENTRIES_MAX * sizeof *step->entries);
    return line_end_read(words, complaint);
}

/* watch [again] [PREFIX] -> OUTCOME */
static bool watch_read(struct arena *arena, struct words *words, struct step *step,
                       struct complaint *complaint) {
    step->kind = STEP_WATCH;
    step->options.again = words_accept(words, "again");
    if (words_peek(words)->kind != WORD_ARROW && !parts_read(arena, words, step, complaint)) {
        return false;
    }
    return call_tail_read(arena, words, step, complaint);
}

/* bound NAME=N... -> OUTCOME */
static bool bound_read(struct arena *arena, struct words *words, struct step *step,
                       struct complaint *complaint) {
    const char **bounds = arena_take(arena, STEP_PARTS_MAX * sizeof *bounds);

    step->kind = STEP_BOUND;
    step->parts = bounds;
    while (words_peek(words)->kind == WORD_PLAIN && step->part_count < STEP_PARTS_MAX) {
        bounds[step->part_count++] = words_next(words)->text;
    }
    return call_tail_read(arena, words, step, complaint);
}

static bool step_read(struct arena *arena, struct words *words, struct step *step,
                      struct complaint *complaint) {
    step->options.wait_ms = -1;
    step->options.blockers = -1;
    if (words_accept(words, "pause")) {
        step->kind = STEP_PAUSE;
        return duration_read(words, &step->options.wait_ms, complaint)
               && line_end_read(words, complaint);
    }
    if (words_accept(words, "reopen")) {
        step->kind = STEP_REOPEN;
        return line_end_read(words, complaint);
    }
    if (words_accept(words, "expect")) {
        return expect_read(arena, words, step, complaint);
    }
    if (words_accept(words, "count")) {
        step->kind = STEP_COUNTS;
        return parts_read(arena, words, step, complaint)
               && call_tail_read(arena, words, step, complaint);
    }
    if (words_accept(words, "watch")) {
        return watch_read(arena, words, step, complaint);
    }
    if (words_accept(words, "bound")) {
        return bound_read(arena, words, step, complaint);
    }
    if (words_accept(words, "events")) {
        step->kind = STEP_EVENTS;
        step->entries = arena_take(arena, STEP_ENTRIES_MAX * sizeof *step->entries);
        return line_end_read(words, complaint);
    }
    static const struct {
        const char *word;
        enum step_kind kind;
    } looks[] = {
        {"list", STEP_LIST},   {"show", STEP_SHOW},     {"audit", STEP_AUDIT},
        {"items", STEP_ITEMS}, {"queues", STEP_QUEUES}, {"values", STEP_VALUES},
    };
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        if (words_accept(words, looks[i].word)) {
            step->kind = looks[i].kind;
            return listing_read(arena, words, step, complaint);
        }
    }
    return call_read(arena, words, step, complaint);
}

/* | ENTRY, one more line of the list, show, audit, values, items or queues above it. */
static bool entry_line_read(struct reader *reader, struct words *words,
                            struct complaint *complaint) {
    struct scenario *scenario = present_scenario(reader);
    struct step *step = scenario != NULL && scenario->step_count > 0
                            ? &scenario->steps[scenario->step_count - 1]
                            : NULL;
    if (step == NULL || step->entries == NULL) {
        return complain(complaint,
                        "a line with '|' must follow list, show, audit, values, items, queues or "
                        "events");
    }
    if (step->entry_count == STEP_ENTRIES_MAX) {
        return complain(complaint, "more than %d lines with '|'", STEP_ENTRIES_MAX);
    }
    struct entry_check *entry = &step->entries[step->entry_count];
    if (!entry_read(&reader->file->arena, words, step->kind, entry, complaint)) {
        return false;
    }
    step->entry_count++;
    return true;
}

static bool step_line_read(struct reader *reader, struct words *words, const char *line,
                           struct complaint *complaint) {
    struct scenario *scenario = present_scenario(reader);
    if (scenario == NULL) {
        return complain(complaint, "a step before the first scenario");
    }
    if (scenario->step_count == SCENARIO_STEPS_MAX) {
        return complain(complaint, "more than %d steps", SCENARIO_STEPS_MAX);
    }
    struct step *step = &scenario->steps[scenario->step_count];
    const char *text = line + strspn(line, " \t");
    *step = (struct step){.line = reader->line,
                          .text = arena_copy(&reader->file->arena, text, strlen(text))};
    if (!step_read(&reader->file->arena, words, step, complaint)) {
        return false;
    }
    unsigned missing = step_needs(step) & ~scenario->needs;
    for (const struct capability_name *known = capability_names; known->name != NULL; known++) {
        if ((missing & known->capability) != 0) {
            return complain(complaint, "this step needs '%s', which the scenario does not say",
                            known->name);
        }
    }
    scenario->step_count++;
    return true;
}

/* ---- what is around steps -------------------------------------------------------------------- */

static bool needs_read(struct reader *reader, struct words *words, struct complaint *complaint) {
    struct scenario *scenario = present_scenario(reader);
    unsigned *needs = scenario == NULL ? &reader->file_needs : &scenario->needs;
    while (words_peek(words)->kind != WORD_END) {
        const struct capability_name *known = capability_names;
        while (known->name != NULL && !words_accept(words, known->name)) {
            known++;
        }
        if (known->name == NULL) {
            return complain(complaint, "unknown capability '%.40s'", words_peek(words)->text);
        }
        *needs |= known->capability;
    }
    return true;
}

static bool rules_read(struct reader *reader, struct words *words, struct complaint *complaint) {
    struct scenario *scenario = present_scenario(reader);
    if (scenario == NULL) {
        return complain(complaint, "rules before the first scenario");
    }
    while (words_peek(words)->kind != WORD_END) {
        const char *text = words_next(words)->text;
        char *end = NULL;
        long number = text[0] == 'R' ? strtol(text + 1, &end, 10) : 0;
        if (number < 1 || number > RULE_NUMBER_MAX || *end != '\0') {
            return complain(complaint, "rules are written R1, R2, ..., not '%.40s'", text);
        }
        if (scenario->rule_count == SCENARIO_RULES_MAX) {
            return complain(complaint, "more than %d rules", SCENARIO_RULES_MAX);
        }
        scenario->rules[scenario->rule_count++] = (int)number;
    }
    return true;
}

/* A scenario that is complete has rules, and can fail. */
static bool scenario_check(const struct scenario *scenario, struct complaint *complaint) {
    if (scenario == NULL) {
        return true;
    }
    if (scenario->rule_count == 0) {
        return complain(complaint, "scenario \"%s\" names no rules", scenario->name);
    }
    for (size_t i = 0; i < scenario->step_count; i++) {
        enum step_kind kind = scenario->steps[i].kind;
        if (kind != STEP_PAUSE && kind != STEP_REOPEN && kind != STEP_BEGIN) {
            return true; /* every other step has an expectation of its own */
        }
    }
    return complain(complaint, "scenario \"%s\" expects nothing", scenario->name);
}

static bool scenario_begin(struct reader *reader, struct words *words,
                           struct complaint *complaint) {
    struct scenario_file *file = reader->file;
    if (!scenario_check(present_scenario(reader), complaint)) {
        return false;
    }
    if (file->count == SCENARIOS_PER_FILE_MAX) {
        return complain(complaint, "more than %d scenarios in one file", SCENARIOS_PER_FILE_MAX);
    }
    struct scenario *scenario = &file->scenarios[file->count];
    *scenario = (struct scenario){
        .file = reader->file_name, .line = reader->line, .needs = reader->file_needs};
    if (!name_read(words, "the scenario's name", &scenario->name, complaint)
        || !line_end_read(words, complaint)) {
        return false;
    }
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->scenarios[i].name, scenario->name) == 0) {
            return complain(complaint, "a second scenario \"%.80s\"", scenario->name);
        }
    }
    scenario->steps = arena_take(&file->arena, SCENARIO_STEPS_MAX * sizeof *scenario->steps);
    file->count++;
    return true;
}

static bool line_read(struct reader *reader, const char *line, struct complaint *complaint) {
    struct words words;
    if (!words_split(&reader->file->arena, line, &words, complaint)) {
        return false;
    }
    if (words.count == 0) {
        return true;
    }
    if (words_accept(&words, "scenario")) {
        return scenario_begin(reader, &words, complaint);
    }
    if (words_accept(&words, "rules")) {
        return rules_read(reader, &words, complaint);
    }
    if (words_accept(&words, "needs")) {
        return needs_read(reader, &words, complaint);
    }
    if (words_accept_kind(&words, WORD_BAR)) {
        return entry_line_read(reader, &words, complaint);
    }
    return step_line_read(reader, &words, line, complaint);
}

bool scenario_file_read(struct scenario_file *file, const char *name, const char *text,
                        struct complaint *complaint) {
    struct reader reader = {.file = file};
    struct complaint inner = {0};
    memset(file, 0, sizeof *file);
    reader.file_name = arena_copy(&file->arena, name, strlen(name));
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        reader.line++;
        if (!line_read(&reader, arena_copy(&file->arena, text, size), &inner)) {
            return complain(complaint, "%s:%d: %.200s", name, reader.line, inner.text);
        }
        text += text[size] == '\n' ? size + 1 : size;
    }
    if (!scenario_check(present_scenario(&reader), &inner)) {
        return complain(complaint, "%s:%d: %.200s", name, reader.line, inner.text);
    }
    return file->count > 0 || complain(complaint, "%s:%d: no scenario", name, reader.line);
}

void scenario_file_free(struct scenario_file *file) {
    arena_free(&file->arena);
    file->count = 0;
}
