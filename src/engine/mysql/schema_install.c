/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installs the schema of a store. The first process with the rights to do so creates it, one
 * process at a time; every process that opens the store checks it. Each DDL statement commits by
 * itself, and the row of the table meta is written last. A store without that row is incomplete: if
 * an installer was killed, the next one does the rest. An installer that fails removes what it has
 * created. A store of an earlier format is brought up to date by the same text, unless it is in use
 * (sql/10_tables.sql); by a program that only reads it is not.
 */
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "engine/mysql/script.h"
#include "engine/mysql/store.h"
#include "sql/rename.h"

enum { SQL_BYTES_MAX = 256 };

#define MAKING_US INT64_C(60000000) /* at least: to wait for an installer, or for each statement */

/* The installer holds this lock; the prefix is part of its name. As in 10_tables.sql. */
#define LOCK "CONCAT('lockkeeper ', LEFT(SHA2(CONCAT(DATABASE(), '.%s'), 256), 40))"

/* The schema that is present. */
struct present {
    bool has_meta;
    long format;           /* 0: the table has none, so it is not Lockkeeper's */
    bool keeps_conditions; /* true in this session */
};

/* Runs one statement and explains its error, if there is one. */
static lk_outcome run(const struct lk_mysql *store, struct lk_mysql_link *link, struct lk_slice sql,
                      const struct lk_patience *patience, MYSQL_RES **ret_result, lk_error *error) {
    lk_outcome outcome = lk_mysql_query(link, sql, patience, ret_result, error);

    return outcome == LK_INTERNAL ? lk_mysql_explain(link->mysql, store->address.prefix, error)
                                  : outcome;
}

static lk_outcome query_present(const struct lk_mysql *store, struct lk_mysql_link *link,
                                const struct lk_patience *patience, struct present *ret_present,
                                lk_error *error) {
    char sql[SQL_BYTES_MAX];
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    lk_outcome outcome;

    *ret_present = (struct present){.has_meta = false};
    (void)snprintf(sql, sizeof sql, "SELECT format, @@max_error_count FROM %smeta",
                   store->address.prefix);
    outcome = lk_mysql_query(link, lk_slice_of(sql), patience, &result, error);
    if (outcome == LK_INTERNAL) {
        ret_present->has_meta = mysql_errno(link->mysql) == ER_BAD_FIELD_ERROR;
        return mysql_errno(link->mysql) == ER_NO_SUCH_TABLE || ret_present->has_meta
                   ? LK_OK
                   : lk_mysql_explain(link->mysql, store->address.prefix, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    row = mysql_fetch_row(result);
    if (row != NULL && row[0] != NULL) {
        ret_present->has_meta = true;
        ret_present->format = strtol(row[0], NULL, 10);
        ret_present->keeps_conditions = row[1] == NULL || strtol(row[1], NULL, 10) > 0;
    }
    mysql_free_result(result);
    return LK_OK;
}

static bool is_earlier(const struct present *present, int format) {
    return present->has_meta && present->format >= 1 && present->format < format;
}

/* The store is missing or of an earlier format: the script creates it, or brings it up to date. */
static bool is_to_be_made(const struct present *present, int format) {
    return !present->has_meta || is_earlier(present, format);
}

/* Why a program of this format cannot use the store, which is of another one. */
static lk_outcome explain_format(const struct lk_mysql *store, const struct present *present,
                                 int format, lk_error *error) {
    const char *prefix = store->address.prefix;

    if (present->format < 1) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the table %smeta has no format of Lockkeeper's; name another store "
                            "with ?prefix=",
                            prefix);
    }
    return lk_error_set(error, LK_UNSUPPORTED,
                        is_earlier(present, format)
                            ? "the store %s... is of format %ld, and this program knows format %d; "
                              "its first call that changes something brings the store up to date"
                            : "the store %s... is of format %ld, and this program knows format %d; "
                              "use the newer program that made it or brought it up to date, or "
                              "another store (?prefix=)",
                        prefix, present->format, format);
}

static lk_outcome check(const struct lk_mysql *store, const struct present *present, int format,
                        lk_error *error) {
    if (!present->has_meta || present->format != format) {
        return explain_format(store, present, format, error);
    }
    if (!present->keeps_conditions) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the server's max_error_count is 0, with which procedures do not find "
                            "out that there is no row; its default, 1024, is right");
    }
    return LK_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

/*
 * A call's time budget is for one exchange. An installation takes one flush for each table: each of
 * its statements has a budget of its own, so that it comes to its end where the server is slow,
 * instead of being begun again and again by those who waited for it.
 */
static struct lk_patience making_patience(const struct lk_patience *patience) {
    return (struct lk_patience){
        .until_us = lk_max(patience->until_us, lk_clock_now_us() + MAKING_US),
        .waker = patience->waker,
    };
}

/* Drops what this part of the script has created. What cannot be dropped stays. */
static void take_back(const struct lk_mysql *store, struct lk_mysql_link *link,
                      struct lk_slice script, const struct lk_patience *patience) {
    struct lk_slice statement;
    struct lk_slice kind;
    struct lk_slice name;
    lk_error ignored;

    while (!link->is_lost && lk_mysql_script_next(&script, &statement)) {
        const struct lk_patience longer = making_patience(patience);
        char sql[SQL_BYTES_MAX];
        MYSQL_RES *result = NULL;
        if (lk_mysql_script_creates(statement, &kind, &name)) {
            (void)snprintf(sql, sizeof sql, "DROP %.*s IF EXISTS %.*s", (int)kind.size, kind.bytes,
                           (int)name.size, name.bytes);
            (void)run(store, link, lk_slice_of(sql), &longer, &result, &ignored);
            mysql_free_result(result);
        }
    }
}

/*
 * If the script fails, drops what it has created, provided that all objects of the store are its
 * own and no other process can have used them yet.
 */
static lk_outcome run_script(const struct lk_mysql *store, struct lk_mysql_link *link,
                             struct lk_slice script, bool is_new,
                             const struct lk_patience *patience, lk_error *error) {
    const char *beginning = script.bytes;
    struct lk_slice statement;
    struct lk_slice kind;
    struct lk_slice name;
    struct present present;
    bool is_ours = is_new; /* no object that the script creates existed before */
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && lk_mysql_script_next(&script, &statement)) {
        const struct lk_patience longer = making_patience(patience);
        MYSQL_RES *result = NULL;
        outcome = run(store, link, statement, &longer, &result, error);
        mysql_free_result(result);
        if (outcome == LK_OK && lk_mysql_script_creates(statement, &kind, &name)
            && mysql_warning_count(link->mysql) > 0) {
            is_ours = false;
        }
    }
    if (outcome != LK_OK && is_ours && query_present(store, link, patience, &present, NULL) == LK_OK
        && !present.has_meta) {
        take_back(store, link, (struct lk_slice){beginning, (size_t)(statement.bytes - beginning)},
                  patience);
    }
    return outcome;
}

/*
 * Installers run one at a time. Others wait for the lock, and then find the store installed. The
 * session of an installer that vanished ends soon (connection.c), and they wait for that, too.
 */
static lk_outcome make(const struct lk_mysql *store, const struct lk_mysql_format *format,
                       struct lk_mysql_link *link, const struct lk_patience *patience,
                       lk_error *error) {
    char *script = lk_sql_rename(format->text, "lk_", store->address.prefix);
    char sql[SQL_BYTES_MAX];
    struct present present = {.has_meta = false};
    MYSQL_RES *result = NULL;
    lk_outcome outcome;

    if (script == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a schema");
    }
    outcome =
        run(store, link, lk_slice_of("SET SESSION wait_timeout = 20"), patience, &result, error);
    if (outcome == LK_OK) {
        (void)snprintf(sql, sizeof sql, "SELECT GET_LOCK(" LOCK ", 31536000)",
                       store->address.prefix);
        outcome = run(store, link, lk_slice_of(sql), patience, &result, error);
        mysql_free_result(result);
    }
    if (outcome == LK_OK) {
        outcome = query_present(store, link, patience, &present, error);
    }
    if (outcome == LK_OK && is_to_be_made(&present, format->number)) {
        outcome = run_script(store, link, lk_slice_of(script), !present.has_meta, patience, error);
    }
    free(script);
    return outcome; /* closing the connection releases the lock */
}

bool lk_mysql_is_in_the_making(const struct lk_mysql *store, struct lk_mysql_link *link,
                               const struct lk_patience *patience) {
    char sql[SQL_BYTES_MAX];
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    lk_error ignored;
    bool is_making = false;

    (void)snprintf(sql, sizeof sql, "SELECT IS_USED_LOCK(" LOCK ")", store->address.prefix);
    if (lk_mysql_query(link, lk_slice_of(sql), patience, &result, &ignored) == LK_OK) {
        row = mysql_fetch_row(result);
        is_making = row != NULL && row[0] != NULL;
        mysql_free_result(result);
    }
    return is_making;
}

/* Whether an installer of a newer format has closed the store, and has not come to its end. */
static bool is_closed(const struct lk_mysql *store, struct lk_mysql_link *link,
                      const struct lk_patience *patience) {
    char sql[SQL_BYTES_MAX];
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    bool is_found = false;

    (void)snprintf(sql, sizeof sql,
                   "SELECT 1 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = "
                   "DATABASE() AND TABLE_NAME = '%srequests' AND CONSTRAINT_NAME = "
                   "'%srequests_closed'",
                   store->address.prefix, store->address.prefix);
    if (lk_mysql_query(link, lk_slice_of(sql), patience, &result, NULL) == LK_OK) {
        row = result != NULL ? mysql_fetch_row(result) : NULL;
        is_found = row != NULL;
        mysql_free_result(result);
    }
    return is_found;
}

lk_outcome lk_mysql_explain_hole(const struct lk_mysql *store, struct lk_mysql_link *link,
                                 const struct lk_patience *patience, lk_outcome outcome,
                                 lk_error *error) {
    struct present present;

    if (query_present(store, link, patience, &present, NULL) != LK_OK || !present.has_meta) {
        return outcome;
    }
    if (present.format != LK_MYSQL_FORMAT) {
        return explain_format(store, &present, LK_MYSQL_FORMAT, error);
    }
    return is_closed(store, link, patience) ? lk_mysql_explain_closed(store->address.prefix, error)
                                            : outcome;
}

/* If the user may not upgrade the store, the sentence names the user that may. */
static lk_outcome explain_step(const struct lk_mysql *store, const struct present *present,
                               int format, lk_outcome outcome, lk_error *error) {
    char command[LK_MYSQL_COMMAND_SIZE];

    if (outcome != LK_DENIED || !present->has_meta) {
        return outcome;
    }
    lk_mysql_schema_command(store->address.prefix, command);
    return lk_error_set(error, LK_DENIED,
                        "the store %s... has format %ld, and this user may not bring it to format "
                        "%d; the user that created it runs `%s`, or opens the store with this "
                        "program",
                        store->address.prefix, present->format, format, command);
}

/* The installation uses settings of its own, so its connection is not used for calls. */
static lk_outcome prepare_on(const struct lk_mysql *store, const struct lk_mysql_format *format,
                             bool must_exist, struct lk_mysql_link *link,
                             const struct lk_patience *patience, bool *ret_made, lk_error *error) {
    struct present present;
    lk_outcome outcome = query_present(store, link, patience, &present, error);

    if (outcome == LK_OK && must_exist && !present.has_meta) {
        return lk_error_set(error, LK_NONE, "there is no store with the prefix %s",
                            store->address.prefix);
    }
    *ret_made = outcome == LK_OK && !must_exist && is_to_be_made(&present, format->number);
    if (*ret_made) {
        const struct lk_patience longer = making_patience(patience);

        outcome = make(store, format, link, &longer, error);
        outcome = explain_step(store, &present, format->number, outcome, error);
        if (outcome == LK_OK) {
            outcome = query_present(store, link, &longer, &present, error);
        }
    }
    return outcome == LK_OK ? check(store, &present, format->number, error) : outcome;
}

/* A refused login is reported at once; a lost connection is replaced. */
lk_outcome lk_mysql_prepare(struct lk_mysql *store, const struct lk_mysql_format *format,
                            bool must_exist, const struct lk_patience *patience, lk_error *error) {
    uint32_t retries = 0;

    for (;;) {
        struct lk_mysql_link *link = NULL;
        bool is_made = false;
        bool is_lost;
        lk_outcome outcome = lk_mysql_connect(&store->address, patience, &link, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        outcome = prepare_on(store, format, must_exist, link, patience, &is_made, error);
        if (outcome == LK_OK && !is_made) {
            store->common.idle[store->common.idle_count++] = link;
            return LK_OK;
        }
        is_lost = link->is_lost;
        lk_mysql_disconnect(link);
        if (outcome == LK_OK) {
            return LK_OK;
        }
        if (outcome != LK_UNAVAILABLE || !is_lost || !lk_procedures_back_off(patience, &retries)) {
            return outcome;
        }
    }
}
