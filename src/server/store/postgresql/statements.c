/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statements. Rows of one kind that are about the same value or item are in their order, and
 * the last one counts.
 */
#include "server/store/postgresql/statements.h"

#define S "lockkeeper_service."

const struct lk_pg_statement lk_pg_statements[LK_TABLES_KINDS] = {
    [LK_TABLES_REQUEST] =
        {"lk_request",
         "INSERT INTO " S "request AS r (id, owner, note, state, revoked, attended, fixed, ticket,"
         " token, ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts, parts,"
         " bound) SELECT a.id, a.owner, a.note, a.state,"
         " a.revoked, a.attended, a.fixed, a.ticket, a.token, a.ttl_ms, n.us + a.left_us,"
         " a.wants_value, a.is_claim, a.ask_number, a.max_attempts, a.parts, a.bound"
         " FROM (SELECT " S "now_us() AS us OFFSET 0) AS n,"
         " unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[],"
         " $6::boolean[], $7::boolean[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],"
         " $12::boolean[], $13::boolean[], $14::bigint[], $15::bigint[], $16::text[],"
         " $17::boolean[]) AS a (id, owner, note, state, revoked, attended, fixed,"
         " ticket, token, ttl_ms, left_us, wants_value, is_claim, ask_number, max_attempts, parts,"
         " bound) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner,"
         " note = excluded.note, state = excluded.state, revoked = excluded.revoked,"
         " attended = excluded.attended, fixed = excluded.fixed, graced = false,"
         " ticket = excluded.ticket, token = excluded.token, ttl_ms = excluded.ttl_ms,"
         " expires_us = excluded.expires_us, wants_value = excluded.wants_value,"
         " is_claim = excluded.is_claim, ask_number = excluded.ask_number,"
         " max_attempts = excluded.max_attempts, parts = excluded.parts, bound = excluded.bound",
         "itttbbbiiiibbiitb"},
    [LK_TABLES_REQUEST_GONE] = {"lk_request_gone",
                                "DELETE FROM " S "request WHERE id = ANY ($1::bigint[])", "i"},
    [LK_TABLES_VALUE] =
        {"lk_value",
         "INSERT INTO " S "value (path, bytes, in_doubt) SELECT DISTINCT ON (a.path COLLATE \"C\")"
         " a.path, a.bytes, false FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY"
         " AS a (path, bytes, n) ORDER BY a.path COLLATE \"C\", a.n DESC"
         " ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes, in_doubt = false",
         "ty"},
    [LK_TABLES_VALUE_DOUBT] = {"lk_value_doubt",
                               "UPDATE " S
                               "value SET in_doubt = true WHERE path = ANY ($1::text[])",
                               "t"},
    [LK_TABLES_VALUE_GONE] = {"lk_value_gone",
                              "DELETE FROM " S "value WHERE path = ANY ($1::text[])", "t"},
    [LK_TABLES_ITEM_NEW] =
        {"lk_item_new",
         "INSERT INTO " S "item (queue, id, sequence, state, due_us, attempts, was_lost, priority,"
         " value, needs, has_exit, last_exit, last_error) SELECT a.queue, a.id, a.sequence,"
         " a.state, n.us + a.left_us, a.attempts, a.was_lost, a.priority, a.value, a.needs,"
         " a.has_exit,"
         " a.last_exit, a.last_error FROM (SELECT " S "now_us() AS us OFFSET 0) AS n,"
         " unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],"
         " $7::boolean[], $8::bigint[], $9::bytea[], $10::text[], $11::boolean[], $12::bigint[],"
         " $13::bytea[]) AS a (queue, id, sequence, state, left_us, attempts, was_lost, priority,"
         " value, needs, has_exit, last_exit, last_error)",
         "ttitiibiytbiy"},
    [LK_TABLES_ITEM] =
        {"lk_item",
         "UPDATE " S "item AS i SET state = a.state, due_us = n.us + a.left_us,"
         " attempts = a.attempts, was_lost = a.was_lost, has_exit = a.has_exit,"
         " last_exit = a.last_exit, last_error = a.last_error"
         " FROM (SELECT " S "now_us() AS us OFFSET 0) AS n, (SELECT DISTINCT ON"
         " (u.queue COLLATE \"C\", u.id COLLATE \"C\") u.* FROM unnest($1::text[], $2::text[],"
         " $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[], $8::bigint[],"
         " $9::bytea[]) WITH ORDINALITY AS u (queue, id, state, left_us, attempts, was_lost,"
         " has_exit, last_exit, last_error, n) ORDER BY u.queue COLLATE \"C\", u.id COLLATE \"C\","
         " u.n DESC) AS a WHERE i.queue = a.queue AND i.id = a.id",
         "tttiibbiy"},
    [LK_TABLES_ITEM_GONE] = {"lk_item_gone",
                             "DELETE FROM " S "item AS i USING unnest($1::text[], $2::text[])"
                             " AS a (queue, id) WHERE i.queue = a.queue AND i.id = a.id",
                             "tt"},
    [LK_TABLES_QUEUE_GONE] = {"lk_queue_gone",
                              "DELETE FROM " S "queue WHERE path = ANY ($1::text[])", "t"},
    [LK_TABLES_QUEUE] =
        {"lk_queue",
         "INSERT INTO " S "queue (path, pushed, duplicates, claims, steals, done, retried, parked)"
         " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],"
         " $6::bigint[], $7::bigint[], $8::bigint[]) ON CONFLICT (path) DO UPDATE SET"
         " pushed = excluded.pushed, duplicates = excluded.duplicates, claims = excluded.claims,"
         " steals = excluded.steals, done = excluded.done, retried = excluded.retried,"
         " parked = excluded.parked",
         "tiiiiiii"},
    [LK_TABLES_ENDED] = {"lk_ended",
                         "INSERT INTO " S
                         "ended (token, owner, parts, ended_us) SELECT a.token, a.owner, a.parts,"
                         " n.us + a.left_us FROM (SELECT " S "now_us() AS us OFFSET 0) AS n,"
                         " unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])"
                         " AS a (token, owner, parts, left_us) ON CONFLICT DO NOTHING",
                         "itti"},
    [LK_TABLES_AUDIT] =
        {"lk_audit",
         "INSERT INTO " S "audit (at_unix_us, broken_by, reason, path, owner, note, ticket, token)"
         " SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[],"
         " $6::text[], $7::bigint[], $8::bigint[])",
         "itttttii"},
    [LK_TABLES_EVENT] =
        {"lk_event",
         "INSERT INTO " S "event SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[],"
         " $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],"
         " $10::bigint[], $11::boolean[], $12::boolean[], $13::text[], $14::text[])",
         "iitttttiiibbtt"},
    [LK_TABLES_LIMITS] = {"lk_limits",
                          "UPDATE " S "leader SET events_max = ($1::bigint[])[array_upper($1, 1)],"
                          " live_max = ($2::bigint[])[array_upper($2, 1)],"
                          " live_per_owner_max = ($3::bigint[])[array_upper($3, 1)],"
                          " live_per_root_max = ($4::bigint[])[array_upper($4, 1)],"
                          " waiters_per_path_max = ($5::bigint[])[array_upper($5, 1)]",
                          "iiiii"},
};

enum lk_array_kind lk_pg_column_kind(char column) {
    switch (column) {
    case 'i':
        return LK_ARRAY_BIGINT;
    case 'b':
        return LK_ARRAY_BOOLEAN;
    case 't':
        return LK_ARRAY_TEXT;
    default:
        return LK_ARRAY_BYTEA;
    }
}
