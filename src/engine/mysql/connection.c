/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: makes them, and runs one statement at a time on them. libmariadb's non-blocking
 * calls report what they wait for. The wait itself is done here, so it ends with the caller's time
 * budget even if the server is stopped or the network drops packets.
 */
#include <errmsg.h>
#include <fcntl.h>
#include <mysqld_error.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/store.h"
#include "engine/procedures/socket.h"

enum { MARIADB_OLDEST = 100600, MYSQL_OLDEST = 80016 };

/*
 * Settings that do not depend on the server's defaults: decisions are made at READ COMMITTED, text
 * is UTF-8 and compared by bytes, a failure is an error and not a warning, and a wait for a manual
 * lock ends with a retry.
 *
 * If conditions are not kept (max_error_count, for which MySQL requires a privilege;
 * schema_install.c checks it), procedures do not notice that there is no row, and loop for ever. If
 * notes are not kept, the installer cannot see what existed before.
 *
 * A session whose client vanishes without closing the connection, for instance because its machine
 * fails, soon ends, and its locks with it. MariaDB can distinguish a session inside a transaction,
 * and ends that one sooner.
 */
static const char settings[] = "SET NAMES utf8mb4, autocommit = 1, completion_type = 0,"
                               " sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
                               " lock_wait_timeout = 10, innodb_lock_wait_timeout = 3,"
                               " wait_timeout = 300 /*M! , idle_transaction_timeout = 20,"
                               " max_error_count = 64 */, sql_notes = 1, sql_auto_is_null = 0,"
                               " sql_select_limit = 18446744073709551615, sql_big_selects = 1,"
                               " group_concat_max_len = 4194304, sql_safe_updates = 0,"
                               " unique_checks = 1, %s = 'READ-COMMITTED', @lk_trusts = %s";

/* ---- waiting --------------------------------------------------------------------------------- */

/*
 * Waits for what a non-blocking call has asked for, and returns in *status what is ready.
 * LK_CANCELLED and LK_UNAVAILABLE leave the call pending: only closing the connection ends it.
 */
static lk_outcome wait_for(struct lk_mysql_link *link, int *status,
                           const struct lk_patience *patience, lk_error *error) {
    short wanted = (short)(((*status & MYSQL_WAIT_READ) != 0 ? POLLIN : 0)
                           | ((*status & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0)
                           | ((*status & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0));
    lk_outcome outcome =
        lk_socket_wait((int)mysql_get_socket(link->mysql), wanted, patience, error);

    if (outcome != LK_OK) {
        link->is_lost = true;
        return outcome;
    }
    *status &= ~MYSQL_WAIT_TIMEOUT;
    return LK_OK;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Each mode is said in full: since 3.4 the library verifies unless it is told not to. */
static void set_ssl(const struct lk_mysql_address *address, MYSQL *mysql) {
    const enum lk_mysql_ssl_mode mode = address->ssl_mode;
    const my_bool is_enforced = mode != LK_MYSQL_SSL_DISABLED;
    const my_bool is_verified = mode == LK_MYSQL_SSL_VERIFY_IDENTITY;

    if (mode == LK_MYSQL_SSL_DEFAULT) {
        return;
    }
    if (is_enforced) {
        (void)mysql_ssl_set(mysql, address->texts[LK_MYSQL_SSL_KEY],
                            address->texts[LK_MYSQL_SSL_CERT], address->texts[LK_MYSQL_SSL_CA],
                            address->texts[LK_MYSQL_SSL_CAPATH], NULL);
    }
    (void)mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &is_enforced);
    (void)mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &is_verified);
}

/*
 * The server may not request files of this machine. A lost connection is reported as lost; the
 * library does not reconnect.
 */
static MYSQL *make_mysql(const struct lk_mysql_address *address) {
    static const unsigned no_files = 0;
    static const my_bool no = 0;
    MYSQL *mysql = mysql_init(NULL);
    unsigned protocol =
        address->texts[LK_MYSQL_SOCKET] != NULL ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;

    if (mysql == NULL) {
        return NULL;
    }
    if (mysql_options(mysql, MYSQL_OPT_NONBLOCK, NULL) != 0) {
        mysql_close(mysql);
        return NULL;
    }
    (void)mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
    (void)mysql_options(mysql, MYSQL_OPT_RECONNECT, &no);
    (void)mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    (void)mysql_options(mysql, MYSQL_READ_DEFAULT_GROUP, "client");
    if (address->texts[LK_MYSQL_SOCKET] != NULL || address->texts[LK_MYSQL_HOST] != NULL) {
        (void)mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol); /* else that of ~/.my.cnf */
    }
    set_ssl(address, mysql);
    return mysql;
}

/* A lost connection is closed without a COM_QUIT, which could block. */
static void end_mysql(struct lk_mysql_link *link) {
    if (link->is_lost) {
        (void)shutdown((int)mysql_get_socket(link->mysql), SHUT_RDWR);
    }
    mysql_close(link->mysql);
    link->mysql = NULL;
}

/* How many hosts a list has. */
static int64_t count_of(const char *list) {
    int64_t count = 1;

    for (; *list != '\0'; list++) {
        count += *list == ',';
    }
    return count;
}

/* Without verification, the library also accepts a server that does not use TLS. */
static lk_outcome check_ssl(const struct lk_mysql_address *address, MYSQL *mysql, lk_error *error) {
    if (address->ssl_mode < LK_MYSQL_SSL_REQUIRED || mysql_get_ssl_cipher(mysql) != NULL) {
        return LK_OK;
    }
    return lk_error_set(error, LK_UNAVAILABLE,
                        "MySQL: the server speaks no TLS, which ssl-mode demands; set it up there");
}

/* `host` NULL: the local one, or that of ~/.my.cnf. */
static lk_outcome reach_host(const struct lk_mysql_address *address, const char *host,
                             struct lk_mysql_link *link, const struct lk_patience *patience,
                             lk_error *error) {
    char *const *texts = address->texts;
    MYSQL *reached = NULL;
    int status = mysql_real_connect_start(&reached, link->mysql, host, texts[LK_MYSQL_USER],
                                          texts[LK_MYSQL_PASSWORD], texts[LK_MYSQL_DATABASE],
                                          address->port, texts[LK_MYSQL_SOCKET], 0);

    while (status != 0) {
        lk_outcome outcome = wait_for(link, &status, patience, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        status = mysql_real_connect_cont(&reached, link->mysql, status);
    }
    return reached != NULL ? LK_OK : lk_mysql_explain_connection(link->mysql, error);
}

/* Makes a new connection of a link that may have one. */
static lk_outcome renew(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                        lk_error *error) {
    if (link->mysql != NULL) {
        end_mysql(link);
    }
    link->is_lost = false;
    link->mysql = make_mysql(address);
    return link->mysql != NULL ? LK_OK
                               : lk_error_set(error, LK_INTERNAL, "no memory for a connection");
}

/*
 * One of the hosts of a list, HOST,HOST,... The library knows such lists, too, but waits without
 * limit for a host that says nothing. So each of them has its share of the time.
 */
static lk_outcome reach(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                        const struct lk_patience *patience, lk_error *error) {
    const char *list =
        address->texts[LK_MYSQL_SOCKET] != NULL ? NULL : address->texts[LK_MYSQL_HOST];
    lk_outcome outcome;

    do {
        struct lk_patience share = *patience;
        size_t size = list != NULL ? strcspn(list, ",") : 0;
        char *host = list != NULL ? strndup(list, size) : NULL;

        if (list != NULL && list[size] == ',') {
            int64_t now_us = lk_clock_now_us();
            share.until_us = now_us + (patience->until_us - now_us) / count_of(list);
            list += size + 1;
        } else {
            list = NULL;
        }
        outcome = renew(address, link, error);
        if (outcome == LK_OK) {
            outcome = reach_host(address, host, link, &share, error);
        }
        free(host);
    } while (outcome == LK_UNAVAILABLE && list != NULL);
    return outcome;
}

static lk_outcome check_server(MYSQL *mysql, lk_error *error) {
    bool is_mariadb = mariadb_connection(mysql);
    unsigned long version = mysql_get_server_version(mysql);

    if (version >= (is_mariadb ? MARIADB_OLDEST : MYSQL_OLDEST)) {
        return LK_OK;
    }
    return lk_error_set(error, LK_UNSUPPORTED,
                        "the server is %s %lu.%lu.%lu; MariaDB 10.6 or MySQL 8.0.16 is needed, or "
                        "later",
                        is_mariadb ? "MariaDB" : "MySQL", version / 10000, version / 100 % 100,
                        version % 100);
}

/* With the check whose the store is, or without. */
static lk_outcome make_settings(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                                bool checks, const struct lk_patience *patience, lk_error *error) {
    const char *level = mariadb_connection(link->mysql) ? "tx_isolation" : "transaction_isolation";
    char *owners = checks ? lk_mysql_owner_check(address) : lk_text_copy(lk_slice_of("1"));
    char *sql = owners != NULL ? lk_text_make(settings, level, owners) : NULL;
    MYSQL_RES *result = NULL;
    lk_outcome outcome;

    free(owners);
    if (sql == NULL) {
        return lk_error_set(error, LK_UNAVAILABLE, "no memory for a statement");
    }
    outcome = lk_mysql_query(link, lk_slice_of(sql), patience, &result, error);
    free(sql);
    mysql_free_result(result);
    return outcome;
}

static lk_outcome explain_check(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                                lk_outcome outcome, const struct lk_patience *patience,
                                lk_error *error) {
    if (outcome == LK_INTERNAL && mysql_errno(link->mysql) == ER_SUBQUERY_NO_1_ROW) {
        return lk_mysql_explain_stranger(address, link, patience, error);
    }
    return outcome == LK_INTERNAL ? lk_mysql_explain(link->mysql, "", error) : outcome;
}

static lk_outcome set_up(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                         const struct lk_patience *patience, lk_error *error) {
    lk_outcome outcome = check_server(link->mysql, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = make_settings(address, link, true, patience, error);
    if (outcome == LK_INTERNAL && mysql_errno(link->mysql) == ER_TOO_BIG_SELECT) {
        /* max_join_size bounds the check, too, until sql_big_selects is set. */
        outcome = make_settings(address, link, false, patience, error);
        outcome = outcome != LK_OK ? outcome : make_settings(address, link, true, patience, error);
    }
    return explain_check(address, link, outcome, patience, error);
}

lk_outcome lk_mysql_check_owners(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                                 const struct lk_patience *patience, lk_error *error) {
    char *owners = lk_mysql_owner_check(address);
    char *sql = owners != NULL ? lk_text_make("SET @lk_trusts = %s", owners) : NULL;
    MYSQL_RES *result = NULL;
    lk_outcome outcome = sql != NULL
                             ? lk_mysql_query(link, lk_slice_of(sql), patience, &result, error)
                             : lk_error_set(error, LK_UNAVAILABLE, "no memory for a statement");

    free(owners);
    free(sql);
    mysql_free_result(result);
    return explain_check(address, link, outcome, patience, error);
}

/* Programs that this process starts do not inherit the connection. */
static void keep_from_children(MYSQL *mysql) {
    int descriptor = (int)mysql_get_socket(mysql);
    int flags = fcntl(descriptor, F_GETFD);

    if (flags >= 0) {
        (void)fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
    }
}

lk_outcome lk_mysql_connect(const struct lk_mysql_address *address,
                            const struct lk_patience *patience, struct lk_mysql_link **ret_link,
                            lk_error *error) {
    const struct lk_patience contact = lk_patience_for_contact(patience);
    struct lk_mysql_link *link = calloc(1, sizeof *link);
    lk_outcome outcome;

    if (link == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a connection");
    }
    outcome = reach(address, link, &contact, error);
    if (outcome == LK_OK) {
        lk_patience_note_reached(patience);
        keep_from_children(link->mysql);
        outcome = check_ssl(address, link->mysql, error);
    }
    if (outcome == LK_OK) {
        outcome = set_up(address, link, patience, error);
    }
    if (outcome != LK_OK) {
        lk_mysql_disconnect(link);
        return outcome;
    }
    *ret_link = link;
    return LK_OK;
}

void lk_mysql_disconnect(struct lk_mysql_link *link) {
    if (link->mysql != NULL) {
        end_mysql(link);
    }
    free(link);
}

/* ---- one statement --------------------------------------------------------------------------- */

static lk_outcome lose(struct lk_mysql_link *link, lk_error *error) {
    link->is_lost = true;
    return lk_error_set(error, LK_UNAVAILABLE,
                        "the connection to the database was lost, and with it the answer: %.200s",
                        mysql_error(link->mysql));
}

/* After an error of the client library itself, it is unknown which results are still to come. */
static lk_outcome refuse(struct lk_mysql_link *link, lk_error *error) {
    unsigned code = mysql_errno(link->mysql);
    bool is_own = (code >= CR_MIN_ERROR && code <= CR_MAX_ERROR)
                  || (code >= CER_MIN_ERROR && code <= CER_MAX_ERROR);

    return is_own ? lose(link, error) : LK_INTERNAL;
}

static lk_outcome send_query(struct lk_mysql_link *link, struct lk_slice sql,
                             const struct lk_patience *patience, lk_error *error) {
    int code = 0;
    int status = mysql_real_query_start(&code, link->mysql, sql.bytes, sql.size);

    while (status != 0) {
        lk_outcome outcome = wait_for(link, &status, patience, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        status = mysql_real_query_cont(&code, link->mysql, status);
    }
    return code == 0 ? LK_OK : refuse(link, error);
}

static lk_outcome store_result(struct lk_mysql_link *link, const struct lk_patience *patience,
                               MYSQL_RES **ret_result, lk_error *error) {
    MYSQL_RES *result = NULL;
    int status = mysql_store_result_start(&result, link->mysql);

    while (status != 0) {
        lk_outcome outcome = wait_for(link, &status, patience, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        status = mysql_store_result_cont(&result, link->mysql, status);
    }
    if (result == NULL && mysql_errno(link->mysql) != 0) {
        return refuse(link, error);
    }
    *ret_result = result;
    return LK_OK;
}

/* LK_NONE: there is no further result. */
static lk_outcome next_result(struct lk_mysql_link *link, const struct lk_patience *patience,
                              lk_error *error) {
    int code = 0;
    int status;

    if (!mysql_more_results(link->mysql)) {
        return LK_NONE;
    }
    status = mysql_next_result_start(&code, link->mysql);
    while (status != 0) {
        lk_outcome outcome = wait_for(link, &status, patience, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        status = mysql_next_result_cont(&code, link->mysql, status);
    }
    return code == 0 ? LK_OK : code < 0 ? LK_NONE : refuse(link, error);
}

/* A CALL answers with its rows, and then with its status. */
lk_outcome lk_mysql_query(struct lk_mysql_link *link, struct lk_slice sql,
                          const struct lk_patience *patience, MYSQL_RES **ret_result,
                          lk_error *error) {
    MYSQL_RES *first = NULL;
    lk_outcome outcome = send_query(link, sql, patience, error);

    while (outcome == LK_OK) {
        MYSQL_RES *result = NULL;
        outcome = store_result(link, patience, &result, error);
        if (first == NULL) {
            first = result;
        } else {
            mysql_free_result(result);
        }
        if (outcome == LK_OK) {
            outcome = next_result(link, patience, error);
        }
    }
    if (outcome != LK_NONE) {
        mysql_free_result(first);
        return outcome;
    }
    *ret_result = first;
    return LK_OK;
}

lk_outcome lk_mysql_allow_texts(struct lk_mysql_link *link, const struct lk_patience *patience,
                                lk_error *error) {
    int code = 0;
    int status =
        mysql_set_server_option_start(&code, link->mysql, MYSQL_OPTION_MULTI_STATEMENTS_ON);

    while (status != 0) {
        lk_outcome outcome = wait_for(link, &status, patience, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        status = mysql_set_server_option_cont(&code, link->mysql, status);
    }
    return code == 0 ? LK_OK : lose(link, error);
}
