/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of every kept statement. Columns are read by number where a statement is used, so both
 * places must have the same order. "Below P" is the range from 'P/' to 'P0': '0' follows '/'.
 */
#include "sql/statements.h"

static const char *const texts[] = {
    [LK_SQL_BEGIN] = "BEGIN",
    [LK_SQL_BEGIN_IMMEDIATE] = "BEGIN IMMEDIATE",
    [LK_SQL_COMMIT] = "COMMIT",
    [LK_SQL_ROLLBACK] = "ROLLBACK",
    [LK_SQL_DATA_VERSION] = "PRAGMA data_version",

    [LK_SQL_META_LOAD] =
        "SELECT format, writable_from, boot_id, draw_floor, sweep_root, live_max,"
        " live_per_owner_max, live_per_root_max, waiters_per_path_max, served, events_max,"
        " watched_until_us, last_event FROM meta",
    [LK_SQL_META_SET_BOOT] = "UPDATE meta SET boot_id = ?1, watched_until_us = 0",
    [LK_SQL_META_SET_SERVED] = "UPDATE meta SET served = ?1",
    [LK_SQL_META_RAISE_FLOOR] = "UPDATE meta SET draw_floor = max(draw_floor, ?1), sweep_root = ?2",
    [LK_SQL_META_RAISE_WRITABLE] = "UPDATE meta SET writable_from = max(writable_from, ?1)",

    [LK_SQL_META_SET_QUOTAS] =
        "UPDATE meta SET live_max = ?1, live_per_owner_max = ?2, live_per_root_max = ?3,"
        " waiters_per_path_max = ?4, events_max = ?5",
    [LK_SQL_META_SET_WATCHED] = "UPDATE meta SET watched_until_us = ?1",
    [LK_SQL_META_SET_LAST_EVENT] = "UPDATE meta SET last_event = ?1",

    [LK_SQL_REQUEST_LOAD] =
        "SELECT owner, note, state, revoked, attended, fixed, graced, ticket, token, ttl_ms,"
        " deadline_us, expires_unix_us, wants_value, is_claim, ask_number, max_attempts,"
        " path, mode, unit_limit, units, bound"
        " FROM requests JOIN parts ON parts.request = requests.id"
        " WHERE requests.id = ?1 ORDER BY parts.position",
    /*
     * The same for all requests, one after the other. CROSS JOIN keeps this order, which no index
     * sorts.
     */
    [LK_SQL_REQUESTS_LOAD] =
        "SELECT owner, note, state, revoked, attended, fixed, graced, ticket, token, ttl_ms,"
        " deadline_us, expires_unix_us, wants_value, is_claim, ask_number, max_attempts,"
        " path, mode, unit_limit, units, bound, requests.id"
        " FROM requests CROSS JOIN parts ON parts.request = requests.id"
        " ORDER BY requests.id, parts.position",
    /* An unchanged deadline keeps the wall-clock reading that it was set with. */
    [LK_SQL_REQUEST_SAVE] =
        "INSERT INTO requests (id, owner, note, state, revoked, attended, fixed, graced, ticket,"
        " token, ttl_ms, deadline_us, expires_unix_us, wants_value, is_claim, ask_number,"
        " max_attempts, bound)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
        " ?18)"
        " ON CONFLICT (id) DO UPDATE SET note = excluded.note, state = excluded.state,"
        " revoked = excluded.revoked, attended = excluded.attended, fixed = excluded.fixed,"
        " graced = CASE WHEN deadline_us = excluded.deadline_us THEN graced"
        "               ELSE excluded.graced END,"
        " ticket = excluded.ticket, token = excluded.token, ttl_ms = excluded.ttl_ms,"
        " expires_unix_us = CASE WHEN deadline_us = excluded.deadline_us THEN expires_unix_us"
        "                        ELSE excluded.expires_unix_us END,"
        " deadline_us = excluded.deadline_us, wants_value = excluded.wants_value,"
        " bound = max(bound, excluded.bound)",
    [LK_SQL_REQUEST_DELETE] = "DELETE FROM requests WHERE id = ?1",
    [LK_SQL_REQUEST_TICKET] = "SELECT ticket FROM requests WHERE id = ?1 AND state = 'waiting'",
    [LK_SQL_REQUEST_PATHS] = "SELECT path FROM parts WHERE request = ?1",
    [LK_SQL_REQUEST_GREATEST] = "SELECT ifnull(max(id), 0) FROM requests",
    [LK_SQL_PART_SAVE] =
        "INSERT INTO parts (request, position, path, mode, unit_limit, units)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (request, position) DO UPDATE SET path = excluded.path,"
        " mode = excluded.mode, unit_limit = excluded.unit_limit, units = excluded.units"
        " WHERE path <> excluded.path OR mode <> excluded.mode"
        " OR unit_limit <> excluded.unit_limit OR units <> excluded.units",
    [LK_SQL_PARTS_DELETE] = "DELETE FROM parts WHERE request = ?1",

    [LK_SQL_BOOT_CLOCKS] = "SELECT expires_unix_us - deadline_us BETWEEN ?1 - ?2 AND ?1 + ?2"
                           " AND deadline_us - ttl_ms * 1000 <= ?3"
                           " FROM requests WHERE NOT fixed ORDER BY id DESC LIMIT 1",
    [LK_SQL_RESTART_KNOWN] = "SELECT ifnull(max(deadline_us - ttl_ms * 1000), 0)"
                             " FROM requests WHERE NOT fixed",
    [LK_SQL_RESTART_STAY] = "UPDATE requests SET deadline_us = ?1 + min(ttl_ms * 1000, ?4),"
                            " expires_unix_us = ?2 + min(ttl_ms * 1000, ?4), graced = 1"
                            " WHERE NOT fixed AND NOT graced AND deadline_us > ?3"
                            " AND deadline_us < ?1 + min(ttl_ms * 1000, ?4)",
    /* A wall clock that was set back must not make a lease last for years: no longer than ttl. */
    [LK_SQL_RESTART_MOVE] =
        "WITH promise (id, left_us) AS (SELECT id, CASE"
        " WHEN fixed THEN expires_unix_us - ?2"
        " WHEN deadline_us <= ?3 THEN min(expires_unix_us - ?2, 0)"
        " WHEN graced THEN min(expires_unix_us - ?2, ttl_ms * 1000)"
        " ELSE max(min(expires_unix_us - ?2, ttl_ms * 1000), min(ttl_ms * 1000, ?4)) END"
        " FROM requests)"
        " UPDATE requests SET deadline_us = ?1 + left_us, expires_unix_us = ?2 + left_us,"
        " graced = 1 FROM promise WHERE promise.id = requests.id",

    [LK_SQL_ALL] = "SELECT id FROM requests",
    [LK_SQL_AT] = "SELECT request FROM parts WHERE path = ?1",
    [LK_SQL_AT_OF] = "SELECT request FROM parts CROSS JOIN requests ON requests.id = parts.request"
                     " WHERE path = ?1 AND owner = ?2",
    [LK_SQL_BELOW] = "SELECT request FROM parts WHERE path > ?1 AND path < ?2",
    [LK_SQL_OVERDUE] =
        "SELECT id FROM requests WHERE deadline_us <= ?1 ORDER BY deadline_us LIMIT ?2",
    [LK_SQL_WAITING_OF] = "SELECT id FROM requests WHERE owner = ?1 AND state = 'waiting'",
    [LK_SQL_CLAIMS_OF] = "SELECT id FROM requests"
                         " WHERE owner = ?1 AND ask_number = ?2 AND ask_number <> 0",
    /* CROSS JOIN keeps this order: few rows are overdue, but a queue may be long. */
    [LK_SQL_OVERDUE_CLAIMS] =
        "SELECT id FROM requests CROSS JOIN parts ON request = id AND position = 0"
        " WHERE deadline_us <= ?3 AND is_claim AND path > ?1 AND path < ?2",
    /* Lines (lines.h): a turn is 0 while a request holds. CROSS JOIN reads the parts first. */
    [LK_SQL_OF_OWNER] =
        "SELECT id FROM requests INDEXED BY requests_by_owner WHERE owner = ?1 LIMIT ?2",
    [LK_SQL_WAITING_OF_OTHERS] = "SELECT id FROM requests INDEXED BY requests_waiting_by_owner"
                                 " WHERE state = 'waiting' AND owner <> ?1 LIMIT 1",
    [LK_SQL_HELD_AT] = "SELECT request FROM parts WHERE path = ?1 AND turn = 0",
    [LK_SQL_HELD_AT_OF] =
        "SELECT request FROM parts CROSS JOIN requests ON requests.id = parts.request"
        " WHERE path = ?1 AND turn = 0 AND owner = ?2",
    [LK_SQL_HELD_EXCLUSIVELY] =
        "SELECT request FROM parts WHERE path = ?1 AND turn = 0 AND mode = 'exclusive'",
    [LK_SQL_HELD_BELOW] = "SELECT request FROM parts WHERE path > ?1 AND path < ?2 AND turn = 0",
    [LK_SQL_WAITING_AT] = "SELECT request FROM parts WHERE path = ?1 AND turn >= ?2 AND turn <= ?3",
    [LK_SQL_WAITING_BELOW] =
        "SELECT request FROM parts INDEXED BY parts_waiting"
        " WHERE turn <> 0 AND path > ?1 AND path < ?2 AND turn >= ?3 AND turn <= ?4",
    [LK_SQL_FIRST_EXCLUSIVE] =
        "SELECT turn FROM parts CROSS JOIN requests ON requests.id = parts.request"
        " WHERE path = ?1 AND turn >= ?2 AND mode = 'exclusive' AND deadline_us > ?3"
        " ORDER BY turn LIMIT 1",
    [LK_SQL_OBSTACLES_AT] =
        "SELECT request FROM parts CROSS JOIN requests ON requests.id = parts.request"
        " WHERE path = ?1 AND turn >= ?2 AND turn <= ?3 AND (?4 OR mode = 'exclusive')"
        " AND owner <> ?5 AND deadline_us > ?6 AND request <> ?7",
    [LK_SQL_HOLDERS_BELOW] =
        "SELECT request FROM parts"
        " CROSS JOIN requests ON requests.id = parts.request"
        " WHERE path > ?1 AND path < ?2 AND turn >= ?3 AND turn <= ?4"
        " AND (?5 OR mode = 'exclusive') AND owner <> ?6 AND deadline_us > ?7 AND request <> ?8",
    [LK_SQL_WAITERS_BELOW] =
        "SELECT request FROM parts INDEXED BY parts_waiting"
        " CROSS JOIN requests ON requests.id = parts.request"
        " WHERE turn <> 0 AND path > ?1 AND path < ?2 AND turn >= ?3 AND turn <= ?4"
        " AND (?5 OR mode = 'exclusive') AND owner <> ?6 AND deadline_us > ?7 AND request <> ?8",
    [LK_SQL_COUNT_AT] = "SELECT count(*) FROM (SELECT 1 FROM parts WHERE path = ?1 LIMIT ?2)",
    [LK_SQL_COUNT_BELOW] =
        "SELECT count(*) FROM (SELECT 1 FROM parts WHERE path > ?1 AND path < ?2 LIMIT ?3)",

    [LK_SQL_WAIT_ROWS_AT] = "SELECT state = 'waiting', ticket, deadline_us"
                            " FROM parts JOIN requests ON requests.id = parts.request"
                            " WHERE path = ?1 LIMIT ?2",
    [LK_SQL_WAIT_ROWS_BELOW] = "SELECT state = 'waiting', ticket, deadline_us"
                               " FROM parts JOIN requests ON requests.id = parts.request"
                               " WHERE path > ?1 AND path < ?2 LIMIT ?3",
    [LK_SQL_COUNT_LIVE] = "SELECT count(*) FROM requests WHERE deadline_us > ?1",
    [LK_SQL_COUNT_KEPT] = "SELECT (SELECT count(*) FROM queues), (SELECT count(*) FROM items),"
                          " (SELECT count(*) FROM path_values), (SELECT count(*) FROM events)",

    /* R22: for bounds; up to ?2. The table that counts exists while its bound is set (counts.c). */
    [LK_SQL_COUNT_KEPT_REQUESTS] = "SELECT requests FROM lk_request_count",
    [LK_SQL_COUNT_OVERDUE_TO] =
        "SELECT count(*) FROM (SELECT 1 FROM requests WHERE deadline_us <= ?1 LIMIT ?2)",
    [LK_SQL_COUNT_OWNED_TO] = "SELECT count(*) FROM (SELECT 1 FROM requests"
                              " WHERE owner = ?3 AND deadline_us > ?1 LIMIT ?2)",
    [LK_SQL_COUNT_ROOTED_TO] =
        "SELECT count(*) FROM (SELECT DISTINCT request"
        " FROM (SELECT request FROM parts WHERE path = ?3"
        "       UNION ALL SELECT request FROM parts WHERE path > ?4 AND path < ?5)"
        " CROSS JOIN requests ON requests.id = request WHERE deadline_us > ?1 LIMIT ?2)",

    [LK_SQL_VALUES_LOAD] = "SELECT path, in_doubt, bytes FROM path_values",
    [LK_SQL_VALUE_LOAD] = "SELECT in_doubt, bytes FROM path_values WHERE path = ?1",
    [LK_SQL_VALUE_SAVE] = "INSERT INTO path_values (path, in_doubt, bytes) VALUES (?1, 0, ?2)"
                          " ON CONFLICT (path) DO UPDATE SET in_doubt = 0, bytes = excluded.bytes",
    [LK_SQL_VALUE_DOUBT] = "UPDATE path_values SET in_doubt = 1 WHERE path = ?1",
    [LK_SQL_VALUE_DELETE] = "DELETE FROM path_values WHERE path = ?1",
    [LK_SQL_VALUE_MAY_BE_LOST] =
        "SELECT 1 FROM parts JOIN requests ON requests.id = parts.request"
        " WHERE path = ?1 AND position = 0 AND wants_value AND deadline_us <= ?2 LIMIT 1",

    [LK_SQL_QUEUE_LOAD] = "SELECT pushed, duplicates, claims, steals, done, retried, parked"
                          " FROM queues WHERE path = ?1",
    [LK_SQL_QUEUES_LOAD] = "SELECT pushed, duplicates, claims, steals, done, retried, parked, path"
                           " FROM queues ORDER BY path",
    [LK_SQL_QUEUE_SAVE] =
        "INSERT INTO queues (path, pushed, duplicates, claims, steals, done, retried, parked)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (path) DO UPDATE SET pushed = excluded.pushed,"
        " duplicates = excluded.duplicates, claims = excluded.claims, steals = excluded.steals,"
        " done = excluded.done, retried = excluded.retried, parked = excluded.parked",
    [LK_SQL_QUEUE_DELETE] = "DELETE FROM queues WHERE path = ?1",
    [LK_SQL_QUEUE_COUNT] = "SELECT state, count(*),"
                           " (SELECT count(*) FROM items AS late WHERE late.queue = ?1"
                           "  AND late.state = 'delayed' AND late.due_us <= ?2)"
                           " FROM items WHERE queue = ?1 GROUP BY state",
    [LK_SQL_QUEUE_PROBE] =
        "SELECT EXISTS (SELECT 1 FROM items WHERE queue = ?1 AND state = 'ready'),"
        " (SELECT min(due_us) FROM items WHERE queue = ?1 AND state = 'delayed'),"
        " (SELECT min(deadline_us) FROM parts CROSS JOIN requests ON requests.id = parts.request"
        "  WHERE path > ?2 AND path < ?3 AND position = 0 AND is_claim)",
    [LK_SQL_QUEUE_HAS_RIPE] = "SELECT 1 FROM items"
                              " WHERE queue = ?1 AND state = 'delayed' AND due_us <= ?2 LIMIT 1",
    [LK_SQL_QUEUE_RIPEN] = "UPDATE items SET state = 'ready', due_us = 0, due_unix_us = 0"
                           " WHERE queue = ?1 AND state = 'delayed' AND due_us <= ?2",

    [LK_SQL_ITEM_LOAD] = "SELECT id, sequence, state, due_us, attempts, was_lost, needs"
                         " FROM items WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_ADD] =
        "INSERT INTO items (queue, id, state, due_us, due_unix_us, attempts, was_lost, sequence,"
        " needs) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [LK_SQL_ITEM_SAVE] = "UPDATE items SET state = ?3, due_us = ?4, due_unix_us = ?5,"
                         " attempts = ?6, was_lost = ?7 WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_DELETE] = "DELETE FROM items WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_VALUE_LOAD] = "SELECT bytes FROM items JOIN item_values ON item = number"
                               " WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_VALUE_ADD] = "INSERT INTO item_values (item, bytes)"
                              " SELECT number, ?3 FROM items WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_VALUE_DELETE] = "DELETE FROM item_values WHERE item ="
                                 " (SELECT number FROM items WHERE queue = ?1 AND id = ?2)",
    [LK_SQL_ITEMS_READY] = "SELECT id, sequence, state, due_us, attempts, was_lost, needs"
                           " FROM items WHERE queue = ?1 AND state = 'ready' AND sequence > ?2"
                           " ORDER BY sequence",
    [LK_SQL_ITEMS_OF] = "SELECT id, sequence, state, due_us, attempts, was_lost, needs, bytes"
                        " FROM items LEFT JOIN item_values ON item = number WHERE queue = ?1",
    [LK_SQL_ITEMS_LOAD] =
        "SELECT id, sequence, state, due_us, attempts, was_lost, needs, bytes, queue"
        " FROM items LEFT JOIN item_values ON item = number",
    /* By the wall clock, but not later than by the former clock. */
    [LK_SQL_ITEMS_MOVE] = "UPDATE items SET due_us ="
                          " ?1 + max(0, min(due_unix_us - ?2, due_us - ?3))"
                          " WHERE state = 'delayed'",

    [LK_SQL_ROOTS_GREATEST] = "SELECT ifnull(max(last_draw), 0) FROM roots",
    [LK_SQL_DONE_ROW_ADD] = "INSERT OR IGNORE INTO done_rows (queue, id) VALUES (?1, ?2)",
    [LK_SQL_DONE_ROW_DELETE] = "DELETE FROM done_rows WHERE queue = ?1 AND id = ?2",
    [LK_SQL_DONE_ROW_FIND] = "SELECT 1 FROM done_rows WHERE queue = ?1 AND id = ?2",
    /* By number: the plus sign prevents a sort of the whole queue. */
    [LK_SQL_DONE_ROWS_FROM] = "SELECT number, id FROM done_rows WHERE +queue = ?1 AND number > ?2"
                              " ORDER BY number LIMIT ?3",
    [LK_SQL_READY_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM items WHERE queue = ?1"
                           " AND state = 'ready' LIMIT ?2)",

    [LK_SQL_ROOT_LOAD] = "SELECT last_draw FROM roots WHERE root = ?1",
    [LK_SQL_ROOT_SAVE] = "INSERT INTO roots (root, last_draw) VALUES (?1, ?2)"
                         " ON CONFLICT (root) DO UPDATE SET last_draw = excluded.last_draw"
                         " WHERE last_draw < excluded.last_draw",
    [LK_SQL_ROOTS_FROM] = "SELECT root, last_draw, last_draw < ?2"
                          " AND NOT EXISTS (SELECT 1 FROM parts WHERE path = root)"
                          " AND NOT EXISTS (SELECT 1 FROM parts"
                          "   WHERE path > root || '/' AND path < root || '0')"
                          " FROM roots WHERE root > ?1 ORDER BY root LIMIT ?3",
    [LK_SQL_ROOT_DELETE] = "DELETE FROM roots WHERE root = ?1",

    [LK_SQL_ENDED_ALL] = "SELECT token, owner, paths, ended_us FROM ended ORDER BY ended_us",
    [LK_SQL_ENDED_LOAD] =
        "SELECT ended_us FROM ended WHERE token = ?1 AND owner = ?2 AND paths = ?3",
    [LK_SQL_ENDED_SAVE] =
        "INSERT OR REPLACE INTO ended (token, owner, paths, ended_us) VALUES (?1, ?2, ?3, ?4)",
    [LK_SQL_ENDED_SWEEP] = "DELETE FROM ended WHERE ended_us <= ?1 AND token IN"
                           " (SELECT token FROM ended ORDER BY token LIMIT ?2)",
    [LK_SQL_ENDED_BOUND] = "DELETE FROM ended WHERE token IN (SELECT token FROM ended"
                           " ORDER BY token"
                           " LIMIT max(0, (SELECT count(*) FROM ended) - ?1))",
    [LK_SQL_ENDED_CLEAR] = "DELETE FROM ended",

    [LK_SQL_AUDIT_SAVE] = "INSERT INTO audit (at_unix_us, broken_by, reason, path, owner, note,"
                          " ticket, token, held) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [LK_SQL_AUDIT_BOUND] = "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?1",
    [LK_SQL_AUDIT_LOAD] = "SELECT at_unix_us, broken_by, reason, path, owner, note, ticket, token,"
                          " held FROM audit"
                          " WHERE ?1 = '' OR path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
                          " ORDER BY id",

    [LK_SQL_EVENT_ADD] =
        "INSERT OR REPLACE INTO events (sequence, at_unix_us, event, refusal, parts, owner, note,"
        " ticket, token, attempt, is_of_item, is_deletion)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [LK_SQL_EVENTS_FROM] =
        "SELECT sequence, at_unix_us, event, refusal, parts, owner, note, ticket, token, attempt,"
        " is_of_item, is_deletion FROM events WHERE sequence > ?1 ORDER BY sequence",
    [LK_SQL_EVENTS_FORGET] = "DELETE FROM events WHERE sequence IN (SELECT sequence FROM events"
                             " WHERE sequence <= ?1 ORDER BY sequence LIMIT ?2)",
    [LK_SQL_EVENTS_PROBE] = "SELECT last_event, (SELECT min(deadline_us) FROM requests) FROM meta",
};

_Static_assert(sizeof texts / sizeof texts[0] == LK_SQL_STATEMENT_COUNT, "every statement is here");

const char *lk_sql_statement_text(enum lk_sql_statement which) {
    return texts[which];
}
