/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is, for `lk doctor`. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/postgresql/schema.h"
#include "engine/postgresql/store.h"
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
    SYNCHRONOUS,
    FSYNC,
    DATABASE,
    USER_NAME,
    OWNERS,
    KEYS,
    LIMITS
};

/* Names are looked up in pg_catalog alone, and not where other roles may have made some. */
static const char question[] =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);"
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"
    " current_setting('server_version'), m.format,"
    " (SELECT count(*) FROM lockkeeper.requests AS r"
    "  WHERE r.deadline_us > extract(epoch FROM clock_timestamp()) * 1000000),"
    " (SELECT count(*) FROM lockkeeper.requests AS r"
    "  WHERE r.deadline_us <= extract(epoch FROM clock_timestamp()) * 1000000),"
    " current_setting('synchronous_commit'), current_setting('fsync'),"
    " current_database(), current_user,"
    " (SELECT string_agg(DISTINCT pg_get_userbyid(o.owner)::text, ', ') FROM pg_namespace AS n"
    "  CROSS JOIN LATERAL (SELECT n.nspowner AS owner UNION ALL SELECT c.relowner"
    "   FROM pg_class AS c WHERE c.relnamespace = n.oid UNION ALL SELECT p.proowner"
    "   FROM pg_proc AS p WHERE p.pronamespace = n.oid) AS o WHERE n.nspname = 'lockkeeper'),"
    /* Sessions that have the advisory lock of a root for longer than a decision takes. */
    " (SELECT string_agg(format('root %s is kept by session %s of %s (%s, %s), which nothing there"
    " can go past', r.root, a.pid, coalesce(a.usename::text, '?'),"
    " coalesce(nullif(a.application_name, ''), 'unnamed'), coalesce(a.state, '?')), E'\n')"
    "  FROM lockkeeper.roots AS r"
    "  CROSS JOIN LATERAL hashtextextended('lockkeeper/' || r.root, 0::bigint) AS h (key)"
    "  JOIN pg_locks AS l ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
    "   AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())"
    "   AND l.classid::bigint = ((h.key >> 32) & 4294967295)"
    "   AND l.objid::bigint = (h.key & 4294967295)"
    "  JOIN pg_stat_activity AS a ON a.pid = l.pid"
    "  WHERE a.application_name <> 'lockkeeper'"
    "   OR coalesce(clock_timestamp() - a.xact_start > interval '1 s', true)),"
    " m.live_max, m.live_per_owner_max, m.live_per_root_max, m.waiters_per_path_max, m.events_max,"
    " m.watched_until_us > extract(epoch FROM clock_timestamp()) * 1000000"
    " FROM lockkeeper.meta AS m";

static const char *text_of(const struct lk_rows *rows, int column) {
    return lk_row_text(rows, 0, column).bytes;
}

static lk_report *make_report(struct lk_procedures *common, const struct lk_rows *rows) {
    const struct lk_postgresql *store = lk_postgresql_of(&common->engine);
    char report_bytes[REPORT_BYTES_MAX];
    char warning_bytes[REPORT_BYTES_MAX];
    struct lk_text text = lk_text_in(report_bytes, sizeof report_bytes);
    struct lk_text warnings = lk_text_in(warning_bytes, sizeof warning_bytes);
    bool is_durable =
        strcmp(text_of(rows, SYNCHRONOUS), "off") != 0 && strcmp(text_of(rows, FSYNC), "on") == 0;

    lk_text_format(&text, "database: %s, as user %s\n", text_of(rows, DATABASE),
                   text_of(rows, USER_NAME));
    lk_text_format(&text, "schema: %s, of %s\nformat: %s\n", store->address.schema,
                   text_of(rows, OWNERS), text_of(rows, FORMAT));
    lk_text_format(&text, "server: PostgreSQL %s\n", text_of(rows, VERSION));
    lk_text_format(&text, "live requests: %s\nunswept requests: %s\n", text_of(rows, LIVE),
                   text_of(rows, OVERDUE));
    lk_text_format(&text, "wake-ups: %s\n",
                   store->address.listen_url != NULL ? "LISTEN"
                                                     : "none, waiters query each second");
    lk_procedures_report_limits(&text, rows, LIMITS);
    if (text_of(rows, KEYS) != NULL) {
        lk_text_format(&warnings, "%s\n", text_of(rows, KEYS));
    }
    if (!is_durable) {
        lk_text_format(&warnings, "fsync or synchronous_commit is off: a crash of the server may "
                                  "undo the last moments\n");
    }
    return lk_report_make(report_bytes, warning_bytes);
}

lk_outcome lk_postgresql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_report **ret_report, struct lk_error *error) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    char *sql = lk_sql_rename(question, LK_POSTGRESQL_WRITTEN_FOR, store->address.schema);
    lk_outcome outcome =
        lk_procedures_examine(&store->common, sql, make_report, patience, ret_report, error);

    free(sql);
    return outcome;
}
