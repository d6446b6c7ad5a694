/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installs the schema of a store. The first process with the rights to do so creates it; every
 * process that opens the store checks it. A schema of an earlier format is brought up to date by
 * the same text, which is one transaction and refuses a store that is in use (sql/12_steps.sql). A
 * program that only reads does neither.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/postgresql/prepared.h"
#include "engine/postgresql/schema.h"
#include "engine/postgresql/store.h"
#include "sql/rename.h"

/* The schema that is present. */
struct present {
    bool has_meta;
    long format; /* 0: the table has none, so it is not Lockkeeper's */
};

/*
 * One query and not two, because every program that opens the store runs it. A missing table is an
 * error, but only once in the life of a store; a test for it would read the catalogue each time.
 */
static lk_outcome query_present(struct lk_postgresql *store, PGconn *connection,
                                const struct lk_patience *patience, struct present *ret_present,
                                lk_error *error) {
    char *sql = lk_postgresql_present_sql(&store->address);
    PGresult *result = NULL;
    bool is_sent = sql != NULL && PQsendQuery(connection, sql) != 0;
    lk_outcome outcome;

    *ret_present = (struct present){.has_meta = false};
    free(sql);
    if (!is_sent) {
        return lk_postgresql_lose(connection, error);
    }
    outcome = lk_postgresql_receive(connection, patience, &result, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    ret_present->has_meta = !lk_postgresql_has_code(result, "42P01");
    if (ret_present->has_meta && PQresultStatus(result) != PGRES_TUPLES_OK
        && !lk_postgresql_has_code(result, "42703")) {
        outcome = lk_postgresql_explain(result, store->address.schema, error);
    } else if (PQntuples(result) == 1) {
        ret_present->format = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    }
    PQclear(result);
    return outcome;
}

static bool is_earlier(const struct present *present, int format) {
    return present->has_meta && present->format >= 1 && present->format < format;
}

static lk_outcome check(const struct lk_postgresql *store, const struct present *present,
                        int format, lk_error *error) {
    const char *schema = store->address.schema;

    if (present->format == format) {
        return LK_OK;
    }
    if (present->format < 1) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the table meta of schema %s has no format of Lockkeeper's; name "
                            "another schema with ?schema=",
                            schema);
    }
    return lk_error_set(error, LK_UNSUPPORTED,
                        is_earlier(present, format)
                            ? "the store in schema %s is of format %ld, and this program knows "
                              "format %d; its first call that changes something brings the store "
                              "up to date"
                            : "the store in schema %s is of format %ld, and this program knows "
                              "format %d; use the newer program that made it or brought it up to "
                              "date, or another schema (?schema=)",
                        schema, present->format, format);
}

lk_outcome lk_postgresql_explain_hole(struct lk_postgresql *store, PGconn *connection,
                                      const struct lk_patience *patience, lk_outcome outcome,
                                      lk_error *error) {
    struct present present;
    bool is_read = query_present(store, connection, patience, &present, NULL) == LK_OK;

    return is_read && present.has_meta && present.format != LK_POSTGRESQL_FORMAT
               ? check(store, &present, LK_POSTGRESQL_FORMAT, error)
               : outcome;
}

/* If the user may not upgrade the store, the sentence names the role that may. */
static lk_outcome explain_step(const struct lk_postgresql *store, const struct present *present,
                               int format, lk_outcome outcome, lk_error *error) {
    if (outcome != LK_DENIED || !present->has_meta) {
        return outcome;
    }
    char command[LK_POSTGRESQL_COMMAND_SIZE];

    lk_postgresql_schema_command(store->address.schema, command);
    return lk_error_set(error, LK_DENIED,
                        "the store in schema %s has format %ld, and this user may not bring it to "
                        "format %d; the user that created it runs `%s | psql`, or opens the store "
                        "with this program",
                        store->address.schema, present->format, format, command);
}

/* Concurrent installers wait for the lock that the text takes first, and then find the schema. */
static lk_outcome make(struct lk_postgresql *store, PGconn *connection,
                       const struct lk_postgresql_format *format, const struct present *present,
                       const struct lk_patience *patience, lk_error *error) {
    char *sql = lk_sql_rename(format->text, LK_POSTGRESQL_WRITTEN_FOR, store->address.schema);
    PGresult *result = NULL;
    lk_outcome outcome;

    if (sql == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a schema");
    }
    outcome =
        lk_postgresql_execute(connection, sql, store->address.schema, patience, &result, error);
    free(sql);
    if (outcome != LK_OK) { /* closing a failed connection rolls everything back */
        return explain_step(store, present, format->number, outcome, error);
    }
    PQclear(result);
    return LK_OK;
}

static lk_outcome prepare_on(struct lk_postgresql *store, const struct lk_postgresql_format *format,
                             bool must_exist, PGconn *connection,
                             const struct lk_patience *patience, lk_error *error) {
    struct present present;
    lk_outcome outcome = query_present(store, connection, patience, &present, error);

    if (outcome == LK_OK && !present.has_meta && must_exist) {
        return lk_error_set(error, LK_NONE, "there is no store in schema %s",
                            store->address.schema);
    }
    if (outcome == LK_OK && !must_exist
        && (!present.has_meta || is_earlier(&present, format->number))) {
        outcome = make(store, connection, format, &present, patience, error);
        if (outcome == LK_OK) {
            outcome = query_present(store, connection, patience, &present, error);
        }
    }
    return outcome == LK_OK ? check(store, &present, format->number, error) : outcome;
}

/* A refused login is reported at once; a lost connection is replaced. */
lk_outcome lk_postgresql_prepare(struct lk_postgresql *store,
                                 const struct lk_postgresql_format *format, bool must_exist,
                                 const struct lk_patience *patience, lk_error *error) {
    uint32_t retries = 0;

    for (;;) {
        PGconn *connection = NULL;
        bool is_lost;
        lk_outcome outcome =
            lk_postgresql_connect(store->address.url, patience, &connection, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        outcome = prepare_on(store, format, must_exist, connection, patience, error);
        if (outcome == LK_OK) {
            lk_postgresql_set_checked(connection);
            store->common.idle[store->common.idle_count++] = connection;
            return LK_OK;
        }
        is_lost = outcome == LK_UNAVAILABLE && PQstatus(connection) != CONNECTION_OK;
        PQfinish(connection);
        if (!is_lost || !lk_procedures_back_off(patience, &retries)) {
            return outcome;
        }
    }
}
