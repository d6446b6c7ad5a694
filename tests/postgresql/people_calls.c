/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as calls of the functions for people, and their rows as decisions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "people.h"

/* Ticket, token, ttl and deadline of a request, which the store has by now. */
static void fill_state(const PGresult *rows, lk_result *result) {
    int64_t left_us = number_at(rows, 0, "left_us");

    result->ticket = (uint64_t)number_at(rows, 0, "ticket");
    result->token = (uint64_t)number_at(rows, 0, "token");
    result->ttl_ms = number_at(rows, 0, "ttl_ms");
    result->fixed = boolean_at(rows, 0, "fixed");
    result->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
}

/* ---- asks ------------------------------------------------------------------------------------ */

static void fill_blockers(const PGresult *rows, size_t most, lk_result *result) {
    size_t count = text_at(rows, 0, "blocker") != NULL ? (size_t)PQntuples(rows) : 0;

    count = count < most ? count : most;
    result->blockers = count > 0 ? calloc(count, sizeof *result->blockers) : NULL;
    for (size_t i = 0; i < count; i++) {
        lk_blocker_info *info = &result->blockers[i];
        const char *note = text_at(rows, (int)i, "blocker_note");
        int64_t left_us = number_at(rows, (int)i, "blocker_left_us");
        info->path = lk_text_copy(lk_slice_of(text_at(rows, (int)i, "blocker")));
        info->owner = lk_text_copy(lk_slice_of(text_at(rows, (int)i, "blocker_owner")));
        info->note = note[0] != '\0' ? lk_text_copy(lk_slice_of(note)) : NULL;
        info->ticket = (uint64_t)number_at(rows, (int)i, "blocker_ticket");
        info->held = boolean_at(rows, (int)i, "blocker_held");
        info->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
        result->blocker_count++;
    }
}

/* R15: of the first path with the answer, of the others by get() under the same lock. */
static void fill_values(struct people *people, const PGresult *rows, const struct lk_ask *asked,
                        lk_result *result) {
    (void)lk_result_hold_values(result, asked->part_count);
    for (size_t i = 0; i < asked->part_count; i++) {
        struct call call = {.count = 0};
        PGresult *own = NULL;
        lk_error error;
        struct lk_slice value = {.size = 0};
        unsigned char *bytes;
        if (i > 0) {
            call_add_path(&call, &asked->parts[i].path);
            own = sql_ask(people, "SELECT * FROM lockkeeper.get($1)", &call, &error);
        }
        if (own == NULL || PQntuples(own) > 0) {
            bytes = bytes_at(own != NULL ? own : rows, 0, "value", &value.size);
            value.bytes = (const char *)bytes;
            if (bytes != NULL) {
                (void)lk_result_set_value(result, i, value,
                                          boolean_at(own != NULL ? own : rows, 0, "in_doubt"));
            }
            PQfreemem(bytes);
        }
        PQclear(own);
    }
}

static const char ask_sql[] =
    "WITH was AS MATERIALIZED ("
    " SELECT EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.deadline_us > lockkeeper.now_us()"
    "  AND r.identity = lockkeeper.identity($2, (SELECT string_agg(split_part(p, '?', 1), ' '"
    "   ORDER BY split_part(p, '?', 1) COLLATE \"C\") FROM unnest(string_to_array($1, ' ')) AS p)))"
    "  AS there),"
    " a AS MATERIALIZED (SELECT a.*, was.there FROM was CROSS JOIN LATERAL lockkeeper.acquire("
    "  string_to_array($1, ' '), $2, $3::interval, style => $4, note => $5,"
    "  until => to_timestamp($6::bigint / 1e6), with_value => $7) AS a)"
    "SELECT a.outcome, a.reason, a.token, a.ticket, a.in_use, a.ahead, a.value, a.in_doubt,"
    " cardinality(a.cycle) AS cycle_count, a.cycle[1] AS cycle, a.owner,"
    " a.outcome IN ('granted', 'waiting') AND NOT a.there AS created,"
    " round(extract(epoch FROM a.expires) * 1000000)::bigint AS expires_us, b->>'path' AS blocker,"
    " b->>'owner' AS blocker_owner, b->>'note' AS blocker_note, b->>'ticket' AS blocker_ticket,"
    " substr(b->>'held', 1, 1) AS blocker_held,"
    " round(extract(epoch FROM (b->>'expires')::timestamptz) * 1000000)::bigint"
    "  - lockkeeper.now_us() AS blocker_left_us"
    " FROM a LEFT JOIN LATERAL jsonb_array_elements(a.blockers) WITH ORDINALITY AS e (b, n) ON true"
    " ORDER BY n";

/* The request itself, by what the answer says of it. */
static void fill_request(struct people *people, const PGresult *rows, lk_result *result) {
    struct call call = {.count = 0};
    lk_error error;
    PGresult *self;

    call_add_number(&call, number_at(rows, 0, "ticket"), "");
    call_add_number(&call, number_at(rows, 0, "token"), "");
    call_add_number(&call, number_at(rows, 0, "expires_us"), "");
    call_add_text(&call, lk_slice_of(text_at(rows, 0, "owner")));
    self = sql_ask(people,
                   "SELECT r.ticket, r.token, r.ttl_ms, substr(r.fixed::text, 1, 1) AS fixed,"
                   " r.deadline_us - lockkeeper.now_us() AS left_us FROM lockkeeper.requests AS r"
                   " WHERE r.ticket = $1 AND r.token = coalesce($2::bigint, 0)"
                   " AND r.deadline_us = $3 AND r.owner = $4",
                   &call, &error);
    if (self == NULL || PQntuples(self) < 1) {
        test_die("no request is as the answer says");
    }
    fill_state(self, result);
    PQclear(self);
}

static lk_outcome decide_ask(struct people *people, const struct lk_ask *command,
                             struct lk_decision *decision) {
    lk_result *result = &decision->result;
    struct call call = {.count = 0};
    PGresult *rows;
    lk_outcome outcome;

    call_add_parts(&call, command->parts, command->part_count);
    call_add_text(&call, command->owner);
    call_add_number(&call, command->until_us != 0 ? 0 : command->ttl_ms, " ms");
    call_add_text(&call, lk_slice_of(command->style == LK_TRY ? "try" : "queue"));
    if (command->note_given && command->note.size == 0) {
        (void)strcpy(call_add(&call), "");
    } else {
        call_add_text(&call, command->note_given ? command->note : (struct lk_slice){"", 0});
    }
    call_add_number(&call, command->until_us, "");
    call_add_boolean(&call, command->wants_value);
    rows = sql_ask(people, ask_sql, &call, &decision->error);
    if (rows == NULL) {
        return decision->error.outcome;
    }
    outcome = outcome_of(text_at(rows, 0, "outcome"));
    (void)lk_error_set(&decision->error, outcome, "%s",
                       outcome == LK_LOST || outcome == LK_FULL ? text_at(rows, 0, "reason") : "");
    result->in_use = (uint64_t)number_at(rows, 0, "in_use");
    result->position = command->blockers_max > 0 ? (size_t)number_at(rows, 0, "ahead") : 0;
    result->created = boolean_at(rows, 0, "created");
    result->expires_in_ms = -1;
    if (text_at(rows, 0, "expires_us") != NULL) {
        fill_request(people, rows, result);
    }
    fill_blockers(rows, command->blockers_max, result);
    if (number_at(rows, 0, "cycle_count") > 0) {
        result->cycle = calloc(1, sizeof *result->cycle);
        result->cycle[0] = lk_text_copy(lk_slice_of(text_at(rows, 0, "cycle")));
        result->cycle_count = 1;
    }
    if (outcome == LK_GRANTED && command->wants_value) {
        fill_values(people, rows, command, result);
    }
    PQclear(rows);
    return outcome;
}

/* ---- what answers an outcome ----------------------------------------------------------------- */

/*
 * The call with or_fail, whose error says why. If it has failed, the call without it answers the
 * same outcome, and has the effects of one (R11: what is overdue perishes).
 */
static lk_outcome decide_end(struct people *people, const char *call_sql, const struct call *call,
                             lk_error *error) {
    char sql[SQL_MAX];
    PGresult *rows;
    lk_outcome outcome = LK_OK;
    lk_error same;

    (void)snprintf(sql, sizeof sql, "SELECT lockkeeper.%s)", call_sql);
    rows = sql_ask(people, sql, call, error);
    if (rows == NULL && error->outcome != LK_INVALID) {
        (void)snprintf(sql, sizeof sql, "SELECT lockkeeper.%s, or_fail => false)", call_sql);
        rows = sql_ask(people, sql, call, &same);
        outcome = rows == NULL ? same.outcome : outcome_of(PQgetvalue(rows, 0, 0));
        if (outcome != error->outcome) {
            test_die("%s: %s by an error, and then %s", sql, lk_outcome_name(error->outcome),
                     lk_outcome_name(outcome));
        }
    } else if (rows == NULL) {
        outcome = LK_INVALID;
    } else {
        (void)lk_error_clear(error, LK_OK);
    }
    PQclear(rows);
    return outcome;
}

/* The owner; or none, if the token tells it: the request is held. */
static void add_owner(struct people *people, struct call *call, struct lk_slice owner,
                      const struct lk_path *path, uint64_t token) {
    struct call known = {.count = 0};
    PGresult *rows;
    lk_error error;
    bool is_told = false;

    if (token != 0 && people_chance(people, 40)) {
        call_add_text(&known, owner);
        call_add_path(&known, path);
        call_add_number(&known, (int64_t)token, "");
        rows =
            sql_ask(people,
                    "SELECT count(*) FILTER (WHERE r.owner = $1 AND r.held"
                    "  AND r.deadline_us > lockkeeper.now_us()) > 0 AND count(*) = 1"
                    " FROM lockkeeper.parts AS p JOIN lockkeeper.requests AS r ON r.id = p.request"
                    " WHERE p.path = $2 AND r.token = $3",
                    &known, &error);
        is_told = PQgetvalue(rows, 0, 0)[0] == 't';
        PQclear(rows);
    }
    call_add_text(call, is_told ? (struct lk_slice){"", 0} : owner);
}

static void add_target(struct people *people, struct call *call, const struct lk_target *target) {
    call_add_paths(call, target->parts, target->part_count);
    add_owner(people, call, target->owner, &target->parts[0].path, target->token);
    call_add_number(call, (int64_t)target->token, "");
}

static lk_outcome decide_renew(struct people *people, const struct lk_renew *renew,
                               struct lk_decision *decision) {
    struct call call = {.count = 0};
    PGresult *rows;

    add_target(people, &call, &renew->target);
    call_add_number(&call, renew->ttl_ms, " ms");
    decision->result.expires_in_ms = -1;
    rows =
        sql_ask(people,
                "SELECT round(extract(epoch FROM lockkeeper.renew(string_to_array($1, ' '), $2, $3,"
                " $4::interval)) * 1000000)::bigint",
                &call, &decision->error);
    if (rows == NULL) {
        rows = sql_ask(
            people,
            "SELECT lockkeeper.renew(string_to_array($1, ' '), $2, $3, $4::interval, false)", &call,
            &decision->error);
        if (rows == NULL || !PQgetisnull(rows, 0, 0)) {
            test_die("a renewal is lost by an error, and then not");
        }
        PQclear(rows);
        return decision->error.outcome;
    }
    call.count = 0;
    call_add_text(&call, lk_slice_of(PQgetvalue(rows, 0, 0)));
    call_add_text(&call, renew->target.owner);
    call_add_path(&call, &renew->target.parts[0].path);
    PQclear(rows);
    rows = sql_ask(people,
                   "SELECT r.ticket, r.token, r.ttl_ms, substr(r.fixed::text, 1, 1) AS fixed,"
                   " r.deadline_us - lockkeeper.now_us() AS left_us FROM lockkeeper.requests AS r"
                   " WHERE r.deadline_us = $1 AND r.owner = $2 AND r.held AND EXISTS ("
                   "  SELECT FROM lockkeeper.parts AS p WHERE p.request = r.id AND p.path = $3)",
                   &call, &decision->error);
    if (PQntuples(rows) < 1) {
        test_die("no lease has the deadline that a renewal answers");
    }
    fill_state(rows, &decision->result);
    PQclear(rows);
    return lk_error_clear(&decision->error, LK_OK);
}

static lk_outcome decide_release(struct people *people, const struct lk_release *release,
                                 struct lk_decision *decision) {
    struct call call = {.count = 0};
    char sql[SQL_MAX] = "release(string_to_array($1, ' '), $2, $3";

    add_target(people, &call, &release->target);
    for (size_t i = 0, put = 0; i < release->target.part_count && release->put_count > 0; i++) {
        size_t used = strlen(sql);
        (void)snprintf(sql + used, sizeof sql - used, "%s$%zu::bytea%s",
                       i == 0 ? ", vals => ARRAY[" : ", ", i + 4,
                       i + 1 == release->target.part_count ? "]" : "");
        if (put < release->put_count && release->puts[put].part == i) {
            call_add_bytes(&call, release->puts[put++].bytes);
        } else {
            call_add_null(&call);
        }
    }
    return decide_end(people, sql, &call, &decision->error);
}

static lk_outcome decide_put(struct people *people, const struct lk_put *put,
                             struct lk_decision *decision) {
    struct call call = {.count = 0};

    call_add_path(&call, &put->path);
    add_owner(people, &call, put->owner, &put->path, put->token);
    call_add_number(&call, (int64_t)put->token, "");
    if (!put->deletes) {
        call_add_bytes(&call, put->bytes);
    }
    return decide_end(people,
                      put->deletes ? "del($1, $2, $3"
                                   : "put($1, value => $4::bytea, owner => $2, token => $3",
                      &call, &decision->error);
}

static lk_outcome decide_break(struct people *people, const struct lk_break *broken,
                               struct lk_decision *decision) {
    struct call call = {.count = 0};
    PGresult *rows;

    call_add_path(&call, &broken->path);
    call_add_text(&call, broken->reason);
    call_add_text(&call, broken->by);
    call_add_boolean(&call, broken->at_once);
    call_add_text(&call, broken->owner);
    rows = sql_ask(people, "SELECT lockkeeper.break($1, $2, $3, $4, $5)", &call, &decision->error);
    if (rows == NULL) {
        return decision->error.outcome;
    }
    decision->broken = strtoul(PQgetvalue(rows, 0, 0), NULL, 10);
    PQclear(rows);
    return lk_error_clear(&decision->error, LK_OK);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* By an error if there is no such item, and then without one, as decide_end(). */
static lk_outcome decide_cancel(struct people *people, const struct lk_break *broken,
                                struct lk_decision *decision) {
    struct call call = {.count = 0};
    struct lk_path queue;
    struct lk_slice id;
    PGresult *rows;
    lk_error same;

    lk_path_split(&broken->path, &queue, &id);
    call_add_text(&call, id);
    call_add_path(&call, &queue);
    call_add_text(&call, broken->reason);
    call_add_text(&call, broken->by);
    call_add_boolean(&call, broken->at_once);
    rows = sql_ask(people, "SELECT lockkeeper.cancel($2, $1, $3, $4, $5)", &call, &decision->error);
    if (rows == NULL && decision->error.outcome == LK_LOST) {
        rows = sql_ask(people, "SELECT lockkeeper.cancel($2, $1, $3, $4, $5, or_fail => false)",
                       &call, &same);
        if (rows == NULL || !PQgetisnull(rows, 0, 0)) {
            test_die("a cancel is lost by an error, and then not");
        }
        PQclear(rows);
        return LK_LOST;
    }
    if (rows == NULL) {
        return decision->error.outcome;
    }
    decision->broken = strtoul(PQgetvalue(rows, 0, 0), NULL, 10);
    PQclear(rows);
    return lk_error_clear(&decision->error, LK_OK);
}

PGresult *people_push_all(struct people *people, const struct lk_command *commands, size_t count,
                          lk_error *error) {
    static const char *const functions[] = {
        [LK_PUSH_NEW] = "push", [LK_PUSH_REPLACE] = "push_replace", [LK_PUSH_AGAIN] = "push_again"};
    const struct lk_push *first = &commands[0].push;
    struct call call = {.count = 0};
    char sql[SQL_MAX];
    const char *lists[] = {"", ", ", "], vals => ARRAY[", ", ", "]::bytea[]))"};

    (void)snprintf(sql, sizeof sql,
                   "SELECT unnest(lockkeeper.%s($1, delay => $2, priority => $3,"
                   " needs => string_to_array($4, ' '), keep => $5, ids => ARRAY[",
                   functions[first->kind]);
    call_add_path(&call, &first->queue);
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%lld ms", (long long)first->delay_ms);
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%d", first->priority);
    call_add_parts(&call, first->needs, first->need_count);
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%lld ms", (long long)first->keep_ms);
    for (size_t i = 0; i < 2 * count; i++) {
        const struct lk_push *push = &commands[i % count].push;
        size_t used = strlen(sql);
        (void)snprintf(sql + used, sizeof sql - used, "%s$%zu",
                       i == 0       ? lists[0]
                       : i == count ? lists[2]
                                    : lists[1],
                       i + 6);
        if (i >= count && push->value.size > 0) {
            call_add_bytes(&call, push->value);
        } else {
            call_add_text(&call, i < count ? push->id : (struct lk_slice){"", 0});
        }
    }
    (void)strcat(sql, lists[4]);
    return sql_ask(people, sql, &call, error);
}

/* push() tells whether it has added an item, the others in which state they have found it. */
lk_push_result people_pushed(const PGresult *rows, int row, enum lk_push_kind kind) {
    lk_push_result result = {.added = PQgetisnull(rows, row, 0)};
    enum lk_item_state was;

    if (kind == LK_PUSH_NEW) {
        result.added = PQgetvalue(rows, row, 0)[0] == 't';
    } else if (!result.added) {
        was = lk_item_state_of(lk_slice_of(PQgetvalue(rows, row, 0)));
        result.was = lk_item_state_name(was);
        result.changed = kind == LK_PUSH_AGAIN || was == LK_ITEM_READY || was == LK_ITEM_DELAYED
                         || was == LK_ITEM_AGAIN;
    }
    return result;
}

/* How the item is that push() will find, and not tell. It is asked beforehand, in a savepoint. */
static const char *find_pushed(struct people *people, const struct lk_command *command) {
    struct lk_command replacing = *command;
    lk_push_result result = {.was = NULL};
    PGresult *rows;
    lk_error error;

    replacing.push.kind = LK_PUSH_REPLACE;
    sql_must(people, "SAVEPOINT pushed");
    rows = people_push_all(people, &replacing, 1, &error);
    if (rows != NULL) {
        result = people_pushed(rows, 0, LK_PUSH_REPLACE);
    }
    PQclear(rows);
    sql_must(people, "ROLLBACK TO pushed");
    return result.was;
}

static lk_outcome decide_push(struct people *people, const struct lk_command *command,
                              struct lk_decision *decision) {
    const char *was = command->push.kind == LK_PUSH_NEW ? find_pushed(people, command) : NULL;
    PGresult *rows = people_push_all(people, command, 1, &decision->error);

    if (rows == NULL) {
        return decision->error.outcome;
    }
    decision->pushed = people_pushed(rows, 0, command->push.kind);
    if (command->push.kind == LK_PUSH_NEW) {
        decision->pushed.was = was;
    }
    PQclear(rows);
    return lk_error_clear(&decision->error, LK_OK);
}

lk_claim_info *people_claim_of(const PGresult *rows, int row, const struct lk_take *take) {
    lk_claim_info *claim = calloc(1, sizeof *claim);
    int64_t left_us = number_at(rows, row, "left_us");
    unsigned char *bytes = bytes_at(rows, row, "value", &claim->value_size);

    claim->queue = lk_text_copy((struct lk_slice){take->queue.bytes, take->queue.size});
    claim->id = lk_text_copy(lk_slice_of(text_at(rows, row, "id")));
    claim->owner = lk_text_copy(lk_slice_of(text_at(rows, row, "owner")));
    claim->token = (uint64_t)number_at(rows, row, "token");
    claim->attempt = (uint32_t)number_at(rows, row, "attempt");
    claim->is_stolen = boolean_at(rows, row, "is_stolen");
    claim->ttl_ms = number_at(rows, row, "ttl_ms");
    claim->expires_in_ms = left_us > 0 ? left_us / 1000 : 0;
    if (bytes != NULL) {
        claim->value = lk_text_copy((struct lk_slice){(const char *)bytes, claim->value_size});
        PQfreemem(bytes);
    }
    return claim;
}

PGresult *people_claim_all(struct people *people, const struct lk_take *take, size_t count,
                           lk_error *ret_refusal) {
    struct call call = {.count = 0};
    PGresult *tried;
    PGresult *rows;
    int last;

    call_add_path(&call, &take->queue);
    call_add_text(&call, take->owner);
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%lld", (long long)take->ttl_ms);
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%u", take->max_attempts);
    call_add_text(&call, take->note_given ? take->note : (struct lk_slice){"", 0});
    call_add_number(&call, (int64_t)(take->ask_number / LK_TAKES_MAX), "");
    (void)snprintf(call_add(&call), sizeof call.texts[0], "%zu", count);
    sql_must(people, "SAVEPOINT tried");
    tried = sql_ask(people,
                    "SELECT t.outcome, t.sentence FROM lockkeeper.take_several($1,"
                    " lockkeeper.path_and_above($1), split_part($1, '/', 1), $2, $3, $4,"
                    " coalesce($5, ''), ARRAY(SELECT coalesce($6::bigint * 256 + i, 0)"
                    " FROM generate_series(0, $7::integer - 1) AS i)) AS t",
                    &call, ret_refusal);
    sql_must(people, "ROLLBACK TO tried");
    last = PQntuples(tried) - 1;
    rows = sql_ask(people,
                   "SELECT c.*, $3::bigint AS ttl_ms,"
                   " round(extract(epoch FROM c.expires) * 1000000)::bigint - lockkeeper.now_us()"
                   "  AS left_us"
                   " FROM lockkeeper.claim($1, $7, $2, $3 * interval '1 ms', $4, $5, $6) AS c",
                   &call, ret_refusal);
    if (rows != NULL) {
        (void)lk_error_set(ret_refusal, outcome_of(text_at(tried, last, "outcome")), "%s",
                           PQntuples(rows) < last ? "R4: it needs a token of its own"
                                                  : text_at(tried, last, "sentence"));
    }
    PQclear(tried);
    return rows;
}

/* What is said with the end of a claim, or of its work, behind queue, id, owner and token. */
static const char *add_what_is_said(struct call *call, const struct lk_finish *finish) {
    if (finish->kind == LK_FINISH_PROGRESS) {
        call_add_text(call, finish->progress);
        return "progress($1, $2, $5, $3, $4";
    }
    if (finish->kind == LK_FINISH_DONE) {
        call_add_text(call, finish->result);
        call_add_number(call, finish->keep_ms, " ms");
        return "done($1, $2::text, $3, $4, result => $5::text, keep => $6";
    }
    (void)snprintf(call_add(call), sizeof call->texts[0], "%lld ms", (long long)finish->delay_ms);
    if (finish->failure.has_exit) {
        (void)snprintf(call_add(call), sizeof call->texts[0], "%d", finish->failure.exit_code);
    } else {
        call_add_null(call);
    }
    call_add_boolean(call, finish->is_uncounted);
    call_add_boolean(call, finish->parks);
    return "retry($1, $2, $3, $4, $5, $6, uncounted => $7, park => $8";
}

static lk_outcome decide_finish(struct people *people, const struct lk_finish *finish,
                                struct lk_decision *decision) {
    struct call call = {.count = 0};
    struct lk_item_path item;

    call_add_path(&call, &finish->queue);
    call_add_text(&call, finish->id);
    if (lk_item_path_make(&finish->queue, finish->id, &item, NULL) != LK_OK) {
        item.path = finish->queue;
    }
    add_owner(people, &call, finish->owner, &item.path, finish->token);
    call_add_number(&call, (int64_t)finish->token, "");
    return decide_end(people, add_what_is_said(&call, finish), &call, &decision->error);
}

static lk_outcome decide_item(struct people *people, const struct lk_command *command,
                              struct lk_decision *decision) {
    bool drops = command->kind == LK_COMMAND_DROP;
    struct call call = {.count = 0};

    call_add_path(&call, drops ? &command->drop.queue : &command->unpark.queue);
    call_add_text(&call, drops ? command->drop.id : command->unpark.id);
    if (drops) {
        call_add_boolean(&call, command->drop.only_parked);
    }
    return decide_end(people, drops ? "drop($1, $2, $3" : "unpark($1, $2", &call, &decision->error);
}

lk_outcome people_decide(struct people *people, const struct lk_command *command,
                         struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return decide_ask(people, &command->ask, decision);
    case LK_COMMAND_RENEW:
        return decide_renew(people, &command->renew, decision);
    case LK_COMMAND_RELEASE:
        return decide_release(people, &command->release, decision);
    case LK_COMMAND_BREAK:
        return command->broken.cancels ? decide_cancel(people, &command->broken, decision)
                                       : decide_break(people, &command->broken, decision);
    case LK_COMMAND_PUT:
        return decide_put(people, &command->put, decision);
    case LK_COMMAND_PUSH:
        return decide_push(people, command, decision);
    case LK_COMMAND_FINISH:
        return decide_finish(people, &command->finish, decision);
    default:
        return decide_item(people, command, decision);
    }
}

lk_outcome people_take(struct people *people, const struct lk_take *take,
                       struct lk_decision *decision) {
    PGresult *rows = people_claim_all(people, take, 1, &decision->error);

    if (rows == NULL || PQntuples(rows) == 0) {
        PQclear(rows);
        return decision->error.outcome;
    }
    decision->claim = people_claim_of(rows, 0, take);
    PQclear(rows);
    return lk_error_clear(&decision->error, LK_GRANTED);
}
