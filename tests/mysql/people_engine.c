/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as calls of the procedures for people, and their rows as decisions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/mysql.h"
#include "engine/reply/reply.h"
#include "people.h"

enum { ALONE, INSIDE, DECOYS, LEFT };

static struct people *people;

/* ---- asks ------------------------------------------------------------------------------------ */

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The identity of a request (R3), as SQL. */
static void add_identity(const struct lk_ask *asked) {
    char *paths[LK_PARTS_MAX];

    for (size_t i = 0; i < asked->part_count; i++) {
        paths[i] =
            lk_text_copy((struct lk_slice){asked->parts[i].path.bytes, asked->parts[i].path.size});
    }
    qsort(paths, asked->part_count, sizeof paths[0], compare_paths);
    sql_add("UNHEX(SHA2(CONCAT('");
    for (size_t i = 0; i < asked->part_count; i++) {
        sql_add("%s%s", i > 0 ? " " : "", paths[i]);
        free(paths[i]);
    }
    sql_add("\\n', ");
    sql_add_text(asked->owner);
    sql_add("), 256))");
}

/* The request as the store has it: its state; and that it lives. */
static MYSQL_RES *read_request(const struct lk_ask *asked) {
    lk_error error;

    sql_add("SELECT r.ticket, r.token, r.ttl_ms, r.fixed, r.deadline_us - " NOW " AS left_us,"
            " FROM_UNIXTIME(r.deadline_us * 0.000001) AS expires"
            " FROM lk_requests AS r WHERE r.part = 1 AND r.deadline_us > " NOW
            " AND r.identity = ");
    add_identity(asked);
    return sql_run(&error);
}

static void fill_state(MYSQL_RES *rows, lk_result *result) {
    result->ticket = (uint64_t)number_at(rows, 0, "ticket");
    result->token = (uint64_t)number_at(rows, 0, "token");
    result->ttl_ms = number_at(rows, 0, "ttl_ms");
    result->fixed = number_at(rows, 0, "fixed") != 0;
    result->expires_in_ms = number_at(rows, 0, "left_us") / 1000;
}

static void fill_blockers(const char *blockers, size_t most, lk_result *result) {
    MYSQL_RES *rows;
    lk_error error;
    size_t count;

    for (count = 0; blockers != NULL && count < most; count++) {
        static const char *const names[] = {"path", "owner", "note", "ticket", "state"};
        lk_blocker_info *info;
        sql_add(
            "SELECT GREATEST(0, CAST(UNIX_TIMESTAMP(JSON_VALUE(j.b, '$[%zu].expires')) * 1000000"
            " AS SIGNED) - " NOW ") AS left_us",
            count);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            sql_add(", JSON_VALUE(j.b, '$[%zu].%s') AS %s", count, names[i], names[i]);
        }
        sql_add(" FROM (SELECT ");
        sql_add_text(lk_slice_of(blockers));
        sql_add(" AS b) AS j");
        rows = sql_run(&error);
        if (text_at(rows, 0, "path") == NULL) {
            mysql_free_result(rows);
            break;
        }
        result->blockers =
            result->blockers != NULL ? result->blockers : calloc(most, sizeof *result->blockers);
        info = &result->blockers[result->blocker_count++];
        info->path = lk_text_copy(bytes_at(rows, 0, "path"));
        info->owner = lk_text_copy(bytes_at(rows, 0, "owner"));
        info->note =
            bytes_at(rows, 0, "note").size > 0 ? lk_text_copy(bytes_at(rows, 0, "note")) : NULL;
        info->ticket = (uint64_t)number_at(rows, 0, "ticket");
        info->held = strcmp(text_at(rows, 0, "state"), "held") == 0;
        info->expires_in_ms = number_at(rows, 0, "left_us") / 1000;
        mysql_free_result(rows);
    }
}

/* Its first owner, who is enough. */
static void fill_cycle(const char *cycle, lk_result *result) {
    MYSQL_RES *rows;
    lk_error error;

    if (cycle == NULL) {
        return;
    }
    sql_add("SELECT JSON_VALUE(");
    sql_add_text(lk_slice_of(cycle));
    sql_add(", '$[0]') AS owner");
    rows = sql_run(&error);
    result->cycle = calloc(1, sizeof *result->cycle);
    result->cycle[0] = lk_text_copy(bytes_at(rows, 0, "owner"));
    result->cycle_count = 1;
    mysql_free_result(rows);
}

/* R15: of the first path with the answer, of the others by lk_value_get() under the same lock. */
static void fill_values(MYSQL_RES *rows, const struct lk_ask *asked, lk_result *result) {
    lk_error error;

    (void)lk_result_hold_values(result, asked->part_count);
    for (size_t i = 0; i < asked->part_count; i++) {
        MYSQL_RES *own = NULL;
        if (i > 0) {
            sql_add("CALL lk_value_get(");
            sql_add_text((struct lk_slice){asked->parts[i].path.bytes, asked->parts[i].path.size});
            sql_add(")");
            own = sql_run(&error);
        }
        if ((own == NULL || mysql_num_rows(own) > 0)
            && text_at(own != NULL ? own : rows, 0, "value") != NULL) {
            (void)lk_result_set_value(result, i, bytes_at(own != NULL ? own : rows, 0, "value"),
                                      number_at(own != NULL ? own : rows, 0, "in_doubt") != 0);
        }
        mysql_free_result(own);
    }
}

static MYSQL_RES *call_acquire(const struct lk_ask *asked, lk_error *error) {
    sql_add("CALL lk_lock_acquire(");
    sql_add_parts(asked->parts, asked->part_count, true);
    sql_add(", ");
    sql_add_text(asked->owner);
    sql_add(
        ", JSON_OBJECT('style', '%s', 'with_value', JSON_EXTRACT('[%s]', '$[0]'), 'or_fail', NULL",
        asked->style == LK_TRY ? "try" : "queue", asked->wants_value ? "true" : "false");
    if (asked->note_given) {
        sql_add(", 'note', COALESCE(");
        sql_add_text(asked->note);
        sql_add(", '')");
    }
    if (asked->until_us != 0) {
        sql_add(", 'until', CONCAT('', FROM_UNIXTIME(%lld * 0.000001))",
                (long long)asked->until_us);
    } else if (asked->ttl_ms != 0) {
        sql_add(", 'ttl', %lld.%03lld", (long long)asked->ttl_ms / 1000,
                (long long)asked->ttl_ms % 1000);
    }
    sql_add("))");
    return sql_run(error);
}

static lk_outcome decide_ask(const struct lk_ask *asked, struct lk_decision *decision) {
    lk_result *result = &decision->result;
    MYSQL_RES *rows = read_request(asked);
    bool was_there = mysql_num_rows(rows) > 0;
    lk_outcome outcome;

    mysql_free_result(rows);
    rows = call_acquire(asked, &decision->error);
    if (rows == NULL) {
        return decision->error.outcome;
    }
    outcome = outcome_at(rows, 0);
    (void)lk_error_set(&decision->error, outcome, "%s",
                       outcome == LK_LOST || outcome == LK_FULL ? text_at(rows, 0, "reason") : "");
    result->in_use = (uint64_t)number_at(rows, 0, "in_use");
    result->position = asked->blockers_max > 0 ? (size_t)number_at(rows, 0, "ahead") : 0;
    result->created = (outcome == LK_GRANTED || outcome == LK_WAITING) && !was_there;
    result->expires_in_ms = -1;
    if (text_at(rows, 0, "expires") != NULL) {
        MYSQL_RES *self = read_request(asked);
        if (mysql_num_rows(self) != 1
            || number_at(self, 0, "ticket") != number_at(rows, 0, "ticket")
            || number_at(self, 0, "token") != number_at(rows, 0, "token")
            || strcmp(text_at(self, 0, "expires"), text_at(rows, 0, "expires")) != 0) {
            test_die("no request is as the answer says");
        }
        fill_state(self, result);
        mysql_free_result(self);
    }
    fill_blockers(text_at(rows, 0, "blockers"), asked->blockers_max, result);
    fill_cycle(text_at(rows, 0, "cycle"), result);
    if (outcome == LK_GRANTED && asked->wants_value) {
        fill_values(rows, asked, result);
    }
    mysql_free_result(rows);
    return outcome;
}

/* ---- what answers an outcome ----------------------------------------------------------------- */

static lk_outcome decide_end(struct lk_decision *decision) {
    MYSQL_RES *rows = sql_run_end("", &decision->error);
    lk_outcome outcome = rows != NULL ? outcome_at(rows, 0) : LK_INVALID;

    mysql_free_result(rows);
    return outcome;
}

static void add_target(const struct lk_target *target) {
    sql_add_parts(target->parts, target->part_count, false);
    sql_add(", ");
    sql_add_owner(target->owner, &target->parts[0].path, target->token);
    sql_add(", ");
    sql_add_token(target->token);
}

static lk_outcome decide_renew(const struct lk_renew *renew, struct lk_decision *decision) {
    char options[64] = "";
    MYSQL_RES *rows;
    MYSQL_RES *self;
    lk_outcome outcome;
    lk_error error;

    if (renew->ttl_ms != 0) {
        (void)snprintf(options, sizeof options, ", 'ttl', %lld.%03lld",
                       (long long)renew->ttl_ms / 1000, (long long)renew->ttl_ms % 1000);
    }
    sql_add("CALL lk_lock_renew(");
    add_target(&renew->target);
    decision->result.expires_in_ms = -1;
    rows = sql_run_end(options, &decision->error);
    outcome = rows != NULL ? outcome_at(rows, 0) : LK_INVALID;
    if (outcome == LK_OK) {
        sql_add("SELECT r.ticket, r.token, r.ttl_ms, r.fixed, r.deadline_us - " NOW " AS left_us"
                " FROM lk_requests AS r WHERE r.held AND r.token = %lld AND r.path = ",
                (long long)number_at(rows, 0, "token"));
        sql_add_text(
            (struct lk_slice){renew->target.parts[0].path.bytes, renew->target.parts[0].path.size});
        sql_add(" AND FROM_UNIXTIME(r.deadline_us * 0.000001) = '%s' AND r.owner = ",
                text_at(rows, 0, "expires"));
        sql_add_text(renew->target.owner);
        self = sql_run(&error);
        if (mysql_num_rows(self) != 1) {
            test_die("no lease has the deadline that a renewal answers");
        }
        fill_state(self, &decision->result);
        mysql_free_result(self);
    }
    mysql_free_result(rows);
    return outcome;
}

static lk_outcome decide_release(const struct lk_release *release, struct lk_decision *decision) {
    sql_add("CALL lk_lock_release(");
    add_target(&release->target);
    sql_add(", ");
    if (release->put_count > 0) {
        sql_add_bytes(release->puts[0].bytes);
    } else {
        sql_add("NULL");
    }
    return decide_end(decision);
}

static lk_outcome decide_put(const struct lk_put *put, struct lk_decision *decision) {
    sql_add(put->deletes ? "CALL lk_value_delete(" : "CALL lk_value_put(");
    sql_add_text((struct lk_slice){put->path.bytes, put->path.size});
    sql_add(", ");
    if (!put->deletes) {
        sql_add_bytes(put->bytes);
        sql_add(", ");
    }
    sql_add_owner(put->owner, &put->path, put->token);
    sql_add(", ");
    sql_add_token(put->token);
    return decide_end(decision);
}

static lk_outcome decide_break(const struct lk_break *broken, struct lk_decision *decision) {
    MYSQL_RES *rows;

    sql_add("CALL lk_lock_break(");
    sql_add_text((struct lk_slice){broken->path.bytes, broken->path.size});
    sql_add(", ");
    sql_add_text(broken->reason);
    sql_add(", JSON_OBJECT('by', ");
    sql_add_text(broken->by);
    sql_add(", 'owner', ");
    sql_add_text(broken->owner);
    sql_add(", 'now', JSON_EXTRACT('[%s]', '$[0]')))", broken->at_once ? "true" : "false");
    rows = sql_run(&decision->error);
    if (rows == NULL) {
        return decision->error.outcome;
    }
    decision->broken = (size_t)number_at(rows, 0, "broken");
    mysql_free_result(rows);
    return lk_error_clear(&decision->error, LK_OK);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Something else, which is rolled back. */
static void play_decoys(const struct lk_path *path) {
    static const char *const decoys[] = {
        "CALL lk_lock_break('%.*s', 'a decoy', '{\"now\": true}')",
        "CALL lk_lock_acquire('%.*s', 'decoy', '{\"style\": \"queue\", \"ttl\": 0.05}')",
        "CALL lk_lock_acquire('%.*s?limit=9', 'decoy', NULL)",
        "CALL lk_value_put('%.*s', 'decoy', NULL, NULL, NULL)",
        "CALL lk_lock_acquire('%.*s//', 'decoy', NULL)",
        "CALL lk_lock_release('%.*s', 'decoy', NULL, NULL, NULL)",
        "CALL lk_work_push('%.*s', 'decoy', NULL, '{\"priority\": 9}')",
        "CALL lk_work_push_inside('%.*s', 'decoy', 'x', NULL)",
        "CALL lk_work_claim('%.*s', 4, 'decoy', NULL)",
        "CALL lk_work_done('%.*s', 'decoy', 'decoy', NULL, NULL)"};
    lk_error error;

    for (int i = (int)lk_random_between(&people->random, 1, 3); i > 0; i--) {
        char text[LK_PART_TEXT_MAX + 128];
        size_t which =
            (size_t)lk_random_between(&people->random, 0, sizeof decoys / sizeof decoys[0] - 1);
        const char *mark = strstr(decoys[which], "%.*s");
        (void)snprintf(text, sizeof text, "%.*s%.*s%s", (int)(mark - decoys[which]), decoys[which],
                       (int)path->size, path->bytes, mark + strlen("%.*s"));
        sql_add("%s", text);
        mysql_free_result(sql_run(&error));
    }
    people->counts[DECOYS]++;
}

/* Into a transaction, with something in it or before it that does not count. */
static void begin(const struct lk_path *path) {
    if (sql_chance(25)) {
        sql_must("START TRANSACTION");
        play_decoys(path);
        sql_must("ROLLBACK");
    }
    sql_must("START TRANSACTION");
    if (sql_chance(40)) {
        sql_must("SAVEPOINT decoy");
        play_decoys(path);
        sql_must("ROLLBACK TO decoy");
    }
}

/* NULL: it is left to the library. */
static const struct lk_path *path_of(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return &command->ask.parts[0].path;
    case LK_COMMAND_RENEW:
        return &command->renew.target.parts[0].path;
    case LK_COMMAND_RELEASE:
        return command->release.put_count > 1
                       || (command->release.put_count == 1 && command->release.puts[0].part != 0)
                   ? NULL
                   : &command->release.target.parts[0].path;
    case LK_COMMAND_BREAK:
        return &command->broken.path;
    case LK_COMMAND_PUT:
        return &command->put.path;
    case LK_COMMAND_PUSH:
    case LK_COMMAND_TAKE:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
        return people_leaves(command) ? NULL : lk_command_queue(command);
    default:
        return NULL;
    }
}

static lk_outcome decide_by_kind(const struct lk_command *command, bool is_inside,
                                 struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return decide_ask(&command->ask, decision);
    case LK_COMMAND_RENEW:
        return decide_renew(&command->renew, decision);
    case LK_COMMAND_RELEASE:
        return decide_release(&command->release, decision);
    case LK_COMMAND_BREAK:
        return command->broken.cancels ? people_work(command, is_inside, decision)
                                       : decide_break(&command->broken, decision);
    case LK_COMMAND_PUT:
        return decide_put(&command->put, decision);
    default:
        return people_work(command, is_inside, decision);
    }
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    const struct lk_path *path = path_of(command);
    bool takes = command->kind == LK_COMMAND_TAKE;
    bool is_inside;
    lk_outcome outcome;

    if (path == NULL) {
        people->counts[LEFT]++;
        return lk_engine_mysql.decide(engine, command, patience, ret_decision);
    }
    is_inside = takes || sql_chance(70);
    lk_decision_begin(ret_decision, command);
    people_stale_begin(people);
    if (is_inside) {
        begin(path);
    }
    outcome = decide_by_kind(command, is_inside, ret_decision);
    if (is_inside) {
        sql_must("COMMIT");
    }
    people_stale_play(people, path);
    if (outcome == LK_FULL && takes) {
        /* An error, so that nothing of it stays; the event of a refusal is part of the answer. */
        lk_decision_done(ret_decision);
        return lk_engine_mysql.decide(engine, command, patience, ret_decision);
    }
    people->counts[is_inside ? INSIDE : ALONE]++;
    return lk_decision_end(ret_decision, outcome);
}

static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    bool takes = commands[0].kind == LK_COMMAND_TAKE;
    bool is_inside = takes || sql_chance(70);

    if (!people_has_series(commands, count)) {
        people->counts[LEFT]++;
        return lk_engine_mysql.batches->decide_many(engine, commands, count, patience, series);
    }
    series->commands = commands;
    series->command_count = count;
    series->count = 0;
    (void)lk_error_clear(&series->error, LK_OK);
    if (is_inside) {
        begin(path_of(commands));
    }
    people_series(commands, count, series);
    if (is_inside) {
        sql_must("COMMIT");
    }
    if (series->error.outcome == LK_FULL && series->count == 0) {
        return lk_engine_mysql.batches->decide_many(engine, commands, count, patience, series);
    }
    people->counts[is_inside ? INSIDE : ALONE]++;
    if (series->error.outcome != LK_INVALID) { /* a refusal is an answer, not the series' own */
        series->error.outcome = LK_OK;
    }
    return series->error.outcome;
}

void people_engine_turn(struct people *its_people, struct lk_engine *engine) {
    static struct lk_engine_ops ops;
    static struct lk_batch_ops batches;

    batches = *lk_engine_mysql.batches;
    batches.decide_many = decide_many;
    ops = lk_engine_mysql;
    ops.decide = decide;
    ops.batches = &batches;
    people = its_people;
    sql_open(its_people);
    engine->ops = &ops;
}
