/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a server's errors: an outcome, a sentence that says what to do, and whether to retry. */
#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>

#include "base/error.h"
#include "base/program.h"
#include "engine/mysql/store.h"

enum {
    MESSAGE_BYTES_SHOWN = 200,
    ER_HERE_CHANGED = 1020,       /* the row has changed since it was read */
    ER_HERE_NO_PASSWORD = 1698,   /* access denied: login by the socket's user only */
    ER_HERE_TIMEOUT = 1969,       /* max_statement_time */
    ER_HERE_KILLED = 1927,        /* the connection was killed */
    ER_HERE_QUERY_TIMEOUT = 3024, /* max_execution_time */
    ER_HERE_SESSION_KILLED = 3169,
    ER_HERE_IDLE = 4031,      /* the session was closed because it was idle */
    ER_HERE_CHECK = 3819,     /* a constraint refuses the row (MySQL) */
    ER_HERE_CONSTRAINT = 4025 /* the same (MariaDB) */
};

static bool is_one_of(unsigned code, const unsigned *codes) {
    for (; *codes != 0; codes++) {
        if (*codes == code) {
            return true;
        }
    }
    return false;
}

static lk_outcome say(MYSQL *mysql, lk_outcome outcome, const char *advice, lk_error *error) {
    return lk_error_set(error, outcome, "MySQL: %.*s%s", MESSAGE_BYTES_SHOWN, mysql_error(mysql),
                        advice);
}

/* ---- connecting ------------------------------------------------------------------------------ */

lk_outcome lk_mysql_explain_connection(MYSQL *mysql, lk_error *error) {
    static const unsigned strangers[] = {ER_ACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR,
                                         ER_HERE_NO_PASSWORD,    ER_HOST_NOT_PRIVILEGED,
                                         ER_HOST_IS_BLOCKED,     0};
    unsigned code = mysql_errno(mysql);

    if (is_one_of(code, strangers)) {
        return say(mysql, LK_DENIED,
                   "; check user and password of the URL (or [client] of ~/.my.cnf), and what the "
                   "user is granted",
                   error);
    }
    if (code == ER_BAD_DB_ERROR) {
        return say(mysql, LK_UNAVAILABLE, "; make it (CREATE DATABASE), or name another one",
                   error);
    }
    if (code == CR_SSL_CONNECTION_ERROR) {
        return say(mysql, LK_UNAVAILABLE,
                   "; the server must speak TLS and have a certificate that fits ssl-ca and host "
                   "(?ssl-mode=disabled is for one without TLS)",
                   error);
    }
    return say(mysql, LK_UNAVAILABLE, "; is the server there, and does it let us in?", error);
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool lk_mysql_is_replica(unsigned code) {
    static const unsigned replicas[] = {ER_OPTION_PREVENTS_STATEMENT,
                                        ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE,
                                        ER_INNODB_READ_ONLY, 0};

    return is_one_of(code, replicas);
}

enum lk_fate lk_mysql_fate_of(MYSQL *mysql) {
    static const unsigned conflicts[] = {ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_HERE_CHANGED,
                                         0};
    static const unsigned interruptions[] = {
        ER_QUERY_INTERRUPTED,  ER_SERVER_SHUTDOWN,     ER_HERE_TIMEOUT, ER_HERE_KILLED,
        ER_HERE_QUERY_TIMEOUT, ER_HERE_SESSION_KILLED, ER_HERE_IDLE,    0};

    if (is_one_of(mysql_errno(mysql), conflicts)) {
        return LK_FATE_CONFLICTED;
    }
    /* The call was interrupted before the commit or after it. */
    return is_one_of(mysql_errno(mysql), interruptions) ? LK_FATE_UNKNOWN : LK_FATE_ANSWERED;
}

void lk_mysql_schema_command(const char *prefix, char ret_command[LK_MYSQL_COMMAND_SIZE]) {
    bool is_default = strcmp(prefix, "lk_") == 0 || prefix[0] == '\0';

    (void)snprintf(ret_command, LK_MYSQL_COMMAND_SIZE,
                   is_default ? "%s schema mysql" : "%s -S 'mysql:?prefix=%s' schema", lk_program(),
                   prefix);
}

static lk_outcome explain_denial(MYSQL *mysql, const char *prefix, lk_error *error) {
    char command[LK_MYSQL_COMMAND_SIZE];
    char advice[240];

    lk_mysql_schema_command(prefix, command);
    (void)snprintf(advice, sizeof advice,
                   "; a DBA makes the tables and procedures %s... with `%s`, which says what to "
                   "grant",
                   prefix, command);
    return say(mysql, LK_DENIED, advice, error);
}

static lk_outcome explain_hole(MYSQL *mysql, const char *prefix, lk_error *error) {
    char command[LK_MYSQL_COMMAND_SIZE];
    char advice[LK_MYSQL_COMMAND_SIZE + 100];

    lk_mysql_schema_command(prefix, command);
    (void)snprintf(advice, sizeof advice,
                   "; the store is missing or incomplete: open it again, or run `%s`", command);
    return say(mysql, LK_UNAVAILABLE, advice, error);
}

bool lk_mysql_is_hole(unsigned code) {
    static const unsigned holes[] = {
        ER_NO_SUCH_TABLE,      ER_SP_DOES_NOT_EXIST, ER_BAD_FIELD_ERROR, ER_SP_WRONG_NO_OF_ARGS,
        ER_TABLE_EXISTS_ERROR, ER_SP_ALREADY_EXISTS, ER_VIEW_INVALID,    0};

    return is_one_of(code, holes);
}

bool lk_mysql_is_closed(MYSQL *mysql) {
    unsigned code = mysql_errno(mysql);

    return (code == ER_HERE_CONSTRAINT || code == ER_HERE_CHECK)
           && strstr(mysql_error(mysql), "requests_closed") != NULL;
}

lk_outcome lk_mysql_explain_closed(const char *prefix, lk_error *error) {
    return lk_error_set(
        error, LK_UNSUPPORTED,
        "the store %s... is being brought to a newer format; use the program that does", prefix);
}

lk_outcome lk_mysql_explain_size(lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "MySQL: the call is larger than the server's max_allowed_packet; send less "
                        "at once, or raise it there");
}

lk_outcome lk_mysql_explain(MYSQL *mysql, const char *prefix, lk_error *error) {
    static const unsigned denials[] = {ER_TABLEACCESS_DENIED_ERROR,
                                       ER_COLUMNACCESS_DENIED_ERROR,
                                       ER_DBACCESS_DENIED_ERROR,
                                       ER_SPECIFIC_ACCESS_DENIED_ERROR,
                                       ER_PROCACCESS_DENIED_ERROR,
                                       ER_ACCESS_DENIED_ERROR,
                                       0};
    unsigned code = mysql_errno(mysql);

    if (is_one_of(code, denials)) {
        return explain_denial(mysql, prefix, error);
    }
    if (lk_mysql_is_replica(code)) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "MySQL: the server can only be read (a replica?); name the primary");
    }
    if (lk_mysql_is_hole(code)) {
        return explain_hole(mysql, prefix, error);
    }
    if (strcmp(mysql_sqlstate(mysql), "LK079") == 0) {
        return say(mysql, LK_UNSUPPORTED, "", error);
    }
    if (lk_mysql_is_closed(mysql)) {
        return lk_mysql_explain_closed(prefix, error);
    }
    if (code == ER_NET_PACKET_TOO_LARGE) {
        return lk_mysql_explain_size(error);
    }
    if (code == ER_BINLOG_STMT_MODE_AND_ROW_ENGINE) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "MySQL: the server's binary log is in STATEMENT format, which no "
                            "decision at READ COMMITTED can be written to; set binlog_format to "
                            "ROW or MIXED");
    }
    if (lk_mysql_fate_of(mysql) == LK_FATE_UNKNOWN) {
        return say(mysql, LK_UNAVAILABLE, "; it is unknown whether the call took effect", error);
    }
    if (lk_mysql_fate_of(mysql) == LK_FATE_CONFLICTED) {
        return say(mysql, LK_UNAVAILABLE, "; another transaction holds rows of the store locked",
                   error);
    }
    return say(mysql,
               code == ER_UNKNOWN_ERROR || code == ER_SIGNAL_EXCEPTION ? LK_INTERNAL
                                                                       : LK_UNAVAILABLE,
               "", error);
}
