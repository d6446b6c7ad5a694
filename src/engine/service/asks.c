/* SPDX-License-Identifier: Apache-2.0 */
/* Asks, renewals, releases (R3, R7-R13), and the wait that ends when the service grants. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/bytes.h"
#include "engine/reply.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

/* ---- answers --------------------------------------------------------------------------------- */

static void read_outcome(struct lk_reader *reader, const struct lk_resp_value *value,
                         void *record) {
    lk_result *result = record;

    result->outcome = lk_reader_outcome(reader, value);
}

static void read_value(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    lk_result *result = record;

    if (value->kind != LK_RESP_NULL && result->value == NULL) {
        result->value = lk_reader_copy(reader, value);
        result->value_size = value->text.size;
    }
}

static void read_cycle(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    lk_result *result = record;

    lk_reader_read_texts(reader, value, &result->cycle, &result->cycle_count);
}

const struct lk_field lk_service_blocker_fields[] = {
    {.name = "path", .kind = LK_FIELD_TEXT, .at = offsetof(lk_blocker_info, path)},
    {.name = "owner", .kind = LK_FIELD_TEXT, .at = offsetof(lk_blocker_info, owner)},
    {.name = "note", .kind = LK_FIELD_TEXT, .at = offsetof(lk_blocker_info, note)},
    {.name = "ticket", .kind = LK_FIELD_COUNT, .at = offsetof(lk_blocker_info, ticket)},
    {.name = "state", .kind = LK_FIELD_WORD, .at = offsetof(lk_blocker_info, held), .word = "held"},
    {.name = "expires_in_ms",
     .kind = LK_FIELD_NUMBER,
     .at = offsetof(lk_blocker_info, expires_in_ms)},
    {.name = NULL},
};

static void read_blockers(struct lk_reader *reader, const struct lk_resp_value *value,
                          void *record) {
    static const lk_blocker_info blank = {.path = NULL};
    lk_result *result = record;
    struct lk_records records = {.items = result->blockers, .count = result->blocker_count};

    lk_reader_read_maps(reader, value, lk_service_blocker_fields, &blank, sizeof blank, &records);
    result->blockers = records.items;
    result->blocker_count = records.count;
}

static const struct lk_field result_fields[] = {
    {.name = "status", .kind = LK_FIELD_OTHER, .read = read_outcome},
    {.name = "ticket", .kind = LK_FIELD_COUNT, .at = offsetof(lk_result, ticket)},
    {.name = "token", .kind = LK_FIELD_COUNT, .at = offsetof(lk_result, token)},
    {.name = "ttl_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_result, ttl_ms)},
    {.name = "expires_in_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(lk_result, expires_in_ms)},
    {.name = "in_use", .kind = LK_FIELD_COUNT, .at = offsetof(lk_result, in_use)},
    {.name = "position", .kind = LK_FIELD_SIZE, .at = offsetof(lk_result, position)},
    {.name = "created", .kind = LK_FIELD_FLAG, .at = offsetof(lk_result, created)},
    {.name = "in_doubt", .kind = LK_FIELD_FLAG, .at = offsetof(lk_result, in_doubt)},
    {.name = "error", .kind = LK_FIELD_TEXT, .at = offsetof(lk_result, error)},
    {.name = "value", .kind = LK_FIELD_OTHER, .read = read_value},
    {.name = "cycle", .kind = LK_FIELD_OTHER, .read = read_cycle},
    {.name = "blockers", .kind = LK_FIELD_OTHER, .read = read_blockers},
    {.name = NULL},
};

/* Takes the answer's map into *result (cleared before). Without a ttl it has a fixed end. */
static lk_outcome read_result(struct lk_service_answer *answer, lk_result *result) {
    struct lk_reader *reader = &answer->reader;
    lk_error error;

    result->expires_in_ms = -1;
    result->outcome = LK_OK;
    if (answer->head.kind == LK_RESP_SIMPLE) {
        return LK_OK;
    }
    lk_reader_read_map(reader, &answer->head, result_fields, result);
    if (lk_service_read_end(reader, &error) != LK_OK) {
        lk_result_clear(result);
        return lk_result_fail(result, error.outcome, "%s", error.text);
    }
    result->fixed = result->expires_in_ms >= 0 && result->ttl_ms == 0;
    if (result->error != NULL && strcmp(result->error, lk_outcome_text(result->outcome)) == 0) {
        free(result->error); /* a sentence that says no more than the outcome */
        result->error = NULL;
    }
    return result->outcome;
}

/* Sends the words, and fills the result with what comes of it. */
static lk_outcome call_for_result(struct lk_engine *engine, struct lk_words *words,
                                  enum lk_service_repeat repeat, const struct lk_patience *patience,
                                  lk_result *result) {
    struct lk_service_answer answer;
    lk_error error;
    lk_outcome outcome =
        lk_service_call(lk_service_of(engine), words, repeat, patience, &answer, &error);

    outcome = outcome == LK_OK ? read_result(&answer, result)
                               : lk_result_fail(result, outcome, "%s", error.text);
    lk_service_answer_done(&answer);
    lk_words_done(words);
    return outcome;
}

/* ---- asks ------------------------------------------------------------------------------------ */

/* META: the answer is a map whatever the outcome, so that a deadlock names its cycle (R13). */
static void add_ask(struct lk_words *words, const struct lk_ask *ask, size_t blockers_max) {
    lk_words_add_text(words, "ACQUIRE");
    lk_words_add_parts(words, ask->parts, ask->part_count);
    lk_words_add_pair(words, "OWNER", ask->owner);
    if (ask->until_us != 0) {
        lk_words_add_number(words, "UNTIL", ask->until_us / 1000);
    } else {
        lk_words_add_number_if_any(words, "TTL", ask->ttl_ms);
    }
    if (ask->note_given) {
        lk_words_add_pair(words, "NOTE", ask->note);
    }
    if (ask->wants_value) {
        lk_words_add_text(words, "VALUE");
    }
    lk_words_add_number(words, "BLOCKERS", (int64_t)blockers_max);
    lk_words_add_text(words, "META");
}

/* The first so many; the position counts them all. */
static void keep_blockers(lk_result *result, size_t max) {
    while (result->blocker_count > max) {
        lk_blocker_info *last = &result->blockers[--result->blocker_count];
        free(last->path);
        free(last->owner);
        free(last->note);
    }
}

/* LK_WAIT asks to be put in line; await() is what blocks. */
lk_outcome lk_service_ask(struct lk_engine *engine, const struct lk_ask *ask,
                          const struct lk_patience *patience, lk_result *result,
                          struct lk_stand *ret_stand) {
    struct lk_words words = {.count = 0};
    lk_outcome outcome;

    add_ask(&words, ask, ask->blockers_max);
    lk_words_add_text(&words, ask->style == LK_TRY ? "TRY" : "QUEUE");
    outcome = call_for_result(engine, &words, LK_SERVICE_AGAIN, patience, result);
    keep_blockers(result, ask->blockers_max);
    if (outcome == LK_WAITING && ret_stand != NULL) {
        *ret_stand =
            (struct lk_stand){.id = result->ticket, .in_the_way = result->position, .ask = ask};
    }
    return outcome;
}

/* Of what stands in line under its ticket only: somebody else's end of it is no new beginning. */
lk_outcome lk_service_await(struct lk_engine *engine, const struct lk_stand *stand,
                            int64_t until_us, struct lk_waker *waker) {
    int64_t left_ms = (until_us - lk_clock_now_us()) / 1000;
    const struct lk_patience patience = {.until_us = until_us + LK_SERVICE_GRACE_US,
                                         .waker = waker};
    struct lk_words words = {.count = 0};

    if (left_ms <= 0) {
        return LK_OK;
    }
    add_ask(&words, stand->ask, 0);
    lk_words_add_number(&words, "TICKET", (int64_t)stand->id);
    lk_words_add_number(&words, "WAIT", left_ms);
    switch (lk_service_block(lk_service_of(engine), &words, &patience)) {
    case LK_CANCELLED:
        return LK_CANCELLED;
    case LK_UNAVAILABLE:
        return LK_UNAVAILABLE;
    default:
        return LK_OK; /* the next ask tells */
    }
}

/* ---- renewals and releases ------------------------------------------------------------------- */

static void add_target(struct lk_words *words, const char *name, const struct lk_target *target) {
    lk_words_add_text(words, name);
    lk_words_add_paths(words, target->parts, target->part_count);
    lk_words_add_pair(words, "OWNER", target->owner);
    lk_words_add_number_if_any(words, "TOKEN", (int64_t)target->token);
}

lk_outcome lk_service_renew(struct lk_engine *engine, const struct lk_renew *renew,
                            const struct lk_patience *patience, lk_result *result) {
    struct lk_words words = {.count = 0};

    add_target(&words, "RENEW", &renew->target);
    lk_words_add_number_if_any(&words, "TTL", renew->ttl_ms);
    lk_words_add_text(&words, "META");
    return call_for_result(engine, &words, LK_SERVICE_AGAIN, patience, result);
}

/* Its token tells whether a release has been done; without one, nothing is written twice. */
static enum lk_service_repeat repeat_of(const struct lk_release *release) {
    if (release->target.token != 0) {
        return LK_SERVICE_AGAIN;
    }
    return release->puts ? LK_SERVICE_ONCE : LK_SERVICE_AGAIN_UNLESS_LOST;
}

lk_outcome lk_service_release(struct lk_engine *engine, const struct lk_release *release,
                              const struct lk_patience *patience, lk_result *result) {
    struct lk_words words = {.count = 0};

    add_target(&words, "RELEASE", &release->target);
    if (release->puts) {
        lk_words_add_pair(&words, "PUT", release->put);
    }
    return call_for_result(engine, &words, repeat_of(release), patience, result);
}
