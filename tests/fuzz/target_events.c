/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories of events, model against reference, from bytes of which nearly all mean something: so
 * a changed byte is another history, and not a mistake in one. (Histories as text, which people
 * write and read, are tests/model/fuzz_events.c.)
 */
#include <string.h>

#include "../model/lockstep.h"
#include "target.h"

enum { EVENTS_MAX = 120, ENDED_MAX = 3, PARTS_HERE_MAX = 3, TOKENS_KEPT = 8 };

#define WALL_FIRST_US INT64_C(1700000000000000)

static const char *const owners[] = {"A", "B", "C", "D"};
static const char *const paths[] = {"x",     "x/a", "x/a/1", "x/a/2", "x/b", "x/b/1", "y",   "y/a",
                                    "y/a/1", "z",   "x/c",   "xa",    "x/a", "y/b",   "z/1", "z/2"};
static const char *const notes[] = {"", "a note", "another note"};

struct source {
    const uint8_t *bytes;
    size_t size;
};

static uint8_t take(struct source *source) {
    if (source->size == 0) {
        return 0;
    }
    source->size--;
    return *source->bytes++;
}

/* What a history is: its manner, its present state, and tokens to name. */
struct history {
    struct lockstep lockstep;
    struct lk_times times;
    bool is_odd; /* the wall clock stops and leaps, so that no token can be named */
    uint64_t tokens[TOKENS_KEPT];
    size_t token_count;
};

static struct lk_path path_of(uint8_t byte) {
    const char *text = paths[byte % (sizeof paths / sizeof paths[0])];
    struct lk_path path;

    FUZZ_DEMAND(lk_path_parse(lk_slice_of(text), &path, NULL) == LK_OK);
    return path;
}

static size_t take_parts(struct source *source, struct lk_part parts[PARTS_HERE_MAX]) {
    uint8_t head = take(source);
    size_t count = (size_t)head % 8 < 5 ? 1 : 1 + (size_t)head % 3;

    for (size_t i = 0; i < count; i++) {
        uint8_t mode = take(source);
        parts[i] = (struct lk_part){.path = path_of(take(source)), .mode = LK_EXCLUSIVE};
        if (mode % 4 == 1) {
            parts[i].mode = LK_SHARED;
            parts[i].units = 1;
        } else if (mode % 4 >= 2) {
            parts[i].mode = LK_SHARED;
            parts[i].limit = 1u + mode / 4 % 4;
            parts[i].units = 1u + mode / 16 % parts[i].limit;
        }
    }
    return count;
}

static int64_t take_ttl_ms(struct source *source) {
    static const int64_t ttls_ms[] = {0, 50, 51, 100, 1000, 200, 5000, 60000, LK_TTL_MAX_MS};

    return ttls_ms[take(source) % (sizeof ttls_ms / sizeof ttls_ms[0])];
}

static void pass(struct history *history, uint8_t byte) {
    static const int64_t steps_us[] = {1000,   1000,   1000,    2000,     50000,
                                       100000, 200000, 1000000, 60000000, 300000000};
    int64_t step_us = steps_us[byte % (sizeof steps_us / sizeof steps_us[0])];

    if (history->is_odd) {
        history->times.now_us += byte % 8 == 7 ? 0 : step_us;
        history->times.wall_us += byte % 4 == 0 ? 0 : byte % 16 == 1 ? -step_us : step_us;
    } else {
        history->times.now_us += step_us;
        history->times.wall_us += step_us;
    }
}

static uint64_t take_token(struct history *history, struct source *source) {
    uint8_t byte = take(source);

    if (history->is_odd || byte % 4 != 1 || history->token_count == 0) {
        return 0;
    }
    return history->tokens[byte / 4 % history->token_count] + (byte >= 252);
}

static void keep_token(struct history *history) {
    const struct lk_answer *answer = &history->lockstep.effects->answer;
    struct lk_record record;

    if (answer->outcome != LK_GRANTED || history->is_odd) {
        return;
    }
    lk_model_record(history->lockstep.model, answer->request, &record);
    if (history->token_count == TOKENS_KEPT) {
        history->token_count--;
        memmove(history->tokens, history->tokens + 1,
                history->token_count * sizeof history->tokens[0]);
    }
    history->tokens[history->token_count++] = record.token;
}

static void take_ask(struct history *history, struct source *source, uint8_t manner,
                     struct lk_part *parts, struct lk_ask *ret_ask) {
    uint8_t more = take(source);
    const char *note = notes[more / 64 % (sizeof notes / sizeof notes[0])];

    *ret_ask = (struct lk_ask){.style = (lk_style)(manner % 3), .parts = parts};
    ret_ask->part_count = take_parts(source, parts);
    ret_ask->ttl_ms = take_ttl_ms(source);
    ret_ask->blockers_max = more % 4 == 3 ? 0 : 1u + more % 4 * 8u;
    if (more / 4 % 4 == 3) {
        ret_ask->until_us = history->times.wall_us + (int64_t)(more / 16 % 4) * 50000;
    }
    ret_ask->note_given = note[0] != '\0';
    ret_ask->note = lk_slice_of(note);
}

static void take_target(struct history *history, struct source *source, struct lk_slice owner,
                        struct lk_part *parts, struct lk_target *ret_target) {
    *ret_target = (struct lk_target){.owner = owner, .parts = parts};
    ret_target->part_count = take_parts(source, parts);
    ret_target->token = take_token(history, source);
}

static void take_event(struct history *history, struct source *source, struct lk_part *parts,
                       struct lk_command *ret_event) {
    uint8_t head = take(source);
    struct lk_slice owner = lk_slice_of(owners[head / 16 % 4]);

    pass(history, take(source));
    *ret_event = (struct lk_command){.kind = LK_COMMAND_TICK, .times = history->times};
    switch (head % 16) {
    case 15:
        break;
    case 14:
        ret_event->kind = LK_COMMAND_BREAK;
        ret_event->broken.path = path_of(take(source));
        ret_event->broken.owner = head >= 128 ? owner : lk_slice_of("");
        ret_event->broken.at_once = head / 64 % 2 == 1;
        break;
    case 12:
    case 13:
        ret_event->kind = LK_COMMAND_RENEW;
        take_target(history, source, owner, parts, &ret_event->renew.target);
        ret_event->renew.ttl_ms = take_ttl_ms(source);
        break;
    case 9:
    case 10:
    case 11:
        ret_event->kind = LK_COMMAND_RELEASE;
        take_target(history, source, owner, parts, &ret_event->release.target);
        break;
    default:
        ret_event->kind = LK_COMMAND_ASK;
        take_ask(history, source, head, parts, &ret_event->ask);
        ret_event->ask.owner = owner;
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct source source = {data, size};
    uint8_t manner = take(&source);
    struct lk_quotas quotas = {0};
    struct history history = {.times = {1000000, WALL_FIRST_US}, .is_odd = manner % 4 == 3};

    if (manner % 4 == 2) {
        quotas = (struct lk_quotas){.live_max = manner / 4 % 8,
                                    .live_per_owner_max = manner / 32 % 4,
                                    .live_per_root_max = manner / 16 % 5,
                                    .waiters_per_path_max = manner / 8 % 3};
    }
    lockstep_open(&history.lockstep, &quotas, ENDED_MAX, NULL);
    history.lockstep.is_exact = !history.is_odd;
    for (size_t i = 0; i < EVENTS_MAX && source.size > 0; i++) {
        struct lk_part parts[PARTS_HERE_MAX];
        struct lk_command command;
        const char *wrong;
        take_event(&history, &source, parts, &command);
        wrong = lockstep_step(&history.lockstep, &command);
        if (wrong != NULL) {
            (void)fprintf(stderr, "event %zu: %s\n", i + 1, wrong);
            abort();
        }
        keep_token(&history);
    }
    lockstep_close(&history.lockstep);
    return 0;
}
