/* SPDX-License-Identifier: Apache-2.0 */
/* A function for each kind of expectation that is more than an equality. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "observed.h"

bool is_stretched(int64_t duration_ms) {
    return duration_ms >= STRETCHED_FROM_MS && duration_ms <= STRETCHED_TO_MS;
}

int64_t stretched(int64_t duration_ms, int64_t stretch) {
    return is_stretched(duration_ms) ? duration_ms * stretch : duration_ms;
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

const char *observation_describe(const struct observation *observation, char *buffer, size_t size) {
    struct writer writer = {.buffer = buffer, .size = size};
    buffer[0] = '\0';
    write_words(&writer, "%s", lk_outcome_name(observation->outcome));
    if (observation->ticket != 0) {
        write_words(&writer, ", ticket %" PRIu64 ", token %" PRIu64, observation->ticket,
                    observation->token);
        write_words(&writer, ", expires in %" PRId64 " of %" PRId64 " ms",
                    observation->expires_in_ms, observation->ttl_ms);
    }
    write_words(&writer, ", in use %" PRIu64 ", position %zu%s", observation->in_use,
                observation->position, observation->created ? ", created" : "");
    for (size_t i = 0; i < observation->blocker_count; i++) {
        const lk_blocker_info *blocker = &observation->blockers[i];
        write_words(&writer, "%s %s at %s %s", i == 0 ? ", blocked by" : "", blocker->owner,
                    blocker->path, blocker->held ? "held" : "waiting");
    }
    for (size_t i = 0; i < observation->cycle_count; i++) {
        write_words(&writer, "%s %s", i == 0 ? ", cycle" : "", observation->cycle[i]);
    }
    if (observation->item != NULL) {
        write_words(&writer, ", item %s, attempt %" PRIu32 "%s", observation->item,
                    observation->attempt, observation->stolen ? ", stolen" : "");
    }
    if (observation->value != NULL) {
        write_words(&writer, ", value \"%.100s\"%s", observation->value,
                    observation->in_doubt ? " in doubt" : "");
    }
    if (observation->error != NULL && observation->error[0] != '\0') {
        write_words(&writer, ", says \"%s\"", observation->error);
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
static bool is_owner(const struct observed *observed, const char *name, const char *owner) {
    const struct observed_name *kept = observed_kept(observed, name);
    return owner != NULL
           && strcmp(kept != NULL && kept->text != NULL ? kept->text : name, owner) == 0;
}

static bool compare_number(const char *what, int64_t expected, int64_t got,
                           struct complaint *complaint) {
    return expected == got
           || complain(complaint, "%s: expected %" PRId64 ", got %" PRId64, what, expected, got);
}

static bool compare_text(const char *what, const char *expected, const char *got,
                         struct complaint *complaint) {
    const char *present = got != NULL ? got : "";
    return strcmp(expected, present) == 0
           || complain(complaint, "%s: expected \"%.100s\", got \"%.100s\"", what, expected,
                       present);
}

static bool compare_blockers(const struct comparison *comparison,
                             const struct observation *observation, const struct check *check,
                             struct complaint *complaint) {
    if (check->count != observation->blocker_count) {
        return complain(complaint, "blocked by: expected %zu, got %zu", check->count,
                        observation->blocker_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        const struct blocker_check *expected = &check->blockers[i];
        const lk_blocker_info *got = &observation->blockers[i];
        const char *note = got->note != NULL ? got->note : "";
        if (!is_owner(comparison->observed, expected->owner, got->owner)
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
static bool compare_names(const struct observation *observation, const struct check *check,
                          struct complaint *complaint) {
    if (check->number != (int64_t)observation->blocker_count) {
        return complain(complaint, "names: expected %lld, got %zu", (long long)check->number,
                        observation->blocker_count);
    }
    for (size_t i = 0; i < observation->blocker_count; i++) {
        char expected[OWNER_MAX];

        (void)snprintf(expected, sizeof expected, "%s%zu", check->text, i + 1);
        if (strcmp(expected, observation->blockers[i].owner) != 0) {
            return complain(complaint, "blocker %zu: expected %s, got %s", i + 1, expected,
                            observation->blockers[i].owner);
        }
    }
    return true;
}

static bool compare_cycle(const struct comparison *comparison,
                          const struct observation *observation, const struct check *check,
                          struct complaint *complaint) {
    if (check->count != observation->cycle_count) {
        return complain(complaint, "cycle: expected %zu owners, got %zu", check->count,
                        observation->cycle_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        if (!is_owner(comparison->observed, check->owners[i], observation->cycle[i])) {
            return complain(complaint, "cycle: expected %s in place %zu, got %s", check->owners[i],
                            i + 1, observation->cycle[i]);
        }
    }
    return true;
}

static bool compare_draw(const struct comparison *comparison, const struct check *check,
                         const struct observation *observation, struct complaint *complaint) {
    bool token = check->kind == CHECK_TOKEN;
    const char *what = token ? "token" : "ticket";
    uint64_t got = token ? observation->token : observation->ticket;
    uint64_t known = token ? comparison->before.token : comparison->before.ticket;
    const struct observed_name *kept = NULL;
    switch (check->relation) {
    case DRAW_NONE:
        return got == 0 || complain(complaint, "%s: expected none, got %" PRIu64, what, got);
    case DRAW_SAME:
        return (got != 0 && got == known)
               || complain(complaint, "%s: expected %" PRIu64 " as before, got %" PRIu64, what,
                           known, got);
    case DRAW_NEW:
        return (got > comparison->greatest_before)
               || complain(complaint, "%s: expected one above %" PRIu64 ", got %" PRIu64, what,
                           comparison->greatest_before, got);
    case DRAW_IS_TICKET:
        return (got != 0 && got == observation->ticket)
               || complain(complaint, "token: expected the ticket %" PRIu64 ", got %" PRIu64,
                           observation->ticket, got);
    case DRAW_ABOVE:
        kept = observed_kept(comparison->observed, check->text);
        if (kept == NULL || kept->token == 0) {
            return complain(complaint, "no token was kept as %s", check->text);
        }
        return got > kept->token
               || complain(complaint, "%s: expected one above %" PRIu64 ", got %" PRIu64, what,
                           kept->token, got);
    }
    return complain(complaint, "%s: unknown relation", what);
}

static bool compare_time(const struct comparison *comparison, const struct check *check,
                         const struct observation *observation, struct complaint *complaint) {
    int64_t expected = stretched(check->number, comparison->stretch);
    switch (check->kind) {
    case CHECK_TTL:
        return compare_number("ttl in ms", expected, observation->ttl_ms, complaint);
    case CHECK_EXPIRES_WITHIN:
        return (observation->expires_in_ms >= 0 && observation->expires_in_ms <= expected)
               || complain(complaint, "expires: expected within %" PRId64 " ms, got %" PRId64,
                           expected, observation->expires_in_ms);
    case CHECK_EXPIRES_AFTER:
        return observation->expires_in_ms > expected
               || complain(complaint, "expires: expected after %" PRId64 " ms, got %" PRId64,
                           expected, observation->expires_in_ms);
    default:
        return (observation->age_ms >= 0 && observation->age_ms <= expected)
               || complain(complaint, "age: expected within %" PRId64 " ms, got %" PRId64, expected,
                           observation->age_ms);
    }
}

/* Bytes beyond the text, also a 0, are another value. */
static bool compare_value(const struct check *check, const struct observation *observation,
                          struct complaint *complaint) {
    if (check->text == NULL || observation->value == NULL) {
        return (check->text == NULL && observation->value == NULL)
               || complain(complaint, "value: expected %.100s, got %.100s",
                           check->text != NULL ? check->text : "none",
                           observation->value != NULL ? observation->value : "none");
    }
    return compare_text("value", check->text, observation->value, complaint)
           && compare_number("bytes of the value", (int64_t)strlen(check->text),
                             (int64_t)observation->value_size, complaint);
}

/* R15: of every part. */
static bool compare_values(const struct check *check, const struct observation *observation,
                           struct complaint *complaint) {
    if (check->count != observation->value_count) {
        return complain(complaint, "values: expected %zu, got %zu", check->count,
                        observation->value_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        const lk_part_value *value = &observation->values[i];
        const char *got = check->kind == CHECK_DOUBTS ? (value->in_doubt ? "yes" : "no")
                          : value->value != NULL      ? value->value
                                                      : "none";

        if (!compare_text(check->kind == CHECK_DOUBTS ? "doubts" : "values", check->owners[i], got,
                          complaint)) {
            return false;
        }
    }
    return true;
}

static bool compare_needs(const struct check *check, const struct observation *observation,
                          struct complaint *complaint) {
    if (check->count != observation->need_count) {
        return complain(complaint, "needs: expected %zu, got %zu", check->count,
                        observation->need_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        if (!compare_text("needs", check->owners[i], observation->needs[i], complaint)) {
            return false;
        }
    }
    return true;
}

static bool compare_items(const struct check *check, const struct observation *observation,
                          struct complaint *complaint) {
    if (check->count != observation->claim_count) {
        return complain(complaint, "items: expected %zu, got %zu", check->count,
                        observation->claim_count);
    }
    for (size_t i = 0; i < check->count; i++) {
        if (!compare_text("items", check->owners[i], observation->claims[i]->id, complaint)) {
            return false;
        }
    }
    return true;
}

static bool compare_exit(const struct check *check, const struct observation *observation,
                         struct complaint *complaint) {
    bool is_expected = check->relation != DRAW_NONE;

    if (is_expected != observation->has_exit) {
        return complain(complaint, "exit: expected %s, got %s", is_expected ? "one" : "none",
                        observation->has_exit ? "one" : "none");
    }
    return !is_expected || compare_number("exit", check->number, observation->exit_code, complaint);
}

/* A text that may be absent. */
static bool compare_optional(const char *what, const struct check *check, const char *said,
                             struct complaint *complaint) {
    if ((check->text == NULL) != (said == NULL)) {
        return complain(complaint, "%s: expected %.100s, got %.100s", what,
                        check->text != NULL ? check->text : "none", said != NULL ? said : "none");
    }
    return check->text == NULL || compare_text(what, check->text, said, complaint);
}

static bool compare_oldest(const struct check *check, const struct observation *observation,
                           struct complaint *complaint) {
    const lk_queue_stats *stats = observation->stats;

    if (stats == NULL) {
        return complain(complaint, "nothing is counted here");
    }
    if ((check->relation == DRAW_NONE) != (stats->oldest_ready_ms < 0)
        || stats->oldest_ready_ms < (check->relation == DRAW_NONE ? -1 : check->number)) {
        return complain(complaint, "the oldest ready item is so for %lld ms",
                        (long long)stats->oldest_ready_ms);
    }
    return true;
}

static bool compare_counted(const struct check *check, const struct observation *observation,
                            struct complaint *complaint) {
    const lk_queue_stats *stats = observation->stats;
    if (stats == NULL) {
        return complain(complaint, "nothing is counted here");
    }
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        {"pushed", stats->pushed},
        {"duplicates", stats->duplicates},
        {"claims", stats->claims},
        {"steals", stats->steals},
        {"done", stats->done},
        {"retried", stats->retried},
        {"parked", stats->parked},
        {"ready-now", stats->ready_now},
        {"delayed-now", stats->delayed_now},
        {"claimed-now", stats->claimed_now},
        {"parked-now", stats->parked_now},
        {"done-now", stats->done_now},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(check->text, counts[i].name) == 0) {
            return compare_number(check->text, check->number, (int64_t)counts[i].count, complaint);
        }
    }
    return complain(complaint, "%s is not counted", check->text);
}

static bool compare_due(const struct comparison *comparison, const struct check *check,
                        const struct observation *observation, struct complaint *complaint) {
    int64_t expected = stretched(check->number, comparison->stretch);
    return (observation->due_in_ms >= 0 && observation->due_in_ms <= expected)
           || complain(complaint, "due: expected within %" PRId64 " ms, got %" PRId64, expected,
                       observation->due_in_ms);
}

/* What R15 and R16 say of values, claims and items. */
static bool compare_work(const struct comparison *comparison, const struct observation *observation,
                         const struct check *check, struct complaint *complaint) {
    switch (check->kind) {
    case CHECK_VALUE:
        return compare_value(check, observation, complaint);
    case CHECK_VALUES:
    case CHECK_DOUBTS:
        return compare_values(check, observation, complaint);
    case CHECK_IN_DOUBT:
        return compare_number("in doubt", check->number, observation->in_doubt, complaint);
    case CHECK_ADDED:
        return compare_number("added", check->number, observation->added, complaint);
    case CHECK_CHANGED:
        return compare_number("changed", check->number, observation->changed, complaint);
    case CHECK_WAS:
        return compare_text("was", check->text, observation->was, complaint);
    case CHECK_ITEM:
        return compare_text("item", check->text, observation->item, complaint);
    case CHECK_ATTEMPT:
    case CHECK_ATTEMPTS:
        return compare_number("attempts", check->number, observation->attempt, complaint);
    case CHECK_STOLEN:
        return compare_number("stolen", check->number, observation->stolen, complaint);
    case CHECK_ITEMS:
        return compare_items(check, observation, complaint);
    case CHECK_PRIORITY:
        return compare_number("priority", check->number, observation->priority, complaint);
    case CHECK_EXIT:
        return compare_exit(check, observation, complaint);
    case CHECK_ERROR:
        return compare_optional("error", check, observation->last_error, complaint);
    case CHECK_PROGRESS:
        return compare_optional("progress", check, observation->progress, complaint);
    case CHECK_NEEDS:
        return compare_needs(check, observation, complaint);
    case CHECK_DUE_WITHIN:
        return compare_due(comparison, check, observation, complaint);
    case CHECK_COUNTED:
        return compare_counted(check, observation, complaint);
    case CHECK_OLDEST:
        return compare_oldest(check, observation, complaint);
    default:
        return complain(complaint, "unknown check");
    }
}

static bool compare_one(const struct comparison *comparison, const struct observation *observation,
                        const struct check *check, struct complaint *complaint) {
    switch (check->kind) {
    case CHECK_BLOCKED_BY:
        return compare_blockers(comparison, observation, check, complaint);
    case CHECK_NAMES:
        return compare_names(observation, check, complaint);
    case CHECK_CYCLE:
        return compare_cycle(comparison, observation, check, complaint);
    case CHECK_TOKEN:
    case CHECK_TICKET:
        return compare_draw(comparison, check, observation, complaint);
    case CHECK_EXPIRES_WITHIN:
    case CHECK_EXPIRES_AFTER:
    case CHECK_AGE_WITHIN:
    case CHECK_TTL:
        return compare_time(comparison, check, observation, complaint);
    case CHECK_POSITION:
        return compare_number("position", check->number, (int64_t)observation->position, complaint);
    case CHECK_IN_USE:
        return compare_number("in use", check->number, (int64_t)observation->in_use, complaint);
    case CHECK_CREATED:
        return compare_number("created", check->number, observation->created, complaint);
    case CHECK_FIXED:
        return compare_number("fixed", check->number, observation->fixed, complaint);
    case CHECK_REVOKED:
        return compare_number("revoked", check->number, observation->revoked, complaint);
    case CHECK_SIZE:
        return compare_number("size", check->number, (int64_t)observation->value_size, complaint);
    case CHECK_COUNT:
        return compare_number("count", check->number, (int64_t)observation->count, complaint);
    case CHECK_NOTE:
        return compare_text("note", check->text, observation->note, complaint);
    case CHECK_REASON:
        return compare_text("reason", check->text, observation->reason, complaint);
    case CHECK_BROKEN_BY:
        return compare_text("administrator", check->text, observation->breaker, complaint);
    case CHECK_SAYS:
        return (observation->error != NULL && strstr(observation->error, check->text) != NULL)
               || complain(complaint, "expected a text with \"%s\", got \"%s\"", check->text,
                           observation->error != NULL ? observation->error : "");
    case CHECK_KEEP_TOKEN:
        observed_keep(comparison->observed, check->text, NULL, observation->token);
        return observation->token != 0 || complain(complaint, "there is no token to keep");
    case CHECK_KEEP_OWNER:
        observed_keep(comparison->observed, check->text, observation->owner, 0);
        return observation->owner != NULL || complain(complaint, "there is no owner to keep");
    default:
        return compare_work(comparison, observation, check, complaint);
    }
}

bool compare(const struct comparison *comparison, const struct observation *observation,
             const struct check *checks, size_t check_count, struct complaint *complaint) {
    for (size_t i = 0; i < check_count; i++) {
        if (!compare_one(comparison, observation, &checks[i], complaint)) {
            return false;
        }
    }
    return true;
}
