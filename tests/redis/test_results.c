/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items that are done and kept for a time (R16): what calls cost beside few and beside many of
 * them, in commands that the server counts; that nothing of them stays when their time is over; and
 * what a server keeps whose memory is full: test_results redis:///SOCKET
 */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../calls.h"
#include "engine/redis/redis.h"
#include "lock.h"

enum { FEW = 10, MANY = 10000, SERIES = LK_TAKES_MAX };
enum { MORE_MAX = 4 };                 /* the floor of draws is raised once a second */
enum { COMMANDS_OF_A_CALL_MAX = 600 }; /* of one that removes what is over */
#define HOUR_MS INT64_C(3600000)

static struct lk_engine *engine;
static redisContext *server;
static int case_number;
static bool is_right = true;

static void check(bool holds, const char *what) {
    (void)printf("%s %d - %s\n", holds ? "ok" : "not ok", ++case_number, what);
    is_right = is_right && holds;
}

static long long number_of(const char *command) {
    redisReply *reply = redisCommand(server, command);
    long long number;

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        lock_give_up(command, reply != NULL ? reply->str : server->errstr);
    }
    number = reply->integer;
    freeReplyObject(reply);
    return number;
}

/* ---- work ------------------------------------------------------------------------------------ */

static struct lk_path queue(void) {
    struct lk_path path;

    (void)lk_path_parse(lk_slice_of("q"), &path, NULL);
    return path;
}

static struct lk_command a_push(const char *id, int64_t keep_ms) {
    return (struct lk_command){
        .kind = LK_COMMAND_PUSH,
        .push = {.queue = queue(), .id = lk_slice_of(id), .keep_ms = keep_ms}};
}

static struct lk_command a_take(void) {
    return (struct lk_command){
        .kind = LK_COMMAND_TAKE,
        .take = {.queue = queue(), .owner = lk_slice_of("worker"), .ttl_ms = 24 * HOUR_MS}};
}

static struct lk_command a_finish(const char *id, enum lk_finish_kind kind, const char *text) {
    struct lk_command command = {
        .kind = LK_COMMAND_FINISH,
        .finish = {
            .queue = queue(), .id = lk_slice_of(id), .owner = lk_slice_of("worker"), .kind = kind}};

    if (kind == LK_FINISH_PROGRESS) {
        command.finish.progress = lk_slice_of(text);
    } else {
        command.finish.result = lk_slice_of(text);
    }
    return command;
}

static lk_outcome decide(struct lk_command command) {
    const struct lk_patience until = lock_patience();
    struct lk_decision decision;
    lk_outcome outcome = call_decide(engine, &command, &until, &decision);

    lk_decision_done(&decision);
    return outcome;
}

static void decide_as(struct lk_command command, lk_outcome expected) {
    lk_outcome outcome = decide(command);

    if (outcome != expected) {
        lock_give_up("an outcome", lk_outcome_name(outcome));
    }
}

/* Pushes, claims or ends several items, whose ids are numbers. */
static void decide_series(enum lk_command_kind kind, unsigned from, unsigned size) {
    static struct lk_command commands[SERIES];
    static struct lk_series_answer answers[SERIES];
    static char ids[SERIES][16];
    const struct lk_patience until = lock_patience();
    struct lk_series series = {.answers = answers};

    for (unsigned i = 0; i < size; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%u", from + i);
        commands[i] = kind == LK_COMMAND_PUSH   ? a_push(ids[i], HOUR_MS)
                      : kind == LK_COMMAND_TAKE ? a_take()
                                                : a_finish(ids[i], LK_FINISH_DONE, "result");
    }
    if (engine->ops->batches->decide_many(engine, commands, size, &until, &series) != LK_OK
        || series.count != size) {
        lock_give_up("a series", series.error.text);
    }
    lk_series_done(&series);
}

static void keep_done(unsigned from, unsigned to) {
    for (unsigned at = from; at < to; at += SERIES) {
        unsigned size = to - at < SERIES ? to - at : SERIES;

        decide_series(LK_COMMAND_PUSH, at, size);
        decide_series(LK_COMMAND_TAKE, at, size);
        decide_series(LK_COMMAND_FINISH, at, size);
    }
}

static lk_queue_stats stats(void) {
    const struct lk_patience until = lock_patience();
    const struct lk_path path = queue();
    lk_queue_stats counts;
    lk_error error;

    if (engine->ops->stats(engine, &path, LK_STATS_WHOLE, &until, &counts, &error) != LK_OK) {
        lock_give_up("stats", error.text);
    }
    return counts;
}

/* How many items a query about one of them tells. */
static size_t look_at(const char *id) {
    const struct lk_patience until = lock_patience();
    const struct lk_path path = queue();
    const struct lk_item_query query = {.queue = &path, .id = lk_slice_of(id)};
    lk_item_list *list = NULL;
    size_t count;
    lk_error error;

    if (engine->ops->items(engine, &query, &until, &list, &error) != LK_OK) {
        lock_give_up("items", error.text);
    }
    count = list->count;
    lk_item_list_free(list);
    return count;
}

/* ---- costs ----------------------------------------------------------------------------------- */

enum cost { PUSH, CLAIM, TELL, DONE, DUPLICATE, AGAIN, NOTHING, COUNTS, ONE, COSTS };

static const char *const cost_names[COSTS] = {
    [PUSH] = "a push",
    [CLAIM] = "a claim",
    [TELL] = "a progress",
    [DONE] = "a done that keeps the item",
    [DUPLICATE] = "a push of an item that is done",
    [AGAIN] = "one that makes another run of it, which is claimed and done",
    [NOTHING] = "a claim that finds nothing",
    [COUNTS] = "the counts",
    [ONE] = "a query about one of them",
};

static void measure(long long costs[COSTS]) {
    struct lk_command again = a_push("0", HOUR_MS);

    again.push.kind = LK_PUSH_AGAIN;
    for (int i = 0; i < COSTS; i++) {
        begin_count(server);
        if (i == PUSH) {
            decide_as(a_push("one", HOUR_MS), LK_OK);
        } else if (i == CLAIM) {
            decide_as(a_take(), LK_GRANTED);
        } else if (i == TELL) {
            decide_as(a_finish("one", LK_FINISH_PROGRESS, "half"), LK_OK);
        } else if (i == DONE) {
            decide_as(a_finish("one", LK_FINISH_DONE, "result"), LK_OK);
        } else if (i == DUPLICATE) {
            decide_as(a_push("1", HOUR_MS), LK_OK);
        } else if (i == AGAIN) {
            decide_as(again, LK_OK);
            decide_as(a_take(), LK_GRANTED);
            decide_as(a_finish("0", LK_FINISH_DONE, "more"), LK_OK);
        } else if (i == NOTHING) {
            decide_as(a_take(), LK_BUSY);
        } else if (i == COUNTS) {
            (void)stats();
        } else if (look_at("2") != 1) {
            lock_give_up("an item that is done", "is not there");
        }
        costs[i] = end_count(server).commands;
    }
    decide_as((struct lk_command){.kind = LK_COMMAND_DROP,
                                  .drop = {.queue = queue(), .id = lk_slice_of("one")}},
              LK_OK);
}

static void check_costs(void) {
    long long few[COSTS];
    long long many[COSTS];

    keep_done(0, FEW);
    measure(few);
    keep_done(FEW, MANY);
    measure(many);
    for (int i = 0; i < COSTS; i++) {
        (void)printf("# %lld commands beside %d, %lld beside %d\n", few[i], FEW, many[i], MANY);
        check(many[i] <= few[i] + MORE_MAX, cost_names[i]);
    }
    check(stats().done_now == MANY, "all of them are counted");
}

/* ---- when their time is over ----------------------------------------------------------------- */

static void check_end(void) {
    long long most = 0;
    long long left;
    int calls = 0;

    lk_redis_shift_clock(engine, 2 * HOUR_MS * 1000);
    check(stats().done_now == 0 && look_at("2") == 0, "they are not there any more");
    do {
        long long commands;

        begin_count(server);
        decide_as(calls % 2 == 0 ? a_take() : a_push("0", 0), calls % 2 == 0 ? LK_BUSY : LK_OK);
        decide_as((struct lk_command){.kind = LK_COMMAND_DROP,
                                      .drop = {.queue = queue(), .id = lk_slice_of("0")}},
                  calls % 2 == 0 ? LK_LOST : LK_OK);
        commands = end_count(server).commands / 2;
        most = commands > most ? commands : most;
        left = number_of("HLEN {q}:lk:i");
    } while (left > 1 && ++calls < MANY);
    (void)printf("# %d times two calls, of up to %lld commands\n", calls, most);
    check(most <= COMMANDS_OF_A_CALL_MAX, "some are removed with a call");
    check(left == 1 && number_of("ZCARD {q}:lk:q") == 1, "nothing of them stays");
}

/* ---- memory that is full --------------------------------------------------------------------- */

static void set_memory(const char *bytes) {
    redisReply *reply = redisCommand(server, "CONFIG SET maxmemory %s", bytes);

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        lock_give_up("maxmemory", reply != NULL ? reply->str : server->errstr);
    }
    freeReplyObject(reply);
}

static void check_full(void) {
    decide_as(a_push("kept", HOUR_MS), LK_OK);
    decide_as(a_push("plain", 0), LK_OK);
    decide_as(a_take(), LK_GRANTED);
    decide_as(a_take(), LK_GRANTED);
    set_memory("1");
    check(decide(a_finish("kept", LK_FINISH_PROGRESS, "half")) == LK_FULL,
          "a server whose memory is full keeps no progress");
    check(decide(a_finish("kept", LK_FINISH_DONE, "result")) == LK_FULL, "nor results");
    check(decide(a_finish("plain", LK_FINISH_DONE, "result")) == LK_OK,
          "other claims end, and their results are for no time");
    set_memory("0");
    check(decide(a_finish("kept", LK_FINISH_DONE, "result")) == LK_OK, "the claim is held on");

    set_memory("1");
    check(decide(a_push("next", 0)) == LK_FULL, "a push is refused");
    lk_redis_shift_clock(engine, 4 * HOUR_MS * 1000);
    check(decide(a_push("next", 0)) == LK_OK, "what is over makes room for it");
    set_memory("0");
}

int main(int argc, char **argv) {
    const struct lk_patience until = lock_patience();
    lk_error error;

    if (argc != 2 || strncmp(argv[1], "redis://", 8) != 0) {
        lock_give_up("usage", "test_results redis:///SOCKET");
    }
    if (lk_engine_redis.open(lk_slice_of(argv[1] + strlen("redis:")), &until, &engine, &error)
        != LK_OK) {
        lock_give_up(argv[1], error.text);
    }
    server = redisConnectUnix(argv[1] + strlen("redis://"));
    if (server == NULL || server->err != 0) {
        lock_give_up(argv[1], "no connection");
    }
    (void)printf("1..%d\n", COSTS + 10);
    check_costs();
    check_end();
    check_full();
    redisFree(server);
    engine->ops->close(engine);
    return is_right ? 0 : 1;
}
