/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each kind of expectation that needs more than a comparison. */
#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int64_t stretched(int64_t duration_ms, int64_t stretch) {
    return duration_ms >= STRETCHED_FROM_MS && duration_ms <= STRETCHED_TO_MS
               ? duration_ms * stretch
               : duration_ms;
}

/* ---- words for reports ----------------------------------------------------------------------- */

struct writer {
    char *buffer;
    size_t size;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void write_words(struct writer *writer,
                                                              const char *format, ...) {
    va_list arguments;
    if (writer->used >= writer->size) {
        return;
    }
    va_start(arguments, format);
    int size =
        vsnprintf(writer->buffer + writer->used, writer->size - writer->used, format, arguments);
    va_end(arguments);
    writer->used += size > 0 ? (size_t)size : 0;
}

const char *sight_describe(const struct sight *sight, char *buffer, size_t size) {
    struct writer writer = {.buffer = buffer, .size = size};
    buffer[0] = '\0';
    write_words(&writer, "%s", lk_outcome_name(sight->outcome));
    if (sight->ticket != 0) {
        write_words(&writer, ", ticket %" PRIu64 ", token %" PRIu64, sight->ticket, sight->token);
        write_words(&writer, ", expires in %" PRId64 " of %" PRId64 " ms", sight->expires_in_ms,
                    sight->ttl_ms);
    }
    write_words(&writer, ", in use %" PRIu64 ", position %zu%s", sight->in_use, sight->position,
                sight->created ? ", created" : "");
    for (size_t i = 0; i < sight->blocker_count; i++) {
        const lk_blocker_info *blocker = &sight->blockers[i];
        write_words(&writer, "%s %s at %s %s", i == 0 ? ", blocked by" : "", blocker->owner,
                    blocker->path, blocker->held ? "held" : "waiting");
    }
    for (size_t i = 0; i < sight->cycle_count; i++) {
        write_words(&writer, "%s %s", i == 0 ? ", cycle" : "", sight->cycle[i]);
    }
    if (sight->item != NULL) {
        write_words(&writer, ", item %s, attempt %" PRIu32 "%s", sight->item, sight->attempt,
                    sight->stolen ? ", stolen" : "");
    }
    if (sight->value != NULL) {
        write_words(&writer, ", value \"%.100s\"%s", sight->value,
                    sight->in_doubt ? " in doubt" : "");
    }
    if (sight->error != NULL && sight->error[0] != '\0') {
        write_words(&writer, ", says \"%s\"", sight->error);
    }
    return buffer;
}

const char *entry_part(const lk_entry *entry, char *buffer, size_t size) {
    struct writer writer = {.buffer = buffer, .size = size};
    buffer[0] = '\0';
    write_words(&writer, "%s", entry->path);
    if (entry->shared && entry->limit == 0) {
        write_words(&writer, "?shared");
    } else if (entry->shared) {
        write_words(&writer, "?limit=%" PRIu32, entry->limit);
        if (entry->units != 1) {
            write_words(&writer, "&units=%" PRIu32, entry->units);
        }
    }
    return buffer;
}

/* ---- single expectations --------------------------------------------------------------------- */

/* An owner as the scenario names it: itself, or one that was kept by that name. */
static bool is_owner(const struct witness *witness, const char *name, const char *owner) {
    const struct witness_name *kept = witness_kept(witness, name);
    return owner != NULL
           && strcmp(kept != NULL && kept->text != NULL ? kept->text : name, owner) == 0;
}

static bool judge_number(const char *what, int64_t expected, int64_t got,
                         struct complaint *complaint) {
    return expected == got
           || complain(complaint, "%s: expected %" PRId64 ", got %" PRId64, what, expected, got);
}

static bool judge_text(const char *what, const char *expected, const char *got,
                       struct complaint *complaint) {
    const char *present = got != NULL ? got : "";
    return strcmp(expected, present) == 0
           || complain(complaint, "%s: expected \"%.100s\", got \"%.100s\"", what, expected,
                       present);
}

static bool judge_blockers(const struct judgement *judgement, const struct sight *sight,
                           const struct check *check, struct complaint *complaint) {
    if (check->count != sight->blocker_count) {
        return complain(complaint, "blocked by: expected %zu, got %zu", check->count,
                        sight->blocker_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        const struct blocker_check *expected = &check->blockers[i];
        const lk_blocker_info *got = &sight->blockers[i];
        const char *note = got->note != NULL ? got->note : "";
        if (!is_owner(judgement->witness, expected->owner, got->owner)
            || (expected->path != NULL && strcmp(expected->path, got->path) != 0)
            || (expected->note != NULL && strcmp(expected->note, note) != 0)
            || (expected->state_said && expected->held != got->held)) {
            return complain(complaint, "blocker %zu: expected %s, got %s at %s, %s, note \"%s\"",
                            i + 1, expected->owner, got->owner, got->path,
                            got->held ? "held" : "waiting", note);
        }
        if (got->ticket == 0 || got->expires_in_ms < 0) {
            return complain(complaint, "blocker %zu: ticket or time left is missing", i + 1);
        }
    }
    return true;
}

/* NAME1 is the first in the way, and so on. */
static bool judge_names(const struct sight *sight, const struct check *check,
                        struct complaint *complaint) {
    if (check->number != (int64_t)sight->blocker_count) {
        return complain(complaint, "names: expected %lld, got %zu", (long long)check->number,
                        sight->blocker_count);
    }
    for (size_t i = 0; i < sight->blocker_count; i++) {
        char expected[OWNER_MAX];

        (void)snprintf(expected, sizeof expected, "%s%zu", check->text, i + 1);
        if (strcmp(expected, sight->blockers[i].owner) != 0) {
            return complain(complaint, "blocker %zu: expected %s, got %s", i + 1, expected,
                            sight->blockers[i].owner);
        }
    }
    return true;
}

static bool judge_cycle(const struct judgement *judgement, const struct sight *sight,
                        const struct check *check, struct complaint *complaint) {
    if (check->count != sight->cycle_count) {
        return complain(complaint, "cycle: expected %zu owners, got %zu", check->count,
                        sight->cycle_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        if (!is_owner(judgement->witness, check->owners[i], sight->cycle[i])) {
            return complain(complaint, "cycle: expected %s in place %zu, got %s", check->owners[i],
                            i + 1, sight->cycle[i]);
        }
    }
    return true;
}

static bool judge_draw(const struct judgement *judgement, const struct check *check,
                       const struct sight *sight, struct complaint *complaint) {
    bool token = check->kind == CHECK_TOKEN;
    const char *what = token ? "token" : "ticket";
    uint64_t got = token ? sight->token : sight->ticket;
    uint64_t known = token ? judgement->before.token : judgement->before.ticket;
    const struct witness_name *kept = NULL;
    switch (check->relation) {
    case DRAW_NONE:
        return got == 0 || complain(complaint, "%s: expected none, got %" PRIu64, what, got);
    case DRAW_SAME:
        return (got != 0 && got == known)
               || complain(complaint, "%s: expected %" PRIu64 " as before, got %" PRIu64, what,
                           known, got);
    case DRAW_NEW:
        return (got > judgement->greatest_before)
               || complain(complaint, "%s: expected one above %" PRIu64 ", got %" PRIu64, what,
                           judgement->greatest_before, got);
    case DRAW_IS_TICKET:
        return (got != 0 && got == sight->ticket)
               || complain(complaint, "token: expected the ticket %" PRIu64 ", got %" PRIu64,
                           sight->ticket, got);
    case DRAW_ABOVE:
        kept = witness_kept(judgement->witness, check->text);
        if (kept == NULL || kept->token == 0) {
            return complain(complaint, "no token was kept as %s", check->text);
        }
        return got > kept->token
               || complain(complaint, "%s: expected one above %" PRIu64 ", got %" PRIu64, what,
                           kept->token, got);
    }
    return complain(complaint, "%s: unknown relation", what);
}

static bool judge_time(const struct judgement *judgement, const struct check *check,
                       const struct sight *sight, struct complaint *complaint) {
    int64_t expected = stretched(check->number, judgement->stretch);
    switch (check->kind) {
    case CHECK_TTL:
        return judge_number("ttl in ms", expected, sight->ttl_ms, complaint);
    case CHECK_EXPIRES_WITHIN:
        return (sight->expires_in_ms >= 0 && sight->expires_in_ms <= expected)
               || complain(complaint, "expires: expected within %" PRId64 " ms, got %" PRId64,
                           expected, sight->expires_in_ms);
    case CHECK_EXPIRES_AFTER:
        return sight->expires_in_ms > expected
               || complain(complaint, "expires: expected after %" PRId64 " ms, got %" PRId64,
                           expected, sight->expires_in_ms);
    default:
        return (sight->age_ms >= 0 && sight->age_ms <= expected)
               || complain(complaint, "age: expected within %" PRId64 " ms, got %" PRId64, expected,
                           sight->age_ms);
    }
}

/* Bytes beyond the text, also a 0, are another value. */
static bool judge_value(const struct check *check, const struct sight *sight,
                        struct complaint *complaint) {
    if (check->text == NULL || sight->value == NULL) {
        return (check->text == NULL && sight->value == NULL)
               || complain(complaint, "value: expected %.100s, got %.100s",
                           check->text != NULL ? check->text : "none",
                           sight->value != NULL ? sight->value : "none");
    }
    return judge_text("value", check->text, sight->value, complaint)
           && judge_number("bytes of the value", (int64_t)strlen(check->text),
                           (int64_t)sight->value_size, complaint);
}

static bool judge_needs(const struct check *check, const struct sight *sight,
                        struct complaint *complaint) {
    if (check->count != sight->need_count) {
        return complain(complaint, "needs: expected %zu, got %zu", check->count, sight->need_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        if (!judge_text("needs", check->owners[i], sight->needs[i], complaint)) {
            return false;
        }
    }
    return true;
}

static bool judge_counted(const struct check *check, const struct sight *sight,
                          struct complaint *complaint) {
    const lk_queue_stats *stats = sight->stats;
    if (stats == NULL) {
        return complain(complaint, "nothing is counted here");
    }
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        {"pushed", stats->pushed}, {"duplicates", stats->duplicates},
        {"claims", stats->claims}, {"steals", stats->steals},
        {"done", stats->done},     {"retried", stats->retried},
        {"parked", stats->parked},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(check->text, counts[i].name) == 0) {
            return judge_number(check->text, check->number, (int64_t)counts[i].count, complaint);
        }
    }
    return complain(complaint, "%s is not counted", check->text);
}

static bool judge_due(const struct judgement *judgement, const struct check *check,
                      const struct sight *sight, struct complaint *complaint) {
    int64_t expected = stretched(check->number, judgement->stretch);
    return (sight->due_in_ms >= 0 && sight->due_in_ms <= expected)
           || complain(complaint, "due: expected within %" PRId64 " ms, got %" PRId64, expected,
                       sight->due_in_ms);
}

/* What R15 and R16 say of values, claims and items. */
static bool judge_work(const struct judgement *judgement, const struct sight *sight,
                       const struct check *check, struct complaint *complaint) {
    switch (check->kind) {
    case CHECK_VALUE:
        return judge_value(check, sight, complaint);
    case CHECK_IN_DOUBT:
        return judge_number("in doubt", check->number, sight->in_doubt, complaint);
    case CHECK_ADDED:
        return judge_number("added", check->number, sight->added, complaint);
    case CHECK_ITEM:
        return judge_text("item", check->text, sight->item, complaint);
    case CHECK_ATTEMPT:
    case CHECK_ATTEMPTS:
        return judge_number("attempts", check->number, sight->attempt, complaint);
    case CHECK_STOLEN:
        return judge_number("stolen", check->number, sight->stolen, complaint);
    case CHECK_NEEDS:
        return judge_needs(check, sight, complaint);
    case CHECK_DUE_WITHIN:
        return judge_due(judgement, check, sight, complaint);
    case CHECK_COUNTED:
        return judge_counted(check, sight, complaint);
    default:
        return complain(complaint, "unknown check");
    }
}

static bool judge_one(const struct judgement *judgement, const struct sight *sight,
                      const struct check *check, struct complaint *complaint) {
    switch (check->kind) {
    case CHECK_BLOCKED_BY:
        return judge_blockers(judgement, sight, check, complaint);
    case CHECK_NAMES:
        return judge_names(sight, check, complaint);
    case CHECK_CYCLE:
        return judge_cycle(judgement, sight, check, complaint);
    case CHECK_TOKEN:
    case CHECK_TICKET:
        return judge_draw(judgement, check, sight, complaint);
    case CHECK_EXPIRES_WITHIN:
    case CHECK_EXPIRES_AFTER:
    case CHECK_AGE_WITHIN:
    case CHECK_TTL:
        return judge_time(judgement, check, sight, complaint);
    case CHECK_POSITION:
        return judge_number("position", check->number, (int64_t)sight->position, complaint);
    case CHECK_IN_USE:
        return judge_number("in use", check->number, (int64_t)sight->in_use, complaint);
    case CHECK_CREATED:
        return judge_number("created", check->number, sight->created, complaint);
    case CHECK_FIXED:
        return judge_number("fixed", check->number, sight->fixed, complaint);
    case CHECK_REVOKED:
        return judge_number("revoked", check->number, sight->revoked, complaint);
    case CHECK_COUNT:
        return judge_number("count", check->number, (int64_t)sight->count, complaint);
    case CHECK_NOTE:
        return judge_text("note", check->text, sight->note, complaint);
    case CHECK_REASON:
        return judge_text("reason", check->text, sight->reason, complaint);
    case CHECK_SAYS:
        return (sight->error != NULL && strstr(sight->error, check->text) != NULL)
               || complain(complaint, "expected a text with \"%s\", got \"%s\"", check->text,
                           sight->error != NULL ? sight->error : "");
    case CHECK_KEEP_TOKEN:
        witness_keep(judgement->witness, check->text, NULL, sight->token);
        return sight->token != 0 || complain(complaint, "there is no token to keep");
    case CHECK_KEEP_OWNER:
        witness_keep(judgement->witness, check->text, sight->owner, 0);
        return sight->owner != NULL || complain(complaint, "there is no owner to keep");
    default:
        return judge_work(judgement, sight, check, complaint);
    }
}

bool judge(const struct judgement *judgement, const struct sight *sight, const struct check *checks,
           size_t check_count, struct complaint *complaint) {
    for (size_t i = 0; i < check_count; i++) {
        if (!judge_one(judgement, sight, &checks[i], complaint)) {
            return false;
        }
    }
    return true;
}
