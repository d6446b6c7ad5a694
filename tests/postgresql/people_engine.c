/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions around the calls, and the engine that decides by them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/postgresql/postgresql.h"
#include "engine/reply/reply.h"
#include "people.h"

enum { ALONE, SHARED, DECOYS, LEFT }; /* what is counted */

struct people_engine {
    struct lk_engine engine;
    struct lk_engine *real;
    struct people *people;
};

static struct people_engine *of(struct lk_engine *engine) {
    return (struct people_engine *)(void *)engine;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Something else, which is rolled back. */
static void play_decoy(struct people *people, const struct lk_path *path) {
    static const char *const decoys[] = {
        "SELECT lockkeeper.break($1, 'a decoy', now => true)",
        "SELECT lockkeeper.acquire($1, 'decoy', style => 'queue', ttl => '50 ms')",
        "SELECT lockkeeper.acquire($1 || '?limit=9', 'decoy')",
        "SELECT lockkeeper.push($1, 'decoy', priority => 9)",
        "SELECT * FROM lockkeeper.claim($1, 4, 'decoy')",
        "SELECT lockkeeper.put($1, 'decoy', or_fail => false)",
        "SELECT lockkeeper.acquire($1 || '/ ', 'decoy')",
        "SELECT lockkeeper.done($1, 'decoy', 'decoy')"};
    struct call call = {.count = 0};
    lk_error error;

    call_add_path(&call, path);
    for (int i = (int)lk_random_between(&people->random, 1, 3); i > 0; i--) {
        PQclear(sql_ask(
            people,
            decoys[lk_random_between(&people->random, 0, sizeof decoys / sizeof decoys[0] - 1)],
            &call, &error));
    }
    people->counts[DECOYS]++;
}

/* Into a transaction, with something in it or before it that does not count. */
static void begin(struct people *people, const struct lk_path *path) {
    if (!people->is_open && people_chance(people, 25)) {
        sql_must(people, "BEGIN");
        people->is_open = true;
        play_decoy(people, path);
        sql_must(people, "ROLLBACK");
        people->is_open = false;
    }
    if (!people->is_open) {
        sql_must(people, "BEGIN");
        people->is_open = true;
    }
    if (people_chance(people, 30)) {
        sql_must(people, "SAVEPOINT decoy");
        play_decoy(people, path);
        sql_must(people, "ROLLBACK TO decoy");
    }
}

static void end(struct people *people) {
    if (people_chance(people, 50)) {
        people->counts[ALONE]++;
        people_commit(people);
    } else {
        people->counts[SHARED]++;
    }
}

static const struct lk_path *path_of(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return &command->ask.parts[0].path;
    case LK_COMMAND_RENEW:
        return &command->renew.target.parts[0].path;
    case LK_COMMAND_RELEASE:
        return &command->release.target.parts[0].path;
    case LK_COMMAND_BREAK:
        return &command->broken.path;
    case LK_COMMAND_PUT:
        return &command->put.path;
    default:
        return lk_command_queue(command);
    }
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct lk_engine *real = of(engine)->real;
    struct people *people = of(engine)->people;
    lk_outcome outcome;

    if (command->kind == LK_COMMAND_FINISH && command->finish.failure.text.size > 0) {
        people_commit(people); /* it is no text */
        people->counts[LEFT]++;
        return real->ops->decide(real, command, patience, ret_decision);
    }
    lk_decision_begin(ret_decision, command);
    begin(people, path_of(command));
    outcome = command->kind == LK_COMMAND_TAKE ? people_take(people, &command->take, ret_decision)
                                               : people_decide(people, command, ret_decision);
    if (outcome == LK_FULL && command->kind == LK_COMMAND_TAKE) {
        /* An error, so that nothing of it stays; the event of a refusal is part of the answer. */
        people_commit(people);
        lk_decision_done(ret_decision);
        return real->ops->decide(real, command, patience, ret_decision);
    }
    end(people);
    return lk_decision_end(ret_decision, outcome);
}

/* ---- series ---------------------------------------------------------------------------------- */

/* One token, one owner, one result. */
static bool is_of_one_token(const struct lk_command *commands, size_t count) {
    bool is_one = true;

    for (size_t i = 1; i < count; i++) {
        is_one = is_one && commands[i].finish.token == commands[0].finish.token
                 && lk_slice_equal(commands[i].finish.owner, commands[0].finish.owner)
                 && lk_slice_equal(commands[i].finish.result, commands[0].finish.result)
                 && commands[i].finish.keep_ms == commands[0].finish.keep_ms;
    }
    return is_one;
}

static void add_answer(struct lk_series *series, lk_outcome outcome) {
    series->answers[series->count++] = (struct lk_series_answer){.outcome = outcome};
}

static void take_many(struct people *people, const struct lk_command *commands, size_t count,
                      struct lk_series *series) {
    PGresult *rows = people_claim_all(people, &commands[0].take, count, &series->error);

    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        add_answer(series, LK_GRANTED);
        series->answers[i].claim = people_claim_of(rows, i, &commands[i].take);
    }
    if (rows != NULL && series->count < count) {
        add_answer(series, series->error.outcome);
    }
    PQclear(rows);
}

static void push_many(struct people *people, const struct lk_command *commands, size_t count,
                      struct lk_series *series) {
    PGresult *rows = people_push_all(people, commands, count, &series->error);

    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        add_answer(series, LK_OK);
        series->answers[i].pushed = people_pushed(rows, i, commands[0].push.kind);
    }
    PQclear(rows);
}

static void finish_many(struct people *people, const struct lk_command *commands, size_t count,
                        struct lk_series *series) {
    const struct lk_finish *first = &commands[0].finish;
    struct call call = {.count = 0};
    PGresult *rows;

    call_add_path(&call, &first->queue);
    call_add_text(&call, first->owner);
    call_add_number(&call, (int64_t)first->token, "");
    call_add(&call)[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(call.texts[3] + strlen(call.texts[3]), 300, "%s%.*s", i > 0 ? " " : "",
                       (int)commands[i].finish.id.size, commands[i].finish.id.bytes);
    }
    call_add_text(&call, first->result);
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%zu", count);
    call_add_number(&call, first->keep_ms, " ms");
    rows = sql_ask(people,
                   "SELECT unnest(lockkeeper.done($1, string_to_array($4, ' '), $2, $3, false,"
                   " results => CASE WHEN $5::text IS NOT NULL THEN"
                   "  array_fill(convert_to($5::text, 'UTF8'), ARRAY[$6::integer]) END,"
                   " keep => $7))",
                   &call, &series->error);
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        add_answer(series, outcome_of(PQgetvalue(rows, i, 0)));
        if (series->answers[i].outcome
            == LK_LOST) { /* the sentence of the last one alone is kept */
            (void)lk_error_set(&series->error, LK_OK, "%s",
                               "R16: the item is not claimed by this owner (any more)");
        }
    }
    PQclear(rows);
}

static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    struct lk_engine *real = of(engine)->real;
    struct people *people = of(engine)->people;
    enum lk_command_kind kind = commands[0].kind;

    if ((kind != LK_COMMAND_TAKE && kind != LK_COMMAND_PUSH
         && (kind != LK_COMMAND_FINISH || !is_of_one_token(commands, count)))) {
        people_commit(people);
        people->counts[LEFT]++;
        return real->ops->batches->decide_many(real, commands, count, patience, series);
    }
    series->commands = commands;
    series->command_count = count;
    series->count = 0;
    (void)lk_error_clear(&series->error, LK_OK);
    begin(people, path_of(commands));
    if (kind == LK_COMMAND_TAKE) {
        take_many(people, commands, count, series);
    } else if (kind == LK_COMMAND_PUSH) {
        push_many(people, commands, count, series);
    } else {
        finish_many(people, commands, count, series);
    }
    if (series->error.outcome == LK_FULL && series->count == 0) {
        people_commit(people);
        return real->ops->batches->decide_many(real, commands, count, patience, series);
    }
    end(people);
    if (series->error.outcome != LK_INVALID) { /* a refusal is an answer, and not the series' own */
        series->error.outcome = LK_OK;
    }
    return series->error.outcome;
}

/* ---- what lists the store -------------------------------------------------------------------- */

/* The library's engine, for which all is committed. */
static struct lk_engine *committed(struct lk_engine *engine) {
    people_commit(of(engine)->people);
    return of(engine)->real;
}

static lk_outcome list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->list(real, prefix, patience, ret_listing, error);
}

static lk_outcome show(struct lk_engine *engine, const struct lk_path *path,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->show(real, path, patience, ret_listing, error);
}

static lk_outcome value_get(struct lk_engine *engine, const struct lk_path *path,
                            const struct lk_patience *patience, lk_value **ret_value,
                            lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->value_get(real, path, patience, ret_value, error);
}

static lk_outcome values(struct lk_engine *engine, const struct lk_value_query *query,
                         const struct lk_patience *patience, lk_value_list **ret_list,
                         lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->values(real, query, patience, ret_list, error);
}

static lk_outcome items(struct lk_engine *engine, const struct lk_item_query *query,
                        const struct lk_patience *patience, lk_item_list **ret_list,
                        lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->items(real, query, patience, ret_list, error);
}

static lk_outcome stats(struct lk_engine *engine, const struct lk_path *queue,
                        enum lk_stats_depth depth, const struct lk_patience *patience,
                        lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->stats(real, queue, depth, patience, ret_stats, error);
}

static lk_outcome parked(struct lk_engine *engine, const struct lk_parked_query *query,
                         const struct lk_patience *patience, lk_item_list **ret_list,
                         uint64_t *ret_reached, lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->batches->parked(real, query, patience, ret_list, ret_reached, error);
}

static lk_outcome queues(struct lk_engine *engine, const struct lk_queue_query *query,
                         const struct lk_patience *patience, lk_queue_list **ret_list,
                         bool *ret_has_more, lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->batches->queues(real, query, patience, ret_list, ret_has_more, error);
}

static lk_outcome read_events(struct lk_engine *engine, const struct lk_event_query *query,
                              const struct lk_patience *patience, struct lk_event_page **ret_page,
                              lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->events->read(real, query, patience, ret_page, error);
}

static lk_outcome set_limits(struct lk_engine *engine, const lk_limits *limits,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_engine *real = committed(engine);

    return real->ops->limits->set(real, limits, patience, error);
}

static void close_both(struct lk_engine *engine) {
    struct lk_engine *real = committed(engine);

    real->ops->close(real);
    free(engine);
}

struct lk_engine *people_engine_open(struct people *people, struct lk_engine *real) {
    static const struct lk_event_ops events = {.read = read_events};
    static const struct lk_limit_ops limits = {.set = set_limits};
    static const struct lk_batch_ops batches = {
        .decide_many = decide_many, .parked = parked, .queues = queues};
    static struct lk_engine_ops ops;
    struct people_engine *engine = calloc(1, sizeof *engine);

    if (engine == NULL) {
        test_die("no memory for an engine");
    }
    ops = lk_engine_postgresql;
    ops.decide = decide;
    ops.list = list;
    ops.show = show;
    ops.value_get = value_get;
    ops.values = values;
    ops.items = items;
    ops.stats = stats;
    ops.events = &events;
    ops.limits = &limits;
    ops.batches = &batches;
    ops.close = close_both;
    *engine = (struct people_engine){.engine = {.ops = &ops}, .real = real, .people = people};
    return &engine->engine;
}
