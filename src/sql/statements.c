/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of every kept statement. Columns are read by number where a statement is used, so both
 * places must have the same order. "Below P" is the range from 'P/' to 'P0': '0' follows '/'.
 */
#include "sql/statements.h"

/* Those of decode_item() in items.c, and of decode_counts(). */
#define ITEM_COLUMNS                                                                               \
    "id, sequence, state, due_us, attempts, was_lost, needs, priority, last_exit, last_error,"     \
    " due_unix_us, is_head, keep_ms, progress"
/* Items that are done, and whose time is over. */
#define DONE_AND_OVER                                                                              \
    "SELECT number FROM lk_item WHERE state = 'done' AND due_us <= ?1 ORDER BY due_us, number"     \
    " LIMIT ?2"
#define QUEUE_COLUMNS "pushed, duplicates, claims, steals, done, retried, parked, path"

/* Queries of lines, with their index, or without where there is none yet (lines.h). */
#define FIRST_EXCLUSIVE(INDEX)                                                                     \
    "SELECT turn FROM lk_part" INDEX " CROSS JOIN lk_request ON lk_request.id = lk_part.request"   \
    " WHERE turn <> 0 AND path = ?1 AND turn >= ?2 AND mode = 'exclusive' AND deadline_us > ?3"    \
    " ORDER BY turn LIMIT 1"
#define GREATEST_LIMIT(INDEX)                                                                      \
    "SELECT unit_limit FROM lk_part" INDEX                                                         \
    " WHERE turn <> 0 AND mode = 'shared' AND path = ?1 ORDER BY unit_limit DESC LIMIT 1"
#define UNLIMITED_AT(INDEX)                                                                        \
    "SELECT request FROM lk_part" INDEX                                                            \
    " WHERE turn <> 0 AND mode = 'shared' AND path = ?1 AND unit_limit = 0"                        \
    " AND turn >= ?2 AND turn <= ?3"

/* Ready items after a place; each is two ranges of one index (R16). */
#define READY_BEHIND(BEHIND)                                                                       \
    "SELECT " ITEM_COLUMNS " FROM lk_item WHERE queue = ?1 AND state = 'ready'"                    \
    " AND behind = " BEHIND " AND priority = ?2 AND sequence > ?3"                                 \
    " UNION ALL SELECT " ITEM_COLUMNS " FROM lk_item WHERE queue = ?1 AND state = 'ready'"         \
    " AND behind = " BEHIND " AND priority < ?2"

static const char *const texts[] = {
    [LK_SQL_BEGIN] = "BEGIN",
    [LK_SQL_BEGIN_IMMEDIATE] = "BEGIN IMMEDIATE",
    [LK_SQL_COMMIT] = "COMMIT",
    [LK_SQL_ROLLBACK] = "ROLLBACK",
    [LK_SQL_DATA_VERSION] = "PRAGMA data_version",

    [LK_SQL_META_LOAD] =
        "SELECT format, writable_from, boot_id, draw_floor, sweep_root, live_max,"
        " live_per_owner_max, live_per_root_max, waiters_per_path_max, served, events_max,"
        " watched_until_us, last_event FROM lk_meta",
    [LK_SQL_META_FORMAT] = "SELECT format, writable_from FROM lk_meta",
    [LK_SQL_META_SET_BOOT] = "UPDATE lk_meta SET boot_id = ?1, watched_until_us = 0",
    [LK_SQL_META_SET_SERVED] = "UPDATE lk_meta SET served = ?1",
    [LK_SQL_META_RAISE_FLOOR] =
        "UPDATE lk_meta SET draw_floor = max(draw_floor, ?1), sweep_root = ?2",

    [LK_SQL_META_SET_QUOTAS] =
        "UPDATE lk_meta SET live_max = ?1, live_per_owner_max = ?2, live_per_root_max = ?3,"
        " waiters_per_path_max = ?4, events_max = ?5",
    [LK_SQL_META_SET_WATCHED] = "UPDATE lk_meta SET watched_until_us = ?1",
    [LK_SQL_META_SET_LAST_EVENT] = "UPDATE lk_meta SET last_event = ?1",

    [LK_SQL_REQUEST_LOAD] =
        "SELECT owner, note, state, revoked, attended, fixed, graced, ticket, token, ttl_ms,"
        " deadline_us, expires_unix_us, wants_value, is_claim, ask_number, max_attempts,"
        " path, mode, unit_limit, units, bound, position"
        " FROM lk_request JOIN lk_part ON lk_part.request = lk_request.id"
        " WHERE lk_request.id = ?1 ORDER BY lk_part.position",
    /*
     * The same for all requests, one after the other. LEFT JOIN keeps this order, which no index
     * sorts, and shows a request that has no parts.
     */
    [LK_SQL_REQUESTS_LOAD] =
        "SELECT owner, note, state, revoked, attended, fixed, graced, ticket, token, ttl_ms,"
        " deadline_us, expires_unix_us, wants_value, is_claim, ask_number, max_attempts,"
        " path, mode, unit_limit, units, bound, position, lk_request.id"
        " FROM lk_request LEFT JOIN lk_part ON lk_part.request = lk_request.id"
        " ORDER BY lk_request.id, lk_part.position",
    /* An unchanged deadline keeps the wall-clock reading that it was set with. */
    [LK_SQL_REQUEST_SAVE] =
        "INSERT INTO lk_request (id, owner, note, state, revoked, attended, fixed, graced, ticket,"
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
    [LK_SQL_REQUEST_DELETE] = "DELETE FROM lk_request WHERE id = ?1",
    [LK_SQL_REQUEST_TICKET] = "SELECT ticket FROM lk_request WHERE id = ?1 AND state = 'waiting'",
    [LK_SQL_REQUEST_PATHS] = "SELECT path FROM lk_part WHERE request = ?1",
    [LK_SQL_REQUEST_GREATEST] = "SELECT ifnull(max(id), 0) FROM lk_request",
    /* By the index that locks are looked up by; each step is a lookup of one row. */
    [LK_SQL_REQUEST_IS_FOUND] =
        "SELECT 1 FROM lk_part AS own CROSS JOIN lk_part AS found INDEXED BY lk_part_by_path"
        " ON found.path = own.path AND found.turn = own.turn AND found.request = own.request"
        " AND found.position = own.position WHERE own.request = ?1 AND own.position = 0",
    [LK_SQL_PART_SAVE] =
        "INSERT INTO lk_part (request, position, path, mode, unit_limit, units)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (request, position) DO UPDATE SET path = excluded.path,"
        " mode = excluded.mode, unit_limit = excluded.unit_limit, units = excluded.units"
        " WHERE path <> excluded.path OR mode <> excluded.mode"
        " OR unit_limit <> excluded.unit_limit OR units <> excluded.units",
    [LK_SQL_PARTS_DELETE] = "DELETE FROM lk_part WHERE request = ?1",

    [LK_SQL_BOOT_CLOCKS] = "SELECT expires_unix_us - deadline_us BETWEEN ?1 - ?2 AND ?1 + ?2"
                           " AND deadline_us - ttl_ms * 1000 <= ?3"
                           " FROM lk_request WHERE NOT fixed ORDER BY id DESC LIMIT 1",
    [LK_SQL_RESTART_KNOWN] = "SELECT ifnull(max(deadline_us - ttl_ms * 1000), 0)"
                             " FROM lk_request WHERE NOT fixed",
    [LK_SQL_RESTART_STAY] = "UPDATE lk_request SET deadline_us = ?1 + min(ttl_ms * 1000, ?4),"
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
        " FROM lk_request)"
        " UPDATE lk_request SET deadline_us = ?1 + left_us, expires_unix_us = ?2 + left_us,"
        " graced = 1 FROM promise WHERE promise.id = lk_request.id",

    [LK_SQL_ALL] = "SELECT id FROM lk_request",
    [LK_SQL_AT] = "SELECT request FROM lk_part WHERE path = ?1",
    [LK_SQL_AT_OF] =
        "SELECT request FROM lk_part CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE path = ?1 AND owner = ?2",
    [LK_SQL_BELOW] = "SELECT request FROM lk_part WHERE path > ?1 AND path < ?2",
    [LK_SQL_OVERDUE] =
        "SELECT id FROM lk_request WHERE deadline_us <= ?1 ORDER BY deadline_us LIMIT ?2",
    [LK_SQL_WAITING_OF] = "SELECT id FROM lk_request WHERE owner = ?1 AND state = 'waiting'",
    [LK_SQL_CLAIMS_OF] = "SELECT id FROM lk_request"
                         " WHERE owner = ?1 AND ask_number = ?2 AND ask_number <> 0",
    /* CROSS JOIN keeps this order: few rows are overdue, but a queue may be long. */
    [LK_SQL_OVERDUE_CLAIMS] =
        "SELECT id FROM lk_request CROSS JOIN lk_part ON request = id AND position = 0"
        " WHERE deadline_us <= ?3 AND is_claim AND path > ?1 AND path < ?2",
    /* Lines (lines.h): a turn is 0 while a request holds. CROSS JOIN reads the parts first. */
    [LK_SQL_OF_OWNER] =
        "SELECT id FROM lk_request INDEXED BY lk_request_by_owner WHERE owner = ?1 LIMIT ?2",
    [LK_SQL_WAITING_OF_OTHERS] = "SELECT id FROM lk_request INDEXED BY lk_request_waiting_by_owner"
                                 " WHERE state = 'waiting' AND owner <> ?1 LIMIT 1",
    [LK_SQL_HELD_AT] = "SELECT request FROM lk_part WHERE path = ?1 AND turn = 0",
    [LK_SQL_HELD_AT_OF] =
        "SELECT request FROM lk_part CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE path = ?1 AND turn = 0 AND owner = ?2",
    [LK_SQL_HELD_COUNT] =
        "SELECT count(*) FROM (SELECT 1 FROM lk_part WHERE path = ?1 AND turn = 0 LIMIT ?2)",
    [LK_SQL_HELD_OF_AT] = "SELECT id FROM lk_request INDEXED BY lk_request_by_owner"
                          " CROSS JOIN lk_part ON lk_part.request = lk_request.id"
                          " WHERE owner = ?2 AND path = ?1 AND turn = 0",
    [LK_SQL_HELD_MODES] = "SELECT request, mode = 'exclusive', owner FROM lk_part"
                          " CROSS JOIN lk_request ON lk_request.id = lk_part.request"
                          " WHERE path = ?1 AND turn = 0 AND deadline_us > ?2 AND request <> ?3",
    [LK_SQL_COUNTED_AT] =
        "SELECT request, units FROM lk_part CROSS JOIN lk_request ON lk_request.id = request"
        " WHERE path = ?1 AND turn >= ?2 AND turn <= ?3 AND units > 0 AND deadline_us > ?4"
        " AND request <> ?5 ORDER BY turn",
    [LK_SQL_GREATEST_LIMIT] = GREATEST_LIMIT(" INDEXED BY lk_part_waiting_by_limit"),
    [LK_SQL_GREATEST_LIMIT_PLAIN] = GREATEST_LIMIT(""),
    [LK_SQL_UNLIMITED_AT] = UNLIMITED_AT(" INDEXED BY lk_part_waiting_by_limit"),
    [LK_SQL_UNLIMITED_AT_PLAIN] = UNLIMITED_AT(""),
    [LK_SQL_LINE_INDEXES] =
        "SELECT 1 FROM lk_part INDEXED BY lk_part_waiting_by_limit"
        " WHERE turn <> 0 AND mode = 'shared' AND path = ''"
        " UNION ALL SELECT 1 FROM lk_part INDEXED BY lk_part_waiting_by_mode"
        " WHERE turn <> 0 AND path = ''"
        " UNION ALL SELECT 1 FROM lk_request INDEXED BY lk_request_by_owner WHERE owner = ''"
        " UNION ALL SELECT 1 FROM lk_hidden_cycle",
    [LK_SQL_HELD_BELOW] = "SELECT request FROM lk_part WHERE path > ?1 AND path < ?2 AND turn = 0",
    [LK_SQL_WAITING_AT] =
        "SELECT request FROM lk_part WHERE path = ?1 AND turn >= ?2 AND turn <= ?3",
    [LK_SQL_WAITING_BELOW] =
        "SELECT request FROM lk_part INDEXED BY lk_part_waiting"
        " WHERE turn <> 0 AND path > ?1 AND path < ?2 AND turn >= ?3 AND turn <= ?4",
    [LK_SQL_CYCLE_POSSIBLE] = "SELECT possible FROM lk_hidden_cycle",
    [LK_SQL_CYCLE_CLEAR] = "UPDATE lk_hidden_cycle SET possible = 0",
    [LK_SQL_CYCLE_NESTED] =
        "SELECT 1 FROM lk_request AS waits INDEXED BY lk_request_waiting_by_owner"
        " CROSS JOIN lk_request AS other INDEXED BY lk_request_by_owner"
        " ON other.owner = waits.owner AND other.id <> waits.id"
        " WHERE waits.state = 'waiting' LIMIT 1",
    [LK_SQL_FIRST_EXCLUSIVE] = FIRST_EXCLUSIVE(" INDEXED BY lk_part_waiting_by_mode"),
    [LK_SQL_FIRST_EXCLUSIVE_PLAIN] = FIRST_EXCLUSIVE(""),
    [LK_SQL_EXCLUSIVE_AHEAD] =
        "SELECT request FROM lk_part INDEXED BY lk_part_waiting_by_mode"
        " CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE turn <> 0 AND path = ?1 AND mode = 'exclusive' AND turn >= ?2 AND turn <= ?3"
        " AND ?4 = 0 AND owner <> ?5 AND deadline_us > ?6 AND request <> ?7",
    [LK_SQL_OBSTACLES_AT] =
        "SELECT request FROM lk_part CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE path = ?1 AND turn >= ?2 AND turn <= ?3 AND (?4 OR mode = 'exclusive')"
        " AND owner <> ?5 AND deadline_us > ?6 AND request <> ?7",
    [LK_SQL_HOLDERS_BELOW] =
        "SELECT request FROM lk_part"
        " CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE path > ?1 AND path < ?2 AND turn >= ?3 AND turn <= ?4"
        " AND (?5 OR mode = 'exclusive') AND owner <> ?6 AND deadline_us > ?7 AND request <> ?8",
    [LK_SQL_WAITERS_BELOW] =
        "SELECT request FROM lk_part INDEXED BY lk_part_waiting"
        " CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE turn <> 0 AND path > ?1 AND path < ?2 AND turn >= ?3 AND turn <= ?4"
        " AND (?5 OR mode = 'exclusive') AND owner <> ?6 AND deadline_us > ?7 AND request <> ?8",
    [LK_SQL_COUNT_AT] = "SELECT count(*) FROM (SELECT 1 FROM lk_part WHERE path = ?1 LIMIT ?2)",
    [LK_SQL_COUNT_BELOW] =
        "SELECT count(*) FROM (SELECT 1 FROM lk_part WHERE path > ?1 AND path < ?2 LIMIT ?3)",

    [LK_SQL_WAIT_ROWS_AT] = "SELECT state = 'waiting', ticket, deadline_us"
                            " FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
                            " WHERE path = ?1 LIMIT ?2",
    [LK_SQL_WAIT_ROWS_BELOW] = "SELECT state = 'waiting', ticket, deadline_us"
                               " FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
                               " WHERE path > ?1 AND path < ?2 LIMIT ?3",
    [LK_SQL_COUNT_LIVE] = "SELECT count(*) FROM lk_request WHERE deadline_us > ?1",
    [LK_SQL_COUNT_KEPT] = "SELECT (SELECT count(*) FROM lk_queue), (SELECT count(*) FROM lk_item),"
                          " (SELECT count(*) FROM lk_value), (SELECT count(*) FROM lk_event)",
    /* Of each table by an index, and of parts by the table, too: where a page is lost, not both
     * have lost the same rows (load.c). */
    [LK_SQL_COUNT_ROWS] =
        "SELECT (SELECT count(deadline_us) FROM lk_request INDEXED BY lk_request_by_deadline),"
        " (SELECT count(turn) FROM lk_part NOT INDEXED),"
        " (SELECT count(path) FROM lk_part INDEXED BY lk_part_by_path),"
        " (SELECT count(state) FROM lk_item INDEXED BY lk_item_by_state),"
        " (SELECT count(path) FROM lk_value INDEXED BY sqlite_autoindex_lk_value_1)",

    /* R22: for bounds; up to ?2. The table that counts exists while its bound is set (counts.c). */
    [LK_SQL_COUNT_KEPT_REQUESTS] = "SELECT requests FROM lk_request_count",
    [LK_SQL_COUNT_OVERDUE_TO] =
        "SELECT count(*) FROM (SELECT 1 FROM lk_request WHERE deadline_us <= ?1 LIMIT ?2)",
    [LK_SQL_COUNT_OWNED_TO] = "SELECT count(*) FROM (SELECT 1 FROM lk_request"
                              " WHERE owner = ?3 AND deadline_us > ?1 LIMIT ?2)",
    [LK_SQL_COUNT_ROOTED_TO] =
        "SELECT count(*) FROM (SELECT DISTINCT request"
        " FROM (SELECT request FROM lk_part WHERE path = ?3"
        "       UNION ALL SELECT request FROM lk_part WHERE path > ?4 AND path < ?5)"
        " CROSS JOIN lk_request ON lk_request.id = request WHERE deadline_us > ?1 LIMIT ?2)",

    [LK_SQL_VALUES_LOAD] = "SELECT path, in_doubt, bytes FROM lk_value",
    [LK_SQL_VALUES_LOAD_HEADS] = "SELECT path, in_doubt, NULL FROM lk_value",
    /* One path, and a range behind it. length() reads no more of a value than its first page. */
    [LK_SQL_VALUES_FROM] = "SELECT path, in_doubt, length(bytes) FROM lk_value"
                           " WHERE path = ?1 AND path > ?4"
                           " UNION ALL SELECT path, in_doubt, length(bytes) FROM lk_value"
                           " WHERE path > max(?2, ?4) AND path < ?3 ORDER BY path",
    [LK_SQL_VALUE_LOAD] = "SELECT in_doubt, bytes FROM lk_value WHERE path = ?1",
    [LK_SQL_VALUE_SAVE] = "INSERT INTO lk_value (path, in_doubt, bytes) VALUES (?1, 0, ?2)"
                          " ON CONFLICT (path) DO UPDATE SET in_doubt = 0, bytes = excluded.bytes",
    [LK_SQL_VALUE_DOUBT] = "UPDATE lk_value SET in_doubt = 1 WHERE path = ?1",
    [LK_SQL_VALUE_DELETE] = "DELETE FROM lk_value WHERE path = ?1",
    [LK_SQL_VALUE_MAY_BE_LOST] =
        "SELECT 1 FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
        " WHERE path = ?1 AND wants_value AND deadline_us <= ?2 LIMIT 1",

    [LK_SQL_QUEUE_LOAD] = "SELECT " QUEUE_COLUMNS " FROM lk_queue WHERE path = ?1",
    [LK_SQL_QUEUES_LOAD] = "SELECT " QUEUE_COLUMNS " FROM lk_queue ORDER BY path",
    /* One path, and a range behind it, in the order of both. */
    [LK_SQL_QUEUES_FROM] = "SELECT " QUEUE_COLUMNS " FROM lk_queue WHERE path = ?1 AND path > ?4"
                           " UNION ALL SELECT " QUEUE_COLUMNS " FROM lk_queue"
                           " WHERE path > max(?2, ?4) AND path < ?3 ORDER BY path",
    [LK_SQL_QUEUE_SAVE] =
        "INSERT INTO lk_queue (path, pushed, duplicates, claims, steals, done, retried, parked)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (path) DO UPDATE SET pushed = excluded.pushed,"
        " duplicates = excluded.duplicates, claims = excluded.claims, steals = excluded.steals,"
        " done = excluded.done, retried = excluded.retried, parked = excluded.parked",
    [LK_SQL_QUEUE_DELETE] = "DELETE FROM lk_queue WHERE path = ?1",
    [LK_SQL_QUEUE_COUNT] = "SELECT state, count(*),"
                           " (SELECT count(*) FROM lk_item AS late WHERE late.queue = ?1"
                           "  AND late.state = 'delayed' AND late.due_us <= ?2),"
                           " (SELECT count(*) FROM lk_item AS over WHERE over.queue = ?1"
                           "  AND over.state = 'done' AND over.due_us <= ?2)"
                           " FROM lk_item WHERE queue = ?1 GROUP BY state",
    /* An index has all that the first part reads. */
    [LK_SQL_QUEUE_OLDEST] = "SELECT (SELECT min(ifnull(nullif(due_unix_us, 0), sequence)) - ?3"
                            "        FROM lk_item WHERE queue = ?1 AND state = 'ready'),"
                            " (SELECT min(due_us) FROM lk_item"
                            "  WHERE queue = ?1 AND state = 'delayed' AND due_us <= ?2)",
    [LK_SQL_QUEUE_PROBE] =
        "SELECT EXISTS (SELECT 1 FROM lk_item WHERE queue = ?1 AND state = 'ready'),"
        " (SELECT min(due_us) FROM lk_item WHERE queue = ?1 AND state = 'delayed'),"
        " (SELECT min(deadline_us)"
        "  FROM lk_part CROSS JOIN lk_request ON lk_request.id = lk_part.request"
        "  WHERE path > ?2 AND path < ?3 AND position = 0 AND is_claim)",
    [LK_SQL_QUEUE_HAS_RIPE] = "SELECT 1 FROM lk_item"
                              " WHERE queue = ?1 AND state = 'delayed' AND due_us <= ?2 LIMIT 1",
    [LK_SQL_QUEUE_RIPEN] = "UPDATE lk_item SET state = 'ready', due_us = 0"
                           " WHERE queue = ?1 AND state = 'delayed' AND due_us <= ?2",

    [LK_SQL_ITEM_LOAD] = "SELECT " ITEM_COLUMNS " FROM lk_item WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_ADD] =
        "INSERT INTO lk_item (queue, id, state, due_us, due_unix_us, attempts, was_lost, sequence,"
        " needs, priority, value_bytes, last_exit, last_error, is_head, keep_ms,"
        " progress)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    [LK_SQL_ITEM_SAVE] = "UPDATE lk_item SET state = ?3, due_us = ?4, due_unix_us = ?5,"
                         " attempts = ?6, was_lost = ?7, last_exit = ?8, last_error = ?9,"
                         " is_head = ?10, progress = ?11 WHERE queue = ?1 AND id = ?2",
    [LK_SQL_STRICT_NEED_ADD] = "REPLACE INTO lk_strict_need (item, path, queue, is_head)"
                               " SELECT number, ?3, queue, is_head FROM lk_item"
                               " WHERE queue = ?1 AND id = ?2",
    [LK_SQL_HEAD_FIND] = "SELECT 1 FROM lk_strict_need"
                         " WHERE queue = ?1 AND path = ?2 AND is_head",
    [LK_SQL_DONE_VALUES_FORGET] = "DELETE FROM lk_item_value WHERE item IN (" DONE_AND_OVER ")",
    [LK_SQL_DONE_FORGET] = "DELETE FROM lk_item WHERE number IN (" DONE_AND_OVER ")",
    [LK_SQL_ITEM_DELETE] = "DELETE FROM lk_item WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_VALUE_LOAD] = "SELECT bytes, value_bytes"
                               " FROM lk_item LEFT JOIN lk_item_value ON item = number"
                               " WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_VALUE_ADD] = "INSERT INTO lk_item_value (item, bytes)"
                              " SELECT number, ?3 FROM lk_item WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEM_VALUE_DELETE] = "DELETE FROM lk_item_value WHERE item ="
                                 " (SELECT number FROM lk_item WHERE queue = ?1 AND id = ?2)",
    /* Ranges of one index, so that neither a sort nor what was read before costs anything. */
    [LK_SQL_ITEMS_FIRST] = READY_BEHIND("0") " ORDER BY priority DESC, sequence",
    /* The same of those behind, too. */
    [LK_SQL_ITEMS_READY] =
        READY_BEHIND("0") " UNION ALL " READY_BEHIND("1") " ORDER BY priority DESC, sequence",
    [LK_SQL_ITEMS_PARKED] = "SELECT " ITEM_COLUMNS " FROM lk_item"
                            " WHERE queue = ?1 AND state = 'parked' AND sequence > ?2"
                            " ORDER BY sequence",
    [LK_SQL_ITEMS_OF] = "SELECT " ITEM_COLUMNS ", bytes, value_bytes"
                        " FROM lk_item LEFT JOIN lk_item_value ON item = number WHERE queue = ?1",
    [LK_SQL_ITEM_OF] = "SELECT " ITEM_COLUMNS ", bytes, value_bytes"
                       " FROM lk_item LEFT JOIN lk_item_value ON item = number"
                       " WHERE queue = ?1 AND id = ?2",
    [LK_SQL_ITEMS_LOAD_HEADS] = "SELECT " ITEM_COLUMNS ", NULL, NULL, queue FROM lk_item",
    [LK_SQL_ITEMS_LOAD] = "SELECT " ITEM_COLUMNS ", bytes, value_bytes, queue"
                          " FROM lk_item LEFT JOIN lk_item_value ON item = number",
    /* By the wall clock, but not later than by the former clock. */
    [LK_SQL_ITEMS_MOVE] = "UPDATE lk_item SET due_us ="
                          " ?1 + max(0, min(due_unix_us - ?2, due_us - ?3))"
                          " WHERE state IN ('delayed', 'again', 'done')",

    [LK_SQL_ROOTS_GREATEST] = "SELECT ifnull(max(last_draw), 0) FROM lk_root",
    [LK_SQL_DONE_ROW_ADD] = "INSERT OR IGNORE INTO lk_done_row (queue, id) VALUES (?1, ?2)",
    [LK_SQL_DONE_ROW_DELETE] = "DELETE FROM lk_done_row WHERE queue = ?1 AND id = ?2",
    [LK_SQL_DONE_ROW_FIND] = "SELECT 1 FROM lk_done_row WHERE queue = ?1 AND id = ?2",
    /* By number: the plus sign prevents a sort of the whole queue. */
    [LK_SQL_DONE_ROWS_FROM] = "SELECT number, id FROM lk_done_row WHERE +queue = ?1 AND number > ?2"
                              " ORDER BY number LIMIT ?3",
    [LK_SQL_PARKED_FROM] = "SELECT sequence, id FROM lk_item WHERE queue = ?1 AND state = 'parked'"
                           " AND sequence > ?2 ORDER BY sequence LIMIT ?3",
    [LK_SQL_READY_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM lk_item WHERE queue = ?1"
                           " AND state = 'ready' LIMIT ?2)",

    [LK_SQL_ROOT_LOAD] = "SELECT last_draw FROM lk_root WHERE root = ?1",
    [LK_SQL_ROOT_SAVE] = "INSERT INTO lk_root (root, last_draw) VALUES (?1, ?2)"
                         " ON CONFLICT (root) DO UPDATE SET last_draw = excluded.last_draw"
                         " WHERE last_draw < excluded.last_draw",
    [LK_SQL_ROOTS_FROM] = "SELECT root, last_draw, last_draw < ?2"
                          " AND NOT EXISTS (SELECT 1 FROM lk_part WHERE path = root)"
                          " AND NOT EXISTS (SELECT 1 FROM lk_part"
                          "   WHERE path > root || '/' AND path < root || '0')"
                          " FROM lk_root WHERE root > ?1 ORDER BY root LIMIT ?3",
    [LK_SQL_ROOT_DELETE] = "DELETE FROM lk_root WHERE root = ?1",

    [LK_SQL_ENDED_ALL] = "SELECT token, owner, paths, ended_us FROM lk_ended ORDER BY ended_us",
    [LK_SQL_ENDED_LOAD] =
        "SELECT ended_us FROM lk_ended WHERE token = ?1 AND owner = ?2 AND paths = ?3",
    [LK_SQL_ENDED_SAVE] =
        "INSERT OR REPLACE INTO lk_ended (token, owner, paths, ended_us) VALUES (?1, ?2, ?3, ?4)",
    [LK_SQL_ENDED_SWEEP] = "DELETE FROM lk_ended WHERE ended_us <= ?1 AND token IN"
                           " (SELECT token FROM lk_ended ORDER BY token LIMIT ?2)",
    [LK_SQL_ENDED_BOUND] = "DELETE FROM lk_ended WHERE token IN (SELECT token FROM lk_ended"
                           " ORDER BY token"
                           " LIMIT max(0, (SELECT count(*) FROM lk_ended) - ?1))",
    [LK_SQL_ENDED_CLEAR] = "DELETE FROM lk_ended",

    [LK_SQL_AUDIT_SAVE] = "INSERT INTO lk_audit (at_unix_us, broken_by, reason, path, owner, note,"
                          " ticket, token, held) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [LK_SQL_AUDIT_BOUND] = "DELETE FROM lk_audit WHERE id <= (SELECT max(id) FROM lk_audit) - ?1",
    [LK_SQL_AUDIT_LOAD] = "SELECT at_unix_us, broken_by, reason, path, owner, note, ticket, token,"
                          " held FROM lk_audit"
                          " WHERE ?1 = '' OR path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
                          " ORDER BY id",
    [LK_SQL_AUDIT_NEWS] = "SELECT id, token FROM lk_audit WHERE id > ifnull(?1,"
                          " (SELECT max(id) - ?2 FROM lk_audit)) ORDER BY id LIMIT ?2",

    [LK_SQL_EVENT_ADD] =
        "INSERT OR REPLACE INTO lk_event (sequence, at_unix_us, event, refusal, parts, owner, note,"
        " ticket, token, attempt, is_of_item, is_deletion, broken_by, reason)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [LK_SQL_EVENTS_FROM] =
        "SELECT sequence, at_unix_us, event, refusal, parts, owner, note, ticket, token, attempt,"
        " is_of_item, is_deletion, broken_by, reason"
        " FROM lk_event WHERE sequence > ?1 ORDER BY sequence",
    [LK_SQL_EVENTS_FORGET] = "DELETE FROM lk_event WHERE sequence IN (SELECT sequence FROM lk_event"
                             " WHERE sequence <= ?1 ORDER BY sequence LIMIT ?2)",
    [LK_SQL_EVENTS_PROBE] =
        "SELECT last_event, (SELECT min(deadline_us) FROM lk_request) FROM lk_meta",
};

_Static_assert(sizeof texts / sizeof texts[0] == LK_SQL_STATEMENT_COUNT, "every statement is here");

const char *lk_sql_statement_text(enum lk_sql_statement which) {
    return texts[which];
}
