/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a scenario expects of an answer: the words behind its outcome. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

bool line_end_read(struct words *words, struct complaint *complaint) {
    const struct word *word = words_peek(words);
    return word->kind == WORD_END || complain(complaint, "unexpected '%.40s'", word->text);
}

bool name_read(struct words *words, const char *what, const char **ret_name,
               struct complaint *complaint) {
    const struct word *word = words_peek(words);
    if (word->kind != WORD_PLAIN && word->kind != WORD_QUOTED) {
        return complain(complaint, "%s is missing before '%.40s'", what, word->text);
    }
    *ret_name = words_next(words)->text;
    return true;
}

bool number_read(struct words *words, int64_t *ret_number, struct complaint *complaint) {
    const struct word *word = words_next(words);
    char *end = NULL;
    errno = 0;
    long long number = strtoll(word->text, &end, 10);
    if (word->kind != WORD_PLAIN || end == word->text || *end != '\0' || errno != 0) {
        return complain(complaint, "a number is needed, not '%.40s'", word->text);
    }
    *ret_number = number;
    return true;
}

bool duration_read(struct words *words, int64_t *ret_ms, struct complaint *complaint) {
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    const struct word *word = words_next(words);
    char *end = NULL;
    errno = 0;
    long long number = strtoll(word->text, &end, 10);
    if (word->kind == WORD_PLAIN && end != word->text && errno == 0 && llabs(number) < 1000000) {
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (strcmp(end, units[i].unit) == 0) {
                *ret_ms = number * units[i].ms;
                return true;
            }
        }
    }
    return complain(complaint, "a duration like 200ms or 60s is needed, not '%.40s'", word->text);
}

static bool yes_or_no_read(struct words *words, int64_t *ret_answer, struct complaint *complaint) {
    if (words_accept(words, "yes")) {
        *ret_answer = 1;
        return true;
    }
    if (words_accept(words, "no")) {
        *ret_answer = 0;
        return true;
    }
    return complain(complaint, "yes or no is needed, not '%.40s'", words_peek(words)->text);
}

static bool is_at_end(const struct words *words) {
    enum word_kind kind = words_peek(words)->kind;
    return kind == WORD_END || kind == WORD_COMMA;
}

/* OWNER [at PATH] [held|waiting] [note TEXT] */
static bool blocker_read(struct words *words, struct blocker_check *ret_blocker,
                         struct complaint *complaint) {
    struct blocker_check blocker = {0};
    if (!name_read(words, "the owner of a blocker", &blocker.owner, complaint)) {
        return false;
    }
    if (words_accept(words, "at")
        && !name_read(words, "the path of a blocker", &blocker.path, complaint)) {
        return false;
    }
    blocker.held = words_accept(words, "held");
    blocker.state_said = blocker.held || words_accept(words, "waiting");
    if (words_accept(words, "note")
        && !name_read(words, "the note of a blocker", &blocker.note, complaint)) {
        return false;
    }
    *ret_blocker = blocker;
    return true;
}

/* "nobody" | BLOCKER... */
static bool blockers_read(struct arena *arena, struct words *words, struct check *check,
                          struct complaint *complaint) {
    struct blocker_check *blockers = arena_take(arena, WORDS_MAX * sizeof *blockers);
    check->blockers = blockers;
    if (words_accept(words, "nobody")) {
        return true;
    }
    do {
        if (!blocker_read(words, &blockers[check->count], complaint)) {
            return false;
        }
        check->count++;
    } while (!is_at_end(words));
    return true;
}

static bool names_read(struct arena *arena, struct words *words, const char *what,
                       struct check *check, struct complaint *complaint) {
    const char **owners = arena_take(arena, WORDS_MAX * sizeof *owners);
    check->owners = owners;
    do {
        if (!name_read(words, what, &owners[check->count], complaint)) {
            return false;
        }
        check->count++;
    } while (!is_at_end(words));
    return true;
}

static bool draw_read(struct words *words, bool token, struct check *check,
                      struct complaint *complaint) {
    if (words_accept(words, "none")) {
        check->relation = DRAW_NONE;
    } else if (words_accept(words, "same")) {
        check->relation = DRAW_SAME;
    } else if (words_accept(words, "new")) {
        check->relation = DRAW_NEW;
    } else if (token && words_accept(words, "ticket")) {
        check->relation = DRAW_IS_TICKET;
    } else if (words_accept(words, "above")) {
        check->relation = DRAW_ABOVE;
        return name_read(words, "the name of a kept token", &check->text, complaint);
    } else {
        return complain(complaint, "none, same, new, above NAME%s is needed, not '%.40s'",
                        token ? " or ticket" : "", words_peek(words)->text);
    }
    return true;
}

static bool expires_read(struct words *words, struct check *check, struct complaint *complaint) {
    if (words_accept(words, "within")) {
        check->kind = CHECK_EXPIRES_WITHIN;
    } else if (words_accept(words, "after")) {
        check->kind = CHECK_EXPIRES_AFTER;
    } else {
        return complain(complaint, "expires within or expires after a duration");
    }
    return duration_read(words, &check->number, complaint);
}

/* keep token as NAME | keep owner as NAME */
static bool keep_read(struct words *words, struct check *check, struct complaint *complaint) {
    if (words_accept(words, "token")) {
        check->kind = CHECK_KEEP_TOKEN;
    } else if (words_accept(words, "owner")) {
        check->kind = CHECK_KEEP_OWNER;
    } else {
        return complain(complaint, "keep token as NAME, or keep owner as NAME");
    }
    if (!words_accept(words, "as")) {
        return complain(complaint, "keep token as NAME, or keep owner as NAME");
    }
    return name_read(words, "the name to keep it by", &check->text, complaint);
}

/* What is counted of a queue (R16). */
static bool is_counted(const char *word) {
    static const char *const counts[] = {"pushed",      "duplicates",  "claims",     "steals",
                                         "done",        "retried",     "parked",     "ready-now",
                                         "delayed-now", "claimed-now", "parked-now", "done-now"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(word, counts[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What follows the first word of a check that is about a number, a text or yes and no. */
static bool simple_check_read(struct words *words, const char *word, struct check *check,
                              struct complaint *complaint) {
    static const struct {
        const char *word;
        enum check_kind kind;
        enum { COUNT, DURATION, YES_OR_NO, TEXT } value;
    } simple[] = {
        {"position", CHECK_POSITION, COUNT},
        {"count", CHECK_COUNT, COUNT},
        {"ttl", CHECK_TTL, DURATION},
        {"created", CHECK_CREATED, YES_OR_NO},
        {"fixed", CHECK_FIXED, YES_OR_NO},
        {"revoked", CHECK_REVOKED, YES_OR_NO},
        {"note", CHECK_NOTE, TEXT},
        {"says", CHECK_SAYS, TEXT},
        {"reason", CHECK_REASON, TEXT},
        {"added", CHECK_ADDED, YES_OR_NO},
        {"changed", CHECK_CHANGED, YES_OR_NO},
        {"was", CHECK_WAS, TEXT},
        {"item", CHECK_ITEM, TEXT},
        {"attempt", CHECK_ATTEMPT, COUNT},
        {"stolen", CHECK_STOLEN, YES_OR_NO},
        {"attempts", CHECK_ATTEMPTS, COUNT},
        {"priority", CHECK_PRIORITY, COUNT},
        {"size", CHECK_SIZE, COUNT},
    };
    for (size_t i = 0; i < sizeof simple / sizeof simple[0]; i++) {
        if (strcmp(word, simple[i].word) != 0) {
            continue;
        }
        check->kind = simple[i].kind;
        switch (simple[i].value) {
        case COUNT:
            return number_read(words, &check->number, complaint);
        case DURATION:
            return duration_read(words, &check->number, complaint);
        case YES_OR_NO:
            return yes_or_no_read(words, &check->number, complaint);
        case TEXT:
            return name_read(words, "a text", &check->text, complaint);
        }
    }
    if (!is_counted(word)) {
        return complain(complaint, "unknown expectation '%.40s'", word);
    }
    check->kind = CHECK_COUNTED;
    check->text = word;
    return number_read(words, &check->number, complaint);
}

/* value TEXT | value none */
static bool value_read(struct words *words, struct check *check, struct complaint *complaint) {
    check->kind = CHECK_VALUE;
    return words_accept(words, "none") || name_read(words, "a value", &check->text, complaint);
}

/* in use N | in doubt yes|no */
static bool in_read(struct words *words, struct check *check, struct complaint *complaint) {
    if (words_accept(words, "doubt")) {
        check->kind = CHECK_IN_DOUBT;
        return yes_or_no_read(words, &check->number, complaint);
    }
    check->kind = CHECK_IN_USE;
    return words_accept(words, "use") ? number_read(words, &check->number, complaint)
                                      : complain(complaint, "in use how many, or in doubt?");
}

/* needs PART... | needs nothing */
static bool needs_read(struct arena *arena, struct words *words, struct check *check,
                       struct complaint *complaint) {
    check->kind = CHECK_NEEDS;
    return words_accept(words, "nothing") || names_read(arena, words, "a part", check, complaint);
}

/* exit N | exit none */
static bool exit_read(struct words *words, struct check *check, struct complaint *complaint) {
    check->kind = CHECK_EXIT;
    check->relation = DRAW_NONE;
    if (words_accept(words, "none")) {
        return true;
    }
    check->relation = DRAW_SAME;
    return number_read(words, &check->number, complaint);
}

/* error TEXT | error none */
static bool error_read(struct words *words, struct check *check, struct complaint *complaint) {
    check->kind = CHECK_ERROR;
    return words_accept(words, "none") || name_read(words, "an error", &check->text, complaint);
}

/* progress TEXT | progress none */
static bool progress_read(struct words *words, struct check *check, struct complaint *complaint) {
    check->kind = CHECK_PROGRESS;
    return words_accept(words, "none") || name_read(words, "a progress", &check->text, complaint);
}

/* oldest D | oldest none */
static bool oldest_read(struct words *words, struct check *check, struct complaint *complaint) {
    check->kind = CHECK_OLDEST;
    check->relation = DRAW_NONE;
    if (words_accept(words, "none")) {
        return true;
    }
    check->relation = DRAW_SAME;
    return duration_read(words, &check->number, complaint);
}

static bool check_read(struct arena *arena, struct words *words, struct check *ret_check,
                       struct complaint *complaint) {
    memset(ret_check, 0, sizeof *ret_check);
    if (words_accept(words, "blocked")) {
        ret_check->kind = CHECK_BLOCKED_BY;
        return words_accept(words, "by") ? blockers_read(arena, words, ret_check, complaint)
                                         : complain(complaint, "'blocked by' needs an owner");
    }
    if (words_accept(words, "broken")) {
        ret_check->kind = CHECK_BROKEN_BY;
        return words_accept(words, "by") ? name_read(words, "a name", &ret_check->text, complaint)
                                         : complain(complaint, "'broken by' needs a name");
    }
    if (words_accept(words, "names")) {
        ret_check->kind = CHECK_NAMES;
        return name_read(words, "a crowd", &ret_check->text, complaint)
               && number_read(words, &ret_check->number, complaint);
    }
    if (words_accept(words, "in")) {
        return in_read(words, ret_check, complaint);
    }
    if (words_accept(words, "value")) {
        return value_read(words, ret_check, complaint);
    }
    if (words_accept(words, "values")) {
        ret_check->kind = CHECK_VALUES;
        return names_read(arena, words, "a value", ret_check, complaint);
    }
    if (words_accept(words, "doubts")) {
        ret_check->kind = CHECK_DOUBTS;
        return names_read(arena, words, "yes or no", ret_check, complaint);
    }
    if (words_accept(words, "needs")) {
        return needs_read(arena, words, ret_check, complaint);
    }
    if (words_accept(words, "items")) {
        ret_check->kind = CHECK_ITEMS;
        return names_read(arena, words, "an id", ret_check, complaint);
    }
    if (words_accept(words, "exit")) {
        return exit_read(words, ret_check, complaint);
    }
    if (words_accept(words, "progress")) {
        return progress_read(words, ret_check, complaint);
    }
    if (words_accept(words, "error")) {
        return error_read(words, ret_check, complaint);
    }
    if (words_accept(words, "oldest")) {
        return oldest_read(words, ret_check, complaint);
    }
    if (words_accept(words, "due")) {
        ret_check->kind = CHECK_DUE_WITHIN;
        return words_accept(words, "within") ? duration_read(words, &ret_check->number, complaint)
                                             : complain(complaint, "due within a duration");
    }
    if (words_accept(words, "cycle")) {
        ret_check->kind = CHECK_CYCLE;
        return names_read(arena, words, "an owner of the cycle", ret_check, complaint);
    }
    if (words_accept(words, "token")) {
        ret_check->kind = CHECK_TOKEN;
        return draw_read(words, true, ret_check, complaint);
    }
    if (words_accept(words, "ticket")) {
        ret_check->kind = CHECK_TICKET;
        return draw_read(words, false, ret_check, complaint);
    }
    if (words_accept(words, "expires")) {
        return expires_read(words, ret_check, complaint);
    }
    if (words_accept(words, "age")) {
        ret_check->kind = CHECK_AGE_WITHIN;
        return words_accept(words, "within") ? duration_read(words, &ret_check->number, complaint)
                                             : complain(complaint, "age within a duration");
    }
    if (words_accept(words, "keep")) {
        return keep_read(words, ret_check, complaint);
    }
    return simple_check_read(words, words_next(words)->text, ret_check, complaint);
}

bool checks_read(struct arena *arena, struct words *words, const struct check **ret_checks,
                 size_t *ret_count, struct complaint *complaint) {
    struct check *checks = arena_take(arena, STEP_CHECKS_MAX * sizeof *checks);
    size_t count = 0;
    while (words_accept_kind(words, WORD_COMMA)) {
        if (count == STEP_CHECKS_MAX) {
            return complain(complaint, "more than %d expectations in one step", STEP_CHECKS_MAX);
        }
        if (!check_read(arena, words, &checks[count], complaint)) {
            return false;
        }
        count++;
    }
    *ret_checks = checks;
    *ret_count = count;
    return line_end_read(words, complaint);
}

/* ADMIN broke PART held|awaited by OWNER */
static bool audit_entry_read(struct words *words, struct entry_check *entry,
                             struct complaint *complaint) {
    if (!name_read(words, "the owner of the break", &entry->by, complaint)) {
        return false;
    }
    if (!words_accept(words, "broke")
        || !name_read(words, "the path that was broken", &entry->part, complaint)) {
        return complain(complaint, "ADMIN broke PATH held by OWNER, or awaited by OWNER");
    }
    entry->held = words_accept(words, "held");
    if ((!entry->held && !words_accept(words, "awaited")) || !words_accept(words, "by")) {
        return complain(complaint, "ADMIN broke PATH held by OWNER, or awaited by OWNER");
    }
    return name_read(words, "the owner", &entry->owner, complaint);
}

/* OWNER holds PART | OWNER waits for PART */
static bool request_entry_read(struct words *words, struct entry_check *entry,
                               struct complaint *complaint) {
    if (!name_read(words, "the owner", &entry->owner, complaint)) {
        return false;
    }
    entry->held = words_accept(words, "holds");
    if (!entry->held && !(words_accept(words, "waits") && words_accept(words, "for"))) {
        return complain(complaint, "OWNER holds PART, or OWNER waits for PART");
    }
    return name_read(words, "the part", &entry->part, complaint);
}

/* ID STATE [by OWNER] */
static bool item_entry_read(struct words *words, struct entry_check *entry,
                            struct complaint *complaint) {
    return name_read(words, "the id", &entry->part, complaint)
           && name_read(words, "the state", &entry->state, complaint)
           && (!words_accept(words, "by")
               || name_read(words, "the claimant", &entry->owner, complaint));
}

/* PART [+ PART]..., into one text with " + " between. */
static bool joined_parts_read(struct arena *arena, struct words *words, const char **ret_parts,
                              struct complaint *complaint) {
    char text[WORD_BYTES_MAX + 1];
    size_t size = 0;

    do {
        const char *part = "";
        if (!name_read(words, "a part", &part, complaint)) {
            return false;
        }
        if (strlen(part) + 3 > sizeof text - size) {
            return complain(complaint, "the parts are too long");
        }
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%s%s", size > 0 ? " + " : "", part);
    } while (words_accept_kind(words, WORD_PLUS));
    *ret_parts = arena_copy(arena, text, size);
    return true;
}

/* EVENT [OUTCOME] [PARTS [deleted]] [by OWNER]: an outcome only of what was refused */
static bool event_entry_read(struct arena *arena, struct words *words, struct entry_check *entry,
                             struct complaint *complaint) {
    if (!name_read(words, "the event", &entry->state, complaint)) {
        return false;
    }
    if (strcmp(entry->state, "gap") == 0) {
        return true;
    }
    if (strcmp(entry->state, "refused") == 0
        && !name_read(words, "how it was refused", &entry->by, complaint)) {
        return false;
    }
    if (!joined_parts_read(arena, words, &entry->part, complaint)) {
        return false;
    }
    entry->held = words_accept(words, "deleted");
    return !words_accept(words, "by") || name_read(words, "the owner", &entry->owner, complaint);
}

bool entry_read(struct arena *arena, struct words *words, enum step_kind kind,
                struct entry_check *ret_entry, struct complaint *complaint) {
    struct entry_check entry = {0};
    bool is_read = kind == STEP_AUDIT    ? audit_entry_read(words, &entry, complaint)
                   : kind == STEP_ITEMS  ? item_entry_read(words, &entry, complaint)
                   : kind == STEP_QUEUES ? name_read(words, "the queue", &entry.part, complaint)
                   : kind == STEP_VALUES ? name_read(words, "the path", &entry.part, complaint)
                   : kind == STEP_EVENTS ? event_entry_read(arena, words, &entry, complaint)
                                         : request_entry_read(words, &entry, complaint);
    if (!is_read || !checks_read(arena, words, &entry.checks, &entry.check_count, complaint)) {
        return false;
    }
    *ret_entry = entry;
    return true;
}
