/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection: always in pipeline mode, so that a whole transaction is one round trip. It keeps
 * prepared statements, so it must lead to the server itself and not to a pooler.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/program.h"
#include "engine/procedures/socket.h"
#include "server/store/postgresql/store.h"
#include "sql/schema.h"

enum { STATEMENTS_OTHER = 9 };

#define TEXT_OF(number) #number
#define NUMBER_TEXT(macro) TEXT_OF(macro)
#define FORMAT_TEXT NUMBER_TEXT(LK_TABLES_FORMAT)

#define S "lockkeeper_service."

/*
 * Whether there are standbys, and none is waited for. A subscriber of logical replication is none,
 * nor is a backup. A user without pg_monitor sees only that there are connections of standbys.
 */
static const char has_async_standby[] =
    "SELECT current_setting('synchronous_standby_names') = '' AND EXISTS ("
    "SELECT FROM pg_stat_replication AS r WHERE r.state IS DISTINCT FROM 'backup'"
    " AND coalesce(r.application_name, '') NOT IN ('pg_basebackup', 'pg_receivewal')"
    " AND NOT EXISTS (SELECT FROM pg_replication_slots AS s"
    " WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))";

static const struct {
    const char *name;
    const char *sql;
} others[STATEMENTS_OTHER] = {
    {"lk_begin", "BEGIN"},
    {"lk_renew",
     "SELECT " S "renew($1::bigint, $2::bigint, $3::bigint, $4::bigint, " FORMAT_TEXT ")"},
    {"lk_commit", "COMMIT"},
    {"lk_lead", "SELECT leads, epoch, address, left_us, at_us"
                " FROM " S "lead($1::text, $2::text, $3::bigint, " FORMAT_TEXT ")"},
    {"lk_resign", "UPDATE " S "leader SET is_free = true WHERE epoch = $1::bigint"},
    {"lk_forget", "DELETE FROM " S "event WHERE sequence <= $1::bigint"},
    {"lk_ended_bound",
     "DELETE FROM " S "ended WHERE token < (SELECT token FROM " S "ended ORDER BY token DESC"
     " OFFSET 65536 LIMIT 1)"},
    {"lk_ended_sweep",
     "DELETE FROM " S "ended WHERE ended_us <= (SELECT " S "now_us() - 300000000 OFFSET 0)"},
    {"lk_standbys", has_async_standby},
};

void lk_pg_disconnect(struct lk_store_pg *store) {
    if (store->connection != NULL) {
        PQfinish(store->connection);
        store->connection = NULL;
    }
}

/* All the rights on what is in the schema: a row for each that the user lacks. */
static const char lacks_rights[] =
    "SELECT count(*) FROM pg_class AS c, unnest(CASE c.relkind WHEN 'S' THEN ARRAY['USAGE']"
    " ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) AS p (name)"
    " WHERE c.relnamespace = 'lockkeeper_service'::regnamespace AND c.relkind IN ('r', 'S')"
    " AND NOT CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, p.name)"
    " ELSE has_table_privilege(c.oid, p.name) END";

static lk_outcome explain_rights(lk_error *error) {
    return lk_error_set(error, LK_DENIED,
                        "PostgreSQL: the user of the service may not make or use the schema "
                        "lockkeeper_service; grant it CREATE on the database, or let a DBA run "
                        "`%s schema postgresql-service`, which names the rights it needs",
                        lk_program());
}

static lk_outcome explain(const PGresult *result, lk_error *error) {
    if (lk_postgresql_has_code(result, "42501")) {
        return explain_rights(error);
    }
    return lk_postgresql_explain(result, "lockkeeper_service", error);
}

/* ---- sending and receiving ------------------------------------------------------------------- */

bool lk_pg_send(struct lk_store_pg *store, const char *name, int count, const char *const *values,
                const int *lengths, const int *formats) {
    return PQsendQueryPrepared(store->connection, name, count, values, lengths, formats, 1) == 1;
}

/* All that is buffered; the server may already answer meanwhile. */
static lk_outcome push(PGconn *connection, const struct lk_patience *patience, lk_error *error) {
    int left = PQflush(connection);

    while (left > 0) {
        lk_outcome outcome =
            lk_socket_wait(PQsocket(connection), POLLIN | POLLOUT, patience, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        if (PQconsumeInput(connection) == 0) {
            return lk_postgresql_lose(connection, error);
        }
        left = PQflush(connection);
    }
    return left == 0 ? LK_OK : lk_postgresql_lose(connection, error);
}

/* The number that the function tells in place of a sentence. */
static lk_outcome refuse_format(struct lk_store_pg *store, const PGresult *result,
                                lk_error *error) {
    const char *format = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    return lk_tables_refuse_format(&store->tables, format != NULL ? strtoll(format, NULL, 10) : 0,
                                   error);
}

/* Of several errors the first one is the cause. LK_LOST: another service leads. */
static lk_outcome judge(struct lk_store_pg *store, const PGresult *result, lk_outcome outcome,
                        lk_error *error) {
    if (outcome != LK_OK || result == NULL || PQresultStatus(result) != PGRES_FATAL_ERROR) {
        return outcome;
    }
    if (lk_postgresql_has_code(result, "LK001")) {
        return lk_error_set(error, LK_LOST, "another service leads this store");
    }
    if (lk_postgresql_has_code(result, "LK002")) {
        return refuse_format(store, result, error);
    }
    return explain(result, error);
}

/* Until the server has done all. Keeps the last rows in *ret_rows. */
static lk_outcome receive(struct lk_store_pg *store, const struct lk_patience *patience,
                          PGresult **ret_rows, lk_error *error) {
    lk_outcome outcome = LK_OK;
    bool is_done = false;
    PGresult *result;

    *ret_rows = NULL;
    while (!is_done) {
        lk_outcome next = lk_postgresql_next(store->connection, patience, &result, error);

        if (next == LK_OK && result == NULL && PQstatus(store->connection) != CONNECTION_OK) {
            next = lk_postgresql_lose(store->connection, error);
        }
        if (next != LK_OK) {
            PQclear(*ret_rows);
            *ret_rows = NULL;
            return next;
        }
        outcome = judge(store, result, outcome, error);
        is_done = result != NULL && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK) {
            PQclear(*ret_rows);
            *ret_rows = result;
        } else {
            PQclear(result);
        }
    }
    return outcome;
}

/* Ends what was sent, and awaits all of it. */
static lk_outcome exchange(struct lk_store_pg *store, bool is_sent,
                           const struct lk_patience *patience, PGresult **ret_rows,
                           lk_error *error) {
    PGresult *rows = NULL;
    lk_outcome outcome;

    if (!is_sent || PQpipelineSync(store->connection) != 1) {
        outcome = PQstatus(store->connection) == CONNECTION_OK
                      ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
                      : lk_postgresql_lose(store->connection, error);
    } else {
        outcome = push(store->connection, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = receive(store, patience, &rows, error);
    }
    if (outcome == LK_OK && store->is_unconfirmed) {
        outcome = lk_error_set(error, LK_UNAVAILABLE,
                               "PostgreSQL: a commit that waited for the synchronous standby was "
                               "told to wait no more, so the standby may lack it");
    }
    if (outcome != LK_OK || ret_rows == NULL) {
        PQclear(rows);
        rows = NULL;
    }
    if (ret_rows != NULL) {
        *ret_rows = rows;
    }
    if (outcome != LK_OK) {
        store->first_host +=
            outcome == LK_UNAVAILABLE && PQstatus(store->connection) == CONNECTION_OK;
        lk_pg_disconnect(store); /* what is under way may still be done, or not */
    }
    return outcome;
}

bool lk_pg_begin(struct lk_store_pg *store, const char *const renew[LK_PG_RENEW_PARAMETERS]) {
    return lk_pg_send(store, "lk_begin", 0, NULL, NULL, NULL)
           && lk_pg_send(store, "lk_renew", LK_PG_RENEW_PARAMETERS, renew, NULL, NULL);
}

lk_outcome lk_pg_commit(struct lk_store_pg *store, bool is_sent, const struct lk_patience *patience,
                        PGresult **ret_rows, lk_error *error) {
    is_sent = is_sent && lk_pg_send(store, "lk_commit", 0, NULL, NULL, NULL);
    return exchange(store, is_sent, patience, ret_rows, error);
}

lk_outcome lk_pg_ask(struct lk_store_pg *store, const char *name, int count,
                     const char *const *values, const struct lk_patience *patience,
                     PGresult **ret_rows, lk_error *error) {
    return exchange(store, lk_pg_send(store, name, count, values, NULL, NULL), patience, ret_rows,
                    error);
}

void lk_pg_renew_only(uint64_t epoch, char ret_epoch[LK_PG_NUMBER_BYTES],
                      const char *ret_parameters[LK_PG_RENEW_PARAMETERS]) {
    (void)snprintf(ret_epoch, LK_PG_NUMBER_BYTES, "%" PRIu64, epoch);
    ret_parameters[0] = ret_epoch;
    ret_parameters[1] = "0";
    ret_parameters[2] = "0";
    ret_parameters[3] = NULL;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Runs SQL that gives nothing. */
static lk_outcome run(struct lk_store_pg *store, const char *sql,
                      const struct lk_patience *patience, lk_error *error) {
    PGresult *result = NULL;
    lk_outcome outcome;

    if (PQsendQuery(store->connection, sql) == 0) {
        return lk_postgresql_lose(store->connection, error);
    }
    outcome = lk_postgresql_receive(store->connection, patience, &result, error);
    if (outcome == LK_OK && PQresultStatus(result) == PGRES_FATAL_ERROR) {
        /* Another service has made the tables at the same time. */
        outcome = lk_postgresql_has_code(result, "42P06 23505") ? LK_OK : explain(result, error);
    }
    PQclear(result);
    return outcome;
}

/* The number that a query gives, or -1: it gives NULL. */
static lk_outcome query(struct lk_store_pg *store, const char *sql,
                        const struct lk_patience *patience, int64_t *ret_number, lk_error *error) {
    PGresult *result = NULL;
    lk_outcome outcome = lk_postgresql_execute(store->connection, sql, "lockkeeper_service",
                                               patience, &result, error);

    if (outcome == LK_OK) {
        *ret_number = PQntuples(result) == 1 && !PQgetisnull(result, 0, 0)
                          ? strtoll(PQgetvalue(result, 0, 0), NULL, 10)
                          : -1;
        PQclear(result);
    }
    return outcome == LK_DENIED ? explain_rights(error) : outcome;
}

/* For free(). NULL: memory is exhausted. */
static char *owners_sql(const struct lk_store_pg *store) {
    return lk_postgresql_check_sql("lockkeeper_service", store->address.owner);
}

/* All code there, triggers too, runs with the rights of the service's user. */
static lk_outcome check_owners(struct lk_store_pg *store, const struct lk_patience *patience,
                               lk_error *error) {
    char *sql = owners_sql(store);
    PGresult *result = NULL;
    lk_outcome outcome = sql == NULL
                             ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
                             : lk_postgresql_execute(store->connection, sql, "lockkeeper_service",
                                                     patience, &result, error);

    free(sql);
    PQclear(result);
    return outcome;
}

/* Makes the tables if they are missing; refuses those of another version, or of strangers. */
static lk_outcome prepare_tables(struct lk_store_pg *store, const struct lk_patience *patience,
                                 lk_error *error) {
    int64_t table = -1;
    int64_t format = -1;
    int64_t lacking = 0;
    lk_outcome outcome =
        query(store, "SELECT to_regclass('" S "leader')::oid::bigint", patience, &table, error);

    if (outcome == LK_OK && table < 0) {
        outcome = run(store, lk_sql_schema_postgresql_service(), patience, error);
    }
    if (outcome == LK_OK) {
        outcome = check_owners(store, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = query(store, "SELECT format FROM " S "leader", patience, &format, error);
    }
    if (outcome == LK_OK && format != LK_TABLES_FORMAT) {
        return lk_tables_refuse_format(&store->tables, format, error);
    }
    if (outcome == LK_OK) {
        outcome = query(store, lacks_rights, patience, &lacking, error);
    }
    return outcome == LK_OK && lacking > 0 ? explain_rights(error) : outcome;
}

static lk_outcome prepare_statements(struct lk_store_pg *store, const struct lk_patience *patience,
                                     lk_error *error) {
    char *owners = owners_sql(store);
    bool is_sent =
        owners != NULL && PQsendPrepare(store->connection, "lk_owners", owners, 0, NULL) == 1;

    free(owners);
    for (int i = 0; i < STATEMENTS_OTHER && is_sent; i++) {
        is_sent = PQsendPrepare(store->connection, others[i].name, others[i].sql, 0, NULL) == 1;
    }
    for (int i = 0; i < LK_TABLES_KINDS && is_sent; i++) {
        const struct lk_pg_statement *statement = &lk_pg_statements[i];
        is_sent = PQsendPrepare(store->connection, statement->name, statement->sql, 0, NULL) == 1;
    }
    for (int i = 0; i < LK_TABLES_PAGES && is_sent; i++) {
        const struct lk_pg_page *page = &lk_pg_pages[i];
        is_sent = PQsendPrepare(store->connection, page->name, page->sql, 0, NULL) == 1;
    }
    return exchange(store, is_sent, patience, NULL, error);
}

/*
 * The database's own defaults for transactions do not matter. An acknowledged batch must survive
 * the server; a stronger setting than `on` stays. A process of the server does not notice that this
 * one is gone while it waits for the row of the leader, which a commit may hold as long as the
 * standby is away. So it does not wait longer than this one does.
 * Statements are planned once, when the tables are empty and to scan them costs nothing; each write
 * finds its rows by a key, also among a hundred thousand that have just ended.
 */
static lk_outcome set_up(struct lk_store_pg *store, const struct lk_patience *patience,
                         lk_error *error) {
    char sql[768];

    (void)snprintf(sql, sizeof sql,
                   "SELECT set_config('synchronous_commit', 'on', false)"
                   " WHERE current_setting('synchronous_commit') IN ('off', 'local', "
                   "'remote_write'); SELECT set_config('lock_timeout', '%" PRId64 "', false),"
                   " set_config('default_transaction_read_only', 'off', false),"
                   " set_config('default_transaction_isolation', 'read committed', false),"
                   " set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),"
                   " set_config('plan_cache_mode', 'force_generic_plan', false)",
                   lk_max(store->tables.lease_us / 1000, 1));
    return run(store, sql, patience, error);
}

/*
 * A commit that waits for a synchronous standby succeeds when an operator or statement_timeout
 * cancels the wait: with a warning, which has no code of its own.
 */
static void hear_notice(void *context, const PGresult *notice) {
    struct lk_store_pg *store = context;
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    store->is_unconfirmed =
        store->is_unconfirmed || (function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0);
}

/* That the user may not look at standbys is no reason to refuse. */
static lk_outcome look(struct lk_store_pg *store, const struct lk_patience *patience,
                       lk_error *error) {
    int64_t has_async;
    lk_outcome outcome = query(store, has_async_standby, patience, &has_async, error);

    store->can_look = outcome == LK_OK;
    return outcome == LK_UNAVAILABLE ? outcome : LK_OK;
}

lk_outcome lk_pg_connect(struct lk_store_pg *store, const struct lk_patience *patience,
                         lk_error *error) {
    lk_outcome outcome;
    char *url;

    if (store->connection != NULL && PQstatus(store->connection) == CONNECTION_OK) {
        return LK_OK;
    }
    lk_pg_disconnect(store);
    url = lk_pg_hosts_turn(store->address.url, store->first_host);
    if (url == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_postgresql_connect(url, patience, &store->connection, error);
    free(url);
    if (outcome != LK_OK) {
        store->connection = NULL;
        store->first_host++;
        return outcome;
    }
    store->is_unconfirmed = false;
    (void)PQsetNoticeReceiver(store->connection, hear_notice, store);
    outcome = set_up(store, patience, error);
    if (outcome == LK_OK) {
        outcome = prepare_tables(store, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = look(store, patience, error);
    }
    if (outcome == LK_OK
        && (PQsetnonblocking(store->connection, 1) != 0
            || PQenterPipelineMode(store->connection) != 1)) {
        outcome = lk_postgresql_lose(store->connection, error);
    }
    if (outcome == LK_OK) {
        outcome = prepare_statements(store, patience, error);
    }
    if (outcome != LK_OK) {
        lk_pg_disconnect(store);
    }
    return outcome;
}
