/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is, for `lk doctor`. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/store.h"
#include "engine/reply/reply.h"
#include "sql/rename.h"

enum { REPORT_BYTES_MAX = 2048 };

/* Columns of the question. */
enum {
    NOW_US,
    VERSION,
    FORMAT,
    LIVE,
    OVERDUE,
    FLUSH,
    HAS_BINLOG,
    SYNC_BINLOG,
    DATABASE,
    USER_NAME,
    MAKERS,
    UNLED,
    LIMITS
};

#define NOW "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
/*
 * Ready items that no claim reads, as none leads their group or has its turn; and groups without
 * one. Heads that their group does not know; and heads of no item.
 */
#define LEADER                                                                                     \
    " LEFT JOIN lk_items AS l ON l.queue = g.queue AND l.id = IF(g.head = '', g.leader, g.head)"   \
    " AND l.is_head = (g.head <> '') AND IF(l.is_head AND l.state <> 'ready', g.leader = '',"      \
    " l.state = 'ready' AND l.due_us = 0 AND g.leader = l.id)"
#define GROUP_OF_ITEM                                                                              \
    " LEFT JOIN lk_groups AS g ON g.queue = i.queue AND g.needs = UNHEX(SHA2(CONCAT(i.needs, '|'," \
    " i.need_limits, '|', i.need_units), 256))"
#define ITEMS_UNLED                                                                                \
    "(SELECT COUNT(*) FROM lk_items AS i" GROUP_OF_ITEM " AND g.number = i.due_us" LEADER          \
    " AND (l.is_head OR l.place < i.place)"                                                        \
    " WHERE i.state = 'ready' AND i.due_us <> 0 AND l.id IS NULL)"
#define GROUPS_UNLED "(SELECT COUNT(*) FROM lk_groups AS g" LEADER " WHERE l.id IS NULL)"
#define TURNS_UNKNOWN                                                                              \
    "(SELECT COUNT(*) FROM lk_items AS i" GROUP_OF_ITEM " AND g.head = i.id"                       \
    " WHERE i.is_head AND g.head IS NULL)"
#define TURNS_OF_NONE                                                                              \
    "(SELECT COUNT(*) FROM lk_heads AS t LEFT JOIN lk_items AS i ON i.queue = t.queue"             \
    " AND i.id = t.id AND i.is_head WHERE i.id IS NULL)"

static const char question[] =
    "SELECT " NOW ", VERSION(), m.format,"
    " (SELECT COUNT(*) FROM lk_requests AS r WHERE r.part = 1 AND r.deadline_us > " NOW "),"
    " (SELECT COUNT(*) FROM lk_requests AS r WHERE r.part = 1 AND r.deadline_us <= " NOW "),"
    " @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, DATABASE(), CURRENT_USER(),"
    " (SELECT GROUP_CONCAT(DISTINCT o.DEFINER SEPARATOR ', ') FROM information_schema.ROUTINES AS o"
    "  WHERE o.ROUTINE_SCHEMA = DATABASE() AND LEFT(o.ROUTINE_NAME, CHAR_LENGTH('lk_')) = 'lk_'),"
    " " ITEMS_UNLED " + " GROUPS_UNLED " + " TURNS_UNKNOWN " + " TURNS_OF_NONE ","
    " m.live_max, m.live_per_owner_max, m.live_per_root_max, m.waiters_per_path_max, m.events_max,"
    " m.watched_until_us > " NOW " FROM lk_meta AS m";

static const char *text_of(const struct lk_rows *rows, int column) {
    return lk_row_text(rows, 0, column).bytes;
}

static lk_report *make_report(struct lk_procedures *common, const struct lk_rows *rows) {
    const struct lk_mysql *store = lk_mysql_of(&common->engine);
    static const char *const modes[] = {
        [LK_MYSQL_SSL_DEFAULT] = "not named",
        [LK_MYSQL_SSL_DISABLED] = "disabled",
        [LK_MYSQL_SSL_REQUIRED] = "required",
        [LK_MYSQL_SSL_VERIFY_IDENTITY] = "verify-identity",
    };
    char report_bytes[REPORT_BYTES_MAX];
    char warning_bytes[REPORT_BYTES_MAX];
    struct lk_text text = lk_text_in(report_bytes, sizeof report_bytes);
    struct lk_text warnings = lk_text_in(warning_bytes, sizeof warning_bytes);

    lk_text_format(&text, "database: %s, as user %s\n", text_of(rows, DATABASE),
                   text_of(rows, USER_NAME));
    lk_text_format(&text, "prefix: %s, made by %s\nformat: %s\n", store->address.prefix,
                   text_of(rows, MAKERS) != NULL ? text_of(rows, MAKERS) : "an unknown user",
                   text_of(rows, FORMAT));
    lk_text_format(&text, "server: %s\nssl-mode: %s\n", text_of(rows, VERSION),
                   modes[store->address.ssl_mode]);
    lk_text_format(&text, "live requests: %s\nunswept requests: %s\n", text_of(rows, LIVE),
                   text_of(rows, OVERDUE));
    lk_text_format(&text, "wake-ups: none, waiters query, after up to 250 ms\n");
    lk_procedures_report_limits(&text, rows, LIMITS);
    if (lk_row_integer(rows, 0, FLUSH) != 1) {
        lk_text_format(&warnings, "innodb_flush_log_at_trx_commit is not 1: a crash may undo the "
                                  "last moments\n");
    }
    if (lk_row_boolean(rows, 0, HAS_BINLOG) && lk_row_integer(rows, 0, SYNC_BINLOG) != 1) {
        lk_text_format(&warnings, "sync_binlog is not 1: after a crash replicas may know more or "
                                  "less than the server\n");
    }
    if (lk_row_integer(rows, 0, UNLED) > 0) {
        lk_text_format(&warnings,
                       "%s ready items or groups of them are behind none that a claim looks at: "
                       "CALL %smake_groups()\n",
                       text_of(rows, UNLED), store->address.prefix);
    }
    return lk_report_make(report_bytes, warning_bytes);
}

lk_outcome lk_mysql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                            lk_report **ret_report, struct lk_error *error) {
    struct lk_mysql *store = lk_mysql_of(engine);
    char *sql = lk_sql_rename(question, "lk_", store->address.prefix);
    lk_outcome outcome =
        lk_procedures_examine(&store->common, sql, make_report, patience, ret_report, error);

    free(sql);
    return outcome;
}
