/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actor. Its log has two lines a call, written before and after it:
 *
 *     call NUMBER MICROSECONDS OWNER ask try|queue|wait TTL_MS PART...
 *     call NUMBER MICROSECONDS OWNER renew|release - TTL_MS PART...
 *     answer NUMBER MICROSECONDS OUTCOME TICKET TOKEN CREATED [GIVEN]
 *
 * A call without an answer is one during which the actor was killed. keeper.c has calls of its own,
 * and says what a grant or a claim came with.
 */
#include "actor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PARTS_MAX = 2,
    PART_MAX = 40,
    LINE_MAX_BYTES = 400,
    HOLD_MAX_US = 4000,
    LONG_HOLD_MAX_US = 500000,
    WAIT_MAX_MS = 120,
    TTL_MIN_MS = 150, /* short, so that what the killed leave does not block for long */
    TTL_SPREAD_MS = 250,
    LONG_TTL_SPREAD_MS = 1500,
    SLOW_TTL_MAX_MS = 1000, /* more, where calls take long: a lease begins to end with its call */
};

/*
 * The sets of paths that are asked for: one that is always shared, trees, neighbours, a pool, a
 * batch, and requests over two roots. The first is for histories with restarts: each ask there
 * draws a number at once, which a restart may forget.
 */
static const char *const menu[][PARTS_MAX] = {
    {"s", NULL},     {"r", NULL},       {"r/a", NULL},  {"r/b", NULL},
    {"r/a/x", NULL}, {"pool/p", NULL},  {"pool", NULL}, {"t", NULL},
    {"r/a", "r/b"},  {"r/a", "pool/p"}, {"r/b", "t"},
};
enum {
    MENU_SIZE = sizeof menu / sizeof menu[0],
    ALWAYS_SHARED = 1, /* the first ones */
    OVER_TWO_ROOTS = 2 /* the last ones */
};

static const char *const styles[] = {"try", "queue", "wait"};

/* What the actor believes of one of its requests. */
enum belief { NOTHING, WAITING, HELD };

int64_t actor_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

uint64_t actor_draw(struct actor *actor, uint64_t below) {
    uint64_t mixed = (actor->random += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ (mixed >> 31)) % below;
}

/* ---- the log --------------------------------------------------------------------------------- */

static void write_line(const struct actor *actor, const char *line, size_t size) {
    if (write(actor->log, line, size) != (ssize_t)size) {
        perror("history: the log cannot be written");
        _exit(2);
    }
}

void actor_log_call(struct actor *actor, const char *verb, const char *style,
                    const lk_request *request) {
    char line[LINE_MAX_BYTES];
    int64_t now_us = actor_now_us();
    actor->called_us = strcmp(style, "wait") == 0 ? 0 : now_us;
    int size = snprintf(line, sizeof line, "call %lu %" PRId64 " %s %s %s %" PRId64, ++actor->calls,
                        now_us, actor->owner, verb, style, request->ttl_ms);
    for (size_t i = 0; i < request->part_count; i++) {
        size += snprintf(line + size, sizeof line - (size_t)size, " %s", request->parts[i]);
    }
    size += snprintf(line + size, sizeof line - (size_t)size, "\n");
    write_line(actor, line, (size_t)size);
}

void actor_log_given(struct actor *actor, lk_outcome outcome, const lk_result *result,
                     const char *given) {
    char line[LINE_MAX_BYTES];
    int64_t now_us = actor_now_us();
    int size =
        snprintf(line, sizeof line, "answer %lu %" PRId64 " %s %" PRIu64 " %" PRIu64 " %d%s%s\n",
                 actor->calls, now_us, lk_outcome_name(outcome),
                 result != NULL ? result->ticket : 0, result != NULL ? result->token : 0,
                 result != NULL && result->created, given[0] != '\0' ? " " : "", given);
    write_line(actor, line, (size_t)size);
    actor->took_us = actor->called_us == 0 ? actor->took_us : now_us - actor->called_us;
    atomic_fetch_add(&actor->shared->answers, 1);
}

static void log_answer(struct actor *actor, lk_outcome outcome, const lk_result *result) {
    actor_log_given(actor, outcome, result, "");
}

void actor_log_line(const struct actor *actor, const char *line) {
    write_line(actor, line, strlen(line));
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct parts {
    char texts[PARTS_MAX][PART_MAX];
    const char *pointers[PARTS_MAX];
    size_t count;
};

struct play {
    struct actor *actor;
    enum belief beliefs[MENU_SIZE];
    struct parts asked[MENU_SIZE]; /* as last asked for */
    uint64_t tokens[MENU_SIZE];    /* of the last grant */
    unsigned count;                /* of those that are not NOTHING */
};

/* A part of the menu in a random mode; a pool's is mostly limited, its root mostly shared. */
static void choose_part(struct actor *actor, const char *path, char ret_text[PART_MAX]) {
    bool is_pool = strcmp(path, "pool/p") == 0;
    bool is_pools_root = strcmp(path, "pool") == 0;
    uint64_t dice = strcmp(path, "s") == 0 ? 0 : actor_draw(actor, 100);
    if (is_pool && dice < 85) {
        uint64_t units = 1 + actor_draw(actor, 2);
        snprintf(ret_text, PART_MAX, "%s?limit=%" PRIu64 "&units=%" PRIu64, path,
                 2 + actor_draw(actor, 3), units);
    } else if (dice < (is_pools_root ? 80u : 45u)) {
        snprintf(ret_text, PART_MAX, "%s?shared", path);
    } else {
        snprintf(ret_text, PART_MAX, "%s", path);
    }
}

static void choose_parts(struct actor *actor, size_t item, struct parts *ret_parts) {
    ret_parts->count = 0;
    for (size_t i = 0; i < PARTS_MAX && menu[item][i] != NULL; i++) {
        choose_part(actor, menu[item][i], ret_parts->texts[i]);
        ret_parts->pointers[i] = ret_parts->texts[i];
        ret_parts->count++;
    }
}

static lk_request make_request(struct actor *actor, const struct parts *parts) {
    lk_request request = lk_request_init(parts->pointers, parts->count);
    request.owner = actor->owner;
    bool is_long = actor->outlasts && actor_draw(actor, 2) == 0;
    int64_t slow_ms = actor->took_us / 1000;
    request.ttl_ms = TTL_MIN_MS
                     + (int64_t)actor_draw(actor, is_long ? LONG_TTL_SPREAD_MS : TTL_SPREAD_MS)
                     + (slow_ms < SLOW_TTL_MAX_MS ? slow_ms : SLOW_TTL_MAX_MS);
    return request;
}

static void believe(struct play *play, size_t item, enum belief belief) {
    play->count += (belief != NOTHING) - (unsigned)(play->beliefs[item] != NOTHING);
    play->beliefs[item] = belief;
}

/* Asks, in the modes of the last time or in new ones. */
static void ask(struct play *play, size_t item, bool new_modes) {
    struct actor *actor = play->actor;
    if (new_modes) {
        choose_parts(actor, item, &play->asked[item]);
    }
    lk_request request = make_request(actor, &play->asked[item]);
    lk_result *result = NULL;
    uint64_t style = actor_draw(actor, 3);
    request.style = (lk_style)style;
    request.wait_ms = (int64_t)actor_draw(actor, WAIT_MAX_MS);
    actor_log_call(actor, "ask", styles[style], &request);
    lk_outcome outcome = lk_ask(actor->store, &request, &result, NULL);
    log_answer(actor, outcome, result);
    if (outcome == LK_GRANTED) {
        play->tokens[item] = result->token;
    }
    lk_result_free(result);
    switch (outcome) {
    case LK_GRANTED:
        believe(play, item, HELD);
        break;
    case LK_WAITING:
        believe(play, item, WAITING);
        break;
    case LK_BUSY:
    case LK_TIMEOUT:
        break; /* as before */
    case LK_DEADLOCK:
        if (play->beliefs[item] == WAITING) {
            believe(play, item, NOTHING);
        }
        break;
    default:
        believe(play, item, NOTHING);
        break;
    }
}

/* By its token, or by its parts alone, which a request that waits has nothing but. */
static void renew_or_release(struct play *play, size_t item, bool renew) {
    struct actor *actor = play->actor;
    bool is_by_token = play->beliefs[item] == HELD && actor_draw(actor, 2) == 0;
    uint64_t token = is_by_token ? play->tokens[item] : 0;
    lk_request request = make_request(actor, &play->asked[item]);
    lk_result *result = NULL;
    lk_outcome outcome;
    actor_log_call(actor, renew ? "renew" : "release", "-", &request);
    if (renew) {
        outcome = lk_renew(actor->store, &request, token, &result, NULL);
    } else {
        outcome = lk_release(actor->store, &request, token, &result, NULL);
    }
    log_answer(actor, outcome, result);
    lk_result_free(result);
    if (!renew || outcome != LK_OK) {
        believe(play, item, NOTHING);
    }
}

/* An item to ask for. */
static size_t choose_item(struct actor *actor) {
    if (actor->outlasts && actor_draw(actor, 3) == 0) {
        return 0;
    }
    size_t last = actor->one_root ? OVER_TWO_ROOTS : 0;
    return ALWAYS_SHARED + actor_draw(actor, MENU_SIZE - ALWAYS_SHARED - last);
}

/* The item the actor has something of, from a random place on. */
static size_t choose_own(struct play *play) {
    size_t item = actor_draw(play->actor, MENU_SIZE);
    while (play->beliefs[item] == NOTHING) {
        item = (item + 1) % MENU_SIZE;
    }
    return item;
}

static void move(struct play *play) {
    struct actor *actor = play->actor;
    uint64_t dice = actor_draw(actor, 100);
    if (play->count == 0 || (play->count < actor->requests_max && dice < 30)) {
        ask(play, choose_item(actor), true);
        return;
    }
    size_t item = choose_own(play);
    if (play->beliefs[item] == WAITING) {
        if (dice < 90) {
            ask(play, item, dice < 10); /* a poll, sometimes a conversion */
        } else {
            renew_or_release(play, item, false);
        }
        return;
    }
    if (dice < 15) {
        renew_or_release(play, item, true);
    } else if (dice < 30) {
        ask(play, item, dice < 25); /* a conversion, or the same again */
    } else if (dice < 97) {
        renew_or_release(play, item, false);
    } else {
        believe(play, item, NOTHING); /* forgotten: it perishes */
    }
}

bool actor_goes_on(const struct actor *actor) {
    return actor_now_us() < atomic_load(&actor->shared->until_us)
           && (actor->stop == NULL || !atomic_load(actor->stop));
}

void actor_hold(struct actor *actor) {
    bool is_long = actor->outlasts && actor_draw(actor, 5) == 0;
    int64_t short_us = actor->took_us < HOLD_MAX_US ? HOLD_MAX_US : actor->took_us;
    int64_t most_us = is_long || short_us > LONG_HOLD_MAX_US ? LONG_HOLD_MAX_US : short_us;
    uint64_t hold_us = actor_draw(actor, (uint64_t)most_us);
    struct timespec work = {.tv_nsec = (long)hold_us * 1000};
    nanosleep(&work, NULL);
}

void actor_play(struct actor *actor) {
    struct play play = {.actor = actor};
    while (actor_goes_on(actor)) {
        move(&play);
        actor_hold(actor);
    }
}

lk_outcome actor_close(struct actor *actor, const char *path, int64_t wait_ms) {
    lk_request request = lk_request_init(&path, 1);
    lk_result *result = NULL;
    request.owner = actor->owner;
    request.ttl_ms = 60000;
    request.wait_ms = wait_ms;
    actor_log_call(actor, "ask", "wait", &request);
    lk_outcome outcome = lk_ask(actor->store, &request, &result, NULL);
    log_answer(actor, outcome, result);
    lk_result_free(result);
    return outcome;
}
