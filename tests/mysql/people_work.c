/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of work as calls of the procedures for people, and their rows as decisions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "people.h"

#define TRUE_IN_JSON "JSON_EXTRACT('[true]', '$[0]')"

enum { RESULT_MAX = 256 };

/* A value of people's is a text. */
static bool is_text(struct lk_slice value) {
    bool is_text = true;

    for (size_t i = 0; i < value.size; i++) {
        is_text = is_text && value.bytes[i] >= ' ' && value.bytes[i] < 0x7f;
    }
    return is_text;
}

/* Whether it can stand between quotes, in JSON too. */
static bool is_plain(struct lk_slice value) {
    return is_text(value) && value.size <= RESULT_MAX
           && memchr(value.bytes, '\'', value.size) == NULL
           && memchr(value.bytes, '\\', value.size) == NULL;
}

static void add_path(const struct lk_path *path) {
    sql_add_text((struct lk_slice){path->bytes, path->size});
}

/* ---- pushes ---------------------------------------------------------------------------------- */

static void add_push_options(const struct lk_push *push) {
    static const char *const kinds[] = {[LK_PUSH_NEW] = "",
                                        [LK_PUSH_REPLACE] = "'replace', " TRUE_IN_JSON ", ",
                                        [LK_PUSH_AGAIN] = "'again', " TRUE_IN_JSON ", "};

    sql_add(", JSON_OBJECT(%s'delay', %lld.%03lld, 'keep', %lld.%03lld, 'priority', %ld, 'needs', ",
            kinds[push->kind], (long long)push->delay_ms / 1000, (long long)push->delay_ms % 1000,
            (long long)push->keep_ms / 1000, (long long)push->keep_ms % 1000, (long)push->priority);
    if (push->need_count > 0) {
        sql_add_parts(push->needs, push->need_count, true);
    } else {
        sql_add("NULL");
    }
    sql_add("))");
}

static void add_value(struct lk_slice value) {
    if (value.size > 0) {
        sql_add_bytes(value);
    } else {
        sql_add("NULL");
    }
}

static void add_push(const struct lk_push *push, const char *procedure) {
    sql_add("CALL %s(", procedure);
    add_path(&push->queue);
    sql_add(", ");
    sql_add_text(push->id);
    sql_add(", ");
    add_value(push->value);
    add_push_options(push);
}

static lk_push_result pushed_of(MYSQL_RES *rows, unsigned row) {
    const char *was = text_at(rows, row, "was");

    return (lk_push_result){
        .added = number_at(rows, row, "added") != 0,
        .changed = number_at(rows, row, "changed") != 0,
        .was = was != NULL ? lk_item_state_name(lk_item_state_of(lk_slice_of(was))) : NULL,
    };
}

/*
 * By the procedure that answers, or by the one for triggers. What that will do is asked beforehand,
 * in a savepoint.
 */
static lk_outcome decide_push(const struct lk_push *push, bool is_in_transaction,
                              struct lk_decision *decision) {
    bool is_inside = is_in_transaction && sql_chance(30);
    MYSQL_RES *rows;

    if (is_inside) {
        sql_must("SAVEPOINT pushed");
    }
    add_push(push, "lk_work_push");
    rows = sql_run(&decision->error);
    if (rows == NULL) {
        return decision->error.outcome;
    }
    decision->pushed = pushed_of(rows, 0);
    mysql_free_result(rows);
    if (is_inside) {
        sql_must("ROLLBACK TO SAVEPOINT pushed");
        (void)lk_error_clear(&decision->error, LK_OK);
        add_push(push, "lk_work_push_inside");
        mysql_free_result(sql_run(&decision->error));
        if (decision->error.outcome != LK_OK) {
            return decision->error.outcome;
        }
    }
    return lk_error_clear(&decision->error, LK_OK);
}

/* ---- claims ---------------------------------------------------------------------------------- */

/*
 * What would end so many takes: outcome and sentence, which rows do not have. It is asked
 * beforehand, in a savepoint.
 */
static void ask_refusal(const struct lk_take *take, size_t count, lk_error *ret_refusal) {
    MYSQL_RES *rows;
    lk_outcome outcome = LK_OK;

    sql_must("SAVEPOINT tried");
    sql_add("CALL lk_decide_takes(");
    add_path(&take->queue);
    sql_add(", SUBSTRING_INDEX(");
    add_path(&take->queue);
    sql_add(", '/', 1), ");
    sql_add_text(take->owner);
    sql_add(", %lld, %u, COALESCE(", (long long)take->ttl_ms, take->max_attempts);
    sql_add_text(take->note_given ? take->note : (struct lk_slice){"", 0});
    sql_add(", ''), '[");
    for (size_t i = 0; i < count; i++) {
        sql_add("%s{\"ask_number\": %llu}", i > 0 ? ", " : "",
                take->ask_number == 0 ? 0 : (unsigned long long)take->ask_number + i);
    }
    sql_add("]', @now_us, @counted, @claims, @outcome, @sentence, @saw_items, @look_us)");
    mysql_free_result(sql_run(ret_refusal));
    sql_add("SELECT @outcome AS outcome, @sentence AS sentence");
    rows = sql_run(ret_refusal);
    outcome = outcome_at(rows, 0);
    (void)lk_error_set(ret_refusal, outcome, "%s",
                       outcome != LK_GRANTED ? text_at(rows, 0, "sentence") : "");
    mysql_free_result(rows);
    sql_must("ROLLBACK TO tried");
}

/* A row for each; NULL: an error, and nothing has been done. In a transaction. */
static MYSQL_RES *claim(const struct lk_take *take, size_t count, lk_error *ret_refusal) {
    MYSQL_RES *rows;
    lk_error refusal;

    ask_refusal(take, count, &refusal);
    sql_add("CALL lk_work_claim(");
    add_path(&take->queue);
    sql_add(", %zu, ", count);
    sql_add_text(take->owner);
    sql_add(", JSON_OBJECT('ttl', %lld.%03lld, 'max_attempts', %u", (long long)take->ttl_ms / 1000,
            (long long)take->ttl_ms % 1000, take->max_attempts);
    if (take->note_given && take->note.size > 0) {
        sql_add(", 'note', ");
        sql_add_text(take->note);
    }
    if (take->ask_number > 0) {
        sql_add(", 'ask', %llu", (unsigned long long)take->ask_number / LK_TAKES_MAX);
    }
    sql_add("))");
    rows = sql_run(ret_refusal);
    if (rows != NULL) {
        *ret_refusal = refusal;
    }
    return rows;
}

/* The claim of a row, which the store has as the row says. */
static lk_claim_info *claim_of(MYSQL_RES *rows, unsigned number, const struct lk_take *take) {
    lk_claim_info *info = calloc(1, sizeof *info);
    struct lk_slice value = bytes_at(rows, number, "value");
    MYSQL_RES *self;
    lk_error error;

    sql_add("SELECT r.deadline_us - " NOW " AS left_us, r.ttl_ms FROM lk_requests AS r"
            " WHERE r.token = %lld AND r.is_claim AND r.part = 1"
            " AND FROM_UNIXTIME(r.deadline_us * 0.000001) = '%s' AND r.path = CONCAT(",
            (long long)number_at(rows, number, "token"), text_at(rows, number, "expires"));
    add_path(&take->queue);
    sql_add(", '/', ");
    sql_add_text(bytes_at(rows, number, "id"));
    sql_add(") AND r.owner = ");
    sql_add_text(take->owner);
    self = sql_run(&error);
    if (mysql_num_rows(self) != 1) {
        test_die("no claim is as the answer says");
    }
    info->queue = lk_text_copy((struct lk_slice){take->queue.bytes, take->queue.size});
    info->id = lk_text_copy(bytes_at(rows, number, "id"));
    info->owner = lk_text_copy(bytes_at(rows, number, "owner"));
    info->token = (uint64_t)number_at(rows, number, "token");
    info->attempt = (uint32_t)number_at(rows, number, "attempt");
    info->is_stolen = number_at(rows, number, "is_stolen") != 0;
    info->ttl_ms = number_at(self, 0, "ttl_ms");
    info->expires_in_ms = number_at(self, 0, "left_us") / 1000;
    if (value.bytes != NULL) {
        info->value = lk_text_copy(value);
        info->value_size = value.size;
    }
    mysql_free_result(self);
    return info;
}

static lk_outcome decide_take(const struct lk_take *take, struct lk_decision *decision) {
    MYSQL_RES *rows = claim(take, 1, &decision->error);

    if (rows == NULL || mysql_num_rows(rows) == 0) {
        mysql_free_result(rows);
        return decision->error.outcome;
    }
    decision->claim = claim_of(rows, 0, take);
    mysql_free_result(rows);
    return lk_error_clear(&decision->error, LK_GRANTED);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static lk_outcome run_end(const char *options, struct lk_decision *decision) {
    MYSQL_RES *rows = sql_run_end(options, &decision->error);
    lk_outcome outcome = rows != NULL ? outcome_at(rows, 0) : LK_INVALID;

    mysql_free_result(rows);
    return outcome;
}

/* The options of a done; its result is a text that needs no quotes. */
static void print_result(const struct lk_finish *finish, char *options, size_t size) {
    int used = snprintf(options, size, ", 'keep', %lld.%03lld", (long long)finish->keep_ms / 1000,
                        (long long)finish->keep_ms % 1000);

    if (finish->result.size > 0) {
        (void)snprintf(options + used, size - (size_t)used, ", 'result', '%.*s'",
                       (int)finish->result.size, finish->result.bytes);
    }
}

static lk_outcome decide_finish(const struct lk_finish *finish, struct lk_decision *decision) {
    static const char *const procedures[] = {[LK_FINISH_DONE] = "lk_work_done",
                                             [LK_FINISH_RETRY] = "lk_work_retry",
                                             [LK_FINISH_PROGRESS] = "lk_work_progress"};
    struct lk_item_path item;
    char options[RESULT_MAX + 96] = "";

    if (lk_item_path_make(&finish->queue, finish->id, &item, NULL) != LK_OK) {
        item.path = finish->queue;
    }
    sql_add("CALL %s(", procedures[finish->kind]);
    add_path(&finish->queue);
    sql_add(", ");
    sql_add_text(finish->id);
    sql_add(", ");
    sql_add_owner(finish->owner, &item.path, finish->token);
    sql_add(", ");
    sql_add_token(finish->token);
    if (finish->kind == LK_FINISH_DONE) {
        print_result(finish, options, sizeof options);
    } else if (finish->kind == LK_FINISH_PROGRESS) {
        sql_add(", ");
        add_value(finish->progress);
    } else {
        int size = snprintf(options, sizeof options, ", 'delay', %lld.%03lld%s",
                            (long long)finish->delay_ms / 1000, (long long)finish->delay_ms % 1000,
                            finish->is_uncounted ? ", 'uncounted', 'true'" : "");
        if (finish->parks) {
            size += snprintf(options + size, sizeof options - (size_t)size, ", 'park', 'true'");
        }
        if (finish->failure.has_exit) {
            (void)snprintf(options + size, sizeof options - (size_t)size, ", 'exit_code', %d",
                           finish->failure.exit_code);
        }
    }
    return run_end(options, decision);
}

static lk_outcome decide_item(const struct lk_command *command, struct lk_decision *decision) {
    bool drops = command->kind == LK_COMMAND_DROP;

    sql_add("CALL %s(", drops ? "lk_work_drop" : "lk_work_unpark");
    add_path(drops ? &command->drop.queue : &command->unpark.queue);
    sql_add(", ");
    sql_add_text(drops ? command->drop.id : command->unpark.id);
    return run_end(
        drops && command->drop.only_parked ? ", 'only_parked', JSON_EXTRACT('[true]', '$[0]')" : "",
        decision);
}

static lk_outcome decide_cancel(const struct lk_break *broken, struct lk_decision *decision) {
    struct lk_path queue;
    struct lk_slice id;
    MYSQL_RES *rows;
    lk_outcome outcome = LK_INVALID;
    char options[64];

    lk_path_split(&broken->path, &queue, &id);
    sql_add("CALL lk_work_cancel(");
    sql_add_text((struct lk_slice){queue.bytes, queue.size});
    sql_add(", ");
    sql_add_text(id);
    sql_add(", ");
    sql_add_text(broken->reason);
    (void)snprintf(options, sizeof options, ", 'now', '%s', 'by', '%.*s'",
                   broken->at_once ? "true" : "false", (int)broken->by.size, broken->by.bytes);
    rows = sql_run_end(options, &decision->error);
    if (rows != NULL) {
        outcome = outcome_at(rows, 0);
        decision->broken = (size_t)number_at(rows, 0, "broken");
    }
    mysql_free_result(rows);
    return outcome;
}

/* Of people's both are texts, in JSON. */
bool people_leaves(const struct lk_command *command) {
    return command->kind == LK_COMMAND_FINISH
           && (command->finish.failure.text.size > 0 || !is_plain(command->finish.result));
}

lk_outcome people_work(const struct lk_command *command, bool is_in_transaction,
                       struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_PUSH:
        return decide_push(&command->push, is_in_transaction, decision);
    case LK_COMMAND_TAKE:
        return decide_take(&command->take, decision);
    case LK_COMMAND_FINISH:
        return decide_finish(&command->finish, decision);
    case LK_COMMAND_BREAK:
        return decide_cancel(&command->broken, decision);
    default:
        return decide_item(command, decision);
    }
}

/* ---- series ---------------------------------------------------------------------------------- */

bool people_has_series(const struct lk_command *commands, size_t count) {
    bool has = commands[0].kind == LK_COMMAND_TAKE || commands[0].kind == LK_COMMAND_PUSH
               || commands[0].kind == LK_COMMAND_FINISH;

    for (size_t i = 0; i < count && commands[0].kind == LK_COMMAND_PUSH; i++) {
        has = has && is_text(commands[i].push.value);
    }
    for (size_t i = 0; i < count && commands[0].kind == LK_COMMAND_FINISH; i++) {
        has = has && commands[i].finish.token == commands[0].finish.token
              && lk_slice_equal(commands[i].finish.owner, commands[0].finish.owner)
              && is_plain(commands[i].finish.result)
              && lk_slice_equal(commands[i].finish.result, commands[0].finish.result)
              && commands[i].finish.keep_ms == commands[0].finish.keep_ms;
    }
    return has;
}

static struct lk_series_answer *add_answer(struct lk_series *series, lk_outcome outcome) {
    series->answers[series->count] = (struct lk_series_answer){.outcome = outcome};
    return &series->answers[series->count++];
}

static void add_ids(const struct lk_command *commands, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct lk_slice id =
            commands[i].kind == LK_COMMAND_PUSH ? commands[i].push.id : commands[i].finish.id;
        sql_add(i > 0 ? ", " : "JSON_ARRAY(");
        sql_add_text(id);
    }
    sql_add(")");
}

static MYSQL_RES *push_many(const struct lk_command *commands, size_t count,
                            struct lk_series *series) {
    sql_add("CALL lk_work_push_many(");
    add_path(&commands[0].push.queue);
    sql_add(", ");
    add_ids(commands, count);
    for (size_t i = 0; i < count; i++) {
        sql_add(i > 0 ? ", " : ", JSON_ARRAY(");
        sql_add_text(commands[i].push.value);
    }
    sql_add(")");
    add_push_options(&commands[0].push);
    return sql_run(&series->error);
}

static MYSQL_RES *finish_many(const struct lk_command *commands, size_t count,
                              struct lk_series *series) {
    char options[RESULT_MAX + 96];

    print_result(&commands[0].finish, options, sizeof options);
    sql_add("CALL lk_work_done(");
    add_path(&commands[0].finish.queue);
    sql_add(", ");
    add_ids(commands, count);
    sql_add(", ");
    sql_add_text(commands[0].finish.owner);
    sql_add(", ");
    sql_add_token(commands[0].finish.token);
    sql_add(", JSON_OBJECT('or_fail', JSON_EXTRACT('[false]', '$[0]')%s))", options);
    return sql_run(&series->error);
}

void people_series(const struct lk_command *commands, size_t count, struct lk_series *series) {
    enum lk_command_kind kind = commands[0].kind;
    MYSQL_RES *rows = kind == LK_COMMAND_TAKE   ? claim(&commands[0].take, count, &series->error)
                      : kind == LK_COMMAND_PUSH ? push_many(commands, count, series)
                                                : finish_many(commands, count, series);

    for (unsigned i = 0; rows != NULL && i < mysql_num_rows(rows); i++) {
        if (kind == LK_COMMAND_TAKE) {
            add_answer(series, LK_GRANTED)->claim = claim_of(rows, i, &commands[i].take);
        } else if (kind == LK_COMMAND_PUSH) {
            add_answer(series, LK_OK)->pushed = pushed_of(rows, i);
        } else if (add_answer(series, outcome_at(rows, i))->outcome == LK_LOST) {
            /* the sentence of the last one alone is kept */
            (void)lk_error_set(&series->error, LK_OK, "%s",
                               "R16: the item is not claimed by this owner (any more)");
        }
    }
    if (rows != NULL && kind == LK_COMMAND_TAKE && series->count < count) {
        (void)add_answer(series, series->error.outcome);
    }
    mysql_free_result(rows);
}
