/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as calls of the procedures for people, and their rows as decisions. */
#include "people_engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/mysql.h"
#include "engine/reply/reply.h"

enum { ALONE, INSIDE, DECOYS, LEFT, SQL_MAX = 1 << 20 };

#define NOW "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

static struct people *people;

/* ---- statements ------------------------------------------------------------------------------ */

static char sql[SQL_MAX]; /* the next one, and its size */
static size_t used;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    used += (size_t)vsnprintf(sql + used, sizeof sql - used, format, arguments);
    va_end(arguments);
    if (used >= sizeof sql) {
        test_die("a statement is too long");
    }
}

/* As a string; empty: NULL. */
static void add_text(struct lk_slice text) {
    if (text.size == 0) {
        add("NULL");
        return;
    }
    add("'");
    used += mysql_real_escape_string(people->connection, sql + used, text.bytes, text.size);
    add("'");
}

static void add_bytes(struct lk_slice bytes) {
    add("x'");
    for (size_t i = 0; i < bytes.size; i++) {
        add("%02x", (unsigned char)bytes.bytes[i]);
    }
    add("'");
}

static void add_parts(const struct lk_part *parts, size_t count, bool has_words) {
    static char text[LK_PARTS_MAX * LK_PART_TEXT_MAX];
    struct lk_part plain[LK_PARTS_MAX];

    for (size_t i = 0; i < count; i++) {
        plain[i] =
            has_words ? parts[i] : (struct lk_part){.path = parts[i].path, .mode = LK_EXCLUSIVE};
    }
    (void)lk_parts_write(plain, count, text);
    add_text(lk_slice_of(text));
}

static void add_token(uint64_t token) {
    if (token != 0) {
        add("%llu", (unsigned long long)token);
    } else {
        add("NULL");
    }
}

/* Rows, or NULL: an error of these procedures, of which the sentence is in *error. */
static MYSQL_RES *run(lk_error *error) {
    static const struct {
        const char *code;
        lk_outcome outcome;
    } codes[] = {{"LK064", LK_INVALID}, {"LK073", LK_FULL}, {"LK075", LK_BUSY}, {"LK078", LK_LOST}};
    MYSQL_RES *rows = NULL;

    used = 0;
    if (mysql_real_query(people->connection, sql, strlen(sql)) == 0) {
        do {
            MYSQL_RES *next = mysql_store_result(people->connection);
            rows = rows != NULL ? rows : next;
        } while (mysql_next_result(people->connection) == 0);
    }
    if (mysql_errno(people->connection) == 0) {
        return rows;
    }
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (strcmp(mysql_sqlstate(people->connection), codes[i].code) == 0) {
            (void)lk_error_set(error, codes[i].outcome, "%s", mysql_error(people->connection));
            mysql_free_result(rows);
            return NULL;
        }
    }
    test_die("%s: %s", sql, mysql_error(people->connection));
}

static void must(const char *statement) {
    lk_error error;

    add("%s", statement);
    mysql_free_result(run(&error));
}

/* ---- the fields of one row ------------------------------------------------------------------- */

static struct lk_slice bytes_at(MYSQL_RES *rows, const char *column) {
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    MYSQL_ROW row;

    mysql_data_seek(rows, 0);
    row = mysql_fetch_row(rows);
    for (unsigned i = 0; row != NULL && i < mysql_num_fields(rows); i++) {
        if (strcmp(fields[i].name, column) == 0) {
            return (struct lk_slice){row[i], mysql_fetch_lengths(rows)[i]};
        }
    }
    test_die("there is no row, or no column %s", column);
}

static const char *text_at(MYSQL_RES *rows, const char *column) {
    return bytes_at(rows, column).bytes;
}

static int64_t number_at(MYSQL_RES *rows, const char *column) {
    const char *text = text_at(rows, column);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static lk_outcome outcome_at(MYSQL_RES *rows) {
    const char *name = text_at(rows, "outcome");

    for (lk_outcome outcome = LK_OK; (unsigned)outcome < LK_OUTCOME_COUNT; outcome++) {
        if (strcmp(lk_outcome_name(outcome), name) == 0) {
            return outcome;
        }
    }
    test_die("there is no outcome %s", name);
}

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
    add("UNHEX(SHA2(CONCAT('");
    for (size_t i = 0; i < asked->part_count; i++) {
        add("%s%s", i > 0 ? " " : "", paths[i]);
        free(paths[i]);
    }
    add("\\n', ");
    add_text(asked->owner);
    add("), 256))");
}

/* The request as the store has it: its state; and that it lives. */
static MYSQL_RES *read_request(const struct lk_ask *asked) {
    lk_error error;

    add("SELECT r.ticket, r.token, r.ttl_ms, r.fixed, r.deadline_us - " NOW " AS left_us,"
        " FROM_UNIXTIME(r.deadline_us * 0.000001) AS expires"
        " FROM lk_requests AS r WHERE r.part = 1 AND r.deadline_us > " NOW " AND r.identity = ");
    add_identity(asked);
    return run(&error);
}

static void fill_state(MYSQL_RES *rows, lk_result *result) {
    result->ticket = (uint64_t)number_at(rows, "ticket");
    result->token = (uint64_t)number_at(rows, "token");
    result->ttl_ms = number_at(rows, "ttl_ms");
    result->fixed = number_at(rows, "fixed") != 0;
    result->expires_in_ms = number_at(rows, "left_us") / 1000;
}

static void fill_blockers(const char *blockers, size_t most, lk_result *result) {
    MYSQL_RES *rows;
    lk_error error;
    size_t count;

    for (count = 0; blockers != NULL && count < most; count++) {
        static const char *const names[] = {"path", "owner", "note", "ticket", "state"};
        lk_blocker_info *info;
        add("SELECT GREATEST(0, CAST(UNIX_TIMESTAMP(JSON_VALUE(j.b, '$[%zu].expires')) * 1000000"
            " AS SIGNED) - " NOW ") AS left_us",
            count);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            add(", JSON_VALUE(j.b, '$[%zu].%s') AS %s", count, names[i], names[i]);
        }
        add(" FROM (SELECT ");
        add_text(lk_slice_of(blockers));
        add(" AS b) AS j");
        rows = run(&error);
        if (text_at(rows, "path") == NULL) {
            mysql_free_result(rows);
            break;
        }
        result->blockers =
            result->blockers != NULL ? result->blockers : calloc(most, sizeof *result->blockers);
        info = &result->blockers[result->blocker_count++];
        info->path = lk_text_copy(bytes_at(rows, "path"));
        info->owner = lk_text_copy(bytes_at(rows, "owner"));
        info->note = bytes_at(rows, "note").size > 0 ? lk_text_copy(bytes_at(rows, "note")) : NULL;
        info->ticket = (uint64_t)number_at(rows, "ticket");
        info->held = strcmp(text_at(rows, "state"), "held") == 0;
        info->expires_in_ms = number_at(rows, "left_us") / 1000;
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
    add("SELECT JSON_VALUE(");
    add_text(lk_slice_of(cycle));
    add(", '$[0]') AS owner");
    rows = run(&error);
    result->cycle = calloc(1, sizeof *result->cycle);
    result->cycle[0] = lk_text_copy(bytes_at(rows, "owner"));
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
            add("CALL lk_value_get(");
            add_text((struct lk_slice){asked->parts[i].path.bytes, asked->parts[i].path.size});
            add(")");
            own = run(&error);
        }
        if ((own == NULL || mysql_num_rows(own) > 0)
            && text_at(own != NULL ? own : rows, "value") != NULL) {
            (void)lk_result_set_value(result, i, bytes_at(own != NULL ? own : rows, "value"),
                                      number_at(own != NULL ? own : rows, "in_doubt") != 0);
        }
        mysql_free_result(own);
    }
}

static MYSQL_RES *call_acquire(const struct lk_ask *asked, lk_error *error) {
    add("CALL lk_lock_acquire(");
    add_parts(asked->parts, asked->part_count, true);
    add(", ");
    add_text(asked->owner);
    add(", JSON_OBJECT('style', '%s', 'with_value', JSON_EXTRACT('[%s]', '$[0]'), 'or_fail', NULL",
        asked->style == LK_TRY ? "try" : "queue", asked->wants_value ? "true" : "false");
    if (asked->note_given) {
        add(", 'note', COALESCE(");
        add_text(asked->note);
        add(", '')");
    }
    if (asked->until_us != 0) {
        add(", 'until', CONCAT('', FROM_UNIXTIME(%lld * 0.000001))", (long long)asked->until_us);
    } else if (asked->ttl_ms != 0) {
        add(", 'ttl', %lld.%03lld", (long long)asked->ttl_ms / 1000,
            (long long)asked->ttl_ms % 1000);
    }
    add("))");
    return run(error);
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
    outcome = outcome_at(rows);
    (void)lk_error_set(&decision->error, outcome, "%s",
                       outcome == LK_LOST || outcome == LK_FULL ? text_at(rows, "reason") : "");
    result->in_use = (uint64_t)number_at(rows, "in_use");
    result->position = asked->blockers_max > 0 ? (size_t)number_at(rows, "ahead") : 0;
    result->created = (outcome == LK_GRANTED || outcome == LK_WAITING) && !was_there;
    result->expires_in_ms = -1;
    if (text_at(rows, "expires") != NULL) {
        MYSQL_RES *self = read_request(asked);
        if (mysql_num_rows(self) != 1 || number_at(self, "ticket") != number_at(rows, "ticket")
            || number_at(self, "token") != number_at(rows, "token")
            || strcmp(text_at(self, "expires"), text_at(rows, "expires")) != 0) {
            test_die("no request is as the answer says");
        }
        fill_state(self, result);
        mysql_free_result(self);
    }
    fill_blockers(text_at(rows, "blockers"), asked->blockers_max, result);
    fill_cycle(text_at(rows, "cycle"), result);
    if (outcome == LK_GRANTED && asked->wants_value) {
        fill_values(rows, asked, result);
    }
    mysql_free_result(rows);
    return outcome;
}

/* ---- what answers an outcome ----------------------------------------------------------------- */

/*
 * The call, whose options are to be added, with or_fail: its error says why. If it has failed, the
 * call without it answers the same outcome, and has the effects of one (R11: what is overdue
 * perishes). Answers its row; NULL: INVALID.
 */
static MYSQL_RES *run_end(const char *options, lk_error *error) {
    char *call = lk_text_copy((struct lk_slice){sql, used});
    MYSQL_RES *rows;
    lk_error same;

    add(", JSON_OBJECT('or_fail', NULL%s))", options);
    rows = run(error);
    if (rows != NULL) {
        (void)lk_error_clear(error, LK_OK);
    } else if (error->outcome != LK_INVALID) {
        add("%s, JSON_OBJECT('or_fail', JSON_EXTRACT('[false]', '$[0]')%s))", call, options);
        rows = run(&same);
        if (rows == NULL || outcome_at(rows) != error->outcome) {
            test_die("%s: %s by an error, and then another outcome", call,
                     lk_outcome_name(error->outcome));
        }
    }
    free(call);
    return rows;
}

static lk_outcome decide_end(struct lk_decision *decision) {
    MYSQL_RES *rows = run_end("", &decision->error);
    lk_outcome outcome = rows != NULL ? outcome_at(rows) : LK_INVALID;

    mysql_free_result(rows);
    return outcome;
}

/* The owner; or none, if the token tells it: the request is held. */
static void add_owner(struct lk_slice owner, const struct lk_path *path, uint64_t token) {
    bool is_told = false;

    if (token != 0 && lk_random_between(&people->random, 1, 100) <= 40) {
        char *call = lk_text_copy((struct lk_slice){sql, used});
        MYSQL_RES *rows;
        lk_error error;
        used = 0;
        add("SELECT COUNT(*) = 1 AND SUM(r.owner = ");
        add_text(owner);
        add(" AND r.held AND r.deadline_us > " NOW ") = 1 AS is_told FROM lk_requests AS r"
            " WHERE r.token = %llu AND r.path = ",
            (unsigned long long)token);
        add_text((struct lk_slice){path->bytes, path->size});
        rows = run(&error);
        is_told = number_at(rows, "is_told") != 0;
        mysql_free_result(rows);
        add("%s", call);
        free(call);
    }
    add_text(is_told ? (struct lk_slice){"", 0} : owner);
}

static void add_target(const struct lk_target *target) {
    add_parts(target->parts, target->part_count, false);
    add(", ");
    add_owner(target->owner, &target->parts[0].path, target->token);
    add(", ");
    add_token(target->token);
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
    add("CALL lk_lock_renew(");
    add_target(&renew->target);
    decision->result.expires_in_ms = -1;
    rows = run_end(options, &decision->error);
    outcome = rows != NULL ? outcome_at(rows) : LK_INVALID;
    if (outcome == LK_OK) {
        add("SELECT r.ticket, r.token, r.ttl_ms, r.fixed, r.deadline_us - " NOW " AS left_us"
            " FROM lk_requests AS r WHERE r.held AND r.token = %lld AND r.path = ",
            (long long)number_at(rows, "token"));
        add_text(
            (struct lk_slice){renew->target.parts[0].path.bytes, renew->target.parts[0].path.size});
        add(" AND FROM_UNIXTIME(r.deadline_us * 0.000001) = '%s' AND r.owner = ",
            text_at(rows, "expires"));
        add_text(renew->target.owner);
        self = run(&error);
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
    add("CALL lk_lock_release(");
    add_target(&release->target);
    add(", ");
    if (release->put_count > 0) {
        add_bytes(release->puts[0].bytes);
    } else {
        add("NULL");
    }
    return decide_end(decision);
}

static lk_outcome decide_put(const struct lk_put *put, struct lk_decision *decision) {
    add(put->deletes ? "CALL lk_value_delete(" : "CALL lk_value_put(");
    add_text((struct lk_slice){put->path.bytes, put->path.size});
    add(", ");
    if (!put->deletes) {
        add_bytes(put->bytes);
        add(", ");
    }
    add_owner(put->owner, &put->path, put->token);
    add(", ");
    add_token(put->token);
    return decide_end(decision);
}

static lk_outcome decide_break(const struct lk_break *broken, struct lk_decision *decision) {
    MYSQL_RES *rows;

    add("CALL lk_lock_break(");
    add_text((struct lk_slice){broken->path.bytes, broken->path.size});
    add(", ");
    add_text(broken->reason);
    add(", JSON_OBJECT('by', ");
    add_text(broken->by);
    add(", 'owner', ");
    add_text(broken->owner);
    add(", 'now', JSON_EXTRACT('[%s]', '$[0]')))", broken->at_once ? "true" : "false");
    rows = run(&decision->error);
    if (rows == NULL) {
        return decision->error.outcome;
    }
    decision->broken = (size_t)number_at(rows, "broken");
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
        "CALL lk_lock_release('%.*s', 'decoy', NULL, NULL, NULL)"};
    lk_error error;

    for (int i = (int)lk_random_between(&people->random, 1, 3); i > 0; i--) {
        char text[LK_PART_TEXT_MAX + 128];
        size_t which =
            (size_t)lk_random_between(&people->random, 0, sizeof decoys / sizeof decoys[0] - 1);
        const char *mark = strstr(decoys[which], "%.*s");
        (void)snprintf(text, sizeof text, "%.*s%.*s%s", (int)(mark - decoys[which]), decoys[which],
                       (int)path->size, path->bytes, mark + strlen("%.*s"));
        add("%s", text);
        mysql_free_result(run(&error));
    }
    people->counts[DECOYS]++;
}

/* Into a transaction, with something in it or before it that does not count. */
static void begin(const struct lk_path *path) {
    if (lk_random_between(&people->random, 1, 100) <= 25) {
        must("START TRANSACTION");
        play_decoys(path);
        must("ROLLBACK");
    }
    must("START TRANSACTION");
    if (lk_random_between(&people->random, 1, 100) <= 40) {
        must("SAVEPOINT decoy");
        play_decoys(path);
        must("ROLLBACK TO decoy");
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
    default:
        return NULL;
    }
}

static lk_outcome decide_by_kind(const struct lk_command *command, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return decide_ask(&command->ask, decision);
    case LK_COMMAND_RENEW:
        return decide_renew(&command->renew, decision);
    case LK_COMMAND_RELEASE:
        return decide_release(&command->release, decision);
    case LK_COMMAND_BREAK:
        return decide_break(&command->broken, decision);
    default:
        return decide_put(&command->put, decision);
    }
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    const struct lk_path *path = path_of(command);
    bool is_inside;
    lk_outcome outcome;

    if (path == NULL) {
        people->counts[LEFT]++;
        return lk_engine_mysql.decide(engine, command, patience, ret_decision);
    }
    is_inside = lk_random_between(&people->random, 1, 100) <= 70;
    lk_decision_begin(ret_decision, command);
    if (is_inside) {
        begin(path);
    }
    outcome = decide_by_kind(command, ret_decision);
    if (is_inside) {
        must("COMMIT");
    }
    people->counts[is_inside ? INSIDE : ALONE]++;
    return lk_decision_end(ret_decision, outcome);
}

void people_engine_turn(struct people *its_people, struct lk_engine *engine) {
    static struct lk_engine_ops ops;

    ops = lk_engine_mysql;
    ops.decide = decide;
    people = its_people;
    engine->ops = &ops;
}
