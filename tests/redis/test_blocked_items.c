/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items that are not free (R16), because their needs or they themselves are locked, or because a
 * parked item is the head of a strict need, stand before others: a claim passes over them, however
 * many they are and under however many roots, and costs the same beside few and beside many, in
 * commands that the server counts. A worker that found only such items is told when what blocks
 * them ends: test_blocked_items redis:///SOCKET
 */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "engine/redis/redis.h"
#include "lock.h"

enum { FEW = 10, MANY = 10010, SEVERAL = 1200, SERIES = 500 };
/* The floor of draws is raised once a second. Of the few roots that a claim looks at without being
 * told to, some may be those that it is told to look at, which are few beside few. */
enum { MORE_MAX = 40 };
enum { COMMANDS_OF_A_CALL_MAX = 4000 };
#define TTL_MS INT64_C(3600000)

static struct lk_engine *engine;
static redisContext *server;
static int case_number;
static bool is_right = true;

static void check(bool holds, const char *what, const char *of) {
    (void)printf("%s %d - %s: %s\n", holds ? "ok" : "not ok", ++case_number, of, what);
    is_right = is_right && holds;
}

/* ---- blocked items --------------------------------------------------------------------------- */

/* What the items need, and what blocks it. @: the queue's name; #: the item's number. */
struct kind {
    const char *name;
    const char *needs[2];
    const char *lock; /* NULL: a parked item with the same needs */
    unsigned many;
    bool is_lock_of_each; /* else there is one */
};

static const struct kind kinds[] = {
    {"one need that is taken", {"one@/a"}, "one@/a", MANY, false},
    {"a need of each, below a lock", {"below@/#"}, "below@", SEVERAL, false},
    {"a need of each, and a limit", {"of@/#", "full@?limit=1"}, "full@?limit=1", SEVERAL, false},
    {"a need of each that is taken", {"each@/#"}, "each@/#", SEVERAL, true},
    {"a need of each, under a root of its own", {"root@-#/a"}, "root@-#/a", SEVERAL, true},
    {"each is locked itself", {NULL}, "@/#", SEVERAL, true},
    {"each that needs something is locked itself", {"some@/#"}, "@/#", SEVERAL, true},
    {"one strict need", {"strict@/a?strict"}, NULL, MANY, false},
    {"one strict need, and a need of each", {"head@/a?strict", "head@/b/#"}, NULL, SEVERAL, false},
    {"a strict need of each", {"heads@/#?strict"}, NULL, SEVERAL, true},
};

static void make_part(const char *format, const char *name, unsigned number, char text[LOCK_BYTES],
                      struct lk_part *ret_part) {
    size_t size = 0;
    lk_error error;

    for (; *format != '\0'; format++) {
        if (*format == '@') {
            size += (size_t)snprintf(text + size, LOCK_BYTES - size, "%s", name);
        } else if (*format == '#') {
            size += (size_t)snprintf(text + size, LOCK_BYTES - size, "%u", number);
        } else {
            text[size++] = *format;
        }
    }
    text[size] = '\0';
    if (lk_need_parse(lk_slice_of(text), ret_part, &error) != LK_OK) {
        lock_give_up(text, error.text);
    }
}

static void set_lock(const struct kind *kind, const char *name, unsigned number,
                     struct lock *lock) {
    lock_init(lock, "%u/%u", 0, number);
    make_part(kind->lock, name, number, lock->text, &lock->part);
}

static struct lk_path path_of(const char *text) {
    struct lk_path path;

    (void)lk_path_parse(lk_slice_of(text), &path, NULL);
    return path;
}

/* Pushes items with the needs of the kind, some at a time. Their ids are the word and a number. */
static void push_items(const struct kind *kind, const char *name, const char *word,
                       unsigned count) {
    static struct lk_command commands[SERIES];
    static struct lk_part parts[SERIES][2];
    static char texts[SERIES][2][LOCK_BYTES];
    static char ids[SERIES][32];
    static struct lk_series_answer answers[SERIES];
    const struct lk_patience until = lock_patience();
    struct lk_series series = {.answers = answers};

    for (unsigned from = 0; from < count; from += SERIES) {
        unsigned size = count - from < SERIES ? count - from : SERIES;

        for (unsigned i = 0; i < size; i++) {
            struct lk_command *command = &commands[i];

            (void)snprintf(ids[i], sizeof ids[i], "%s%u", word, from + i);
            *command = (struct lk_command){
                .kind = LK_COMMAND_PUSH,
                .push = {.queue = path_of(name), .id = lk_slice_of(ids[i]), .needs = parts[i]}};
            for (size_t n = 0; n < 2 && kind->needs[n] != NULL; n++) {
                make_part(kind->needs[n], name, from + i, texts[i][n], &parts[i][n]);
                command->push.need_count++;
            }
        }
        if (engine->ops->batches->decide_many(engine, commands, size, &until, &series) != LK_OK) {
            lock_give_up(name, series.error.text);
        }
        lk_series_done(&series);
    }
}

/* ---- claims ---------------------------------------------------------------------------------- */

static long long claim(const char *queue, const char *expected) {
    const struct lk_patience until = lock_patience();
    const struct lk_take take = {
        .queue = path_of(queue), .owner = lk_slice_of("worker"), .ttl_ms = TTL_MS};
    struct pending_call pending;
    lk_claim_info *claimed = NULL;
    long long commands;
    lk_outcome outcome;
    lk_error error;

    begin_count(server);
    outcome = call_take(engine, &take, &until, &claimed, &pending, &error);
    commands = end_count(server).commands;
    if (outcome != (expected != NULL ? LK_GRANTED : LK_BUSY)
        || (expected != NULL && strcmp(claimed->id, expected) != 0)) {
        (void)printf("# %s: %s, not %s\n", queue, claimed != NULL ? claimed->id : error.text,
                     expected != NULL ? expected : "nothing");
        check(false, "the claim", queue);
    }
    lk_claim_free(claimed);
    return commands;
}

static void push_free(const char *queue, const char *id) {
    const struct lk_patience until = lock_patience();
    bool is_added;
    lk_error error;

    if (call_push(engine, &(struct lk_push){.queue = path_of(queue), .id = lk_slice_of(id)}, &until,
                  &is_added, &error)
        != LK_OK) {
        lock_give_up(queue, error.text);
    }
}

/* The worker parks the item, or an administrator drops it. */
static void end_item(const char *queue, const char *id, bool is_drop) {
    const struct lk_patience until = lock_patience();
    const struct lk_command park = {.kind = LK_COMMAND_FINISH,
                                    .finish = {.queue = path_of(queue),
                                               .id = lk_slice_of(id),
                                               .owner = lk_slice_of("worker"),
                                               .kind = LK_FINISH_RETRY,
                                               .parks = true}};
    const struct lk_command drop = {.kind = LK_COMMAND_DROP,
                                    .drop = {.queue = path_of(queue), .id = lk_slice_of(id)}};
    lk_error error;

    if (call_for_outcome(engine, is_drop ? &drop : &park, &until, &error) != LK_OK) {
        lock_give_up(queue, error.text);
    }
}

enum cost { NOTHING, BEHIND, RELEASE, NEXT, COSTS };

static const char *const cost_names[COSTS] = {
    [NOTHING] = "a claim that finds nothing",
    [BEHIND] = "a claim of the item behind all of them",
    [RELEASE] = "the end of what blocks them",
    [NEXT] = "the claim of the first of them",
};

static void set_locks(const struct kind *kind, const char *name, unsigned count,
                      struct lock *ret_first) {
    struct lock lock;

    for (unsigned i = 0; i < count; i++) {
        set_lock(kind, name, i, &lock);
        lock_ask(engine, &lock, LK_TRY, TTL_MS, LK_GRANTED);
        if (i == 0) {
            *ret_first = lock;
        }
    }
    ret_first->part.path.bytes = ret_first->text;
}

static void park_items(const struct kind *kind, const char *name, unsigned count) {
    char id[32];

    push_items(kind, name, "parked", count);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "parked%u", i);
        (void)claim(name, id);
        end_item(name, id, false);
    }
}

/* Locks what the items need, or themselves, or lets others begin before them, and pushes them. */
static void block(const struct kind *kind, const char *name, unsigned count,
                  struct lock *ret_first) {
    const unsigned blockers = kind->is_lock_of_each ? count : 1;

    if (kind->lock != NULL) {
        set_locks(kind, name, blockers, ret_first);
    } else {
        park_items(kind, name, blockers);
    }
    push_items(kind, name, "", count);
    (void)claim(name, NULL); /* it finds out what blocks each */
}

static void unblock(const struct kind *kind, const char *name, const struct lock *first) {
    if (kind->lock != NULL) {
        lock_release(engine, first);
    } else {
        end_item(name, "parked0", true);
    }
}

static void measure(const struct kind *kind, unsigned count, long long costs[COSTS]) {
    struct lock first;
    char name[16];

    (void)snprintf(name, sizeof name, "q%u", count);
    block(kind, name, count, &first);
    costs[NOTHING] = claim(name, NULL);
    push_free(name, "free");
    costs[BEHIND] = claim(name, "free");

    begin_count(server);
    unblock(kind, name, &first);
    costs[RELEASE] = end_count(server).commands;
    costs[NEXT] = claim(name, "0");
    freeReplyObject(redisCommand(server, "FLUSHALL"));
}

static void check_costs(const struct kind *kind) {
    long long few[COSTS];
    long long many[COSTS];

    measure(kind, FEW, few);
    measure(kind, kind->many, many);
    for (int i = 0; i < COSTS; i++) {
        (void)printf("# %lld commands beside %d, %lld beside %u\n", few[i], FEW, many[i],
                     kind->many);
        check(many[i] <= few[i] + MORE_MAX, cost_names[i], kind->name);
    }
}

/* What is noted of many lists under one root is lost: each call checks some of them. */
static void check_loss(void) {
    const struct kind *kind = &kinds[3];
    struct lock first;
    struct counted counted;

    block(kind, "lost", SEVERAL, &first);
    freeReplyObject(redisCommand(server, "DEL {eachlost}:lk:b"));
    begin_count(server);
    (void)claim("lost", NULL);
    counted = end_count(server);
    (void)printf("# %lld calls of %lld commands each\n", counted.calls,
                 counted.commands / counted.calls);
    check(counted.calls > 1 && counted.commands / counted.calls <= COMMANDS_OF_A_CALL_MAX,
          "each call has a bound", "what was noted is lost");
    check(claim("lost", NULL) <= COMMANDS_OF_A_CALL_MAX / 100, "then it is known again",
          "what was noted is lost");
    lock_release(engine, &first);
    (void)claim("lost", "0");
    freeReplyObject(redisCommand(server, "FLUSHALL"));
}

static void ask_again(const struct kind *kind, const char *name, unsigned number, int64_t ttl_ms) {
    struct lock lock;

    set_lock(kind, name, number, &lock);
    lock_ask(engine, &lock, LK_TRY, ttl_ms, LK_GRANTED);
}

/* Leases that block items under roots of their own end by deadlines that have come nearer. */
static void check_deadlines(void) {
    const struct kind *kind = &kinds[4];
    struct lock first;

    block(kind, "due", SEVERAL, &first);
    ask_again(kind, "due", 600, 10000);
    ask_again(kind, "due", 300, 20000);
    (void)claim("due", NULL);
    lk_redis_shift_clock(engine, 11000000);
    (void)claim("due", "600");
    (void)claim("due", NULL);
    lk_redis_shift_clock(engine, 10000000);
    (void)claim("due", "300");
    (void)claim("due", NULL);
    check(true, "each is claimed then", "a deadline has come nearer");
    freeReplyObject(redisCommand(server, "FLUSHALL"));
}

/* A worker that found only blocked items is told of the end of what blocks them, of no other. */
static void check_messages(void) {
    struct lock blocking;
    struct lock other;

    set_lock(&kinds[0], "told", 0, &blocking);
    lock_ask(engine, &blocking, LK_TRY, TTL_MS, LK_GRANTED);
    lock_init(&other, "onetold/other", 0, 1);
    lock_ask(engine, &other, LK_TRY, TTL_MS, LK_GRANTED);
    push_items(&kinds[0], "told", "", FEW);
    (void)claim("told", NULL);
    begin_count(server);
    lock_release(engine, &other);
    check(end_count(server).messages == 0, "another lock under its root ends", "a worker sleeps");
    begin_count(server);
    lock_release(engine, &blocking);
    check(end_count(server).messages == 1, "what blocks its items ends", "a worker sleeps");
}

/* A worker that found only items behind another one is told when that one is gone. */
static void check_head_messages(void) {
    const struct kind *kind = &kinds[7];
    struct lock unused;

    block(kind, "head", FEW, &unused);
    begin_count(server);
    end_item("head", "1", true);
    check(end_count(server).messages == 0, "one of those behind it is dropped", "a worker sleeps");
    begin_count(server);
    unblock(kind, "head", &unused);
    check(end_count(server).messages == 1, "the one before them is dropped", "a worker sleeps");
}

int main(int argc, char **argv) {
    const struct lk_patience until = lock_patience();
    lk_error error;

    if (argc != 2 || strncmp(argv[1], "redis://", 8) != 0) {
        lock_give_up("usage", "test_blocked_items redis:///SOCKET");
    }
    if (lk_engine_redis.open(lk_slice_of(argv[1] + strlen("redis:")), &until, &engine, &error)
        != LK_OK) {
        lock_give_up(argv[1], error.text);
    }
    server = redisConnectUnix(argv[1] + strlen("redis://"));
    if (server == NULL || server->err != 0) {
        lock_give_up(argv[1], "no connection");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        check_costs(&kinds[i]);
    }
    check_messages();
    check_head_messages();
    check_loss();
    check_deadlines();
    (void)printf("1..%d\n", case_number);
    redisFree(server);
    engine->ops->close(engine);
    return is_right ? 0 : 1;
}
