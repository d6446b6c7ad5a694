/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch writes, as text: statements of many rows for each kind. Rows that are about the same
 * thing stand in their order, and the last one counts.
 *
 * A statement is bounded, for three reasons: the optimizer must not turn a long list of keys into
 * something else, a text must fit into a packet, and it can be divided between statements only.
 */
#include "server/store/mysql/store.h"

enum { ROWS_MAX = 500, STATEMENT_BYTES = 131072 };

/* HEAD row SEPARATOR row TAIL, where a row is OPEN field BETWEEN field CLOSE. */
struct form {
    const char *head;
    const char *tail;
    const char *open;
    const char *between;
    const char *close;
    const char *separator;
};

#define ROWS "(", ",", ")", ","
#define KEYS "", ",", "", ","

static const struct form forms[LK_TABLES_KINDS] = {
    [LK_TABLES_REQUEST] =
        {"REPLACE INTO lk_service_request (id, owner, note, state, revoked, attended, fixed,"
         " ticket, token, ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts,"
         " parts, bound) VALUES ",
         ";", ROWS},
    [LK_TABLES_REQUEST_GONE] = {"DELETE FROM lk_service_request WHERE id IN (", ");", KEYS},
    [LK_TABLES_VALUE] = {"REPLACE INTO lk_service_value (path, bytes) VALUES ", ";", ROWS},
    [LK_TABLES_VALUE_DOUBT] = {"UPDATE lk_service_value SET in_doubt = 1 WHERE path IN (", ");",
                               KEYS},
    [LK_TABLES_VALUE_GONE] = {"DELETE FROM lk_service_value WHERE path IN (", ");", KEYS},
    [LK_TABLES_ITEM_NEW] =
        {"REPLACE INTO lk_service_item (queue, id, sequence, state, due_us, attempts, was_lost,"
         " is_head, priority, keep_ms, value, needs, has_exit, last_exit, last_error, progress)"
         " VALUES ",
         ";", ROWS},
    /* The row exists: of the new one only what can change is taken. */
    [LK_TABLES_ITEM] =
        {"INSERT INTO lk_service_item (queue, id, state, due_us, attempts, was_lost, is_head,"
         " has_exit, last_exit, last_error, progress, sequence, priority, keep_ms, value, needs)"
         " VALUES ",
         " ON DUPLICATE KEY UPDATE state = VALUES(state), due_us = VALUES(due_us),"
         " attempts = VALUES(attempts), was_lost = VALUES(was_lost), is_head = VALUES(is_head),"
         " has_exit = VALUES(has_exit), last_exit = VALUES(last_exit),"
         " last_error = VALUES(last_error), progress = VALUES(progress);",
         "(", ",", ",0,0,0,'','')", ","},
    [LK_TABLES_ITEM_GONE] = {"DELETE FROM lk_service_item WHERE ", ";",
                             "(queue = ", " AND id = ", ")", " OR "},
    [LK_TABLES_QUEUE_GONE] = {"DELETE FROM lk_service_queue WHERE path IN (", ");", KEYS},
    [LK_TABLES_QUEUE] =
        {"REPLACE INTO lk_service_queue (path, pushed, duplicates, claims, steals, done, retried,"
         " parked) VALUES ",
         ";", ROWS},
    [LK_TABLES_ENDED] = {"INSERT INTO lk_service_ended (token, owner, parts, ended_us, parts_hash)"
                         " VALUES ",
                         " ON DUPLICATE KEY UPDATE token = VALUES(token);", "(", ",",
                         ",UNHEX(SHA2(parts, 256)))", ","},
    [LK_TABLES_AUDIT] = {"INSERT INTO lk_service_audit (at_unix_us, broken_by, reason, path, owner,"
                         " note, ticket, token) VALUES ",
                         ";", ROWS},
    [LK_TABLES_EVENT] =
        {"INSERT INTO lk_service_event (sequence, at_unix_us, event, refusal, parts, owner, note,"
         " ticket, token, attempt, is_of_item, is_deletion, broken_by, reason) VALUES ",
         ";", ROWS},
    [LK_TABLES_LIMITS] = {"", "", "CALL lk_service_limits(", ",", ");", ""},
};

static struct lk_mysql_group *group_of(struct lk_tables *tables, enum lk_tables_kind kind) {
    return &lk_store_mysql_of(tables)->groups[kind];
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void end_statement(struct lk_mysql_group *group, const struct form *form) {
    if (group->row_count > 0) {
        lk_buffer_add_text(&group->text, form->close);
        lk_buffer_add_text(&group->text, form->tail);
        lk_buffer_add(&group->ends, &group->text.size, sizeof group->text.size);
        group->begun = group->text.size;
        group->row_count = 0;
    }
}

void lk_store_mysql_add_row(struct lk_tables *tables, enum lk_tables_kind kind) {
    const struct lk_store_mysql *store = lk_store_mysql_of(tables);
    struct lk_mysql_group *group = group_of(tables, kind);
    const struct form *form = &forms[kind];

    if (group->row_count == ROWS_MAX || group->text.size - group->begun >= STATEMENT_BYTES) {
        end_statement(group, form);
    }
    if (group->row_count == 0) {
        lk_store_mysql_put(store, &group->text, form->head);
    } else {
        lk_buffer_add_text(&group->text, form->close);
        lk_buffer_add_text(&group->text, form->separator);
    }
    lk_store_mysql_put(store, &group->text, form->open);
    group->row_count++;
}

static struct lk_buffer *begin_field(struct lk_tables *tables, enum lk_tables_kind kind,
                                     int column) {
    struct lk_buffer *text = &group_of(tables, kind)->text;

    if (column > 0) {
        lk_buffer_add_text(text, forms[kind].between);
    }
    return text;
}

void lk_store_mysql_add_number(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                               int64_t number) {
    lk_buffer_add_number(begin_field(tables, kind, column), number);
}

void lk_store_mysql_add_left(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                             int64_t left_us) {
    struct lk_buffer *text = begin_field(tables, kind, column);

    lk_buffer_add_text(text, "@lockkeeper_us + ");
    lk_buffer_add_number(text, left_us);
}

void lk_store_mysql_add_truth(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                              bool truth) {
    lk_buffer_add_text(begin_field(tables, kind, column), truth ? "1" : "0");
}

void lk_store_mysql_add_bytes(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                              struct lk_slice bytes) {
    lk_store_mysql_put_literal(begin_field(tables, kind, column), bytes);
}

/* ---- sending --------------------------------------------------------------------------------- */

void lk_store_mysql_clear(struct lk_tables *tables, enum lk_tables_kind kind) {
    struct lk_mysql_group *group = group_of(tables, kind);

    lk_buffer_cut(&group->text, 0);
    lk_buffer_cut(&group->ends, 0);
    group->text.failed = false;
    group->ends.failed = false;
    group->begun = 0;
    group->row_count = 0;
}

/* Sends a text that has no room for a statement. From then on locks wait for this client. */
static bool make_room(struct lk_store_mysql *store, size_t size) {
    const struct lk_patience patience = lk_tables_patience(&store->tables);

    if (store->text.size + size <= store->text_max) {
        return true;
    }
    if (!store->is_split) {
        lk_buffer_add_text(&store->text, "SET SESSION wait_timeout = 20;");
        store->is_split = true;
    }
    store->outcome = lk_store_mysql_run(store, &store->text, &patience, NULL, store->error);
    return store->outcome == LK_OK;
}

bool lk_store_mysql_flush(struct lk_tables *tables, enum lk_tables_kind kind) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);
    struct lk_mysql_group *group = group_of(tables, kind);
    bool is_well;

    end_statement(group, &forms[kind]);
    is_well = !group->text.failed && !group->ends.failed;
    for (size_t at = 0, i = 0; is_well && i < group->ends.size / sizeof(size_t); i++) {
        size_t end;

        memcpy(&end, group->ends.bytes + i * sizeof end, sizeof end);
        is_well = make_room(store, end - at);
        if (is_well) {
            lk_buffer_add(&store->text, group->text.bytes + at, end - at);
        }
        at = end;
    }
    lk_store_mysql_clear(tables, kind);
    return is_well && !store->text.failed;
}

bool lk_store_mysql_sweep(struct lk_tables *tables, enum lk_tables_sweep sweep, uint64_t last) {
    static const char bound[] =
        "DELETE FROM lk_service_ended WHERE token < (SELECT bound.token FROM (SELECT token"
        " FROM lk_service_ended ORDER BY token DESC LIMIT 1 OFFSET 65536) AS bound)";
    static const char *const statements[LK_TABLES_SWEEPS] = {
        [LK_TABLES_FORGET] = "DELETE FROM lk_service_event WHERE sequence <= ",
        [LK_TABLES_ENDED_BOUND] = bound,
        [LK_TABLES_ENDED_SWEEP] =
            "DELETE FROM lk_service_ended WHERE ended_us <= @lockkeeper_us - 300000000",
    };
    struct lk_store_mysql *store = lk_store_mysql_of(tables);

    lk_store_mysql_put(store, &store->text, statements[sweep]);
    if (sweep == LK_TABLES_FORGET) {
        lk_buffer_add_number(&store->text, (int64_t)last);
    }
    lk_buffer_add_text(&store->text, ";");
    return !store->text.failed;
}

void lk_store_mysql_texts_done(struct lk_store_mysql *store) {
    for (int kind = 0; kind < LK_TABLES_KINDS; kind++) {
        lk_buffer_done(&store->groups[kind].text);
        lk_buffer_done(&store->groups[kind].ends);
    }
    lk_buffer_done(&store->text);
}
