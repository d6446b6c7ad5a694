/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of every kept statement. Columns are read by their number where a statement is used, so
 * the order here and there is one. "Below P" is the range from 'P/' to 'P0': '0' follows '/'.
 */
#include "sql/statements.h"

static const char *const texts[] = {
    [LK_SQL_BEGIN] = "BEGIN",
    [LK_SQL_BEGIN_IMMEDIATE] = "BEGIN IMMEDIATE",
    [LK_SQL_COMMIT] = "COMMIT",
    [LK_SQL_ROLLBACK] = "ROLLBACK",
    [LK_SQL_DATA_VERSION] = "PRAGMA data_version",

    [LK_SQL_META_LOAD] = "SELECT format, writable_from, boot_id, draw_floor, sweep_root, live_max,"
                         " live_per_owner_max, live_per_root_max, waiters_per_path_max FROM meta",
    [LK_SQL_META_SET_BOOT] = "UPDATE meta SET boot_id = ?1",
    [LK_SQL_META_RAISE_FLOOR] = "UPDATE meta SET draw_floor = max(draw_floor, ?1), sweep_root = ?2",

    [LK_SQL_REQUEST_LOAD] =
        "SELECT owner, note, state, revoked, attended, fixed, graced, ticket, token, ttl_ms,"
        " deadline_us, expires_unix_us, path, mode, unit_limit, units"
        " FROM requests JOIN parts ON parts.request = requests.id"
        " WHERE requests.id = ?1 ORDER BY parts.position",
    /* A deadline that did not move keeps the wall-clock reading that it was set with. */
    [LK_SQL_REQUEST_SAVE] =
        "INSERT INTO requests (id, owner, note, state, revoked, attended, fixed, graced, ticket,"
        " token, ttl_ms, deadline_us, expires_unix_us)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        " ON CONFLICT (id) DO UPDATE SET note = excluded.note, state = excluded.state,"
        " revoked = excluded.revoked, attended = excluded.attended, fixed = excluded.fixed,"
        " graced = CASE WHEN deadline_us = excluded.deadline_us THEN graced"
        "               ELSE excluded.graced END,"
        " ticket = excluded.ticket, token = excluded.token, ttl_ms = excluded.ttl_ms,"
        " expires_unix_us = CASE WHEN deadline_us = excluded.deadline_us THEN expires_unix_us"
        "                        ELSE excluded.expires_unix_us END,"
        " deadline_us = excluded.deadline_us",
    [LK_SQL_REQUEST_DELETE] = "DELETE FROM requests WHERE id = ?1",
    [LK_SQL_REQUEST_STANDING] = "SELECT ticket FROM requests WHERE id = ?1 AND state = 'waiting'",
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

    [LK_SQL_ALL] = "SELECT id FROM requests",
    [LK_SQL_AT] = "SELECT request FROM parts WHERE path = ?1",
    [LK_SQL_AT_OF] = "SELECT request FROM parts CROSS JOIN requests ON requests.id = parts.request"
                     " WHERE path = ?1 AND owner = ?2",
    [LK_SQL_BELOW] = "SELECT request FROM parts WHERE path > ?1 AND path < ?2",
    [LK_SQL_OVERDUE] =
        "SELECT id FROM requests WHERE deadline_us <= ?1 ORDER BY deadline_us LIMIT ?2",
    [LK_SQL_WAITING_OF] = "SELECT id FROM requests WHERE owner = ?1 AND state = 'waiting'",
    [LK_SQL_LINE_AT] = "SELECT state = 'waiting', ticket, deadline_us"
                       " FROM parts JOIN requests ON requests.id = parts.request"
                       " WHERE path = ?1 LIMIT ?2",
    [LK_SQL_LINE_BELOW] = "SELECT state = 'waiting', ticket, deadline_us"
                          " FROM parts JOIN requests ON requests.id = parts.request"
                          " WHERE path > ?1 AND path < ?2 LIMIT ?3",
    [LK_SQL_COUNT_LIVE] = "SELECT count(*) FROM requests WHERE deadline_us > ?1",

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
};

_Static_assert(sizeof texts / sizeof texts[0] == LK_SQL_STATEMENT_COUNT, "every statement is here");

const char *lk_sql_statement_text(enum lk_sql_statement which) {
    return texts[which];
}
